"""Solves: every operator and method, the published history, progress, Ctrl-C, failures."""

import signal
import subprocess
import sys
import threading
import time

import lanefield as lf
import numpy as np
import pytest
from conftest import GIVEN, QUENCHED, operator_of, source_of

# SHA-256 of the history of `lanefield demo` (docs/verified.md).
PUBLISHED = "2ad53384575f0b2ee387e970e008443567a5b785d981e34124a03e76513b2747"


def residual(operator, solution, source):
    return np.linalg.norm(source - operator.apply(solution)) / np.linalg.norm(source)


def test_the_history_is_the_published_one(quenched, cpu):
    wilson = lf.Operator("wilson", quenched, mass=-0.4, device=cpu)
    result = lf.solve(wilson, lf.gaussian(quenched, 7))
    assert result.history_sha256 == PUBLISHED
    assert result.converged and result.unchecked is None
    assert len(result.history) == result.iterations + 1
    assert result.true_residual < 1e-10 and result.solution_residual < 1e-9


def test_an_opencl_device_has_the_same_bits(weak, cpu, opencl):
    source = lf.gaussian(weak, 7)
    results = [lf.solve(lf.Operator("wilson", weak, device=device, **GIVEN), source) for device in (cpu, opencl)]
    assert results[0].history_sha256 == results[1].history_sha256
    assert np.array_equal(results[0].solution, results[1].solution)


@pytest.mark.parametrize("name", list(lf.operators()))
@pytest.mark.parametrize("even_odd", [True, False])
def test_every_operator_is_solved(name, even_odd, weak, cpu):
    operator = operator_of(name, weak, cpu)
    source = source_of(operator, 3)
    result = lf.solve(operator, source, tol=1e-8, even_odd=even_odd)
    assert result.solution.shape == source.shape
    assert residual(operator, result.solution, source) < 1e-6


@pytest.mark.parametrize("method", ["cg", "bicgstab", "mixed", "mixed-half"])
def test_every_method_gives_the_solution(method, weak, cpu):
    operator = lf.Operator("clover", weak, device=cpu, csw=1.2, **GIVEN)
    source = lf.gaussian(weak, 3)
    result = lf.solve(operator, source, method=method)
    assert result.solution.dtype == np.complex128
    assert residual(operator, result.solution, source) < 1e-9


def test_the_precision_is_that_of_the_source_unless_said_otherwise(weak, cpu):
    operator = lf.Operator("wilson", weak, device=cpu, **GIVEN)
    source = lf.gaussian(weak, 3).astype(np.complex64)
    single = lf.solve(operator, source)
    assert single.solution.dtype == np.complex64 and single.true_residual < 1e-5
    double = lf.solve(operator, source, precision="f64")
    assert double.solution.dtype == np.complex128 and double.true_residual < 1e-10
    assert lf.solve(operator, source, method="mixed").solution.dtype == np.complex128
    again = lf.solve(operator, source.astype(np.complex128), precision="f32")
    assert np.array_equal(again.solution, single.solution)


def test_a_batch_has_the_bits_of_single_solves(weak, cpu):
    for name in ("wilson", "mobius", "staggered"):
        operator = lf.Operator(name, weak, device=cpu, **GIVEN)
        sources = np.stack([source_of(operator, seed) for seed in (3, 4)])
        batch = lf.solve(operator, sources, tol=1e-6)
        singles = [lf.solve(operator, source, tol=1e-6) for source in sources]
        assert np.array_equal(batch.solution, np.stack([single.solution for single in singles]))
        assert [rhs.history_sha256 for rhs in batch.rhs] == [single.history_sha256 for single in singles]
        assert batch.iterations == max(single.iterations for single in singles)
    with pytest.raises(ValueError, match="one right-hand side"):
        lf.solve(operator, sources, method="bicgstab")


def test_a_physical_source_goes_onto_the_walls(weak, cpu):
    mobius = lf.Operator("mobius", weak, device=cpu, ls=4, **GIVEN)
    source = lf.point(weak, (0, 0, 0, 2), spin=1, colour=2)
    solution = lf.solve(mobius, source).solution
    assert solution.shape == source.shape
    # The column of the propagator.
    propagator = lf.propagator(mobius, (0, 0, 0, 2))
    assert np.array_equal(propagator.solution[..., :, 1, :, 2], solution)
    assert len(propagator.rhs) == 12


def test_progress_is_told_in_order_before_the_solve_goes_on(weak, cpu):
    operator = lf.Operator("wilson", weak, device=cpu, **GIVEN)
    source, told = lf.gaussian(weak, 7), []
    result = lf.solve(operator, source, progress=lambda k, r: told.append((k, r)), every=4)
    assert [k for k, _ in told] == list(range(4, result.iterations + 1, 4))
    b = result.history[0]
    assert all(r == pytest.approx(np.sqrt(result.history[k] / b), rel=1e-12) for k, r in told)
    quiet = lf.solve(operator, source)
    assert quiet.history_sha256 == result.history_sha256


def test_what_progress_raises_ends_the_solve_there(weak, cpu):
    operator = lf.Operator("wilson", weak, device=cpu, **GIVEN)
    told = []

    def progress(iteration, _):
        told.append(iteration)
        if iteration == 6:
            raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        lf.solve(operator, lf.gaussian(weak, 7), progress=progress, every=3)
    assert told == [3, 6]
    with pytest.raises(TypeError):
        lf.solve(operator, lf.gaussian(weak, 7), progress=7, every=1)


def test_a_solve_that_does_not_converge_says_how_far_it_came(weak, cpu):
    operator = lf.Operator("wilson", weak, device=cpu, **GIVEN)
    with pytest.raises(lf.NotConverged, match="no convergence in 5 iterations") as caught:
        lf.solve(operator, lf.gaussian(weak, 7), max_iterations=5)
    assert caught.value.iterations == 5 and len(caught.value.history) == 6
    assert isinstance(caught.value, RuntimeError)


def test_wrong_arguments_are_told(weak, cpu):
    operator = lf.Operator("wilson", weak, device=cpu, **GIVEN)
    source = lf.gaussian(weak, 7)
    for keywords, match in [
        ({"method": "gmres"}, "unknown method 'gmres'"),
        ({"tol": 0}, "invalid tol"),
        ({"tol": float("nan")}, "invalid tol"),
        ({"max_iterations": 0}, "max_iterations 0"),
        ({"every": 0}, "every 0"),
        ({"precision": "half"}, "precision 'half'"),
        ({"method": "mixed", "precision": "f32"}, "f64"),
    ]:
        with pytest.raises(ValueError, match=match):
            lf.solve(operator, source, **keywords)
    with pytest.raises(ValueError, match="beyond f32"):
        lf.solve(operator, 1e300 * source, precision="f32")
    with pytest.raises(ValueError, match="does not act on spinors"):
        lf.propagator(lf.Operator("laplace", weak, device=cpu, **GIVEN))
    with pytest.raises(ValueError, match="even_odd=False"):
        lf.solve(lf.Operator("wilson", lf.Configuration.unit((3, 3, 3, 3)), device=cpu, **GIVEN), lf.gaussian("3.3.3.3", 1))
    source[0, 0, 0, 0, 0, 0] = np.nan
    with pytest.raises(ValueError, match=r"source\[0, 0, 0, 0, 0, 0\]"):
        lf.solve(operator, source)


def test_other_threads_of_python_run_meanwhile(quenched, cpu):
    operator = lf.Operator("wilson", quenched, mass=-0.4, device=cpu)
    source, beats, done = lf.gaussian(quenched, 7), [], threading.Event()

    def beat():
        while not done.is_set():
            beats.append(time.monotonic())
            time.sleep(0.01)

    thread = threading.Thread(target=beat)
    thread.start()
    start = time.monotonic()
    lf.solve(operator, source, tol=1e-8)
    end = time.monotonic()
    done.set()
    thread.join()
    assert sum(start < t < end for t in beats) > 5 * (end - start)


INTERRUPTED = """
import sys, lanefield as lf
configuration = lf.Configuration.read(sys.argv[1])
operator = lf.Operator("wilson", configuration, mass=-0.4, device="cpu")
source = lf.gaussian(configuration, 7)
try:
    # It takes thousands of iterations.
    print("begins", flush=True)
    lf.solve(operator, source, tol=1e-99, progress={progress})
except KeyboardInterrupt:
    # The process is as it was: what was ended can be begun anew.
    result = lf.solve(operator, source, tol=1e-2)
    print("interrupted, then", result.converged, flush=True)
"""


@pytest.mark.parametrize("progress", ["None", "lambda k, r: None"])
def test_ctrl_c_ends_a_solve_and_leaves_the_process_sound(progress):
    program = INTERRUPTED.format(progress=progress)
    process = subprocess.Popen([sys.executable, "-c", program, str(QUENCHED)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "begins\n"
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert out == "interrupted, then True\n" and process.returncode == 0
