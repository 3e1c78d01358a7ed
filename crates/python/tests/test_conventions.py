"""Arrays of PyQUDA and gpt: there and back, and the same physics."""

import lanefield as lf
import numpy as np
import pytest
from conftest import GIVEN, ON_COLOUR_VECTORS, operator_of, source_of

CONVENTIONS = ["pyquda", "gpt"]


def even_odd(ours):
    """(T, Z, Y, X, …) as PyQUDA has it, site by site."""
    t, z, y, x = ours.shape[:4]
    theirs = np.empty((2, t, z, y, x // 2, *ours.shape[4:]), ours.dtype)
    for k in np.ndindex(t, z, y, x):
        theirs[(sum(k) % 2, *k[:3], k[3] // 2)] = ours[k]
    return theirs


def theirs_of(convention, ours):
    return even_odd(ours) if convention == "pyquda" else ours.reshape(-1, *ours.shape[4:])


def five_of(convention, ours):
    """(Ls, T, Z, Y, X, 4, 3) as they have it: gpt with s fastest, as Grid's lattices of five dimensions."""
    if convention == "pyquda":
        return np.stack([even_odd(s) for s in ours])
    return np.moveaxis(ours, 0, 4).reshape(-1, 4, 3)


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_links_have_the_direction_first_and_come_back(convention, hot):
    theirs = hot.array(convention=convention)
    for mu in range(4):
        assert np.array_equal(theirs[mu], theirs_of(convention, hot.links[..., mu, :, :]))
    again = lf.Configuration.from_array(theirs, convention=convention, lattice=hot.extents)
    assert again == hot
    if convention == "pyquda":
        assert lf.Configuration.from_array(theirs, convention=convention) == hot
    else:
        with pytest.raises(ValueError, match="give lattice"):
            lf.Configuration.from_array(theirs, convention=convention)


@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize("name", list(lf.operators()))
def test_operators_take_and_give_arrays_of_a_convention(convention, name, hot, cpu):
    m = operator_of(name, hot, cpu)
    ours, theirs = source_of(m, 3), source_of(m, 3, convention=convention)
    if "components" in m.parameters:
        ours = ours[..., 0, :]
    of = five_of if "ls" in m.parameters else theirs_of
    expected = lambda a: of(convention, a)  # noqa: E731
    assert np.array_equal(theirs, expected(ours))
    assert np.array_equal(m.apply(theirs, convention=convention), expected(m.apply(ours)))
    solved = lf.solve(m, theirs, tolerance=1e-5, convention=convention).solution
    assert np.array_equal(solved, expected(lf.solve(m, ours, tolerance=1e-5).solution))
    several = np.stack([theirs, 2 * theirs])
    assert np.array_equal(m.apply(several, convention=convention)[1], 2 * expected(m.apply(ours)))


@pytest.mark.parametrize("convention", ["lanefield", *CONVENTIONS])
@pytest.mark.parametrize("name", ON_COLOUR_VECTORS)
def test_one_colour_vector_may_have_an_axis_or_none(convention, name, hot, cpu):
    m = operator_of(name, hot, cpu)
    chi = source_of(m, 3, convention=convention)
    short = chi.reshape(*chi.shape[: -2 if convention == "lanefield" else -1], 3)
    long = short[..., None, :]
    for several in (False, True):
        a, b = (np.stack([short, 2 * short]), np.stack([long, 2 * long])) if several else (short, long)
        assert np.array_equal(m.apply(a, convention=convention), m.apply(b, convention=convention)[..., 0, :])
        x, y = (lf.solve(m, c, tolerance=1e-5, convention=convention).solution for c in (a, b))
        assert x.shape == a.shape and y.shape == b.shape and np.array_equal(x, y[..., 0, :])


@pytest.mark.parametrize("convention", ["lanefield", *CONVENTIONS])
def test_physical_sources_go_onto_the_walls_in_any_convention(convention, hot, cpu):
    m = lf.Operator("dwf", hot, device=cpu, ls=4, **GIVEN)
    ours = [lf.gaussian(hot, seed) for seed in (3, 4, 5, 6)]
    expected = [lf.solve(m, source, tolerance=1e-5).solution for source in ours]
    given = [lf.gaussian(hot, seed, convention=convention) for seed in (3, 4, 5, 6)]
    keywords = {"tolerance": 1e-5, "convention": convention, "physical": True}
    back = (lambda a: a) if convention == "lanefield" else (lambda a: theirs_of(convention, a))
    assert np.array_equal(lf.solve(m, given[0], **keywords).solution, back(expected[0]))
    # As many as ls are four physical ones all the same.
    several = lf.solve(m, np.stack(given), **keywords)
    assert len(several.rhs) == 4 and np.array_equal(several.solution, np.stack([back(one) for one in expected]))


def test_lists_of_links_and_of_numbers_are_arrays(hot, cpu):
    for convention in CONVENTIONS:
        links = list(hot.array(convention=convention))
        assert lf.Configuration.from_array(links, convention=convention, lattice=hot) == hot
    m = lf.Operator("wilson", hot, device=cpu, **GIVEN)
    psi = lf.gaussian(hot, 3)
    assert np.array_equal(m.apply(psi.tolist()), m.apply(psi))
    assert np.array_equal(m.apply([psi, psi])[1], m.apply(psi))


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_the_pion_is_the_same_through_either_convention(convention, weak, cpu):
    wilson = lf.Operator("wilson", weak, device=cpu, **GIVEN)
    ours = lf.correlator(lf.propagator(wilson, (1, 2, 3, 5)).solution, origin_time=5)
    # The whole way in the other convention, one solve for each spin and colour.
    links = weak.array(convention=convention)
    configuration = lf.Configuration.from_array(links, convention=convention, lattice=weak.extents)
    wilson = lf.Operator("wilson", configuration, device=cpu, **GIVEN)
    propagator = lf.propagator(wilson, (1, 2, 3, 5), convention=convention).solution
    for spin in range(4):
        for colour in range(3):
            source = lf.point(weak, (1, 2, 3, 5), spin, colour, convention=convention)
            solution = lf.solve(wilson, source, convention=convention).solution
            assert np.array_equal(propagator[..., :, spin, :, colour], solution)
    theirs = lf.correlator(propagator, origin_time=5, convention=convention, lattice=weak.extents)
    assert np.array_equal(theirs.pion, ours.pion) and np.array_equal(theirs.rho, ours.rho)
    # Σ |S|² over the sites of a time slice, of their array alone.
    if convention == "pyquda":
        by_hand = (np.abs(propagator) ** 2).sum(axis=(0, 2, 3, 4, 5, 6, 7, 8))
    else:
        by_hand = (np.abs(propagator.reshape(8, -1)) ** 2).sum(axis=1)
    assert np.allclose(np.roll(by_hand, -5), ours.pion, rtol=1e-12)


def test_wrong_conventions_and_shapes_are_told(hot, cpu):
    m = lf.Operator("wilson", hot, device=cpu, **GIVEN)
    psi = lf.gaussian(hot, 3)
    with pytest.raises(ValueError, match="convention is 'milc': expected 'lanefield' or 'pyquda' or 'gpt'"):
        m.apply(psi, convention="milc")
    for convention, shape in [("pyquda", r"\(2, 8, 2, 6, 2, 4, 3\)"), ("gpt", r"\(384, 4, 3\)")]:
        with pytest.raises(ValueError, match=rf'fits convention="lanefield".*{shape}'):
            m.apply(psi, convention=convention)
        with pytest.raises(ValueError, match=rf'\(it fits convention="{convention}"\)'):
            m.apply(lf.gaussian(hot, 3, convention=convention))
    with pytest.raises(ValueError, match="X is 3"):
        lf.gaussian((3, 4, 4, 4), 1, convention="pyquda")
