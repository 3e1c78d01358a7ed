"""Sums: exact, whatever the order of the numbers."""

import math
from fractions import Fraction

import lanefield as lf
import numpy as np
import pytest


def exact(numbers):
    return math.fsum(numbers.ravel())


@pytest.fixture(scope="module")
def fields():
    x, y = lf.gaussian((4, 6, 2, 8), 1), lf.gaussian((4, 6, 2, 8), 2)
    # Sums that lose all digits where they are taken one after the other.
    x[0] *= 1e12
    return x, y


def test_sums_are_exact(fields):
    x, _ = fields
    site = lf.sum_sites(x)
    assert site.shape == (4, 3)
    for spin in range(4):
        for colour in range(3):
            expected = complex(exact(x[..., spin, colour].real), exact(x[..., spin, colour].imag))
            assert site[spin, colour] == expected
    slices = lf.sum_slices(x, direction="y")
    assert slices.shape == (6, 4, 3)
    assert slices[5, 2, 1] == complex(exact(x[:, :, 5, :, 2, 1].real), exact(x[:, :, 5, :, 2, 1].imag))
    assert lf.sum_sites(x[..., 0, 0]) == site[0, 0]


def test_norms_are_sums_of_squares(fields):
    x, y = fields
    assert lf.norm2(y) == pytest.approx(np.vdot(y, y).real, rel=1e-14)
    assert lf.inner(y, y).real == lf.norm2(y)
    assert lf.inner(x, y) == pytest.approx(np.vdot(x, y), rel=1e-13)
    assert lf.norm2(y, parity="even") + lf.norm2(y, parity="odd") == pytest.approx(lf.norm2(y), rel=1e-15)
    single = y.astype(np.complex64)
    assert lf.norm2(single) == pytest.approx(lf.norm2(y), rel=1e-6)


def test_sums_have_the_same_bits_everywhere(fields, opencl):
    x, y = fields
    for device in (lf.Device("cpu", threads=1, lanes=16), lf.Device("cpu", threads=3, lanes=64), opencl):
        assert lf.norm2(x, device=device) == lf.norm2(x)
        assert lf.inner(x, y, device=device) == lf.inner(x, y)
        assert np.array_equal(lf.sum_slices(x, device=device), lf.sum_slices(x))


def test_the_terms_of_sites_are_chains_of_multiply_adds():
    """§8 of the arithmetic: the sum is exact over sites, and a site's term is rounded at each number."""
    x = lf.gaussian((4, 4, 4, 4), 3)
    terms = np.zeros((4, 4, 4, 4))
    for site in np.ndindex(4, 4, 4, 4):
        term = 0.0
        for z in x[site].ravel():
            for part in (z.real, z.imag):
                term = float(Fraction(part) ** 2 + Fraction(term))
        terms[site] = term
    assert lf.norm2(x) == exact(terms)
    # Squares of 2^-54 are lost next to 1 at one site, and are not at several.
    y = np.zeros((2, 2, 2, 2, 5), complex)
    y[0, 0, 0, 0] = [1, 2**-27, 2**-27, 2**-27, 2**-27]
    assert lf.norm2(y) == 1
    assert lf.norm2(y.reshape(5, 2, 2, 2, 2)) == 1 + 2**-52


@pytest.mark.parametrize("convention", ["lanefield", "pyquda", "gpt"])
def test_axes_before_the_lattice_stay(convention):
    lattice = lf.Configuration.unit((4, 6, 2, 8))
    ours = [lf.gaussian(lattice, seed) for seed in range(6)]
    theirs = np.stack([lf.gaussian(lattice, seed, convention=convention) for seed in range(6)])
    theirs = theirs.reshape(2, 3, *theirs.shape[1:])
    keywords = {"lattice": lattice, "convention": convention}
    norms = lf.norm2(theirs, **keywords)
    assert norms.shape == (2, 3) and norms.dtype == np.float64
    assert norms.ravel().tolist() == [lf.norm2(x) for x in ours]
    products = lf.inner(theirs, theirs[::-1].copy(), **keywords)
    assert products[1, 2] == lf.inner(ours[5], ours[2])
    odd = lf.sum_sites(theirs, parity="odd", **keywords)
    assert odd.shape == (2, 3, 4, 3) and np.array_equal(odd[1, 1], lf.sum_sites(ours[4], parity="odd"))
    slices = lf.sum_slices(theirs, direction="z", **keywords)
    assert slices.shape == (2, 3, 2, 4, 3) and np.array_equal(slices[1, 1], lf.sum_slices(ours[4], direction="z"))
    # One field of them is one, and it is no array.
    assert isinstance(lf.norm2(theirs[1, 0], **keywords), float) and lf.norm2(theirs[1, 0], **keywords) == lf.norm2(ours[3])
    if convention != "gpt":
        del keywords["lattice"]
    assert np.array_equal(lf.norm2(theirs, leading=2, **keywords), norms)


@pytest.mark.parametrize("convention", ["lanefield", "pyquda", "gpt"])
def test_five_dimensions_are_summed_over_where_that_is_asked_for(convention):
    lattice = lf.Configuration.weak((4, 6, 2, 8), 1)
    ours = [lf.gaussian(lattice, seed, ls=4) for seed in (1, 2)]
    several = np.stack([lf.gaussian(lattice, seed, ls=4, convention=convention) for seed in (1, 2)])
    keywords = {"lattice": lattice, "convention": convention, "ls": 4}
    norms = lf.norm2(several, **keywords)
    # Each site of the fifth dimension has a term of its own, as in the norm that a solve begins with.
    assert norms.tolist() == [lf.norm2(x.reshape(32, 2, 6, 4, 4, 3)) for x in ours]
    dwf = lf.Operator("dwf", lattice, mass=0.3, ls=4, device="cpu")
    result = lf.solve(dwf, ours[0], tolerance=0.5, even_odd=False)
    assert lf.norm2(dwf.apply(ours[0], dagger=True), lattice=lattice, ls=4) == result.history[0]
    assert lf.norm2(several[0], **keywords) == norms[0]
    assert lf.inner(several, several, parity="odd", **keywords)[1].real == lf.norm2(several, parity="odd", **keywords)[1]
    if convention != "gpt":
        del keywords["ls"]
        by_s = lf.norm2(several, **keywords)
        assert by_s.shape == (2, 4) and by_s[1].tolist() == [lf.norm2(s) for s in ours[1]]
    with pytest.raises(ValueError, match=r"the shape of x is"):
        lf.norm2(several, **{**keywords, "ls": 5})


def test_what_could_be_several_fields_is_refused():
    batch, five = np.zeros((12, 8, 4, 4, 4, 4, 3), complex), lf.gaussian((4, 4, 4, 4), 1, ls=4)
    for work in (lf.norm2, lf.sum_sites, lf.sum_slices, lambda x, **more: lf.inner(x, x, **more)):
        with pytest.raises(ValueError, match="which fits one field or several: give lattice="):
            work(batch)
        with pytest.raises(ValueError, match="several places: give leading=0 or leading=1"):
            work(five, lattice="4.4.4.4")
        assert np.array_equal(work(five, leading=1, lattice="4.4.4.4")[2], work(five[2]))
        with pytest.raises(ValueError, match="does not have the axes"):
            work(batch, lattice="8.4.4.4")
        with pytest.raises(ValueError, match=r"on a lattice 4.4.8.12, and lattice= is 4.4.4.8"):
            work(batch, lattice="4.4.4.8", leading=0)
        with pytest.raises(ValueError, match='axes of a lattice in convention="pyquda"'):
            work(batch[0], convention="pyquda")
        with pytest.raises(ValueError, match="give lattice="):
            work(batch[0], convention="gpt")
    # Links and propagators are one field.
    assert lf.norm2(lf.Configuration.unit("4.4.4.8").links) == 512 * 12
    assert lf.norm2(np.ones((8, 4, 4, 4, 4, 4, 3, 3), complex)) == 512 * 144
    with pytest.raises(ValueError):
        lf.norm2(np.zeros((2, 3, 2, 2, 2, 4, 3), complex), ls=2, parity="even")


def test_wrong_arguments_are_told(fields):
    x, y = fields
    with pytest.raises(ValueError, match="same shape and precision"):
        lf.inner(x, y[..., 0])
    with pytest.raises(ValueError, match="same shape and precision"):
        lf.inner(x, y.astype(np.complex64))
    with pytest.raises(ValueError, match=r"the shape of x is \(2, 2, 2\): it does not have the axes of a lattice"):
        lf.norm2(np.zeros((2, 2, 2), dtype=complex))
    with pytest.raises(ValueError, match="direction is 'w'"):
        lf.sum_slices(x, direction="w")
    with pytest.raises(ValueError):
        lf.norm2(np.zeros((3, 3, 3, 3), dtype=complex), parity="even")
