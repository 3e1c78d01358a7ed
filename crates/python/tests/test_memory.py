"""If there is no memory left, a MemoryError is raised, and the process continues."""

import subprocess
import sys

import pytest

pytest.importorskip("resource")
if not sys.platform.startswith("linux"):
    pytest.skip("only Linux reports the memory that a process uses", allow_module_level=True)

# Each work is tried with more and more memory until it succeeds.
PROGRAM = """
import pickle, resource, sys
import lanefield as lf
import numpy as np

def used():
    with open("/proc/self/status") as status:
        return next(1024 * int(line.split()[1]) for line in status if line.startswith("VmSize"))

lattice = (8, 8, 8, 32)
configuration = lf.Configuration.weak(lattice, 1)
wilson = lf.Operator("wilson", configuration, mass=0.1, device="cpu")
dwf = lf.Operator("dwf", configuration, mass=0.1, ls=4, device="cpu")
four = np.stack([lf.gaussian(lattice, seed) for seed in range(4)])
theirs = lf.gaussian(lattice, 1, ls=4, convention="pyquda")
links = configuration.array(convention="pyquda")
propagator = np.ones((2, 32, 8, 8, 4, 4, 4, 3, 3), complex)
pickled = pickle.dumps(configuration)
works = {
    "gaussian": lambda: lf.gaussian(lattice, 1, ls=8),
    "hot": lambda: lf.Configuration.hot((8, 8, 16, 32), 1),
    "from_array": lambda: lf.Configuration.from_array(links, convention="pyquda"),
    "array": lambda: configuration.array(convention="gpt"),
    "pickle": lambda: pickle.loads(pickled),
    "apply": lambda: wilson.apply(four),
    "pyquda": lambda: dwf.apply(theirs, convention="pyquda"),
    "mpc": lambda: wilson.apply(four, piece="mpc"),
    "solve": lambda: lf.solve(wilson, four, tolerance=0.5),
    "f32": lambda: lf.solve(wilson, four.astype(np.complex64), tolerance=0.5),
    "walls": lambda: lf.solve(dwf, four, tolerance=0.9, physical=True),
    "norm2": lambda: lf.norm2(theirs, lattice=lattice, convention="pyquda"),
    "correlator": lambda: lf.correlator(propagator, convention="pyquda"),
    "compare": lambda: lf.compare(four, four + 1),
    "golden_export": lambda: lf.golden_export(sys.argv[1], kernels="axpy", precisions="f64", lattice=lattice, overwrite=True),
}
refused = 0
for name, work in works.items():
    for megabytes in [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 1024]:
        resource.setrlimit(resource.RLIMIT_AS, (used() + (megabytes << 20), resource.RLIM_INFINITY))
        try:
            work()
            break
        except MemoryError:
            refused += 1
        finally:
            resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    else:
        sys.exit(f"{name} does not succeed")
print("refused" if refused > len(works) else refused)
"""


def test_too_little_memory_ends_no_process(tmp_path):
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(tmp_path / "golden")], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, "refused\n"), done.stdout + done.stderr
