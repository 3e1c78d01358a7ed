"""Solves: every operator and solver, the published history, progress, Ctrl-C, failures."""

import signal
import subprocess
import sys
import threading
import time

import lanefield as lf
import numpy as np
import pytest
from conftest import GIVEN, ON_COLOUR_VECTORS, QUENCHED, operator_of, source_of

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
    result = lf.solve(operator, source, tolerance=1e-8, even_odd=even_odd)
    assert result.solution.shape == source.shape
    assert residual(operator, result.solution, source) < 1e-6


@pytest.mark.parametrize("solver", ["cg", "block-cg", "bicgstab", "mixed-f32", "mixed-half"])
def test_every_solver_gives_the_solution(solver, weak, cpu):
    operator = lf.Operator("clover", weak, device=cpu, csw=1.2, **GIVEN)
    source = lf.gaussian(weak, 3)
    result = lf.solve(operator, source, solver=solver)
    assert result.solution.dtype == np.complex128
    assert residual(operator, result.solution, source) < 1e-9


def test_the_precision_is_that_of_the_source_unless_said_otherwise(weak, cpu):
    operator = lf.Operator("wilson", weak, device=cpu, **GIVEN)
    source = lf.gaussian(weak, 3).astype(np.complex64)
    single = lf.solve(operator, source)
    assert single.solution.dtype == np.complex64 and single.true_residual < 1e-5
    double = lf.solve(operator, source, precision="f64")
    assert double.solution.dtype == np.complex128 and double.true_residual < 1e-10
    assert lf.solve(operator, source, solver="mixed-f32").solution.dtype == np.complex128
    again = lf.solve(operator, source.astype(np.complex128), precision="f32")
    assert np.array_equal(again.solution, single.solution)


def test_a_batch_has_the_bits_of_single_solves(weak, cpu):
    for name in ("wilson", "mobius", "staggered"):
        operator = lf.Operator(name, weak, device=cpu, **GIVEN)
        sources = np.stack([source_of(operator, seed) for seed in (3, 4)])
        batch = lf.solve(operator, sources, tolerance=1e-6)
        singles = [lf.solve(operator, source, tolerance=1e-6) for source in sources]
        assert np.array_equal(batch.solution, np.stack([single.solution for single in singles]))
        assert [rhs.history_sha256 for rhs in batch.rhs] == [single.history_sha256 for single in singles]
        assert batch.iterations == max(single.iterations for single in singles)
    block = lf.solve(operator, sources, tolerance=1e-8, solver="block-cg")
    assert np.allclose(block.solution, lf.solve(operator, sources, tolerance=1e-8).solution, atol=1e-6)
    for solver in ("bicgstab", "mixed-f32", "mixed-half"):
        with pytest.raises(ValueError, match=f"solver '{solver}' accepts one right-hand side, not 2: solve them one by one, or with 'cg'"):
            lf.solve(operator, sources, solver=solver)


@pytest.mark.parametrize("name", ["wilson", "clover", "mobius", "staggered", "hisq", "twisted-mass"])
@pytest.mark.parametrize("even_odd", [True, False])
@pytest.mark.parametrize(
    ("dtype", "scales"),
    [
        (np.complex128, (1, 1e-150, 1e-155, 1e-170, 1e-290, 1e150, 1e160, 1e290, 0)),
        (np.complex64, (1, 1e-18, 1e-24, 1e-30, 1e20, 1e30, 0)),
    ],
)
def test_each_column_of_a_batch_is_scaled_by_itself(name, even_odd, dtype, scales, weak, cpu):
    if name not in lf.operators():
        pytest.skip(f"no operator {name}")
    operator = operator_of(name, weak, cpu)
    source = source_of(operator, 3).astype(dtype)
    columns = [source * dtype(scale) for scale in scales]
    batch = lf.solve(operator, np.stack(columns), even_odd=even_odd)
    for k, (scale, column) in enumerate(zip(scales, columns)):
        alone = lf.solve(operator, column, even_odd=even_odd)
        assert np.array_equal(alone.solution, batch.solution[k]), scale
        assert alone.source_scale == batch.rhs[k].source_scale
        assert alone.history_sha256 == batch.rhs[k].history_sha256
        if scale == 0:
            assert (batch.rhs[k].iterations, batch.rhs[k].true_residual) == (0, 0) and not batch.solution[k].any()
        else:
            usual = 2.0 ** -np.floor(np.log2(scale))
            times = lambda array: array.astype(np.complex128) * 2.0 ** (np.log2(usual) / 2) * 2.0 ** (np.log2(usual) / 2)
            assert residual(operator, times(batch.solution[k]), times(column)) < (1e-4 if dtype == np.complex64 else 1e-8)


@pytest.mark.parametrize("solver", ["cg", "bicgstab", "mixed-f32", "mixed-half"])
def test_every_solver_solves_sources_of_any_scale(solver, weak, cpu):
    operator = lf.Operator("wilson", weak, device=cpu, **GIVEN)
    source = lf.gaussian(weak, 3)
    usual = lf.solve(operator, source, solver=solver)
    for power in (-515, -940, 530, 900):
        found = lf.solve(operator, source * 2.0**power, solver=solver)
        assert np.array_equal(found.solution, usual.solution * 2.0**power) and found.source_scale != 0


def test_a_solution_that_its_precision_cannot_hold_is_refused(weak, cpu):
    operator = lf.Operator("wilson", weak, device=cpu, **GIVEN)
    with pytest.raises(ValueError, match="the solution of right-hand side 1 has numbers such as .*, which f64 cannot hold"):
        lf.solve(operator, np.stack([lf.gaussian(weak, 3), lf.point(weak) * 5e-324]))
    # Subnormal numbers that have digits enough.
    found = lf.solve(operator, np.stack([lf.gaussian(weak, 3), lf.gaussian(weak, 3) * 1e-310]))
    assert np.array_equal(found.solution[1], lf.solve(operator, lf.gaussian(weak, 3) * 1e-310).solution)
    assert 0 < found.rhs[1].true_residual < 1e-9


def test_a_system_whose_right_hand_side_underflows_is_an_error(weak, cpu):
    operator = lf.Operator("staggered", weak, mass=1e-200, device=cpu)
    source = np.zeros_like(lf.gaussian(weak, 3, components=1))
    source[0, 0, 0, 1] = 1
    with pytest.raises((ValueError, lf.NotConverged), match="is so small that .* would underflow"):
        lf.solve(operator, source)


def test_a_physical_source_goes_onto_the_walls(weak, cpu):
    mobius = lf.Operator("mobius", weak, device=cpu, ls=4, **GIVEN)
    source = lf.point(weak, (0, 0, 0, 2), spin=1, colour=2)
    solution = lf.solve(mobius, source).solution
    assert solution.shape == source.shape
    # The column of the propagator.
    propagator = lf.propagator(mobius, (0, 0, 0, 2))
    assert np.array_equal(propagator.solution[..., :, 1, :, 2], solution)
    assert len(propagator.rhs) == 12
    # As many as ls: one source in five dimensions, unless it is said what they are.
    several = np.stack([source, 2 * source, lf.gaussian(weak, 3), lf.point(weak)])
    assert len(lf.solve(mobius, several).rhs) == len(lf.solve(mobius, several, physical=False).rhs) == 1
    physical = lf.solve(mobius, several, physical=True)
    assert len(physical.rhs) == 4 and np.array_equal(physical.solution[0], solution)
    assert physical.rhs[0].history_sha256 == propagator.rhs[5].history_sha256
    assert np.array_equal(lf.solve(mobius, several[:3], physical=True).solution, physical.solution[:3])
    single = lf.solve(mobius, several[:3].astype(np.complex64), physical=True)
    assert np.abs(single.solution - physical.solution[:3]).max() < 1e-4
    with pytest.raises(ValueError, match="physical=True"):
        lf.solve(mobius, several[:3])
    with pytest.raises(ValueError, match=r"acts on \(4, 8, 4, 4, 4, 4, 3\), or on several"):
        lf.solve(mobius, several[:3], physical=False)
    with pytest.raises(ValueError, match="acts on physical spinors"):
        lf.solve(mobius, lf.gaussian(weak, 1, ls=3)[None], physical=True)
    # Others act on nothing else.
    wilson = lf.Operator("wilson", weak, device=cpu, **GIVEN)
    assert np.array_equal(lf.solve(wilson, several, physical=True).solution, lf.solve(wilson, several).solution)


@pytest.mark.parametrize("name, solver", [("wilson", "bicgstab"), ("wilson", "mixed-f32"), ("wilson", "mixed-half"), ("mobius", "mixed-f32")])
def test_propagators_are_solved_by_every_solver(name, solver, weak, cpu):
    operator = lf.Operator(name, weak, device=cpu, **GIVEN)
    expected, told = lf.propagator(operator, (0, 1, 2, 5)), []
    found = lf.propagator(operator, (0, 1, 2, 5), solver=solver, every=1, progress=lambda k, r: told.append(k))
    assert np.abs(found.solution - expected.solution).max() < 1e-8
    assert len(found.rhs) == 12 and told.count(1) == 12
    single = lf.solve(operator, lf.point(weak, (0, 1, 2, 5), spin=2, colour=1), solver=solver)
    assert np.array_equal(found.solution[..., :, 2, :, 1], single.solution)
    assert found.rhs[7].history_sha256 == single.history_sha256
    theirs = lf.propagator(operator, (0, 1, 2, 5), solver=solver, convention="gpt").solution
    assert np.array_equal(theirs, found.solution.reshape(theirs.shape))


def test_a_propagator_is_put_together_as_the_documentation_says(weak, cpu):
    operator = lf.Operator("wilson", weak, device=cpu, **GIVEN)
    sources = np.stack([lf.point(weak, (0, 0, 0, 2), spin, colour) for spin in range(4) for colour in range(3)])
    columns = lf.solve(operator, sources).solution.reshape(4, 3, 8, 4, 4, 4, 4, 3)
    propagator = np.ascontiguousarray(np.moveaxis(columns, (0, 1), (-3, -1)))
    assert np.array_equal(propagator, lf.propagator(operator, (0, 0, 0, 2)).solution)


def test_the_conjugate_is_solved_by_hermiticity_in_gamma_5(weak, cpu):
    operator = lf.Operator("wilson", weak, device=cpu, **GIVEN)
    gamma5 = np.array([1, 1, -1, -1])[:, None]
    eta = lf.gaussian(weak, 3)
    psi = gamma5 * lf.solve(operator, gamma5 * eta).solution
    assert np.linalg.norm(eta - operator.apply(psi, dagger=True)) < 1e-8 * np.linalg.norm(eta)


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


def test_a_solve_that_does_not_converge_says_how_far_it_came(weak, cpu):
    operator = lf.Operator("wilson", weak, device=cpu, **GIVEN)
    with pytest.raises(lf.NotConverged, match="no convergence in 5 iterations") as caught:
        lf.solve(operator, lf.gaussian(weak, 7), max_iterations=5)
    assert caught.value.iterations == 5 and len(caught.value.history) == 6
    assert isinstance(caught.value, RuntimeError)
    with pytest.raises(lf.NotConverged, match="use a larger tolerance$"):
        lf.solve(operator, lf.gaussian(weak, 7), tolerance=1e-17)
    with pytest.raises(lf.NotConverged, match="use a larger tolerance, or f64"):
        lf.solve(operator, lf.gaussian(weak, 7), tolerance=1e-12, precision="f32")


def test_a_source_that_is_written_to_is_told(weak, cpu):
    operator = lf.Operator("wilson", weak, device=cpu, **GIVEN)
    source = lf.gaussian(weak, 7)

    def progress(_iteration, _residual):
        source[0, 0, 0, 0, 0, 0] = 1

    with pytest.raises(RuntimeError, match="source changed during the solve: the program wrote to its array, or memory lost bits"):
        lf.solve(operator, source, progress=progress, every=1)


def test_a_solution_is_within_ten_times_the_tolerance(weak, cpu):
    operator = lf.Operator("wilson", weak, device=cpu, **GIVEN)
    for tolerance in (1e-3, 1e-8, 1e-15):
        result = lf.solve(operator, lf.gaussian(weak, 7), tolerance=tolerance)
        assert result.converged and result.true_residual <= 10 * tolerance


def test_wrong_arguments_are_told(weak, cpu):
    operator = lf.Operator("wilson", weak, device=cpu, **GIVEN)
    source = lf.gaussian(weak, 7)
    for keywords, match in [
        ({"solver": "gmres"}, "solver is 'gmres': expected 'cg' or"),
        ({"solver": "mixed"}, "solver is 'mixed': expected .* or 'mixed-f32' or 'mixed-half'"),
        ({"tolerance": 0}, "tolerance is 0.0: expected a number from 1e-100"),
        ({"tolerance": float("nan")}, "tolerance is NaN"),
        ({"max_iterations": 0}, "max_iterations is 0"),
        ({"max_iterations": -1}, "max_iterations is -1"),
        ({"every": 0}, "every is 0"),
        ({"every": -5}, "every is -5"),
        ({"precision": "half"}, "precision is 'half'"),
        ({"solver": "mixed-f32", "precision": "f32"}, "f64"),
    ]:
        with pytest.raises(ValueError, match=match):
            lf.solve(operator, source, **keywords)
    for keywords, match in [
        ({"progress": 7}, "progress is 7: expected a function"),
        ({"tolerance": "small"}, "tolerance is 'small': expected a number"),
        ({"even_odd": 1}, "even_odd is 1: expected True or False"),
        ({"physical": "yes"}, "physical is 'yes': expected True or False"),
    ]:
        with pytest.raises(TypeError, match=match):
            lf.solve(operator, source, **keywords)
    with pytest.raises(TypeError, match="operator is <lanefield.Configuration.*expected a lanefield.Operator"):
        lf.solve(weak, source)
    with pytest.raises(ValueError, match="beyond f32"):
        lf.solve(operator, 1e300 * source, precision="f32")
    for name in ON_COLOUR_VECTORS:
        with pytest.raises(ValueError, match="does not act on spinors"):
            lf.propagator(lf.Operator(name, weak, device=cpu, **GIVEN))
    with pytest.raises(ValueError, match="even_odd=False"):
        lf.solve(lf.Operator("wilson", lf.Configuration.unit((3, 3, 3, 3)), device=cpu, **GIVEN), lf.gaussian("3.3.3.3", 1))
    source[0, 0, 0, 0, 0, 0] = np.nan
    with pytest.raises(ValueError, match=r"source\[0, 0, 0, 0, 0, 0\]"):
        lf.solve(operator, source)


def test_deprecated_names_of_keywords_are_accepted_with_a_warning(weak, cpu):
    operator = lf.Operator("wilson", weak, device=cpu, **GIVEN)
    for work, source in [(lf.solve, lf.gaussian(weak, 7)), (lf.propagator, (0, 1, 2, 3))]:
        for old, new in [({"tol": 1e-3}, {"tolerance": 1e-3}), ({"method": "mixed"}, {"solver": "mixed-f32"}), ({"method": "cg"}, {})]:
            name = next(iter(old))
            with pytest.warns(DeprecationWarning, match=f"the keyword {name} is deprecated: use {'tolerance' if name == 'tol' else 'solver'}"):
                found = work(operator, source, **old)
            assert found.history_sha256 == work(operator, source, **new).history_sha256
        for both in ({"tol": 1e-3, "tolerance": 1e-3}, {"method": "cg", "solver": "bicgstab"}):
            with pytest.raises(ValueError, match="are two names of one argument"):
                work(operator, source, **both)


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
    lf.solve(operator, source, tolerance=1e-8)
    end = time.monotonic()
    done.set()
    thread.join()
    assert sum(start < t < end for t in beats) > 5 * (end - start)


INTERRUPTED = """
import lanefield as lf
configuration = lf.Configuration.weak((16, 16, 16, 32), 1)
operator = lf.Operator("wilson", configuration, mass=0.1, device="cpu")
source = lf.gaussian(configuration, 7)
try:
    # Hundreds of iterations, each of them tens of milliseconds.
    print("begins", flush=True)
    lf.solve(operator, source, tolerance=1e-99, progress={progress})
except KeyboardInterrupt:
    # The process is as it was: what was ended can be begun anew.
    result = lf.solve(operator, source, tolerance=1e-2)
    print("interrupted, then", result.converged, flush=True)
"""


@pytest.mark.parametrize("progress", ["None", "lambda k, r: None"])
def test_ctrl_c_ends_a_solve_and_leaves_the_process_sound(progress):
    program = INTERRUPTED.format(progress=progress)
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "begins\n"
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert out == "interrupted, then True\n" and process.returncode == 0


ENDED = """
import os, signal, sys, threading
import lanefield as lf
lf.norm2(lf.point("2.2.2.2"))
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    {work}
except KeyboardInterrupt:
    print("interrupted", os.listdir(sys.argv[1]))
"""


@pytest.mark.parametrize(
    "work",
    ["lf.golden_export(sys.argv[1] + '/golden')", "lf.Configuration.hot((32, 32, 32, 64), 1)", "lf.gaussian('32.32.32.64', 1, ls=4)"],
)
def test_ctrl_c_ends_what_takes_long(work, tmp_path):
    command = [sys.executable, "-c", ENDED.format(work=work), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.stdout == "interrupted []\n" and done.returncode == 0, done.stderr
