//! The canonical arithmetic of `docs/arithmetic.md` on vectors of complex lanes, one function an operation. Its counterparts,
//! written independently from the same page, are `cl/*.clh`.

pub(crate) mod eight;
pub mod lanes;
pub mod spin;
pub mod su3;

pub use lanes::{LaneVector, Pair};
