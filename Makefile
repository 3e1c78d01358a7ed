# Two commands do all the set-up there is: `make verify` runs the main job, `make test` the tests.

export PATH := $(PATH):$(or $(CARGO_HOME),$(HOME)/.cargo)/bin

.PHONY: help verify test test-stencils test-library test-program test-ranks test-laboratory test-c test-python test-python-module bench wheel dist install-capi

help:
	@echo 'make verify   compare OpenCL with the CPU reference, bit for bit, and solve on a real configuration'
	@echo 'make test     run all tests'
	@echo 'make bench    measure the kernels against copy bandwidth'
	@echo 'make wheel    build the Python package, in target/wheels (docs/python.md); make test-python tests it'
	@echo 'make install-capi PREFIX=DIR   install liblanefield, the C interface (docs/c.md)'
	@echo 'make dist     make the archives to ship, in target/dist (docs/install.md)'

# Without an OpenCL device (status 2) the main job checks the CPU reference, and says so.
verify:
	@scripts/setup.sh || [ $$? -eq 2 ]
	cargo build --release --locked
	target/release/lanefield verify --config examples/quenched-8x8x8x16.nersc

# With MPI where it is installed (docs/ranks.md).
MPI := $(if $(shell command -v mpicc),--features lanefield-cli/mpi)
TEST := cargo test --workspace --locked $(MPI)

# Without an OpenCL device the tests that need one fail, and say what to install; LANEFIELD_SKIP_OPENCL=1 skips them.
test:
	@scripts/setup.sh || [ $$? -eq 2 ]
	$(TEST) --no-run
	@$(MAKE) --no-print-directory --jobs 2 --keep-going test-stencils test-library test-program test-ranks test-laboratory test-c

# PoCL compiles in one thread of a process: two processes take two cores. Stencils take half of the time.
STENCILS := hop laplace kernels

test-stencils:
	$(TEST) --test tests -- $(STENCILS)
test-library:
	$(TEST) --test tests -- $(addprefix --skip ,$(STENCILS))
test-program:
	$(TEST) --test malformed_files --test allocation_failures --test program
test-ranks:
	$(TEST) --test ranks
test-laboratory:
	$(TEST) --lib --test reference --test laboratory --test ports --test plane --test twins
	$(TEST) --doc

test-c:
	$(TEST) --test capi

# The Python package, linked by zig for a glibc of 2018, so that it runs on every Linux since.
PYTHON := target/python

$(PYTHON)/bin/maturin:
	python3 -m venv $(PYTHON)
	$(PYTHON)/bin/pip install --quiet 'maturin>=1.8,<2' ziglang

wheel: $(PYTHON)/bin/maturin
	rm -rf target/wheels
	PATH="$(abspath $(PYTHON))/bin:$$PATH" maturin build --release --locked --zig --compatibility manylinux_2_28 \
	    --manifest-path crates/python/Cargo.toml --out target/wheels

PYTHON_TESTS := target/python-tests
RUN_PYTHON_TESTS = cd crates/python && ../../$(PYTHON_TESTS)/bin/python -m pytest -q && cd ../.. \
    && $(PYTHON_TESTS)/bin/python crates/python/examples/pion.py examples/quenched-8x8x8x16.nersc target/pion.svg

# What users install: the wheel, in an environment that has nothing else.
test-python: wheel
	rm -rf $(PYTHON_TESTS)
	python3 -m venv $(PYTHON_TESTS)
	$(PYTHON_TESTS)/bin/pip install --quiet target/wheels/lanefield-*.whl pytest matplotlib mypy
	$(RUN_PYTHON_TESTS)

# The same with the module that the tests of the workspace were built with, which takes minutes less.
test-python-module:
	cargo build --workspace --locked --lib --tests $(MPI)
	rm -rf $(PYTHON_TESTS)
	python3 -m venv $(PYTHON_TESTS)
	$(PYTHON_TESTS)/bin/pip install --quiet numpy pytest matplotlib mypy
	packages=$$($(PYTHON_TESTS)/bin/python -c 'import sysconfig; print(sysconfig.get_path("platlib"))') \
	    && cp -r crates/python/python/lanefield "$$packages" \
	    && cp target/debug/liblanefield_python.so "$$packages/lanefield/_lanefield.abi3.so"
	$(RUN_PYTHON_TESTS)

bench:
	@scripts/setup.sh || [ $$? -eq 2 ]
	cargo bench -p lanefield-lab --locked

install-capi:
	@test -n "$(PREFIX)" || { echo 'make install-capi PREFIX=DIR' >&2; exit 2; }
	@scripts/install_capi "$(PREFIX)"

dist:
	@scripts/dist
