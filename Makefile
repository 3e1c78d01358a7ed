# Two commands do all the set-up there is: `make verify` runs the main job, `make test` the tests that every change runs.

export PATH := $(PATH):$(or $(CARGO_HOME),$(HOME)/.cargo)/bin

.PHONY: help verify test test-all test-random shards shards-of-all test-hops test-operators test-library test-program test-reference test-others test-docs \
    test-platforms test-python test-python-module bench wheel dist docs install-capi

help:
	@echo 'make verify   compare OpenCL with the CPU reference, bit for bit, and solve on a real configuration'
	@echo 'make test     run the tests that every change runs: each kernel, operator, solver and command'
	@echo 'make test-all run all other tests: every build, compilers, C, ranks (docs/development.md)'
	@echo 'make test-platforms   compare other OpenCL implementations: Intel, Rusticl, Oclgrind'
	@echo 'make test-random   draw new random cases of all kernels; SEED=7 draws those of seed 7 again'
	@echo 'make bench    measure the kernels against copy bandwidth'
	@echo 'make wheel    build the Python package, in target/wheels (docs/python.md); make test-python tests it'
	@echo 'make install-capi PREFIX=DIR   install liblanefield, the C interface (docs/c.md)'
	@echo 'make docs     build the site of the documentation in target/book, and check its links and spelling'
	@echo 'make dist     make the archives to ship, in target/dist (docs/install.md)'

# With MPI where it is installed (docs/ranks.md). Always the whole workspace: packages by themselves have other features, and are built once more.
MPI := $(if $(shell command -v mpicc),--features lanefield-cli/mpi)

# Without an OpenCL device (status 2) the main job checks the CPU reference, and says so. The program is the one that the tests run, with its assertions: the
# test target is named so that all features are the same, and `make test` builds nothing once more.
verify:
	@scripts/setup.sh || [ $$? -eq 2 ]
	cargo build --workspace --locked $(MPI) --bin lanefield --test plane
	target/debug/lanefield verify --config examples/quenched-8x8x8x16.nersc

TEST := $(if $(WATCH_TESTS),scripts/watch_tests --each) cargo test --workspace --locked $(MPI)
# Those of `make test`. C, ranks and failing allocations are in `make test-all` alone.
TARGETS := --lib $(addprefix --test=,tests malformed_files reference laboratory ports plane twins program)

# Tests marked `#[ignore = "test-all: …"]` are left out. Without an OpenCL device the tests that need one fail, and say what to install;
# LANEFIELD_SKIP_OPENCL=1 skips them.
test:
	@scripts/setup.sh || [ $$? -eq 2 ]
	cargo test --workspace --locked $(MPI) --no-run $(TARGETS)
	@$(MAKE) --no-print-directory --jobs 2 --keep-going shards

test-all:
	@scripts/setup.sh || [ $$? -eq 2 ]
	cargo test --workspace --locked $(MPI) --no-run
	@$(MAKE) --no-print-directory --jobs 2 --keep-going TIER=--ignored shards-of-all

# PoCL compiles in one thread of a process: two processes take two cores, and each takes the next of these when it is done.
shards: test-hops test-operators test-program test-library test-reference
shards-of-all: shards test-others test-docs test-platforms

HOPS := hop laplace kernels
OPERATORS := body clover domain_wall hisq operators staggered twisted_mass wilson

test-hops:
	$(TEST) --test tests -- $(TIER) $(HOPS)
test-operators:
	$(TEST) --test tests -- $(TIER) $(OPERATORS) $(addprefix --skip ,$(HOPS))
test-library:
	$(TEST) --test tests -- $(TIER) $(addprefix --skip ,$(HOPS) $(OPERATORS))
test-program:
	$(TEST) --test program -- $(TIER)
test-reference:
	$(TEST) $(filter-out %=tests %=program,$(TARGETS)) -- $(TIER)
# Whole, since `make test` runs none of them.
test-others:
	$(TEST) --test capi --test ranks --test allocation_failures --test maps
test-docs:
	$(TEST) --doc
# Other OpenCL implementations. The program is there where the tests were built.
test-platforms:
	cargo build --workspace --locked $(MPI) --bin lanefield --test plane
	@scripts/test_platforms

# Other cases than those that are drawn in every run; a failure is repeated by the SEED that is printed.
SEED := $(shell od -An -N4 -tu4 /dev/urandom | tr -d ' ')
test-random:
	@echo 'make test-random SEED=$(SEED)'
	PROPTEST_RNG_SEED=$(SEED) $(TEST) --lib --test tests --test reference --test twins -- --include-ignored \
	    _the_same_bits_everywhere _the_bits_of_its_twin _is_linear _hermitian _is_covariant

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

# The pages of commands come from the program, which is the one that the tests run.
docs:
	cargo build --workspace --locked $(MPI) --bin lanefield --test plane
	@scripts/site
