"""Lattice fields on OpenCL devices and on CPUs, with the same bits.

Arrays are NumPy arrays in C order, complex64 or complex128; others are brought into C order first. Sites are (T, Z, Y, X), x fastest:

===========================  ==========================================================
spinors                      (T, Z, Y, X, 4, 3): spin, colour
five-dimensional fermions    (Ls, T, Z, Y, X, 4, 3)
colour vectors               (T, Z, Y, X, N, 3), or (T, Z, Y, X, 3) of one
links                        (T, Z, Y, X, 4, 3, 3): direction x, y, z, t; row; column
propagators                  (T, Z, Y, X, 4, 4, 3, 3): sink spin, source spin, sink colour, source colour
===========================  ==========================================================

With `convention` arrays are those of PyQUDA or gpt, with the same basis of spins:

===========================  ==========================================  =================================
convention                   fields                                      links
===========================  ==========================================  =================================
"lanefield"                  (…, T, Z, Y, X, spin, colour)               (T, Z, Y, X, 4, 3, 3)
"pyquda"                     (…, 2, T, Z, Y, X/2, spin, colour)          (4, 2, T, Z, Y, X/2, 3, 3)
"gpt"                        (…, sites, spin, colour), x fastest         (4, sites, 3, 3)
===========================  ==========================================  =================================

Lattices are extents (x, y, z, t), as are positions. Wrong arguments raise ValueError or TypeError, files OSError, missing memory MemoryError.
"""

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, Literal, Union, final

import numpy as np
from numpy.typing import NDArray

__version__: str

Complex = NDArray[Union[np.complex64, np.complex128]]
Extents = Union[tuple[int, int, int, int], Sequence[int], str, "Configuration"]
Path = Union[str, PathLike[str]]
Place = Union["Device", str, int]
Parity = Literal["even", "odd"]
Piece = Literal["full", "meooe", "mooee", "mooeeinv", "mpc"]
Method = Literal["cg", "bicgstab", "mixed", "mixed-f32", "mixed-half"]
Precision = Literal["f32", "f64"]
Convention = Literal["lanefield", "pyquda", "gpt"]

class NotConverged(RuntimeError):
    """A solve found no solution."""

    iterations: int
    """Iterations that were done."""
    history: NDArray[np.float64]
    """|r|² of the recurrence, of the guess and after each iteration: (iterations + 1)."""

class DeviceError(RuntimeError):
    """A device, or its driver, could not do what it was asked."""

@final
class Device:
    """Where to compute. No bit of any result depends on it."""

    def __init__(self, choice: Union[str, int] = "auto", *, threads: int | None = None, lanes: int | None = None) -> None:
        """Opens a device.

        choice: "cpu", the CPU reference; "auto", the first GPU, else any OpenCL device, else the CPU reference; a number from `devices()`, or part of a name.
        threads: of the CPU reference; all cores, or RAYON_NUM_THREADS, where not given.
        lanes: the width of vectors in bytes, 8 to 256; what suits device and lattice where not given.
        """

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
    """A gauge configuration in SU(3) on a periodic lattice. It does not change."""

    @staticmethod
    def read(path: Path) -> Configuration:
        """Reads a NERSC file, or a NumPy array (T, Z, Y, X, 4, 3, 3) if the name ends in .npy, and checks all that it says of itself."""

    @staticmethod
    def unit(lattice: Extents) -> Configuration:
        """The free field: every link is 1."""

    @staticmethod
    def hot(lattice: Extents, seed: int) -> Configuration:
        """Random links, uniform in SU(3); the same on every machine."""

    @staticmethod
    def weak(lattice: Extents, seed: int, spread: float = 0.2) -> Configuration:
        """Links near 1: exponentials of Gaussian algebra elements of width `spread`; the same on every machine."""

    @staticmethod
    def from_array(links: Complex, *, convention: Convention = "lanefield", lattice: Extents | None = None) -> Configuration:
        """A copy of an array (T, Z, Y, X, 4, 3, 3): direction x, y, z, t; row; column. Its links must be in SU(3).

        lattice: the extents, where the convention's shape does not say them (gpt).
        """

    def array(self, *, convention: Convention = "lanefield") -> NDArray[np.complex128]:
        """A copy of the links, as a convention has them."""

    @property
    def extents(self) -> tuple[int, int, int, int]:
        """Extents (x, y, z, t)."""

    @property
    def links(self) -> NDArray[np.complex128]:
        """The links (T, Z, Y, X, 4, 3, 3), without a copy; they cannot be written to."""

    @property
    def plaquette(self) -> float:
        """Average plaquette: the mean of Re tr P / 3, an exact sum."""

    @property
    def link_trace(self) -> float:
        """Link trace: the mean of Re tr U / 3, an exact sum."""

    def save(self, path: Path, *, overwrite: bool = False) -> None:
        """Writes a NERSC file, or a NumPy array if the name ends in .npy. A file that is there already raises FileExistsError unless `overwrite`."""

    def __eq__(self, other: object) -> bool: ...

def gaussian(
    lattice: Extents, seed: int, *, ls: int | None = None, components: int | None = None, convention: Convention = "lanefield"
) -> NDArray[np.complex128]:
    """Gaussian numbers of variance 1 in each real, those of `--source gauss:SEED`; the same on every machine.

    (T, Z, Y, X, 4, 3); with `ls` (Ls, T, Z, Y, X, 4, 3), with `components` colour vectors (T, Z, Y, X, components, 3).
    """

def point(
    lattice: Extents,
    position: Sequence[int] = (0, 0, 0, 0),
    spin: int = 0,
    colour: int = 0,
    *,
    components: int | None = None,
    convention: Convention = "lanefield",
) -> NDArray[np.complex128]:
    """1 at the site `position` (x, y, z, t), in one spin (or colour vector) and colour, and 0 elsewhere.

    (T, Z, Y, X, 4, 3), or with `components` (T, Z, Y, X, components, 3).
    """

def operators() -> dict[str, dict[str, Any]]:
    """The operators there are, and the keywords of their parameters:
    {name: {"meaning": …, "parameters": {keyword: {"meaning": …, "default": …}}}}. A default of None: it must be given; "follows" names the parameter
    whose value it has where it is not given."""

@final
class Operator:
    """An operator M on a configuration, on a device."""

    def __init__(
        self,
        name: str,
        configuration: Configuration,
        *,
        boundary: Union[Sequence[int], str, None] = None,
        links: Literal[18, 12, 8] = 18,
        legs: str | None = None,
        device: Place | None = None,
        **parameters: Union[float, int, str],
    ) -> None:
        """An operator by its name, with its parameters as keywords: `operators()` lists both.

        boundary: phases of the fermion in x, y, z, t: 1 periodic, -1 antiperiodic, 0 fixed; (1, 1, 1, -1) where not given.
        links: reals stored per link. Part of the operator: it changes the last bits.
        legs: the order in which the hop adds its legs, likewise.
        device: where to apply it; that of LANEFIELD_DEVICE, else "auto", where not given.
        """

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
        psi: Complex,
        *,
        dagger: bool = False,
        piece: Piece = "full",
        parity: Parity | None = None,
        convention: Convention = "lanefield",
    ) -> Complex:
        """Applies it, or one of its even-odd pieces, in the precision of `psi`. The result has the shape and precision of `psi`.

        psi: what the operator acts on, or several of them with one more axis before all others.
        dagger: the Hermitian conjugate.
        piece: full, M on all sites; meooe, the part that connects the parities; mooee, the part that stays on one; mooeeinv, its inverse;
            mpc, the Schur complement Moo − Moe Mee⁻¹ Meo on the odd sites, of staggered fermions times the mass.
        parity: of the sites of the result, for meooe, mooee and mooeeinv; the result is 0 on the others.
        """

@final
class RightHandSide:
    """One right-hand side of a solve."""

    @property
    def iterations(self) -> int:
        """Iterations of the recurrence."""

    @property
    def history(self) -> NDArray[np.float64]:
        """|r|² of the recurrence, of the guess and after each iteration: (iterations + 1), the same bits on every device."""

    @property
    def history_sha256(self) -> str:
        """SHA-256 of the file that `lanefield solve --history` writes of it, 64 hex digits."""

    @property
    def true_residual(self) -> float:
        """|b − Aψ| / |b| of the system that was solved, computed anew in f64; NaN where it could not be computed."""

    @property
    def solution_residual(self) -> float:
        """|η − Mψ| / |η| on all sites, in f64; NaN where it could not be computed."""

@final
class SolveResult:
    """Solutions, and what they took. Of several right-hand sides `iterations` and `history` are those of the one that took longest, and residuals the
    largest."""

    @property
    def solution(self) -> Complex:
        """The solution, of the shape of the source; of a propagator (T, Z, Y, X, 4, 4, 3, 3)."""

    @property
    def rhs(self) -> list[RightHandSide]:
        """Each right-hand side; of a propagator number 3·spin + colour of the source."""

    @property
    def iterations(self) -> int: ...
    @property
    def history(self) -> NDArray[np.float64]: ...
    @property
    def history_sha256(self) -> str: ...
    @property
    def true_residual(self) -> float: ...
    @property
    def solution_residual(self) -> float: ...
    @property
    def converged(self) -> bool:
        """Whether the true residuals were computed, and are as small as was asked for. A solve that does not converge raises NotConverged."""

    @property
    def unchecked(self) -> str | None:
        """Why the true residuals could not be computed, if they could not."""

    @property
    def seconds(self) -> float:
        """Wall time of the recurrence, without that of building kernels."""

    @property
    def building_seconds(self) -> float:
        """Wall time of building kernels."""

    @property
    def source_scale(self) -> int:
        """The power of two that the source was multiplied by for the solve, and every |r|² twice; 0 unless its numbers are very small or large."""

def solve(
    operator: Operator,
    source: Complex,
    *,
    method: Method = "cg",
    tol: float | None = None,
    max_iterations: int | None = None,
    precision: Precision | None = None,
    even_odd: bool = True,
    progress: Callable[[int, float], object] | None = None,
    every: int = 10,
    convention: Convention = "lanefield",
) -> SolveResult:
    """Solves M ψ = η. Other threads of Python run meanwhile, and Ctrl-C ends the solve after the iteration at hand with KeyboardInterrupt.

    source: η, of what the operator acts on; for domain wall fermions also spinors (T, Z, Y, X, 4, 3), which go onto the walls, as the solution is taken
        from there. With one more axis before all others, several, which "cg" solves together.
    method: cg, conjugate gradients, on the normal equations unless the operator is positive definite; bicgstab; mixed (mixed-f32) and mixed-half, conjugate
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
    point: Sequence[int] = (0, 0, 0, 0),
    *,
    tol: float | None = None,
    max_iterations: int | None = None,
    precision: Precision = "f64",
    even_odd: bool = True,
    progress: Callable[[int, float], object] | None = None,
    every: int = 10,
    convention: Convention = "lanefield",
) -> SolveResult:
    """The propagator S(x, point) of a quark: M S = δ for each spin and colour of the source, in one batch. `solution` is (T, Z, Y, X, 4, 4, 3, 3): sink
    spin, source spin, sink colour, source colour. Otherwise as `solve`."""

@final
class Correlators:
    """Correlators of the pion and the rho at times 0 to T − 1 from the source."""

    @property
    def pion(self) -> NDArray[np.float64]:
        """Γ = γ5: (T)."""

    @property
    def rho(self) -> NDArray[np.float64]:
        """The average over Γ = γx, γy, γz: (T)."""

    @property
    def rho_components(self) -> NDArray[np.float64]:
        """Γ = γx, γy, γz: (3, T)."""

def correlator(
    propagator: Complex,
    *,
    origin_time: int = 0,
    device: Place | None = None,
    convention: Convention = "lanefield",
    lattice: Extents | None = None,
) -> Correlators:
    """The correlators of a propagator (T, Z, Y, X, 4, 4, 3, 3) whose source lies in time slice `origin_time`: C(t) is the sum over time slice t of
    tr[γ5 S† γ5 Γ S Γ], exact and rounded once. On the CPU where no device is given."""

def effective_masses(correlator: Union[NDArray[np.float64], Sequence[float]]) -> NDArray[np.float64]:
    """The effective mass between times t and t + 1: (T − 1), the m of C(t) / C(t+1) = cosh(m(T/2 − t)) / cosh(m(T/2 − t − 1)); NaN where there is none."""

def norm2(x: Complex, *, parity: Parity | None = None, device: Place | None = None) -> float:
    """|x|², the sum over all numbers of an array (T, Z, Y, X, …): exact, rounded once. On the CPU where no device is given, as all sums."""

def inner(x: Complex, y: Complex, *, parity: Parity | None = None, device: Place | None = None) -> complex:
    """⟨x, y⟩, antilinear in x, of two arrays (T, Z, Y, X, …) of one shape and precision: exact, rounded once."""

def sum_sites(x: Complex, *, parity: Parity | None = None, device: Place | None = None) -> NDArray[np.complex128]:
    """The exact sum over all sites of each number of a site, rounded once: the axes of an array (T, Z, Y, X, …) after the first four."""

def sum_slices(
    x: Complex, *, direction: Literal["x", "y", "z", "t"] = "t", parity: Parity | None = None, device: Place | None = None
) -> NDArray[np.complex128]:
    """The same slice by slice across a direction: its axis is the first of the result."""

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

def compare(a: NDArray[Any], b: NDArray[Any], ulps: int = 0) -> Comparison:
    """Compares two real or complex arrays of one shape to the last bit: where they differ first, how many numbers do, where they lie, and what may have
    caused it. Any NaN equals any NaN; where one is f32 and the other f64, the latter is first rounded to f32.

    ulps: numbers so many units in the last place apart, or fewer, are accepted.
    """

def golden_export(
    directory: Path,
    *,
    kernels: Sequence[str] | None = None,
    lattice: Extents | None = None,
    seed: int = 1,
    precisions: Sequence[Literal["f32", "f64", "half"]] | None = None,
    device: Place | None = None,
    overwrite: bool = False,
) -> dict[str, int]:
    """Writes golden data to a directory: inputs, intermediates and results of kernels, with a manifest (docs/golden.md). The same bytes come from every
    device. Gives the numbers of `cases`, `stages`, `files` and `bytes`.

    kernels: by name; all where not given.
    lattice: of even extents; (4, 6, 2, 8) where not given.
    device: the CPU where not given.
    overwrite: replace a directory that holds golden data; otherwise FileExistsError.
    """

def golden_check(directory: Path, against: Path, *, ulps: int = 0) -> dict[str, Any]:
    """Compares the results of a port in `against` with golden data: whatever is there is compared. Gives `same`, the numbers of files `compared`, `differ`
    and `missing`, the same by kernel as `groups`, and the `first` difference."""
