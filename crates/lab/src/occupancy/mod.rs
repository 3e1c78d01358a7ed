//! Theoretical occupancy: how many waves of a kernel a compute unit holds at once, by the rules of each architecture (`crate::model`), which resource
//! says so, and what the next step up would need. What it is good for, and where the rules come from, is in `docs/occupancy.md`.
//!
//! | file | subject |
//! |---|---|
//! | `held.rs` | what a compute unit holds, and which resource binds |
//! | `next_step.rs` | what one group more would need |
//! | `emprism.rs` | the simplified formulas of the EmPRiSM report, and where they differ |
//! | `sweep.rs` | occupancy along a row of group sizes, registers or bytes |

pub mod emprism;
mod held;
mod next_step;
mod sweep;
#[cfg(test)]
mod tests;

pub use held::{Occupancy, occupancy};
pub use next_step::Need;
pub use sweep::{Swept, SweptQuantity, sweep, sweet_spot};
