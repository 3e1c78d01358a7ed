"""The package as such: what it offers is what its types say; it works where there is no OpenCL."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import lanefield as lf
import pytest

STUBS = Path(lf.__file__).parent / "__init__.pyi"


def offered(namespace):
    return {name for name in vars(namespace) if not name.startswith("_")}


def test_types_and_module_offer_the_same():
    tree = ast.parse(STUBS.read_text())
    typed = {node.name: node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    # The module of the extension itself is in the package.
    assert set(typed) == offered(lf) - {"lanefield"}
    assert (STUBS.parent / "py.typed").is_file()
    for name, node in typed.items():
        thing = getattr(lf, name)
        assert thing.__doc__ and ast.get_docstring(node), name
        if isinstance(node, ast.FunctionDef):
            assert_same_parameters(node, thing)
        elif name not in ("NotConverged", "DeviceError"):
            members = {part.name: part for part in node.body if isinstance(part, ast.FunctionDef)}
            assert {part for part in members if not part.startswith("_")} == offered(thing), name
            for part, of in members.items():
                if not part.startswith("_") and not of.decorator_list:
                    assert_same_parameters(of, getattr(thing, part))


def assert_same_parameters(node, function):
    import inspect

    arguments = node.args
    typed = [a.arg for a in arguments.posonlyargs + arguments.args + arguments.kwonlyargs]
    assert typed == list(inspect.signature(function).parameters), node.name
    defaults = arguments.defaults + [default for default in arguments.kw_defaults if default is not None]
    found = [p.default for p in inspect.signature(function).parameters.values() if p.default is not p.empty]
    # A default that is no word or number is told as "...".
    pairs = zip(map(ast.literal_eval, defaults), found, strict=True)
    assert all(theirs is ... or ours == theirs for ours, theirs in pairs), node.name


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
    with pytest.raises(ValueError, match="Device, a name or a number"):
        lf.Device(1.5)
