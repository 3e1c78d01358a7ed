"""Correlators: by NumPy's sums, and effective masses."""

import lanefield as lf
import numpy as np
import pytest
from conftest import GIVEN
from test_operator import GAMMAS


@pytest.fixture(scope="module")
def propagator(weak, cpu):
    wilson = lf.Operator("wilson", weak, device=cpu, **GIVEN)
    return lf.propagator(wilson, (0, 1, 2, 3)).solution


def test_correlators_are_traces(propagator):
    correlators = lf.correlator(propagator, origin_time=3)
    five = GAMMAS[0] @ GAMMAS[1] @ GAMMAS[2] @ GAMMAS[3]

    def by_hand(gamma):
        left, right = five @ gamma, gamma @ five
        # tr[γ5 S† γ5 Γ S Γ]
        terms = np.einsum("tzyxabcd,ae,tzyxefcd,fb->t", propagator.conj(), left, propagator, right, optimize=True)
        return np.roll(terms.real, -3)

    assert np.allclose(correlators.pion, by_hand(five), rtol=1e-12)
    assert np.allclose(correlators.rho_components, [by_hand(GAMMAS[k]) for k in range(3)], rtol=1e-10)
    assert np.allclose(correlators.rho, correlators.rho_components.mean(axis=0), rtol=1e-14)
    assert correlators.pion.argmax() == 0


def test_the_mass_of_a_cosh_is_found():
    t = np.arange(16)
    masses = lf.effective_masses(np.cosh(0.3 * (8 - t)))
    assert masses.shape == (15,) and np.allclose(masses, 0.3, rtol=1e-9)
    assert np.isnan(lf.effective_masses([1.0, -1.0])[0])
    assert np.array_equal(lf.effective_masses([3, 2, 3]), lf.effective_masses([3.0, 2.0, 3.0]), equal_nan=True)
    several = np.stack([np.cosh(0.3 * (8 - t)), np.cosh(0.5 * (8 - t))])[None]
    masses = lf.effective_masses(several)
    assert masses.shape == (1, 2, 15) and np.allclose(masses[0, 1], 0.5, rtol=1e-9)
    assert np.array_equal(masses[0, 0], lf.effective_masses(several[0, 0]))
    for wrong, error in [(several + 0j, TypeError), ("text", TypeError), (1.0, ValueError), (None, TypeError)]:
        with pytest.raises(error, match="correlator"):
            lf.effective_masses(wrong)


def test_twisted_mass_is_rotated_to_the_physical_basis(weak, cpu):
    twisted = lf.propagator(lf.Operator("twisted-mass", weak, device=cpu, mass=-0.2, mu=0.3), (0, 1, 2, 3)).solution
    for given, degrees in [("maximal", 90), (25, 25)]:
        # exp(iωγ5/2) on both sides.
        half = np.exp(0.5j * np.radians(degrees) * np.array([1, 1, -1, -1]))
        rotated = twisted * half[:, None, None, None] * half[:, None, None]
        found = lf.correlator(twisted, origin_time=3, twist_angle=given)
        expected = lf.correlator(rotated, origin_time=3)
        assert np.allclose(found.rho_components, expected.rho_components, rtol=1e-11)
        assert np.allclose(found.pion, expected.pion, rtol=1e-12) and found.twist_angle == degrees
    assert not np.allclose(found.rho, lf.correlator(twisted, origin_time=3).rho, rtol=1e-2)
    with pytest.raises(ValueError, match="twist_angle is 'full': expected degrees from -180 to 180, or 'maximal'"):
        lf.correlator(twisted, twist_angle="full")


def test_residuals_of_far_times_are_told(weak, cpu):
    heavy = lf.Operator("wilson", weak, device=cpu, mass=20)
    by_batch, one_by_one = (lf.propagator(heavy, (0, 1, 2, 3), tolerance=1e-5, solver=solver) for solver in ("cg", "bicgstab"))
    for found in (by_batch, one_by_one):
        assert len(found.relative_errors) == 8
        near, far = found.relative_errors[0], found.relative_errors[4]
        assert near < 1e-4 and far > 100 * near
    assert lf.solve(heavy, lf.gaussian(weak, 1)).relative_errors == []


def test_wrong_arguments_are_told(propagator):
    with pytest.raises(ValueError, match="time slice 8"):
        lf.correlator(propagator, origin_time=8)
    with pytest.raises(ValueError, match=r"\(8, 4, 4, 4, 4, 4, 3, 3\), one propagator"):
        lf.correlator(propagator[..., 0])
    with pytest.raises(ValueError, match="on a lattice 4.4.4.8, and lattice= is 8.4.4.4"):
        lf.correlator(propagator, lattice=(8, 4, 4, 4))
    with pytest.raises(ValueError, match="origin_time is -1"):
        lf.correlator(propagator, origin_time=-1)
    with pytest.raises(TypeError, match="propagator is None"):
        lf.correlator(None)


@pytest.mark.parametrize("scale", [1e-200, 1e-160, 1e160])
def test_numbers_whose_squares_are_out_of_range_are_refused(propagator, scale):
    with pytest.raises(ValueError, match="the propagator at t = .* multiply it by a power of two"):
        lf.correlator(propagator * scale)
