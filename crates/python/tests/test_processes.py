"""Processes that multiprocessing starts, by fork, spawn and forkserver, and children of os.fork(): none hangs."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor

import lanefield as lf
import numpy as np
import pytest

# A child that takes longer hangs.
SECONDS = 60


def solved(seed):
    configuration = lf.Configuration.weak((4, 4, 4, 4), 1)
    operator = lf.Operator("wilson", configuration, mass=0.3, device="cpu")
    return lf.solve(operator, lf.gaussian(configuration, seed), tolerance=1e-6).history_sha256


def in_child(work):
    """What `work` says in a child of os.fork(), or the error that it raises."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            said = str(work())
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    end = time.monotonic() + SECONDS
    while os.waitpid(child, os.WNOHANG)[0] == 0:
        if time.monotonic() > end:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            pytest.fail("the child hangs")
        time.sleep(0.01)
    with os.fdopen(reading) as pipe:
        return pipe.read()


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes_compute_what_their_parent_computes(method):
    expected = [solved(seed) for seed in (1, 2)]
    context = multiprocessing.get_context(method)
    with context.Pool(2) as pool:
        assert pool.map_async(solved, (1, 2)).get(SECONDS) == expected
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        assert list(pool.map(solved, (1, 2), timeout=SECONDS)) == expected


def test_objects_of_the_parent_work_in_a_forked_child_and_in_its_child(weak):
    operator = lf.Operator("wilson", weak, mass=0.3, device=lf.Device("cpu", threads=3))
    source = lf.gaussian(weak, 3)
    work = lambda: lf.solve(operator, source, tolerance=1e-6).history_sha256
    expected = work()
    assert in_child(work) == expected
    assert in_child(lambda: in_child(work)) == expected
    assert in_child(lambda: weak.plaquette) == str(weak.plaquette)
    assert work() == expected


def test_opencl_of_the_parent_is_refused_in_a_forked_child(weak, opencl):
    operator = lf.Operator("wilson", weak, mass=0.3, device=opencl)
    source = lf.gaussian(weak, 3)
    expected = operator.apply(source)
    refused = "OpenCL was used before this process was forked, and does not survive a fork: use the device \"cpu\" here"
    for work in (lambda: operator.apply(source), lambda: lf.solve(operator, source), lf.devices, lambda: lf.Device(0)):
        assert refused in in_child(work)
    on_cpu = lambda: np.array_equal(lf.Operator("wilson", weak, mass=0.3, device="cpu").apply(source), expected)
    assert in_child(on_cpu) == "True"


def test_opencl_may_be_used_first_in_a_child(opencl):
    """A process that has computed only on the CPU forks a child, which opens a device."""
    program = """
import os, lanefield as lf
c = lf.Configuration.weak((4, 4, 4, 4), 1)
lf.Operator("wilson", c, mass=0.3, device="cpu").apply(lf.gaussian(c, 5))
child = os.fork()
if child == 0:
    lf.Operator("wilson", c, mass=0.3, device=0).apply(lf.gaussian(c, 5))
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=2 * SECONDS)
