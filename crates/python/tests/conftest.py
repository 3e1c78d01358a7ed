"""What all tests share: small lattices, solved on the CPU reference."""

from pathlib import Path

import lanefield as lf
import pytest

QUENCHED = Path(__file__).parents[3] / "examples" / "quenched-8x8x8x16.nersc"

# The parameter that every operator must be given.
GIVEN = {"mass": 0.3}

ON_COLOUR_VECTORS = [name for name, told in lf.operators().items() if "components" in told["parameters"]]


def operator_of(name, configuration, device, **keywords):
    """Any operator: 0.3 for each parameter that must be given."""
    needed = {key: 0.3 for key, told in lf.operators()[name]["parameters"].items() if told.get("default", "") is None}
    return lf.Operator(name, configuration, device=device, **{**needed, **keywords})


@pytest.fixture(scope="session")
def cpu():
    return lf.Device("cpu", threads=2)


@pytest.fixture(scope="session")
def hot():
    return lf.Configuration.hot((4, 6, 2, 8), 7)


@pytest.fixture(scope="session")
def weak():
    return lf.Configuration.weak((4, 4, 4, 8), 1)


@pytest.fixture(scope="session")
def quenched():
    return lf.Configuration.read(QUENCHED)


@pytest.fixture(scope="session")
def opencl():
    """An OpenCL device, where there is one."""
    if not lf.devices():
        pytest.skip("no OpenCL device")
    return lf.Device(0)


def source_of(operator, seed, **keywords):
    """A Gaussian source for any operator."""
    parameters = operator.parameters
    shape = {name: parameters[name] for name in ("ls", "components") if name in parameters}
    return lf.gaussian(operator.configuration, seed, **shape, **keywords)
