"""Sources: points, and Gaussian numbers that depend on seed, site and component alone."""

import hashlib

import lanefield as lf
import numpy as np
import pytest
from conftest import GIVEN


def test_a_point_is_one_at_its_place_alone():
    source = lf.point((4, 6, 2, 8), (1, 5, 0, 7), spin=3, colour=2)
    assert source.shape == (8, 2, 6, 4, 4, 3)
    assert source[7, 0, 5, 1, 3, 2] == 1 and np.count_nonzero(source) == 1


def test_gaussian_numbers_have_variance_one():
    source = lf.gaussian("8.8.8.8", 5)
    reals = source.view(np.float64)
    assert abs(reals.mean()) < 0.01 and abs(reals.var() - 1) < 0.01
    assert np.array_equal(source, lf.gaussian(lf.Configuration.unit("8.8.8.8"), 5))
    assert not np.array_equal(source, lf.gaussian("8.8.8.8", 6))


def test_wrong_places_are_told():
    for arguments, keywords, match in [
        (((0, 0, 0, 8),), {}, "t = 8"),
        (((0, 0, 0, 0), 4), {}, "spin 4"),
        (((0, 0, 0, 0), 0, 3), {}, "colour 3"),
        (((0, 0, 0, 0), 1), {"components": 1}, "outside 0 to 0"),
    ]:
        with pytest.raises(ValueError, match=match):
            lf.point((4, 6, 2, 8), *arguments, **keywords)
    with pytest.raises(ValueError, match="one of them"):
        lf.gaussian("4.4.4.4", 1, ls=4, components=2)
    with pytest.raises(ValueError, match="ls is 0"):
        lf.gaussian("4.4.4.4", 1, ls=0)
    for position in [(0, 0, 0, -1), (0, 0, 0)]:
        with pytest.raises(ValueError, match=r"position is \(0, 0, 0"):
            lf.point((4, 6, 2, 8), position)
    with pytest.raises(TypeError, match="position is 3: expected coordinates"):
        lf.point((4, 6, 2, 8), 3)
    with pytest.raises(TypeError, match="seed is 1.5: expected a whole number"):
        lf.gaussian("4.4.4.4", 1.5)


def test_positions_and_extents_may_be_arrays():
    assert np.array_equal(lf.point(np.array([4, 6, 2, 8]), np.array([1, 5, 0, 7])), lf.point("4.6.2.8", (1, 5, 0, 7)))
    assert np.array_equal(lf.gaussian(np.array([4, 6, 2, 8]), np.int64(3)), lf.gaussian("4.6.2.8", 3))


def test_sources_by_name_are_those_of_the_functions():
    lattice = (4, 4, 4, 4)
    assert np.array_equal(lf.source(lattice, "gauss:7"), lf.gaussian(lattice, 7))
    assert np.array_equal(lf.source(lattice, "point:1,2,3,0,2,1"), lf.point(lattice, (1, 2, 3, 0), 2, 1))
    wave = lf.source(lattice, "momentum:1,0,0,2,0,0")
    assert np.array_equal(wave[2, 0, 0, :, 0, 0], [1, 1j, -1, -1j]) and np.count_nonzero(wave) == 64
    assert set(lf.source(lattice, "z2:3,1")[1].ravel()) == {1, -1}
    with pytest.raises(ValueError, match="twelve fields"):
        lf.source(lattice, "wall:0")
    with pytest.raises(ValueError, match="t = 4 of the wall source"):
        lf.source(lattice, "wall:4,0,0")


def test_a_propagator_from_a_wall_is_the_sum_of_those_from_its_points():
    operator = lf.Operator("wilson", lf.Configuration.weak((2, 2, 2, 4), 1, 0.3), mass=0.5)
    wall = lf.propagator(operator, "wall:1", tolerance=1e-12).solution
    points = [lf.propagator(operator, (x, y, z, 1), tolerance=1e-12).solution for x in (0, 1) for y in (0, 1) for z in (0, 1)]
    assert np.allclose(wall, sum(points), atol=1e-10)
    with pytest.raises(ValueError, match="no time slice"):
        lf.propagator(operator, "z2:1")


# The pion of `lanefield spectrum measure` below.
PION = [
    4.563780701183119,
    0.9052313493012621,
    0.4355168308229187,
    0.2519785609368092,
    0.20332864270759254,
    0.25361025676041354,
    0.4367370496257365,
    0.901625960104627,
]


def columns_of(lattice, name, **keywords):
    """The twelve columns of a source that has a spin and a colour at the end of its name."""
    spins_and_colours = [(spin, colour) for spin in range(4) for colour in range(3)]
    return np.stack([lf.source(lattice, f"{name},{spin},{colour}", **keywords) for spin, colour in spins_and_colours])


@pytest.mark.parametrize("convention", ["lanefield", "pyquda", "gpt"])
def test_a_propagator_from_an_array_is_that_from_the_name_of_its_columns(convention):
    wave, order = "momentum:1,0,0,1", {"convention": convention}
    operator = lf.Operator("wilson", lf.Configuration.weak((2, 4, 2, 4), 1, 0.3), **GIVEN)
    expected = lf.propagator(operator, wave, **order)
    columns = columns_of(operator.configuration, wave, **order)
    spins = columns.reshape(4, 3, *columns.shape[1:])
    for source in (columns, list(columns), np.moveaxis(spins, (0, 1), (-3, -1)), columns.astype(np.complex64)):
        found = lf.propagator(operator, source, **order)
        assert np.array_equal(found.solution, expected.solution)
        assert found.relative_errors == expected.relative_errors
    for power in (-940, 900):
        scaled = lf.propagator(operator, columns * 2.0**power, **order)
        assert np.array_equal(scaled.solution, expected.solution * 2.0**power)
        assert scaled.relative_errors == expected.relative_errors
    # Those of several time slices have no time from which errors count.
    assert lf.propagator(operator, columns + columns_of(operator.configuration, "wall:2", **order), **order).relative_errors == []


def test_smeared_propagators_have_the_bytes_of_the_program(weak, cpu):
    # lanefield config generate weak --lattice 4.4.4.8 --seed 1 --output weak.npy
    # lanefield propagator --config weak.npy --operator wilson --mass 0.3 --source z2:7,1 --smear-source 0.25,2
    #     --smear-links spatial-ape:0.5,2 --output p.npy
    wilson, links = lf.Operator("wilson", weak, device=cpu, **GIVEN), "spatial-ape:0.5,2"
    found = lf.propagator(wilson, "z2:7,1", smear_source=(0.25, 2), smear_links=links)
    assert hashlib.sha256(found.solution.tobytes()).hexdigest() == "6ff2db1a9195181cbd5e334625f0a00d716876165c50941c666c5294d30fbfd1"
    # lanefield spectrum measure weak.npy … --smear-sink 0.25,3 --hadrons pion --output s.json
    smeared = lf.propagator(wilson, "z2:7,1", smear_source="0.25,2", smear_sink=(0.25, 3), smear_links=links)
    assert lf.correlator(smeared.solution, origin_time=1).pion.tolist() == PION
    # The smearing of twelve columns, and of links that are the operator's.
    by_hand = lf.propagator(wilson, columns_of(weak, "wall:1"), smear_source=(0.25, 2), smear_links=weak)
    by_name = lf.propagator(wilson, "wall:1", smear_source=(0.25, 2))
    assert np.array_equal(by_hand.solution, by_name.solution)
    single = lf.propagator(wilson, precision="f32", smear_sink=(0.25, 1), solver="bicgstab")
    assert single.solution.dtype == np.complex128


def test_sources_and_smearings_that_are_none_are_told(weak, cpu):
    wilson = lf.Operator("wilson", weak, device=cpu, **GIVEN)

    def refused(match, source=(0, 0, 0, 0), error=ValueError, **keywords):
        with pytest.raises(error, match=match):
            lf.propagator(wilson, source, **keywords)

    refused(r"the shape of source is \(8, 4, 4, 4, 4, 3\): expected twelve columns on 4.4.4.8", lf.point(weak))
    refused("source is zero everywhere", np.zeros((12, 8, 4, 4, 4, 4, 3), complex))
    refused(r"source\[0, 0, 0, 0, 0, 0, 0\] is .*: expected finite numbers", np.full((12, 8, 4, 4, 4, 4, 3), np.nan + 0j))
    refused("source is 3: expected coordinates", 3, TypeError)
    refused("read a file with lanefield.read_array", __file__)
    refused("smear_links needs smear_source or smear_sink", smear_links="stout:0.1,2")
    refused("smear_source is 3: expected", smear_source=3, error=TypeError)
    refused("smear_source is .*: expected an alpha", smear_source=(-1 / 6, 2))
    refused("smear_sink: invalid smearing '0.25': expected ALPHA,STEPS", smear_sink="0.25")
    refused("smear_links: ", smear_source=(0.25, 1), smear_links="jump:1")
    refused("smear_links are on 2.2.2.2, and the operator is on 4.4.4.8", smear_sink=(0.25, 1), smear_links=lf.Configuration.unit("2.2.2.2"))
