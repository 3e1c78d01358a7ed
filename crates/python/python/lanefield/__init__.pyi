"""Lattice fields on OpenCL devices and on CPUs, with the same bits.

Arrays are NumPy arrays, complex64 or complex128. Those in C order and in the machine's byte order are read where they lie, others are copied first. Sites
are (T, Z, Y, X), x fastest:

===========================  ==========================================================
spinors                      (T, Z, Y, X, 4, 3): spin, colour
five-dimensional fermions    (Ls, T, Z, Y, X, 4, 3)
colour vectors               (T, Z, Y, X, N, 3); of one also (T, Z, Y, X, 3)
links                        (T, Z, Y, X, 4, 3, 3): direction x, y, z, t; row; column
propagators                  (T, Z, Y, X, 4, 4, 3, 3): sink spin, source spin, sink colour, source colour
===========================  ==========================================================

With `convention` arrays are those of PyQUDA or gpt, with the same basis of spins:

===========  ===================================  =======================================  ==========================
convention   fields                               five-dimensional fermions                links
===========  ===================================  =======================================  ==========================
"lanefield"  (…, T, Z, Y, X, spin, colour)        (…, Ls, T, Z, Y, X, spin, colour)        (T, Z, Y, X, 4, 3, 3)
"pyquda"     (…, 2, T, Z, Y, X/2, spin, colour)   (…, Ls, 2, T, Z, Y, X/2, spin, colour)   (4, 2, T, Z, Y, X/2, 3, 3)
"gpt"        (…, sites, spin, colour), x fastest  (…, sites · Ls, spin, colour), s fastest (4, sites, 3, 3)
===========  ===================================  =======================================  ==========================

Lattices are extents (x, y, z, t), as are positions. Wrong arguments raise ValueError or TypeError, files OSError, missing memory MemoryError.
"""

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, Literal, Union, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Comparison",
    "Configuration",
    "Correlators",
    "Device",
    "DeviceError",
    "NotConverged",
    "Operator",
    "RightHandSide",
    "SolveResult",
    "__version__",
    "compare",
    "correlator",
    "devices",
    "effective_masses",
    "gaussian",
    "golden_check",
    "golden_export",
    "inner",
    "norm2",
    "operators",
    "point",
    "propagator",
    "read_array",
    "solve",
    "source",
    "sum_sites",
    "sum_slices",
]

__version__: str

_Complex = NDArray[Union[np.complex64, np.complex128]]
# Whole numbers x, y, z, t.
_Four = Union[Sequence[int], NDArray[np.integer[Any]]]
_Lattice = Union[_Four, str, "Configuration"]
_Path = Union[str, PathLike[str]]
_Place = Union["Device", str, int]
_Parity = Literal["even", "odd"]
_Piece = Literal["full", "meooe", "mooee", "mooeeinv", "mpc"]
_Method = Literal["cg", "block-cg", "bicgstab", "mixed", "mixed-f32", "mixed-half"]
_Precision = Literal["f32", "f64"]
_Convention = Literal["lanefield", "pyquda", "gpt"]

def read_array(path: _Path, *, dataset: str | None = None) -> _Complex:
    """Reads an array of complex numbers of NumPy, or in an HDF5 file, as QDP++ (Chroma) writes propagators in it, too. An array that has a sidecar must be the
    one that it describes.

    dataset: of an HDF5 file, "a/b/c"; the only one with complex numbers where not given.
    """

class NotConverged(RuntimeError):
    """A solve found no solution. `history` is the array of |r|² of the recurrence until then, `iterations` the number of iterations; the iterate is not kept."""

    iterations: int
    history: NDArray[np.float64]

class DeviceError(RuntimeError):
    """A device, or its driver, could not do what it was asked."""

@final
class Device:
    """Where to compute. No bit of any result depends on it.

    choice: "cpu", the CPU reference; "auto", the first GPU, else any OpenCL device, else the CPU reference; a number from `devices()`, or part of a name.
        That of the environment variable LANEFIELD_DEVICE, else "auto", where not given.
    threads: of the CPU reference; all cores, or RAYON_NUM_THREADS, where not given.
    lanes: the width of vectors in bytes, 8 to 256; what suits device and lattice where not given.
    """

    def __new__(cls, choice: Union[str, int, None] = None, *, threads: int | None = None, lanes: int | None = None) -> Device: ...
    @property
    def description(self) -> str:
        """What it is, in one line."""

    @property
    def is_opencl(self) -> bool:
        """Whether it is an OpenCL device."""

    @property
    def is_bitwise(self) -> bool:
        """Whether its arithmetic was probed and keeps the contract of the bits; else a UserWarning was given."""

def devices() -> list[dict[str, Any]]:
    """The OpenCL devices of this machine, with the keys of `lanefield devices --json`; none where there is no OpenCL."""

@final
class Configuration:
    """A gauge configuration in SU(3) on a periodic lattice. It does not change; two are equal where all bits are, and may be pickled and be keys."""

    @staticmethod
    def read(
        path: _Path, *, lattice: _Lattice | None = None, project: Literal["polar", "max-re-tr"] | None = None
    ) -> Configuration:
        """Reads a NERSC, ILDG, SciDAC, MILC, openQCD, DD-αAMG or HiRep file, or a NumPy or HDF5 array (T, Z, Y, X, 4, 3, 3), which its first bytes tell, and checks all that it
        says of itself.

        lattice: the extents, for files that do not say them. project: "polar" or "max-re-tr" brings links to SU(3), however far from it they are.
        """

    @staticmethod
    def unit(lattice: _Lattice) -> Configuration:
        """The free field: every link is 1."""

    @staticmethod
    def hot(lattice: _Lattice, seed: int) -> Configuration:
        """Random links, uniform in SU(3); the same on every machine."""

    @staticmethod
    def weak(lattice: _Lattice, seed: int, spread: float = 0.2) -> Configuration:
        """Links near 1: exponentials of Gaussian algebra elements of width `spread`; the same on every machine."""

    @staticmethod
    def from_array(
        links: Union[_Complex, Sequence[_Complex]], *, convention: _Convention = "lanefield", lattice: _Lattice | None = None
    ) -> Configuration:
        """A copy of an array (T, Z, Y, X, 4, 3, 3): direction x, y, z, t; row; column. Its links must be in SU(3).

        convention: of others the array, or a list of one array for each direction: [U[mu][:] for mu in range(4)] of gpt.
        lattice: the extents, which arrays of gpt do not tell; others must have them.
        """

    def array(self, *, convention: _Convention = "lanefield") -> NDArray[np.complex128]:
        """A copy of the links, as a convention has them."""

    @property
    def extents(self) -> tuple[int, int, int, int]:
        """Extents (x, y, z, t)."""

    @property
    def links(self) -> NDArray[np.complex128]:
        """The links (T, Z, Y, X, 4, 3, 3), without a copy; they cannot be written to."""

    @property
    def sha256(self) -> str:
        """SHA-256 of the links, 64 hex digits: the digest of docs/arithmetic.md §18, as in records of solves."""

    @property
    def plaquette(self) -> float:
        """Average plaquette: the mean of Re tr P / 3. The sum over sites and planes is exact."""

    @property
    def link_trace(self) -> float:
        """Link trace: the mean of Re tr U / 3. The sum over all diagonal elements is exact."""

    def projected(self, projection: Literal["polar", "max-re-tr"] = "polar") -> Configuration:
        """The configuration whose links are projected to SU(3): "polar", by polar decomposition, or "max-re-tr", to the largest Re tr U V†."""

    def save(
        self,
        path: _Path,
        *,
        overwrite: bool = False,
        format: Literal["nersc", "ildg", "milc", "npy", "hdf5"] | None = None,
    ) -> None:
        """Writes a file in the format that its name says: .nersc (or no extension), .lime (ILDG), .milc, .npy, .h5. A file that is there already raises
        FileExistsError unless `overwrite`. Of a configuration that was read the numbers are those of its file, and its labels go with it: what the format
        cannot say of them is in a sidecar, PATH.json.

        format: "nersc", "ildg", "milc", "npy" or "hdf5", whatever the name is.
        """

    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __copy__(self) -> Configuration: ...
    def __deepcopy__(self, _memo: object, /) -> Configuration: ...

def gaussian(
    lattice: _Lattice, seed: int, *, ls: int | None = None, components: int | None = None, convention: _Convention = "lanefield"
) -> NDArray[np.complex128]:
    """Gaussian numbers of variance 1 in each real, those of `--source gauss:SEED`; the same on every machine.

    (T, Z, Y, X, 4, 3); with `ls` (Ls, T, Z, Y, X, 4, 3), with `components` colour vectors (T, Z, Y, X, components, 3).
    """

def point(
    lattice: _Lattice,
    position: _Four = (0, 0, 0, 0),
    spin: int = 0,
    colour: int = 0,
    *,
    components: int | None = None,
    convention: _Convention = "lanefield",
) -> NDArray[np.complex128]:
    """1 at the site `position` (x, y, z, t), in one spin (or colour vector) and colour, and 0 elsewhere.

    (T, Z, Y, X, 4, 3), or with `components` (T, Z, Y, X, components, 3).
    """

def source(
    lattice: _Lattice,
    name: str,
    *,
    ls: int | None = None,
    components: int | None = None,
    convention: _Convention = "lanefield",
) -> NDArray[np.complex128]:
    """The source of a name, that of `--source`: "z2:SEED", "z4:SEED", "gauss:SEED" (with "SEED,t" on time slice t alone), "wall:t,spin,colour",
    "momentum:nx,ny,nz,t,spin,colour", exp(ip·x) on a time slice with p = 2πn/L, or "point:x,y,z,t,spin,colour".

    (T, Z, Y, X, 4, 3); with `ls` (Ls, T, Z, Y, X, 4, 3), with `components` colour vectors (T, Z, Y, X, components, 3).
    """

def operators() -> dict[str, dict[str, Any]]:
    """The operators there are, and the keywords of their parameters:
    {name: {"meaning": …, "formula": …, "parameters": {keyword: {"meaning": …, "default": …}}}}. A default of None: it must be given; "follows" names
    the parameter whose value it has where it is not given.
    """

@final
class Operator:
    """An operator M on a configuration, on a device, by its name, with its parameters as keywords: `operators()` lists both.

    `operators()` also tells M as a "formula", with U the links, phases of the boundary on the links across it, and
    W ψ(x) = -½ Σ_μ [(1 - γ_μ) U_μ(x) ψ(x+μ) + (1 + γ_μ) U_μ†(x-μ) ψ(x-μ)].

    There is no kappa: it is 1 / (2 (4 + mass)). Sections 6, 9, 13 to 17 and 25 of docs/arithmetic.md define every rounding.

    boundary: phases of the fermion in x, y, z, t: 1 periodic, -1 antiperiodic, 0 fixed, or e^{iθ} of ψ(x+L) = e^{iθ} ψ(x), as a complex number or as text,
        "0.25pi" of θ = π/4, which need reconstruct=18; (1, 1, 1, -1) where not given.
    reconstruct: reals stored per link, 18, 12 or 8, also as `links`; 18 where not given. Part of the operator: it changes the last bits.
    legs: the order in which the hop adds its legs, likewise.
    device: where to apply it; that of LANEFIELD_DEVICE, else "auto", where not given.
    """

    def __new__(
        cls,
        name: str,
        configuration: Configuration,
        *,
        boundary: Union[_Four, Sequence[Union[complex, str]], NDArray[np.complexfloating[Any, Any]], str, None] = None,
        reconstruct: Literal[18, 12, 8] | None = None,
        links: Literal[18, 12, 8] | None = None,
        legs: str | None = None,
        device: _Place | None = None,
        **parameters: Union[float, int, str],
    ) -> Operator: ...
    @property
    def name(self) -> str:
        """Its name."""

    @property
    def parameters(self) -> dict[str, Any]:
        """Its parameters by keyword, those of the hop among them."""

    @property
    def configuration(self) -> Configuration:
        """The configuration."""

    @property
    def device(self) -> Device:
        """Where it is applied."""

    def apply(
        self,
        psi: _Complex,
        *,
        dagger: bool = False,
        piece: _Piece = "full",
        parity: _Parity | None = None,
        out: _Complex | None = None,
        convention: _Convention = "lanefield",
    ) -> _Complex:
        """Applies it, or one of its even-odd pieces, in the precision of `psi`. The result has the shape and precision of `psi`.

        psi: what the operator acts on, or several of them with one more axis before all others.
        dagger: the Hermitian conjugate M†. With a piece, that piece of M†: of meooe onto the even sites it is the conjugate of meooe onto the odd ones.
        piece: full, M on all sites; meooe, the part that connects the parities; mooee, the part that stays on one; mooeeinv, its inverse;
            mpc, the Schur complement Moo - Moe Mee⁻¹ Meo on the odd sites, of staggered fermions times the mass.
        parity: of the sites of the result, for meooe, mooee and mooeeinv; the result is 0 on the others.
        out: an array for the result, of the shape and precision of `psi` and in C order, which is returned. It shares no memory with `psi`.
        """

@final
class RightHandSide:
    """One right-hand side of a solve."""

    @property
    def iterations(self) -> int:
        """Iterations of the recurrence."""

    @property
    def history(self) -> NDArray[np.float64]:
        """|r|² of the recurrence, of the guess 0 and after each iteration: (iterations + 1), the same bits on every device."""

    @property
    def residual_squared(self) -> float | None:
        """The last |r|² of the history."""

    @property
    def relative_residual(self) -> float:
        """|r| / |b| of the recurrence at its end."""

    @property
    def history_sha256(self) -> str:
        """SHA-256 of the file that `lanefield solve --history` writes of it, 64 hex digits."""

    @property
    def true_residual(self) -> float:
        """|b - Aψ| / |b| of the system that was solved, computed anew in f64; NaN where it could not be computed."""

    @property
    def solution_residual(self) -> float:
        """|η - Mψ| / |η| on all sites, in f64; NaN where it could not be computed."""

    @property
    def source_scale(self) -> int:
        """The power of two that the source was multiplied by for the solve, and every |r|² twice; 0 unless its numbers are very small or large."""

@final
class SolveResult:
    """Solutions, and what they took. Of several right-hand sides `iterations` and `history` are those of the one that took longest, and residuals the
    largest. It may be pickled.
    """

    @property
    def solution(self) -> _Complex:
        """The solution, of the shape of the source; of a propagator (T, Z, Y, X, 4, 4, 3, 3)."""

    @property
    def rhs(self) -> list[RightHandSide]:
        """Each right-hand side; of a propagator number 3·spin + colour of the source."""

    @property
    def iterations(self) -> int:
        """Iterations of the recurrence that took longest."""

    @property
    def history(self) -> NDArray[np.float64]:
        """|r|² of the recurrence that took longest, of the guess 0 and after each iteration: (iterations + 1), the same bits on every device."""

    @property
    def residual_squared(self) -> float | None:
        """The last |r|² of that history."""

    @property
    def relative_residual(self) -> float:
        """The largest |r| / |b| of the recurrences at their end."""

    @property
    def history_sha256(self) -> str:
        """SHA-256 of the file that `lanefield solve --history` writes of that history, 64 hex digits."""

    @property
    def source_scale(self) -> int:
        """The power of two that the source of that history was multiplied by for the solve, and every |r|² twice; 0 unless its numbers are very small or large."""

    @property
    def true_residual(self) -> float:
        """The largest |b - Aψ| / |b| of the systems that were solved, computed anew in f64; NaN where it could not be computed."""

    @property
    def solution_residual(self) -> float:
        """The largest |η - Mψ| / |η| on all sites, in f64; NaN where it could not be computed."""

    @property
    def converged(self) -> bool:
        """Whether the true residuals were computed. They are then at most ten times `tol`, and the recurrence's own at most `tol`: what does not get there
        raises NotConverged. Compare `true_residual` yourself where that is not enough.
        """

    @property
    def relative_errors(self) -> list[float]:
        """Of a propagator its estimated relative error on each time slice, from the source on, the largest of all right-hand sides. Empty of others."""

    @property
    def unchecked(self) -> str | None:
        """Why the true residuals could not be computed, if they could not."""

    @property
    def seconds(self) -> float:
        """Wall time of the recurrence, without that of building kernels."""

    @property
    def building_seconds(self) -> float:
        """Wall time of building kernels."""

def solve(
    operator: Operator,
    source: _Complex,
    *,
    physical: bool | None = None,
    method: _Method = "cg",
    tol: float | None = None,
    max_iterations: int | None = None,
    precision: _Precision | None = None,
    even_odd: bool = True,
    progress: Callable[[int, float], object] | None = None,
    every: int = 10,
    convention: _Convention = "lanefield",
) -> SolveResult:
    """Solves M ψ = η from the guess 0. Other threads of Python run meanwhile, and Ctrl-C ends the solve after the iteration at hand with KeyboardInterrupt.

    source: η, of what the operator acts on. With one more axis before all others, several, which "cg" solves together. It may be read until the end, and
        must not be written to.
    physical: for domain wall fermions, whether the source is of spinors (T, Z, Y, X, 4, 3), which go onto the walls, as the solutions are taken from there.
        Where not given, one such spinor does; (Ls, T, Z, Y, X, 4, 3) is one source in five dimensions, never Ls physical ones: those need True.
    method: cg, conjugate gradients, on the normal equations unless the operator is positive definite; block-cg, the same of all sources in one block; bicgstab; mixed (mixed-f32) and mixed-half, conjugate
        gradients in f64 with a recurrence in f32 or half precision.
    tol: stop when |r| ≤ tol · |b|; 1e-10 in f64 and 1e-6 in f32 where not given.
    max_iterations: 10000 where not given.
    precision: that of mixed methods, f64, else that of the source, where not given.
    even_odd: solve the even-odd Schur complement, not M on all sites.
    progress: called with the iteration and |r| / |b| after each `every` iterations, before the solve goes on. What it raises ends the solve.

    Raises NotConverged.
    """

def propagator(
    operator: Operator,
    source: _Four | str | _Complex = (0, 0, 0, 0),
    *,
    method: _Method = "cg",
    tol: float | None = None,
    max_iterations: int | None = None,
    precision: _Precision | None = "f64",
    even_odd: bool = True,
    smear_source: tuple[float, int] | str | None = None,
    smear_sink: tuple[float, int] | str | None = None,
    smear_links: Configuration | str | None = None,
    progress: Callable[[int, float], object] | None = None,
    every: int = 10,
    convention: _Convention = "lanefield",
) -> SolveResult:
    """The propagator S of a quark from a source: M S = η for each spin and colour of the source. `source` is a point (x, y, z, t), δ; a name, as of
    `lanefield propagator --source`: "wall:t", "momentum:nx,ny,nz,t", "z2:SEED,t" or "z4:SEED,t"; or an array of twelve columns,
    (12, T, Z, Y, X, 4, 3) with column 3·spin + colour first, or (T, Z, Y, X, 4, 4, 3, 3), a propagator. `solution` is (T, Z, Y, X, 4, 4, 3, 3): sink spin,
    source spin, sink colour, source colour. That of twisted mass is in the twisted basis, for which `correlator` takes the twist angle.

    method: "cg" solves all twelve in one batch and "block-cg" in one block, others one after the other, and `progress` then counts the iterations of each anew.
    smear_source: (alpha, steps) of Gaussian smearing of the source within its time slices (docs/spectrum.md).
    smear_sink: the same of the sink, after the solve. The solution is then complex128.
    smear_links: the links of both, if they are not those of the operator: a Configuration, or a smearing of the operator's as "spatial-ape:0.5,10".

    Otherwise as `solve`.
    """

@final
class Correlators:
    """Correlators of the pion and the rho at times 0 to T - 1 from the source."""

    @property
    def pion(self) -> NDArray[np.float64]:
        """Γ = γ5: (T)."""

    @property
    def rho(self) -> NDArray[np.float64]:
        """The average over Γ = γx, γy, γz: (T)."""

    @property
    def rho_components(self) -> NDArray[np.float64]:
        """Γ = γx, γy, γz: (3, T)."""

    @property
    def twist_angle(self) -> float | None:
        """The twist angle in degrees by which the propagator was rotated to the physical basis of twisted mass; None where none was given."""

def correlator(
    propagator: _Complex,
    *,
    origin_time: int = 0,
    twist_angle: float | Literal["maximal"] | None = None,
    device: _Place | None = None,
    convention: _Convention = "lanefield",
    lattice: _Lattice | None = None,
) -> Correlators:
    """The correlators of a propagator (T, Z, Y, X, 4, 4, 3, 3) whose source lies in time slice `origin_time`: C(t) is the sum over time slice t of
    tr[γ5 S† γ5 Γ S Γ], the exact sum over its sites of the sites' traces, each computed in f64 (docs/arithmetic.md §11). On the CPU where no device is
    given.

    twist_angle: of a propagator of twisted mass, "maximal" or ω in degrees, tan ω = mu / (m - m_cr). It is rotated to the physical basis first; without it
        the rho is that of the twisted basis, at maximal twist the physical a1. Mesons are charged.
    lattice: the extents, which arrays of gpt do not tell; others must have them.
    """

def effective_masses(correlator: Union[NDArray[np.floating[Any]], Sequence[float]]) -> NDArray[np.float64]:
    """The effective mass between times t and t + 1: (…, T - 1) of correlators (…, T), the m of C(t) / C(t+1) = cosh(m(T/2 - t)) / cosh(m(T/2 - t - 1));
    NaN where there is none.
    """

def norm2(
    x: _Complex,
    *,
    lattice: _Lattice | None = None,
    leading: int | None = None,
    ls: int | None = None,
    convention: _Convention = "lanefield",
    parity: _Parity | None = None,
    device: _Place | None = None,
) -> Any:
    """|x|², the exact sum over sites of the sites' terms, each computed in f64 (docs/arithmetic.md §8), rounded once: a number for an array
    (T, Z, Y, X, …), an array for several of them. On the CPU where no device is given, as all sums.

    lattice: the extents. Axes before those of the lattice are of several fields, and stay; an array that has no such axes is refused, and so is one that
        has them at two places. Where not given, the lattice's axes come first. Arrays of gpt need it.
    leading: how many axes come before those of the lattice.
    ls: of five-dimensional fermions, the extent of s, whose axis stands before those of the lattice. The sum is then also over s, each site of which has a
        term of its own; otherwise such an axis stays.
    parity: of the sites; all where not given.
    """

def inner(
    x: _Complex,
    y: _Complex,
    *,
    lattice: _Lattice | None = None,
    leading: int | None = None,
    ls: int | None = None,
    convention: _Convention = "lanefield",
    parity: _Parity | None = None,
    device: _Place | None = None,
) -> Any:
    """⟨x, y⟩, antilinear in x, of two arrays (T, Z, Y, X, …) of one shape and precision: the exact sum over sites of the sites' terms, each computed in f64
    (docs/arithmetic.md §8), rounded once. Keywords as of `norm2`.
    """

def sum_sites(
    x: _Complex,
    *,
    lattice: _Lattice | None = None,
    leading: int | None = None,
    convention: _Convention = "lanefield",
    parity: _Parity | None = None,
    device: _Place | None = None,
) -> NDArray[np.complex128]:
    """The exact sum over all sites of each number of a site, rounded once: an array (T, Z, Y, X, …) without its first four axes. Keywords as of `norm2`."""

def sum_slices(
    x: _Complex,
    *,
    direction: Literal["x", "y", "z", "t"] = "t",
    lattice: _Lattice | None = None,
    leading: int | None = None,
    convention: _Convention = "lanefield",
    parity: _Parity | None = None,
    device: _Place | None = None,
) -> NDArray[np.complex128]:
    """The same slice by slice across a direction, whose axis stands in the result where the lattice's were."""

@final
class Comparison:
    """What a comparison of two arrays found; true where they are the same."""

    @property
    def same(self) -> bool:
        """Whether all numbers are the same, or within `ulps`."""

    @property
    def differing(self) -> int:
        """Real numbers that differ by more than `ulps`."""

    @property
    def first(self) -> dict[str, Any] | None:
        """The first number that differs, in site order: where, both values, their bits, their distance; None where none does."""

    @property
    def causes(self) -> list[str]:
        """What may have caused it, the most certain first, as sentences."""

    @property
    def facts(self) -> dict[str, Any]:
        """All that was found, with the keys of `lanefield compare --json`."""

    def __bool__(self) -> bool: ...

def compare(a: Union[NDArray[Any], Sequence[Any]], b: Union[NDArray[Any], Sequence[Any]], ulps: int = 0) -> Comparison:
    """Compares two arrays of one shape, of complex, real or whole numbers, to the last bit: where they differ first, how many numbers do, where they lie,
    and what may have caused it. Any NaN equals any NaN; where one is f32 and the other f64, the latter is first rounded to f32.

    ulps: numbers so many units in the last place apart, or fewer, are accepted; of whole numbers none.
    """

def golden_export(
    directory: _Path,
    *,
    kernels: Union[Sequence[str], str, None] = None,
    lattice: _Lattice | None = None,
    seed: int = 1,
    precisions: Union[Sequence[Literal["f32", "f64", "half"]], Literal["f32", "f64", "half"], None] = None,
    device: _Place | None = None,
    overwrite: bool = False,
) -> dict[str, int]:
    """Writes golden data to a directory: inputs, intermediates and results of kernels, with a manifest (docs/golden.md). The same bytes come from every
    device. Gives the numbers of `cases`, `stages`, `files` and `bytes`. Ctrl-C ends it after the kernel at hand, and nothing is written.

    kernels: by name; all where not given.
    lattice: of even extents; (4, 6, 2, 8) where not given.
    device: the CPU where not given.
    overwrite: replace a directory that holds golden data; otherwise FileExistsError.
    """

def golden_check(directory: _Path, against: _Path, *, ulps: int = 0) -> dict[str, Any]:
    """Compares the results of a port in `against` with golden data: whatever is there is compared. Gives `same`, how many files were `compared`, which
    `differ` and which are `missing`, these three by kernel too as `groups`, files that the golden data do not have as `unknown`, and the `first`
    difference.
    """
