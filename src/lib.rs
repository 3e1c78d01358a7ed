//! Lattice fields, lattice QCD first, on any OpenCL device and on CPUs, with the same bits.
//!
//! A result is a function of its inputs alone: no thread count, lane width, work-group size, backend or vendor changes a bit of it.
//! `docs/arithmetic.md` defines every operation. The modules, each of which uses only those below it:
//!
//! | module | subject |
//! |---|---|
//! | [`verify`] | bit-for-bit comparison of two backends |
//! | [`mod@emit`] | kernels as sources in OpenCL C, C, CUDA and HIP, for other programs |
//! | [`mod@capture`] | one launch of a kernel with all that it depends on, in files |
//! | [`observable`] | propagators, and correlators of mesons |
//! | [`io`] | NERSC configurations, NumPy arrays, states of solves |
//! | [`dynamic`] | backends and operators that are known at run time: what programs take |
//! | [`solver`] | conjugate gradients, BiCGStab, mixed precision: written once over [`backend::Backend`] |
//! | [`comm`] | ranks, each with a part of the lattice: a backend of many devices |
//! | [`operator`] | Wilson, twisted mass, clover, domain wall, Laplacian, staggered: likewise |
//! | [`kernel`] | the kernels, a file a family: specification, CPU function, plain loops, and the function over [`backend::Launch`] |
//! | [`backend`] | memory, launches and sums: the CPU reference and OpenCL devices |
//! | [`mod@reference`] | layout, fields, canonical arithmetic, CPU kernels: a crate of its own |
//!
//! Crates that build on it: `lanefield-lab`, the laboratory, which times kernels and says why they take so long, and `lanefield-cli`, the program.
//!
//! Features, none of which is on by default: `check` tests kernels, one's own among them; `fits` adds fits of correlators and of the static potential to
//! [`statistics`] and [`gauge`]; `hdf5` adds `io::hdf5`.
//!
//! # A lattice, and a field on it
//!
//! The sites of a lattice are divided among the lanes of vectors; the width of a vector is a choice of layout, and no result depends on it.
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
//! The kernels are methods of a backend. Sums over sites are exact and rounded once, or taken in a tree as Grid takes them.
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
//! On an OpenCL device the same function takes an `OpenCl` in place of a `Cpu`, and gives the same bits.
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

// What the macros write names the library so, also within it.
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

/// What the macros write names everything by its path here.
#[doc(hidden)]
pub mod __private {
    #[cfg(feature = "check")]
    pub use crate::check;
    pub use lanefield_kernels::__private::*;
}

/// What twins of bodies are written with: `use lanefield::twin::*`.
pub mod twin {
    pub use lanefield_kernels::__private::twin::*;
}

/// What most programs use: `use lanefield::prelude::*`.
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
