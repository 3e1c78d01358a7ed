"""The package as such: what it offers is what its types say; it works where there is no OpenCL."""

import ast
import copy
import inspect
import os
import pickle
import subprocess
import sys
from pathlib import Path

import lanefield as lf
import numpy as np
import pytest
from conftest import GIVEN

STUBS = Path(lf.__file__).parent / "__init__.pyi"


def offered(namespace):
    return {name for name in vars(namespace) if not name.startswith("_")}


def typed():
    """What the types tell: functions and classes by name."""
    tree = ast.parse(STUBS.read_text())
    return tree, {node.name: node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}


def members_of(node):
    return {part.name: part for part in node.body if isinstance(part, ast.FunctionDef)}


def test_types_and_module_offer_the_same():
    _, nodes = typed()
    assert set(nodes) == set(lf.__all__) - {"__version__"} == offered(lf)
    assert (STUBS.parent / "py.typed").is_file()
    for name, node in nodes.items():
        thing = getattr(lf, name)
        if isinstance(node, ast.FunctionDef):
            assert_same_parameters(node, thing)
        elif name not in ("NotConverged", "DeviceError"):
            members = members_of(node)
            assert {part for part in members if not part.startswith("_")} == offered(thing), name
            for part, of in members.items():
                if not part.startswith("_") and not of.decorator_list:
                    assert_same_parameters(of, getattr(thing, part))
        if name in ("Device", "Operator"):
            assert_same_parameters(members_of(node)["__new__"], thing, but=("cls",))


def test_help_says_what_the_types_say():
    tree, nodes = typed()
    assert inspect.getdoc(lf) == ast.get_docstring(tree)
    for name, node in nodes.items():
        thing = getattr(lf, name)
        assert inspect.getdoc(thing) == ast.get_docstring(node), name
        if isinstance(node, ast.ClassDef):
            public = {part: of for part, of in members_of(node).items() if not part.startswith("_")}
            for part, of in public.items():
                assert inspect.getdoc(getattr(thing, part)) == ast.get_docstring(of), f"{name}.{part}"


def test_types_are_those_of_the_module(tmp_path):
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy.stubtest", "lanefield"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


USER = """
import lanefield as lf
import numpy as np

extents = np.array([4, 4, 4, 8])
configuration = lf.Configuration.weak(extents, 1)
operator = lf.Operator("wilson", configuration, mass=0.1, boundary=(1, 1, 1, -1))
known: dict[lf.Configuration, str] = {configuration: configuration.sha256}
result = lf.solve(operator, lf.point(extents, extents - 1), physical=True, progress=lambda k, r: None)
psi: np.ndarray = operator.apply(result.solution, out=np.empty_like(result.solution))
lf.effective_masses(lf.correlator(lf.propagator(operator, solver="mixed-f32").solution).rho_components)
lf.compare([1.0, 2.0], [1, 2])
lf.golden_export("golden", kernels="hop")
"""


def test_types_are_of_use(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "user.py").write_text(USER)
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "user.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def assert_same_parameters(node, function, but=()):
    arguments = node.args
    rest = [arguments.kwarg.arg] if arguments.kwarg else []
    names = [a.arg for a in arguments.posonlyargs + arguments.args + arguments.kwonlyargs if a.arg not in but] + rest
    assert names == list(inspect.signature(function).parameters), node.name
    defaults = arguments.defaults + [default for default in arguments.kw_defaults if default is not None]
    found = [p.default for p in inspect.signature(function).parameters.values() if p.default is not p.empty]
    assert list(map(ast.literal_eval, defaults)) == found, node.name


def test_results_are_pickled_and_what_is_bound_to_a_device_is_not(weak, cpu):
    operator = lf.Operator("wilson", weak, device=cpu, **GIVEN)
    result = lf.solve(operator, np.stack([lf.gaussian(weak, 3), lf.point(weak)]))
    for again in (pickle.loads(pickle.dumps(result)), copy.copy(result), copy.deepcopy(result)):
        assert np.array_equal(again.solution, result.solution) and len(again.rhs) == 2
        for found, expected in zip(again.rhs, result.rhs):
            assert found.history_sha256 == expected.history_sha256 and found.iterations == expected.iterations
        assert again.true_residual == result.true_residual and again.converged
        assert (again.seconds, again.source_scale, again.unchecked) == (result.seconds, 0, None)
    for thing in (operator, cpu):
        for work in (pickle.dumps, copy.copy):
            with pytest.raises(TypeError, match="cannot pickle 'lanefield"):
                work(thing)


def test_things_say_what_they_are(weak, cpu):
    operator = lf.Operator("clover", weak, device=cpu, csw=1, csw_t=2, **GIVEN)
    assert "clover, mass 0.3, csw 1, csw_t 2" in repr(operator) and cpu.description in repr(operator)
    assert "4.4.4.8" in repr(weak) and cpu.description in repr(cpu)
    assert repr(lf.correlator(np.ones((8, 4, 4, 4, 4, 4, 3, 3), complex))) == "<lanefield.Correlators of 8 times>"


def test_the_example_needs_a_configuration_elsewhere(tmp_path):
    pytest.importorskip("matplotlib")
    example = Path(__file__).parents[1] / "examples" / "pion.py"
    copied = tmp_path / "pion.py"
    copied.write_text(example.read_text())
    done = subprocess.run([sys.executable, str(copied)], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr == "give a configuration: python pion.py CONFIGURATION [PICTURE.svg]\n"


WITHOUT = """
import lanefield as lf
assert lf.devices() == []
assert not lf.Device("auto").is_opencl
operator = lf.Operator("wilson", lf.Configuration.hot("4.4.4.4", 1), mass=0.5)
assert not operator.device.is_opencl and operator.device.is_bitwise
print(lf.solve(operator, lf.point("4.4.4.4")).converged)
"""


def test_it_works_without_opencl():
    environment = {name: value for name, value in os.environ.items() if name != "LANEFIELD_DEVICE"}
    environment["OCL_ICD_VENDORS"] = "/nonexistent"
    done = subprocess.run([sys.executable, "-c", WITHOUT], env=environment, capture_output=True, text=True)
    assert (done.stdout, done.stderr, done.returncode) == ("True\n", "", 0)


def test_the_device_is_that_of_the_environment():
    program = "import lanefield as lf; print(lf.Device().is_opencl)"
    environment = {**os.environ, "LANEFIELD_DEVICE": "cpu"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("False\n", "")
    environment["LANEFIELD_DEVICE"] = "no such device"
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert "ValueError" in done.stderr and done.returncode == 1


def test_devices_are_told(opencl):
    device = lf.devices()[0]
    assert device["index"] == 0 and device["name"] and device["kind"] in ("cpu", "gpu", "accelerator", "other")
    assert opencl.is_opencl and device["name"] in opencl.description
    assert not lf.Device("cpu").is_opencl


def test_wrong_devices_are_told():
    with pytest.raises(ValueError, match="no OpenCL device 77"):
        lf.Device(77)
    with pytest.raises(ValueError, match="threads '0'"):
        lf.Device("cpu", threads=0)
    with pytest.raises(ValueError, match="lane|width"):
        lf.Device("cpu", lanes=7)
    with pytest.raises(TypeError, match="choice is 1.5: expected a Device, a name, or a number"):
        lf.Device(1.5)
    with pytest.raises(ValueError, match="device is -1: expected a Device, a name, or a number"):
        lf.norm2(np.zeros((2, 2, 2, 2), complex), device=-1)
    with pytest.raises(ValueError, match="lanes is -1"):
        lf.Device("cpu", lanes=-1)


def test_processes_that_know_nothing_of_each_other_are_refused():
    program = "import lanefield; lanefield.Device('cpu')"
    run = lambda **variables: subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **variables}, capture_output=True, text=True
    )
    refused = run(SLURM_PROCID="3", SLURM_STEP_NUM_TASKS="8")
    assert "DeviceError: 8 processes were started (Slurm: SLURM_STEP_NUM_TASKS=8)" in refused.stderr
    assert run(SLURM_PROCID="0", SLURM_NTASKS="8").returncode == 0
