"""Sums: exact, whatever the order of the numbers."""

import math

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


def test_wrong_arguments_are_told(fields):
    x, y = fields
    with pytest.raises(ValueError, match="same shape and precision"):
        lf.inner(x, y[..., 0])
    with pytest.raises(ValueError, match="same shape and precision"):
        lf.inner(x, y.astype(np.complex64))
    with pytest.raises(ValueError, match="T, Z, Y, X"):
        lf.norm2(np.zeros((2, 2, 2), dtype=complex))
    with pytest.raises(ValueError, match="'w'|\"w\"|w"):
        lf.sum_slices(x, direction="w")
    with pytest.raises(ValueError):
        lf.norm2(np.zeros((3, 3, 3, 3), dtype=complex), parity="even")
