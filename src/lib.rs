//! Lattice fields, above all for lattice QCD, on any OpenCL device and on CPUs, with the same bits.
//!
//! A result depends on its inputs alone: thread count, lane width, work-group size, backend and vendor change no bit of it. `docs/arithmetic.md`
//! defines every operation. The main modules, roughly from high to low level:
//!
//! | module | subject |
//! |---|---|
//! | [`verify`] | bit-for-bit comparison of two backends |
//! | [`mod@emit`] | kernels as source code in OpenCL C, C, CUDA and HIP, for other programs |
//! | [`mod@capture`] | one launch of a kernel with everything on which it depends, in files |
//! | [`observable`] | quark propagators, and correlators of mesons and the nucleon |
//! | [`statistics`] | means, errors, autocorrelation |
//! | [`dynamic`] | backends and operators that are chosen at run time, for programs |
//! | [`solver`] | conjugate gradients, BiCGStab, mixed precision, eigenpairs: written once for all [`backend::Backend`]s |
//! | [`operator`] | Wilson, twisted mass, clover, domain wall, Laplacian, staggered, HISQ: likewise |
//! | [`gauge`] | gauge fields: gradient flow, smearing, heat bath, hybrid Monte Carlo, gauge fixing |
//! | [`io`] | gauge configurations, NumPy arrays, saved states of solves |
//! | [`comm`] | ranks, each with a local volume of the lattice: a backend of many devices |
//! | [`kernel`] | the kernels, one file per family: specification, CPU function, scalar reference, and the function over [`backend::Launch`] |
//! | [`backend`] | memory, launches and sums: the CPU reference and OpenCL devices |
//! | [`mod@reference`] | layout, fields, canonical arithmetic, CPU kernels: a separate crate |
//!
//! Among the crates that build on it are `lanefield-lab`, which times kernels and explains what limits them, and `lanefield-cli`, the program.
//!
//! No feature is on by default. `check` tests kernels, including your own; `fits` adds fits of correlators and of the static potential to
//! [`statistics`] and [`gauge`]; `hdf5` adds `io::hdf5`.
//!
//! # A lattice, and a field on it
//!
//! The sites of a lattice are distributed over the lanes of vectors. The width of a vector is a choice of layout, and no result depends on it.
//!
//! ```
//! use lanefield::prelude::*;
//!
//! let extents = Extents::new([4, 4, 4, 8])?;
//! let lattice = Lattice::new(extents, Scalar::ComplexD, LatticeOptions::default())?;
//! // A field of spinors: a function of the site, in site order, x fastest.
//! let psi = Field::<f64, Spinors>::from_sites(lattice, Sites::Full, Spinors::ONE, |site, spinor| {
//!     spinor[0] = Complex::new(site as f64, 0.0);
//! })?;
//! assert_eq!(psi.to_site_order()[12 * 5], Complex::new(5.0, 0.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # A kernel, and a sum over sites
//!
//! The kernels are methods of a backend. Sums over sites are exact and rounded once, or tree sums as in Grid.
//!
//! ```
//! use lanefield::prelude::*;
//!
//! let backend = Cpu::new(None)?;
//! let lattice = Lattice::new(Extents::new([4, 4, 4, 8])?, Scalar::ComplexD, LatticeOptions::default())?;
//! let x = backend.upload(Field::<f64, Spinors>::from_sites(lattice, Sites::Full, Spinors::ONE, |_, spinor| {
//!     spinor.fill(Complex::new(1.0, -1.0));
//! })?)?;
//! let mut y = backend.zeros(lattice, Sites::Full, Spinors::ONE)?;
//! backend.axpy(0.5, &x, &mut y)?;
//! assert_eq!(backend.norm2(&y, Sum::Exact)?, 512.0 * 12.0 * 0.5);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # A configuration and an operator
//!
//! ```
//! use lanefield::prelude::*;
//!
//! let configuration = Configuration::hot(Extents::new([4, 4, 4, 8])?, 7);
//! assert!(configuration.plaquette().abs() < 0.1);
//!
//! let backend = Cpu::new(None)?;
//! let lattice = Lattice::new(configuration.extents(), Scalar::ComplexD, LatticeOptions::default())?;
//! let parameters = WilsonParameters { mass: 0.1, hop: HopParameters::default() };
//! let mut wilson = parameters.full::<_, f64>(&backend, &configuration, lattice)?;
//! let psi = wilson.zeros()?;
//! let mut image = wilson.zeros()?;
//! wilson.apply(&mut image, &psi, Dagger::No)?;
//! assert_eq!(backend.norm2(&image, Sum::Exact)?, 0.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # A solve
//!
//! On an OpenCL device, pass an `OpenCl` instead of a `Cpu`: the function is the same, and so are the bits.
//!
//! ```
//! use lanefield::prelude::*;
//!
//! let configuration = Configuration::hot(Extents::new([4, 4, 4, 4])?, 7);
//! let mut eta = vec![Complex::new(0.0, 0.0); configuration.extents().volume() * Spinors::WORDS];
//! eta[0] = Complex::new(1.0, 0.0);
//! let how = Solve {
//!     operator: WilsonParameters { mass: 0.5, hop: HopParameters::default() },
//!     preconditioning: Preconditioning::EvenOdd,
//!     method: Method::ConjugateGradients,
//!     params: SolverParams { tolerance: 1e-8, ..SolverParams::auto::<f64>() },
//!     lanes: LaneChoice::Auto,
//! };
//! let report = solve::<f64, _, _>(&Cpu::new(None)?, &configuration, &eta, &how, |_, _| ())?;
//! assert!(report.rhs[0].solution_residual < 1e-7);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # A comparison
//!
//! ```
//! use lanefield::prelude::*;
//! use lanefield::verify::compare_fields;
//!
//! let lattice = Lattice::new(Extents::new([4, 4, 4, 8])?, Scalar::ComplexD, LatticeOptions::default())?;
//! let expected = Field::<f64, Spinors>::zeros(lattice, Sites::Full, Spinors::ONE)?;
//! let mut found = expected.clone();
//! found.reals_mut()[0] = f64::from_bits(1);
//! let mismatch = compare_fields(&found, &expected)?.expect("one bit differs");
//! assert_eq!((mismatch.coordinate, mismatch.difference.ulp), ([0, 0, 0, 0], Some(1)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

// Code that the macros generate refers to the library by this name, also within it.
extern crate self as lanefield;

pub mod backend;
pub mod bounded;
pub mod capture;
#[cfg(feature = "check")]
pub mod check;
pub mod comm;
pub mod dynamic;
pub mod emit;
pub mod gauge;
#[cfg(feature = "check")]
pub mod hunt;
pub mod io;
pub mod observable;
pub mod operator;
mod sha256_of_numbers;
pub mod solver;
pub mod statistics;
mod temporary;
pub mod toml_text;
pub mod verify;

pub use lanefield_kernels::{body, in_precision, kernel};
pub use lanefield_reference as reference;

/// Code that the macros generate refers to everything by its path here.
#[doc(hidden)]
pub mod __private {
    #[cfg(feature = "check")]
    pub use crate::check;
    pub use lanefield_kernels::__private::*;
}

/// Imports for reference implementations of kernel functions: `use lanefield::twin::*`.
pub mod twin {
    pub use lanefield_kernels::__private::twin::*;
}

/// Imports that most programs need: `use lanefield::prelude::*`.
pub mod prelude {
    pub use crate::backend::{Backend, BackendError, Cpu, FieldOn, Launch, Memory, OpenCl, Reduce, Sum};
    pub use crate::kernel::prelude::*;
    pub use crate::operator::{
        ActsOn, CloverParameters, DomainWallParameters, EvenOdd, HisqParameters, HopParameters, LaplaceParameters,
        Model, Operator, StaggeredParameters, TwistedMassParameters, WilsonParameters,
    };
    pub use crate::reference::layout::Scalar;
    pub use crate::reference::prelude::*;
    pub use crate::solver::{Method, Preconditioning, Solve, SolverParams, solve};
}
