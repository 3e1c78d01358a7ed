"""Operators: all of the library's, by name; identities, and the Wilson operator against NumPy."""

import lanefield as lf
import numpy as np
import pytest
from conftest import GIVEN, operator_of, source_of

OPERATORS = list(lf.operators())

# Grid's basis, that of DeGrand and Rossi.
I = 1j
GAMMAS = np.array(
    [
        [[0, 0, 0, I], [0, 0, I, 0], [0, -I, 0, 0], [-I, 0, 0, 0]],
        [[0, 0, 0, -1], [0, 0, 1, 0], [0, 1, 0, 0], [-1, 0, 0, 0]],
        [[0, 0, I, 0], [0, 0, 0, -I], [-I, 0, 0, 0], [0, I, 0, 0]],
        [[0, 0, 1, 0], [0, 0, 0, 1], [1, 0, 0, 0], [0, 1, 0, 0]],
    ]
)


def parity_of(extents):
    x, y, z, t = (np.arange(extent) for extent in extents)
    return (t[:, None, None, None] + z[:, None, None] + y[:, None] + x) % 2


def wilson(links, psi, mass, boundary):
    """(4 + m) ψ − ½ Σ (1 − γ) U ψ(x+μ) + (1 + γ) U† ψ(x−μ)."""
    out = (4 + mass) * psi
    for mu, axis in enumerate([3, 2, 1, 0]):
        u = links[..., mu, :, :].copy()
        edge = [slice(None)] * 4
        edge[axis] = -1
        u[tuple(edge)] *= boundary[mu]
        forward = np.einsum("tzyxab,tzyxsb->tzyxsa", u, np.roll(psi, -1, axis))
        backward = np.roll(np.einsum("tzyxba,tzyxsb->tzyxsa", u.conj(), psi), 1, axis)
        one, gamma = np.eye(4), GAMMAS[mu]
        out = out - 0.5 * np.einsum("rs,tzyxsa->tzyxra", one - gamma, forward)
        out = out - 0.5 * np.einsum("rs,tzyxsa->tzyxra", one + gamma, backward)
    return out


@pytest.mark.parametrize("boundary", [(1, 1, 1, -1), (-1, 1, 0, 1)])
def test_wilson_is_that_of_numpy(hot, cpu, boundary):
    psi = lf.gaussian(hot, 3)
    expected = wilson(hot.links, psi, 0.3, boundary)
    found = operator_of("wilson", hot, cpu, boundary=boundary).apply(psi)
    assert np.abs(found - expected).max() < 1e-13
    single = operator_of("wilson", hot, cpu, boundary=boundary).apply(psi.astype(np.complex64))
    assert single.dtype == np.complex64 and np.abs(single - expected).max() < 1e-4


@pytest.mark.parametrize("name", OPERATORS)
def test_the_conjugate_is_the_conjugate(name, hot, cpu):
    m = operator_of(name, hot, cpu)
    psi, phi = source_of(m, 3), source_of(m, 4)
    left = np.vdot(phi, m.apply(psi))
    right = np.vdot(m.apply(phi, dagger=True), psi)
    assert abs(left - right) < 1e-10 * np.linalg.norm(psi) * np.linalg.norm(phi)
    assert np.array_equal(m.apply(2 * psi), 2 * m.apply(psi))


@pytest.mark.parametrize("name", OPERATORS)
def test_the_pieces_make_the_whole(name, hot, cpu):
    m = operator_of(name, hot, cpu)
    psi = source_of(m, 3)
    parities = ("even", "odd")
    parts = {p: m.apply(psi, piece="mooee", parity=p) + m.apply(psi, piece="meooe", parity=p) for p in parities}
    assert np.abs(m.apply(psi) - parts["even"] - parts["odd"]).max() < 1e-12
    parity = parity_of(hot.extents)[..., None, None]
    assert not np.any(parts["even"] * parity) and not np.any(parts["odd"] * (1 - parity))
    inverted = m.apply(m.apply(psi, piece="mooee", parity="even"), piece="mooeeinv", parity="even")
    assert np.abs(inverted - psi * (1 - parity)).max() < 1e-11
    # Mpc = Moo − Moe Mee⁻¹ Meo.
    odd = psi * parity
    through = m.apply(m.apply(odd, piece="meooe", parity="even"), piece="mooeeinv", parity="even")
    expected = m.apply(odd, piece="mooee", parity="odd") - m.apply(through, piece="meooe", parity="odd")
    # That of staggered fermions is multiplied by the mass.
    factor = m.parameters["mass"] if name == "staggered" else 1
    assert np.abs(m.apply(psi, piece="mpc") - factor * expected).max() < 1e-11


@pytest.mark.parametrize("name", OPERATORS)
def test_several_right_hand_sides_have_the_bits_of_each(name, hot, cpu):
    m = operator_of(name, hot, cpu)
    several = np.stack([source_of(m, seed) for seed in (3, 4, 5)])
    found = m.apply(several, dagger=True)
    assert np.array_equal(found, np.stack([m.apply(psi, dagger=True) for psi in several]))


def test_layout_and_threads_change_no_bit(hot):
    psi = lf.gaussian(hot, 3)
    keywords = {"csw": 1.2, "links": 12}
    expected = operator_of("clover", hot, lf.Device("cpu", threads=1, lanes=16), **keywords).apply(psi)
    for device in (lf.Device("cpu", threads=3, lanes=64), "cpu"):
        assert np.array_equal(operator_of("clover", hot, device, **keywords).apply(psi), expected)


def test_arrays_that_are_not_in_c_order_are_read_as_what_they_are(hot, cpu):
    m = operator_of("wilson", hot, cpu)
    psi = lf.gaussian(hot, 3)
    expected = m.apply(psi)
    strided = np.repeat(psi, 2, axis=0)[::2]
    assert not strided.flags.c_contiguous
    swapped = psi.astype(">c16")
    assert np.array_equal(m.apply(strided), expected) and np.array_equal(m.apply(np.asfortranarray(psi)), expected)
    with pytest.raises(TypeError, match=">c16"):
        m.apply(swapped)


def test_parameters_are_those_given_and_the_defaults(hot, cpu):
    m = lf.Operator("clover", hot, device=cpu, mass=np.float32(0.1), csw=1.5, boundary="1,1,1,1", links=8)
    assert m.name == "clover"
    assert m.parameters["mass"] == float(np.float32(0.1)) and m.parameters["csw"] == 1.5
    assert m.parameters["boundary"] == (1, 1, 1, 1) and m.parameters["links"] == 8
    follows = [name for name, told in lf.operators()["clover"]["parameters"].items() if told.get("follows") == "csw"]
    assert follows and all(m.parameters[name] == 1.5 for name in follows)
    assert m.configuration is hot and m.device is cpu


def test_wrong_arguments_are_told(hot, cpu):
    def refused(match, name="wilson", error=ValueError, **keywords):
        with pytest.raises(error, match=match):
            lf.Operator(name, hot, device=cpu, **{**GIVEN, **keywords})

    refused("unknown operator 'overlap': expected wilson", "overlap")
    refused("wilson has no parameter csw", csw=1)
    refused("mass", mass="heavy")
    refused("finite number", mass=float("inf"))
    refused("whole number", "mobius", ls=8.5)
    refused("whole number", "mobius", ls=0)
    refused("boundary|phases", boundary=(1, 1, 1))
    refused("18", links=10)
    with pytest.raises(ValueError, match="needs mass"):
        lf.Operator("wilson", hot, device=cpu)
    with pytest.raises(ValueError, match="no OpenCL device"):
        lf.Operator("wilson", hot, device="no such device", **GIVEN)
    m = operator_of("wilson", hot, cpu)
    psi = lf.gaussian(hot, 3)
    for keywords, match in [
        ({"piece": "meooe"}, "needs parity"),
        ({"piece": "mpc", "parity": "even"}, "odd sites"),
        ({"parity": "even"}, "acts on all sites"),
        ({"piece": "half"}, "unknown piece"),
        ({"piece": "mooee", "parity": "left"}, "left"),
    ]:
        with pytest.raises(ValueError, match=match):
            m.apply(psi, **keywords)
    with pytest.raises(ValueError, match=r"\(8, 2, 6, 4, 4, 3\)"):
        m.apply(psi[:4])
    with pytest.raises(ValueError, match="shape"):
        m.apply(np.zeros((0, *psi.shape), dtype=complex))
    with pytest.raises(TypeError, match="float64"):
        m.apply(psi.real)
    psi[1, 0, 3, 2, 1, 0] = np.inf
    with pytest.raises(ValueError, match=r"psi\[1, 0, 3, 2, 1, 0\]"):
        m.apply(psi)
    singular = lf.Operator("wilson", hot, device=cpu, mass=-4)
    with pytest.raises(ValueError, match="even_odd=False"):
        singular.apply(lf.gaussian(hot, 3), piece="mpc")


def test_sources_of_walls_and_colour_vectors(hot, cpu):
    mobius = operator_of("mobius", hot, cpu, ls=4)
    psi = lf.gaussian(hot, 3, ls=4)
    assert psi.shape == (4, 8, 2, 6, 4, 4, 3) and mobius.apply(psi).shape == psi.shape
    with pytest.raises(ValueError, match=r"\(4, 8, 2, 6, 4, 4, 3\)"):
        mobius.apply(psi[0])
    laplace = operator_of("laplace", hot, cpu)
    chi = lf.gaussian(hot, 3, components=1)
    assert np.array_equal(laplace.apply(chi[..., 0, :]), laplace.apply(chi)[..., 0, :])
