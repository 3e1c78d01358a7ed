"""Operators: all of the library's, by name; identities, and the Wilson operator against NumPy."""

import re

import lanefield as lf
import numpy as np
import pytest
from conftest import GIVEN, ON_COLOUR_VECTORS, operator_of, source_of

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


@pytest.mark.parametrize("boundary", [(1, 1, 1, -1), (-1, 1, 0, 1), (np.exp(0.3j * np.pi), 1j, -1, 0.6 + 0.8j)])
def test_wilson_is_that_of_numpy(hot, cpu, boundary):
    psi = lf.gaussian(hot, 3)
    expected = wilson(hot.links, psi, 0.3, boundary)
    found = operator_of("wilson", hot, cpu, boundary=boundary).apply(psi)
    assert np.abs(found - expected).max() < 1e-13
    single = operator_of("wilson", hot, cpu, boundary=boundary).apply(psi.astype(np.complex64))
    assert single.dtype == np.complex64 and np.abs(single - expected).max() < 1e-4


def shifted(links, psi, mu, steps=1):
    """U ψ(x+μ) and U† ψ(x−μ), for links that span `steps` sites, with phase −1 in t."""
    axis = 3 - mu
    u = links[..., mu, :, :].copy()
    if mu == 3:
        u[-steps:] *= -1
    forward = np.einsum("tzyxab,tzyxsb->tzyxsa", u, np.roll(psi, -steps, axis))
    return forward, np.roll(np.einsum("tzyxba,tzyxsb->tzyxsa", u.conj(), psi), steps, axis)


def hisq_links(links, epsilon):
    """Fat and long links: fat7, the projection to U(3), and asqtad's paths with twice the Lepage term (docs/arithmetic.md §25)."""
    dagger = lambda u: u.conj().swapaxes(-1, -2)  # noqa: E731
    at = lambda u, mu, n: np.roll(u, -n, 3 - mu)  # noqa: E731

    def staples(u, q, mu, nu):
        b = u[..., nu, :, :]
        side = at(b, mu, 1)
        return b @ at(q, nu, 1) @ dagger(side) + at(dagger(b) @ q @ side, nu, -1)

    def paths(u, one, three, five, seven, lepage):
        fat = np.empty_like(u)
        for mu in range(4):
            link, others = u[..., mu, :, :], [nu for nu in range(4) if nu != mu]
            fat[..., mu, :, :] = one * link
            for sigma in others:
                inner = three * link + lepage * staples(u, link, mu, sigma)
                for rho in others:
                    if rho != sigma:
                        (nu,) = [d for d in others if d not in (rho, sigma)]
                        inner = inner + staples(u, five * link + seven * staples(u, link, mu, nu), mu, rho)
                fat[..., mu, :, :] += staples(u, inner, mu, sigma)
        return fat

    left, _, right = np.linalg.svd(paths(links, 1 / 8, 1 / 16, 1 / 64, 1 / 384, 0))
    w = left @ right
    fat = paths(w, 1 + epsilon / 8 + 3 / 4, 1 / 16, 1 / 64, 1 / 384, -1 / 8)
    of = [w[..., mu, :, :] for mu in range(4)]
    long = np.stack([u @ at(u, mu, 1) @ at(u, mu, 2) for mu, u in enumerate(of)], axis=-3)
    return fat, -(1 + epsilon) / 24 * long


def field_strength(links, mu, nu):
    """The anti-Hermitian part of the mean of the four leaves."""
    a, b = links[..., mu, :, :], links[..., nu, :, :]
    at = lambda u, *steps: np.roll(u, [-n for _, n in steps], [3 - d for d, _ in steps])  # noqa: E731
    dagger = lambda u: u.conj().swapaxes(-1, -2)  # noqa: E731
    m, n = (mu, 1), (nu, 1)
    p, q = (mu, -1), (nu, -1)
    leaves = a @ at(b, m) @ dagger(at(a, n)) @ dagger(b)
    leaves = leaves + b @ dagger(at(a, p, n)) @ dagger(at(b, p)) @ at(a, p)
    leaves = leaves + dagger(at(a, p)) @ dagger(at(b, p, q)) @ at(a, p, q) @ at(b, q)
    leaves = leaves + dagger(at(b, q)) @ at(a, q) @ at(b, m, q) @ dagger(a)
    return (leaves - dagger(leaves)) / 8


def by_definition(m, psi):
    """M ψ, as the formula of the operator defines M."""
    links, p = m.configuration.links, m.parameters
    five = GAMMAS[0] @ GAMMAS[1] @ GAMMAS[2] @ GAMMAS[3]
    assert np.array_equal(five, np.diag([1, 1, -1, -1]))
    boundary = (1, 1, 1, -1)
    if m.name in ("dwf", "mobius"):
        plus, minus = (np.eye(4) + five) / 2, (np.eye(4) - five) / 2
        before = np.concatenate([-p["mass"] * psi[-1:], psi[:-1]])
        after = np.concatenate([psi[1:], -p["mass"] * psi[:1]])
        chi = np.einsum("rs,...sc->...rc", plus, before) + np.einsum("rs,...sc->...rc", minus, after)
        b, c = (p["b"], p["c"]) if m.name == "mobius" else (1, 0)
        return np.stack([wilson(links, x, -p["m5"], boundary) for x in b * psi + c * chi]) + psi - chi
    if m.name in ON_COLOUR_VECTORS:
        near, long = hisq_links(links, p["naik_epsilon"]) if m.name == "hisq" else (links, None)
        hops = [shifted(near, psi, mu) for mu in range(4)]
        if long is not None:
            further = [shifted(long, psi, mu, 3) for mu in range(4)]
            hops = [(f + g, b + c) for (f, b), (g, c) in zip(hops, further)]
        if m.name == "laplace":
            return (8 + p["mass"] ** 2) * psi - sum(forward + backward for forward, backward in hops)
        x, y, z, _ = np.indices(m.configuration.extents).transpose(0, 4, 3, 2, 1)[..., None, None]
        eta = [np.ones_like(x), (-1) ** x, (-1) ** (x + y), (-1) ** (x + y + z)]
        return p["mass"] * psi + sum(e * (f - b) for e, (f, b) in zip(eta, hops)) / 2
    out = wilson(links, psi, p["mass"], boundary)
    if m.name == "twisted-mass":
        out = out + 1j * p["mu"] * np.einsum("rs,...sc->...rc", five, psi)
    if m.name == "clover":
        for mu in range(4):
            for nu in range(mu + 1, 4):
                sigma = (GAMMAS[mu] @ GAMMAS[nu] - GAMMAS[nu] @ GAMMAS[mu]) / 2
                csw = p["csw_t"] if nu == 3 else p["csw"]
                out = out - csw / 2 * np.einsum("rs,...ab,...sb->...ra", sigma, field_strength(links, mu, nu), psi)
    return out


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_are_what_their_formula_says(name, hot, cpu):
    asymmetric = {
        "clover": {"csw": 1.25, "csw_t": 0.75},
        "hisq": {"naik_epsilon": -0.25},
        "mobius": {"b": 1.25, "c": 0.5},
        "twisted-mass": {"mu": 0.25},
    }
    m = operator_of(name, hot, cpu, **asymmetric.get(name, {}))
    psi = source_of(m, 3)
    assert np.abs(m.apply(psi) - by_definition(m, psi)).max() < 1e-12
    assert "M" in lf.operators()[name]["formula"]


@pytest.mark.parametrize("name", OPERATORS)
def test_a_daggered_piece_is_that_of_the_conjugate(name, hot, cpu):
    m = operator_of(name, hot, cpu)
    psi, phi = source_of(m, 3), source_of(m, 4)
    for piece in ("mooee", "mooeeinv", "meooe"):
        left = np.vdot(phi, m.apply(psi, piece=piece, parity="even"))
        onto = "odd" if piece == "meooe" else "even"
        right = np.vdot(m.apply(phi, piece=piece, parity=onto, dagger=True), psi)
        assert abs(left - right) < 1e-10 * np.linalg.norm(psi) * np.linalg.norm(phi), piece


def test_the_result_may_go_into_an_array(hot, cpu):
    for name, precision in [("wilson", np.complex64), ("mobius", np.complex128), ("staggered", np.complex64)]:
        m = operator_of(name, hot, cpu)
        for convention in ("lanefield", "pyquda", "gpt"):
            psi = source_of(m, 3, convention=convention).astype(precision)
            several = np.stack([psi, 2 * psi, psi])
            expected = m.apply(several, convention=convention)
            out = np.full_like(several, np.nan)
            assert m.apply(several, out=out, convention=convention) is out and np.array_equal(out, expected)
            # A part of an array, next to the source.
            both = np.stack([psi, psi])
            m.apply(both[0], out=both[1], convention=convention)
            assert np.array_equal(both, np.stack([psi, expected[0]]))
            out.fill(np.nan)
            m.apply(several, piece="meooe", parity="even", out=out, convention=convention)
            assert np.array_equal(out, m.apply(several, piece="meooe", parity="even", convention=convention))
    m, psi = operator_of("wilson", hot, cpu), lf.gaussian(hot, 3)
    locked = np.empty_like(psi)
    locked.flags.writeable = False
    for out, error, match in [
        (psi, ValueError, "shares memory"),
        (np.empty_like(psi)[..., :2], ValueError, r"\(8, 2, 6, 4, 4, 2\).*\(8, 2, 6, 4, 4, 3\)"),
        (np.empty(psi.shape, np.complex64), TypeError, "complex64.*complex128"),
        (np.asfortranarray(psi), ValueError, "C order"),
        (locked, ValueError, "writeable"),
        ([1.0], TypeError, "not a NumPy array"),
    ]:
        with pytest.raises(error, match=match):
            m.apply(psi, out=out)


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
    factor = m.parameters["mass"] if name in ("staggered", "hisq") else 1
    assert np.abs(m.apply(psi, piece="mpc") - factor * expected).max() < 1e-11


@pytest.mark.parametrize("name", OPERATORS)
def test_several_right_hand_sides_have_the_bits_of_each(name, hot, cpu):
    m = operator_of(name, hot, cpu)
    several = np.stack([source_of(m, seed) for seed in (3, 4, 5)])
    found = m.apply(several, dagger=True)
    assert np.array_equal(found, np.stack([m.apply(psi, dagger=True) for psi in several]))


def test_layout_and_threads_change_no_bit(hot):
    psi = lf.gaussian(hot, 3)
    keywords = {"csw": 1.2, "reconstruct": 12}
    expected = operator_of("clover", hot, lf.Device("cpu", threads=1, lanes=16), **keywords).apply(psi)
    for device in (lf.Device("cpu", threads=3, lanes=64), "cpu"):
        assert np.array_equal(operator_of("clover", hot, device, **keywords).apply(psi), expected)


def test_arrays_that_are_not_in_c_order_are_read_as_what_they_are(hot, cpu):
    m = operator_of("wilson", hot, cpu)
    psi = lf.gaussian(hot, 3)
    expected = m.apply(psi)
    strided = np.repeat(psi, 2, axis=0)[::2]
    assert not strided.flags.c_contiguous
    for other in (strided, np.asfortranarray(psi), psi.astype(psi.dtype.newbyteorder("S"))):
        found = m.apply(other)
        assert np.array_equal(found, expected) and found.dtype == np.complex128


def test_parameters_are_those_given_and_the_defaults(hot, cpu):
    m = lf.Operator("clover", hot, device=cpu, mass=np.float32(0.1), csw=1.5, boundary="1,1,1,1", reconstruct=8)
    assert m.name == "clover"
    assert m.parameters["mass"] == float(np.float32(0.1)) and m.parameters["csw"] == 1.5
    assert m.parameters["boundary"] == (1, 1, 1, 1) and m.parameters["reconstruct"] == 8
    phases = ("0.25pi", 1, -1, "-0.5pi")
    for boundary in (phases, np.array([np.exp(0.25j * np.pi), 1, -1, -1j]), "2.25pi,1,pi,-pi/2"):
        assert lf.Operator("wilson", hot, device=cpu, mass=1, boundary=boundary).parameters["boundary"] == phases
    follows = [name for name, told in lf.operators()["clover"]["parameters"].items() if told.get("follows") == "csw"]
    assert follows and all(m.parameters[name] == 1.5 for name in follows)
    assert m.configuration is hot and m.device is cpu
    assert lf.Operator("dwf", hot, device=cpu, ls=np.float64(8), **GIVEN).parameters["ls"] == 8
    # Defaults are values that may be given.
    for name, operator in lf.operators().items():
        defaults = {key: told["default"] for key, told in operator["parameters"].items() if told.get("default") is not None}
        made = operator_of(name, hot, cpu, **defaults)
        assert {key: made.parameters[key] for key in defaults} == defaults
    dwf = lf.operators()["dwf"]["parameters"]
    assert (dwf["ls"]["default"], dwf["m5"]["default"], dwf["s_inverse"]["default"]) == (16, 1.8, "sweep")


def test_wrong_arguments_are_told(hot, cpu):
    def refused(match, name="wilson", error=ValueError, **keywords):
        with pytest.raises(error, match=re.escape(match)):
            lf.Operator(name, hot, device=cpu, **{**GIVEN, **keywords})

    refused("unknown operator 'overlap': expected wilson", "overlap")
    refused("wilson has no parameter csw", csw=1)
    refused("mass is '0.1': expected a finite number", mass="0.1", error=TypeError)
    refused("mass is inf: expected a finite number", mass=float("inf"))
    refused("ls is 8.5: expected a whole number from 1 to 1024", "mobius", ls=8.5)
    refused("ls is 0: expected a whole number", "mobius", ls=0)
    refused("it has mass, ls, m5, s_inverse; did you mean ls?", "dwf", Ls=8)
    refused("s_inverse is 'exact': expected 'sweep' or 'dense'", "dwf", s_inverse="exact")
    refused("give mass = 1 / (2 kappa) - 4", kappa=0.12)
    refused("operator clover is given csw twice: give it once", "clover", csw=1, csw_r=1)
    refused("boundary is (1, 1, 1): expected phases", boundary=(1, 1, 1))
    refused("boundary is (1, 1, 1, 2): expected phases", boundary=(1, 1, 1, 2))
    refused("boundary is (1, 1, 1, (1+1j)): expected phases", boundary=(1, 1, 1, 1 + 1j))
    refused("boundary is (1, 1, 1, nan): expected phases", boundary=(1, 1, 1, float("nan")))
    refused("boundary is (1, 1, 1, '1/4'): expected phases", boundary=(1, 1, 1, "1/4"))
    refused("boundary is (1, 1, 1, None): expected phases", boundary=(1, 1, 1, None), error=TypeError)
    refused("need reconstruct 18", boundary=(1, 1j, 1, 1), reconstruct=12)
    refused("boundary is -1: expected phases", boundary=-1, error=TypeError)
    refused("reconstruct is 10: expected 18, 12 or 8", reconstruct=10)
    refused("reconstruct and links are two names of one argument", links=12, reconstruct=12)
    refused("links is 'all': expected a whole number", links="all", error=TypeError)
    with pytest.warns(DeprecationWarning, match="the keyword links is deprecated: use reconstruct"):
        assert lf.Operator("wilson", hot, device=cpu, links=12, **GIVEN).parameters["reconstruct"] == 12
    with pytest.raises(TypeError, match="configuration is 3: expected a lanefield.Configuration"):
        lf.Operator("wilson", 3, **GIVEN)
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
        ({"piece": "half"}, "piece is 'half': expected 'full' or"),
        ({"piece": "mooee", "parity": "left"}, "parity is 'left': expected 'even' or 'odd'"),
        ({"piece": "mooee", "parity": 0}, "parity is 0: expected 'even' or 'odd'"),
        ({"dagger": 1}, "dagger is 1: expected True or False"),
    ]:
        with pytest.raises((ValueError, TypeError), match=match):
            m.apply(psi, **keywords)
    with pytest.raises(ValueError, match=r"\(8, 2, 6, 4, 4, 3\)"):
        m.apply(psi[:4])
    with pytest.raises(ValueError, match="shape"):
        m.apply(np.zeros((0, *psi.shape), dtype=complex))
    with pytest.raises(TypeError, match="psi is an array of float64: expected a NumPy array of complex64"):
        m.apply(psi.real)
    with pytest.raises(TypeError, match="psi is None: expected a NumPy array of complex64"):
        m.apply(None)
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
    for name in ON_COLOUR_VECTORS:
        m = operator_of(name, hot, cpu)
        chi = lf.gaussian(hot, 3, components=1)
        assert np.array_equal(m.apply(chi[..., 0, :]), m.apply(chi)[..., 0, :])


def test_masked_elements_are_refused(hot, cpu):
    operator = lf.Operator("wilson", hot, device=cpu, **GIVEN)
    psi = lf.gaussian(hot, 3)
    hot_source = psi.copy()
    unmasked = np.ma.masked_array(psi)
    assert np.array_equal(operator.apply(unmasked), operator.apply(psi))
    unmasked[0, 0, 0, 0, 1, 2] = np.ma.masked
    solve = lambda psi: lf.solve(operator, psi)
    in_lists = (lambda psi: solve([hot_source, psi]), lambda psi: solve((psi, hot_source)), lambda psi: operator.apply([[psi]]))
    for work in (operator.apply, solve, *in_lists, lf.norm2, lambda psi: lf.compare(hot_source, psi)):
        with pytest.raises(ValueError, match="an array has masked elements"):
            work(unmasked)
