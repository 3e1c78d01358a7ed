//! Lattice fields, lattice QCD first, on any OpenCL device and on CPUs, with the same bits.
//!
//! A result is a function of its inputs alone: no thread count, lane width, work-group size, backend or vendor changes a bit of it.
//! `docs/arithmetic.md` defines every operation. The layers, from the top:
//!
//! | module | subject |
//! |---|---|
//! | [`verify`] | bit-for-bit comparison of two backends |
//! | [`observable`] | propagators, and correlators of mesons |
//! | [`solver`] | conjugate gradients, written once over [`backend::Backend`] |
//! | [`operator`] | the Wilson operator and its Schur complement, likewise |
//! | [`io`] | NERSC configurations, NumPy arrays |
//! | [`backend`] | the CPU reference and OpenCL devices |
//! | [`mod@reference`] | layout, fields, canonical arithmetic, CPU kernels: a crate of its own |
//!
//! Crates that build on it: `lanefield-lab`, the laboratory, which times kernels and says why they take so long, and `lanefield-cli`, the program.

pub mod backend;
pub mod io;
pub mod kernel;
pub mod observable;
pub mod operator;
pub mod solver;
pub mod verify;

pub use lanefield_reference as reference;
