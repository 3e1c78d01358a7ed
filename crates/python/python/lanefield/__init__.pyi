"""Lattice fields on OpenCL devices and on CPUs, with the same bits.

Arrays are NumPy arrays of complex64 or complex128. An array in C order and in the machine's byte order is read in place; others are
copied first. The axes of the lattice are (T, Z, Y, X), x fastest:

* spinors: (T, Z, Y, X, 4, 3), with spin and colour last;
* five-dimensional fermions: (Ls, T, Z, Y, X, 4, 3);
* N colour vectors: (T, Z, Y, X, N, 3), a single one also (T, Z, Y, X, 3);
* links: (T, Z, Y, X, 4, 3, 3), with direction x, y, z, t, row and column last;
* propagators: (T, Z, Y, X, 4, 4, 3, 3), with sink spin, source spin, sink colour and source colour last.

With `convention`, arrays have the axes of PyQUDA or gpt. All conventions have the same basis of spins:

* "lanefield": fields (…, T, Z, Y, X, spin, colour), five-dimensional fermions (…, Ls, T, Z, Y, X, spin, colour), and
  links (T, Z, Y, X, 4, 3, 3);
* "pyquda": fields (…, 2, T, Z, Y, X/2, spin, colour), five-dimensional fermions (…, Ls, 2, T, Z, Y, X/2, spin, colour),
  and links (4, 2, T, Z, Y, X/2, 3, 3);
* "gpt": fields (…, sites, spin, colour) with x fastest, five-dimensional fermions (…, sites · Ls, spin, colour) with s
  fastest, and links (4, sites, 3, 3).

A lattice is given by its extents (x, y, z, t), a position by its coordinates (x, y, z, t). A wrong argument raises ValueError or
TypeError, a file OSError, and missing memory MemoryError.
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
_Solver = Literal["cg", "block-cg", "bicgstab", "mixed-f32", "mixed-half"]
_Precision = Literal["f32", "f64"]
_Convention = Literal["lanefield", "pyquda", "gpt"]

def read_array(path: _Path, *, dataset: str | None = None) -> _Complex:
    """Reads an array of complex numbers from a NumPy file, or from an HDF5 file such as a propagator of QDP++ (Chroma). If the array has
    a sidecar, the sidecar must describe it.

    dataset: the path of the array in an HDF5 file, "a/b/c". By default, the only dataset of complex numbers.
    """

class NotConverged(RuntimeError):
    """A solve found no solution. `history` has |r|² of the recurrence, and `iterations` the number of iterations. The iterate is not kept."""

    iterations: int
    history: NDArray[np.float64]

class DeviceError(RuntimeError):
    """A device or its driver could not do what was requested."""

@final
class Device:
    """A device that computes. No bit of any result depends on it.

    choice: "cpu", the CPU reference; "auto", the first GPU, else any OpenCL device, else the CPU reference; a number from
        `devices()`; or part of a name. By default, the value of the environment variable LANEFIELD_DEVICE, else "auto".
    threads: number of threads of the CPU reference; by default RAYON_NUM_THREADS, else the number of cores.
    lanes: lane width in bytes, 8 to 256; by default a width that suits the device and the lattice.
    """

    def __new__(cls, choice: Union[str, int, None] = None, *, threads: int | None = None, lanes: int | None = None) -> Device: ...
    @property
    def description(self) -> str:
        """The device in one line of text."""

    @property
    def is_opencl(self) -> bool:
        """Whether this is an OpenCL device."""

    @property
    def is_bitwise(self) -> bool:
        """Whether the device computes the bits that docs/arithmetic.md defines. If a probe finds that it does not, opening it gives a
        UserWarning.
        """

def devices() -> list[dict[str, Any]]:
    """The OpenCL devices of this machine, with the keys of `lanefield devices --json`. The list is empty if there is no OpenCL."""

@final
class Configuration:
    """A gauge configuration in SU(3) on a periodic lattice. It cannot be changed. Two configurations are equal if all their bits are
    equal. Configurations can be pickled, and can be dictionary keys.
    """

    @staticmethod
    def read(
        path: _Path, *, lattice: _Lattice | None = None, project: Literal["polar", "max-re-tr"] | None = None
    ) -> Configuration:
        """Reads a gauge configuration: a NERSC, ILDG, SciDAC, MILC, openQCD, DD-αAMG or HiRep file, or a NumPy or HDF5 array (T, Z, Y, X, 4,
        3, 3). The first bytes of a file determine its format. Everything that the file states about itself is checked.

        lattice: the extents, for files that do not state them.
        project: "polar" or "max-re-tr" projects the links to SU(3), however far from it they are.
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
        """Copies links from an array (T, Z, Y, X, 4, 3, 3): direction x, y, z, t; row; column. They must be in SU(3).

        convention: with "pyquda" or "gpt", the array of that convention, or a list of one array for each direction, such as gpt's
            [U[mu][:] for mu in range(4)].
        lattice: the extents. Arrays of gpt need them, because their shape does not determine them. Other arrays must have these extents.
        """

    def array(self, *, convention: _Convention = "lanefield") -> NDArray[np.complex128]:
        """Copies the links to an array, in the order of a convention."""

    @property
    def extents(self) -> tuple[int, int, int, int]:
        """Extents (x, y, z, t)."""

    @property
    def links(self) -> NDArray[np.complex128]:
        """The links (T, Z, Y, X, 4, 3, 3), as a read-only view without a copy."""

    @property
    def sha256(self) -> str:
        """SHA-256 of the links, 64 hex digits: the digest of docs/arithmetic.md §18, which records of solves contain too."""

    @property
    def plaquette(self) -> float:
        """Average plaquette: the mean of Re tr P / 3. The sum over sites and planes is exact."""

    @property
    def link_trace(self) -> float:
        """Link trace: the mean of Re tr U / 3. The sum over all diagonal elements is exact."""

    def projected(self, projection: Literal["polar", "max-re-tr"] = "polar") -> Configuration:
        """Returns the configuration with its links projected to SU(3): "polar", by polar decomposition, or "max-re-tr", to the largest Re tr
        U V†.
        """

    def save(
        self,
        path: _Path,
        *,
        overwrite: bool = False,
        format: Literal["nersc", "ildg", "milc", "npy", "hdf5"] | None = None,
    ) -> None:
        """Writes a file in the format of its extension: .nersc (or none), .lime (ILDG), .milc, .npy, .h5. If the file exists, this raises
        FileExistsError unless `overwrite` is true. A configuration that was read from a file is written in the precision of that file and
        keeps its labels. Labels that the format cannot hold go into a sidecar, PATH.json.

        format: "nersc", "ildg", "milc", "npy" or "hdf5", whatever the extension is.
        """

    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __copy__(self) -> Configuration: ...
    def __deepcopy__(self, _memo: object, /) -> Configuration: ...

def gaussian(
    lattice: _Lattice, seed: int, *, ls: int | None = None, components: int | None = None, convention: _Convention = "lanefield"
) -> NDArray[np.complex128]:
    """Gaussian numbers, each real of variance 1: the source `--source gauss:SEED` of the program; the same on every machine.

    Returns (T, Z, Y, X, 4, 3); with `ls`, (Ls, T, Z, Y, X, 4, 3); with `components`, colour vectors (T, Z, Y, X, components, 3).
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
    """A point source: 1 at the site `position` (x, y, z, t) in one spin (or colour vector) and colour, 0 elsewhere.

    Returns (T, Z, Y, X, 4, 3); with `components`, colour vectors (T, Z, Y, X, components, 3).
    """

def source(
    lattice: _Lattice,
    name: str,
    *,
    ls: int | None = None,
    components: int | None = None,
    convention: _Convention = "lanefield",
) -> NDArray[np.complex128]:
    """Creates a source by its name, as `--source` of the program: "z2:SEED", "z4:SEED" or "gauss:SEED" (with "SEED,t" only on time slice
    t), "wall:t,spin,colour", "momentum:nx,ny,nz,t,spin,colour" (exp(ip·x) on a time slice, with p = 2πn/L), or
    "point:x,y,z,t,spin,colour".

    Returns (T, Z, Y, X, 4, 3); with `ls`, (Ls, T, Z, Y, X, 4, 3); with `components`, colour vectors (T, Z, Y, X, components, 3).
    """

def operators() -> dict[str, dict[str, Any]]:
    """The names of the operators, and the keywords of their parameters:
    {name: {"meaning": …, "formula": …, "parameters": {keyword: {"meaning": …, "default": …}}}}.
    If the default is None, the parameter is required. "follows" names another parameter, whose value is the default.
    """

@final
class Operator:
    """An operator M on a configuration and a device, by its name, with its parameters as keywords: `operators()` lists both.

    `operators()` also has M as a "formula". In it, U are the links; those that cross the boundary carry its phase; and
    W ψ(x) = -½ Σ_μ [(1 - γ_μ) U_μ(x) ψ(x+μ) + (1 + γ_μ) U_μ†(x-μ) ψ(x-μ)].

    There is no parameter kappa: it is 1 / (2 (4 + mass)). Sections 6, 9, 13 to 17 and 25 of docs/arithmetic.md define every rounding.

    boundary: phases of the fermion in x, y, z, t: 1 periodic, -1 antiperiodic, 0 fixed, or e^{iθ}, with ψ(x+L) = e^{iθ} ψ(x). By
        default (1, 1, 1, -1). A phase e^{iθ} is a complex number or text, such as "0.25pi" for θ = π/4, and needs reconstruct=18.
    reconstruct: number of reals that are stored for each link: 18 (the default), 12 or 8. It is part of the operator: it changes the
        last bits.
    legs: the order in which the hop adds its legs, such as "-t-y-z+t+y+z-x+x" (the default). It also changes the last bits.
    device: the device that applies the operator; by default that of LANEFIELD_DEVICE, else "auto".
    """

    def __new__(
        cls,
        name: str,
        configuration: Configuration,
        *,
        boundary: Union[_Four, Sequence[Union[complex, str]], NDArray[np.complexfloating[Any, Any]], str, None] = None,
        reconstruct: Literal[18, 12, 8] | None = None,
        legs: str | None = None,
        device: _Place | None = None,
        **parameters: Union[float, int, str],
    ) -> Operator: ...
    @property
    def name(self) -> str:
        """Name of the operator."""

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters by keyword, including `boundary`, `reconstruct` and `legs`."""

    @property
    def configuration(self) -> Configuration:
        """Gauge configuration of the operator."""

    @property
    def device(self) -> Device:
        """Device that applies the operator."""

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
        """Applies M, or one of its even-odd pieces, in the precision of `psi`. The result has the shape and precision of `psi`.

        psi: a field that the operator acts on, or several along one more axis before all others.
        dagger: apply the Hermitian conjugate M†. With a piece, apply that piece of M†: meooe of M† onto the even sites is the conjugate
            of meooe of M onto the odd sites.
        piece: "full", M on all sites; "meooe", the part that connects the parities; "mooee", the part that stays on a parity; "mooeeinv",
            its inverse; "mpc", the Schur complement Moo - Moe Mee⁻¹ Meo on the odd sites, for staggered fermions times the mass.
        parity: the target parity, for meooe, mooee and mooeeinv. The result is 0 on the other sites.
        out: an array for the result, which is returned. It must have the shape and precision of `psi`, be in C order, and share no memory
            with `psi`.
        """

@final
class RightHandSide:
    """One right-hand side of a solve."""

    @property
    def iterations(self) -> int:
        """Iterations of the recurrence."""

    @property
    def history(self) -> NDArray[np.float64]:
        """|r|² of the recurrence, for the guess 0 and after each iteration: iterations + 1 numbers, with the same bits on every device."""

    @property
    def residual_squared(self) -> float | None:
        """The last |r|² of the history."""

    @property
    def relative_residual(self) -> float:
        """|r| / |b| of the recurrence at its end."""

    @property
    def history_sha256(self) -> str:
        """SHA-256, 64 hex digits, of the history as `lanefield solve --history` writes it."""

    @property
    def true_residual(self) -> float:
        """|b - Aψ| / |b| of the system that was solved, recomputed in f64; NaN if it could not be computed."""

    @property
    def solution_residual(self) -> float:
        """|η - Mψ| / |η| on all sites, in f64; NaN if it could not be computed."""

    @property
    def source_scale(self) -> int:
        """For the solve the source was multiplied by 2 to this power, and so each |r|² by 4 to this power; 0 unless |b|² would underflow or
        overflow.
        """

@final
class SolveResult:
    """Solutions, and what they took. If there are several right-hand sides, `iterations` and `history` are those of the one that took
    longest, and residuals are the largest. Results can be pickled.
    """

    @property
    def solution(self) -> _Complex:
        """The solution, with the shape of the source; for a propagator (T, Z, Y, X, 4, 4, 3, 3)."""

    @property
    def rhs(self) -> list[RightHandSide]:
        """The right-hand sides; for a propagator, number 3·spin + colour is that of this spin and colour of the source."""

    @property
    def iterations(self) -> int:
        """Iterations of the right-hand side that took longest."""

    @property
    def history(self) -> NDArray[np.float64]:
        """|r|² of the right-hand side that took longest, for the guess 0 and after each iteration: iterations + 1 numbers, with the same
        bits on every device.
        """

    @property
    def residual_squared(self) -> float | None:
        """The last |r|² of `history`."""

    @property
    def relative_residual(self) -> float:
        """The largest |r| / |b| of the recurrences at their end."""

    @property
    def history_sha256(self) -> str:
        """SHA-256, 64 hex digits, of `history` as `lanefield solve --history` writes it."""

    @property
    def source_scale(self) -> int:
        """For the solve the source of `history` was multiplied by 2 to this power, and so each |r|² by 4 to this power; 0 unless |b|² would
        underflow or overflow.
        """

    @property
    def true_residual(self) -> float:
        """The largest |b - Aψ| / |b| of the systems that were solved, recomputed in f64; NaN if one could not be computed."""

    @property
    def solution_residual(self) -> float:
        """The largest |η - Mψ| / |η| on all sites, in f64; NaN if one could not be computed."""

    @property
    def converged(self) -> bool:
        """Whether the true residuals could be computed. They are then at most ten times `tolerance`, and the residual of the recurrence is
        at most `tolerance`: a solve that does not reach these raises NotConverged. If you need more, check `true_residual`.
        """

    @property
    def relative_errors(self) -> list[float]:
        """For a propagator, its estimated relative error on each time slice from the source on, the largest of all right-hand sides.
        Otherwise empty.
        """

    @property
    def unchecked(self) -> str | None:
        """Why the true residuals could not be computed, if they could not."""

    @property
    def seconds(self) -> float:
        """Wall time of the recurrence in seconds, without that of building kernels."""

    @property
    def building_seconds(self) -> float:
        """Wall time of building kernels, in seconds."""

def solve(
    operator: Operator,
    source: _Complex,
    *,
    physical: bool | None = None,
    solver: _Solver = "cg",
    tolerance: float | None = None,
    max_iterations: int | None = None,
    precision: _Precision | None = None,
    even_odd: bool = True,
    progress: Callable[[int, float], object] | None = None,
    every: int = 10,
    convention: _Convention = "lanefield",
) -> SolveResult:
    """Solves M ψ = η from the guess 0. Meanwhile other Python threads run. Ctrl-C ends the solve after the current iteration, with
    KeyboardInterrupt.

    source: η, a field that the operator acts on, or several along one more axis before all others, which "cg" and "block-cg" solve
        together. It may be read until the solve ends, and must not be written to.
    physical: for domain wall fermions, whether the source consists of spinors (T, Z, Y, X, 4, 3). They are put onto the walls, and
        the solutions are read from there. By default, one such spinor is physical. (Ls, T, Z, Y, X, 4, 3) is always one source in
        five dimensions: several physical sources need True.
    solver: "cg", conjugate gradients, on the normal equations unless the operator is positive definite; "block-cg", conjugate
        gradients for all sources in one block; "bicgstab"; "mixed-f32" and "mixed-half", conjugate gradients in f64 with a recurrence
        in f32 or half precision.
    tolerance: stop when |r| ≤ tolerance · |b|; by default 1e-10 in f64 and 1e-6 in f32.
    max_iterations: 10000 by default.
    precision: "f64" or "f32". By default f64 for the mixed solvers, else the precision of the source.
    even_odd: solve the even-odd Schur complement. If False, solve M on all sites.
    progress: a function that is called with the iteration and |r| / |b|, before the solve continues. An exception that it raises ends
        the solve.
    every: call `progress` after each `every` iterations.

    Raises NotConverged.
    """

def propagator(
    operator: Operator,
    source: _Four | str | _Complex = (0, 0, 0, 0),
    *,
    solver: _Solver = "cg",
    tolerance: float | None = None,
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
    """Computes the propagator S of a quark from a source: M S = η for each spin and colour of the source. `source` is one of:

    - a point (x, y, z, t);
    - a name, as of `lanefield propagator --source`: "wall:t", "momentum:nx,ny,nz,t", "z2:SEED,t" or "z4:SEED,t";
    - an array of twelve columns (12, T, Z, Y, X, 4, 3), where column 3·spin + colour is that of this spin and colour;
    - a propagator (T, Z, Y, X, 4, 4, 3, 3).

    `solution` is (T, Z, Y, X, 4, 4, 3, 3): sink spin, source spin, sink colour, source colour. For twisted mass it is in the twisted
    basis; pass the twist angle to `correlator`.

    solver: "cg" solves all twelve in one batch, and "block-cg" in one block. The others solve one after the other, and `progress`
        then counts the iterations of each from the start.
    smear_source: (alpha, steps) of Gaussian smearing of the source within its time slices (docs/spectrum.md).
    smear_sink: the same for the sink, after the solve. The solution is then complex128.
    smear_links: the links of both smearings, if they are not those of the operator: a Configuration, or a smearing of the operator's
        links, such as "spatial-ape:0.5,10".

    The other keywords are those of `solve`.
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
        """The twist angle, in degrees, of the rotation of the propagator to the physical basis of twisted mass; None if none was given."""

def correlator(
    propagator: _Complex,
    *,
    origin_time: int = 0,
    twist_angle: float | Literal["maximal"] | None = None,
    device: _Place | None = None,
    convention: _Convention = "lanefield",
    lattice: _Lattice | None = None,
) -> Correlators:
    """Computes the correlators of a propagator (T, Z, Y, X, 4, 4, 3, 3) whose source lies in time slice `origin_time`. C(t) is the sum
    over time slice t of tr[γ5 S† γ5 Γ S Γ]: the exact sum of the traces of its sites, each computed in f64 (docs/arithmetic.md §11).

    twist_angle: for a propagator of twisted mass, "maximal", or ω in degrees with tan ω = mu / (m - m_cr). The propagator is first
        rotated to the physical basis. Without it, the rho is that of the twisted basis, which is the physical a1 at maximal twist.
        Mesons are charged.
    device: the CPU by default.
    lattice: the extents. Arrays of gpt need them, because their shape does not determine them. Other arrays must have these extents.
    """

def effective_masses(correlator: Union[NDArray[np.floating[Any]], Sequence[float]]) -> NDArray[np.float64]:
    """Computes the effective masses between times t and t + 1: (…, T - 1) for correlators (…, T). Each is the m of
    C(t) / C(t+1) = cosh(m(T/2 - t)) / cosh(m(T/2 - t - 1)), or NaN if there is none.
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
    """The squared norm |x|²: the exact sum over sites of the sites' terms, rounded once. Each term is computed in f64
    (docs/arithmetic.md §8). The result is a number for an array (T, Z, Y, X, …), and an array for several of them.

    lattice: the extents. Axes before those of the lattice count fields, and stay. An array is refused if it does not have the axes of
        the lattice, or has them at two places. By default, the axes of the lattice are the first. Arrays of gpt need `lattice`.
    leading: number of axes before those of the lattice.
    ls: for five-dimensional fermions, the extent of s, whose axis stands before those of the lattice. The sum is then also over s,
        with a term for each site of each s. Without `ls` such an axis stays.
    parity: the sites to sum over; by default all.
    device: the CPU by default, as for all sums.
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
    """The inner product ⟨x, y⟩, antilinear in x, of two arrays (T, Z, Y, X, …) with the same shape and precision: the exact sum over
    sites of the sites' terms, rounded once. Each term is computed in f64 (docs/arithmetic.md §8). The keywords are those of `norm2`.
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
    """The exact sum over all sites of each number of a site, rounded once: an array (T, Z, Y, X, …) without its first four axes. The
    keywords are those of `norm2`.
    """

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
    """The sums of `sum_sites` over each slice across a direction. In the result, the axis of that direction takes the place of the
    lattice's axes.
    """

@final
class Comparison:
    """The result of a comparison of two arrays. It is true if they are the same."""

    @property
    def same(self) -> bool:
        """Whether all numbers are the same, or differ by at most `ulps`."""

    @property
    def differing(self) -> int:
        """Number of reals that differ by more than `ulps`."""

    @property
    def first(self) -> dict[str, Any] | None:
        """The first number that differs, in site order: its place, both values, their bits and their distance; None if none differs."""

    @property
    def causes(self) -> list[str]:
        """Probable causes of the difference as sentences, the most certain first."""

    @property
    def facts(self) -> dict[str, Any]:
        """Everything that was found, with the keys of `lanefield compare --json`."""

    def __bool__(self) -> bool: ...

def compare(a: Union[NDArray[Any], Sequence[Any]], b: Union[NDArray[Any], Sequence[Any]], ulps: int = 0) -> Comparison:
    """Compares two arrays of the same shape, with complex, real or whole numbers, bit for bit. The result says which number differs
    first, how many differ, where they lie, and a probable cause. Any NaN equals any NaN. If one array is f32 and the other f64, the
    latter is first rounded to f32.

    ulps: accept numbers that are at most this many units in the last place apart. Whole numbers must always be equal.
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
    """Writes golden data to a directory: inputs, intermediates and results of kernels, with a manifest (docs/golden.md). Every device
    writes the same bytes. Returns the numbers of `cases`, `stages`, `files` and `bytes`. Ctrl-C ends the export after the current
    kernel, and nothing is written.

    kernels: names of kernels; by default all.
    lattice: extents, which must be even; (4, 6, 2, 8) by default.
    device: the CPU by default.
    overwrite: replace a directory that holds golden data. Without it, such a directory raises FileExistsError.
    """

def golden_check(directory: _Path, against: _Path, *, ulps: int = 0) -> dict[str, Any]:
    """Compares the results of a port in the directory `against` with golden data. Results that are missing are not compared. Returns
    `same`, the number of files that were `compared`, those that `differ` and those that are `missing`, and the same three by kernel
    as `groups`; files that are not in the golden data as `unknown`; and the `first` difference.
    """
