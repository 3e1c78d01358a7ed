"""Sources: points, and Gaussian numbers that depend on seed, site and component alone."""

import lanefield as lf
import numpy as np
import pytest


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
    wall = lf.propagator(operator, "wall:1", tol=1e-12).solution
    points = [lf.propagator(operator, (x, y, z, 1), tol=1e-12).solution for x in (0, 1) for y in (0, 1) for z in (0, 1)]
    assert np.allclose(wall, sum(points), atol=1e-10)
    with pytest.raises(ValueError, match="no time slice"):
        lf.propagator(operator, "z2:1")
