//! Tools for authors of lattice kernels in other programs. Arrays are read in their order and basis ([`order`]), compared with ours down to the
//! first bit that differs ([`compare`]), and tried as solutions of a system ([`system`]). Inputs, intermediates and results are available for
//! comparison ([`golden`]).

#![allow(missing_docs, reason = "a comment says what a name does not")]

pub mod compare;
mod content;
pub mod golden;
pub mod order;
mod projection;
pub mod system;
mod words;

pub use content::Content;
pub use lanefield;
pub use words::WordError;
