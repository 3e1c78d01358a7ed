//! The canonical arithmetic of `docs/arithmetic.md` on vectors of complex lanes, with one function for each operation. Its counterparts, written
//! independently from the same page, are in `cl/*.clh`.

pub(crate) mod eight;
pub mod lanes;
pub(crate) mod portable;
pub mod sets;
pub mod spin;
pub mod su3;
#[cfg(target_arch = "x86_64")]
pub(crate) mod x86;

pub use crate::doubles::Doubles;
pub use lanes::{LaneVector, Pair};
pub use sets::{InstructionSet, Task};
