//! Theoretical occupancy: how many waves of a kernel a compute unit holds at once, by the rules of each architecture, which resource says so,
//! and what the next step up would need. What it is good for, and where the rules come from, is in `docs/occupancy.md`.
//!
//! | file | subject |
//! |---|---|
//! | `architecture.rs` | the numbers of each architecture |
//! | `limits.rs` | what each resource allows |
//! | `held.rs` | what a compute unit holds, and which resource binds |
//! | `next_step.rs` | what one group more would need |
//! | `emprism.rs` | the simplified formulas of the EmPRiSM report, and where they differ |
//! | `sweep.rs` | occupancy along a row of group sizes, registers or bytes |

mod architecture;
pub mod emprism;
mod error;
mod held;
mod limits;
mod next_step;
mod sweep;
#[cfg(test)]
mod tests;

pub use architecture::{Accumulation, Architecture, ScalarRegisters, Vendor};
pub use error::OccupancyError;
pub use held::{Occupancy, occupancy};
pub use limits::{Demand, Limit, Resource};
pub use next_step::{Need, NextStep};
pub use sweep::{Swept, SweptQuantity, sweep, sweet_spot};
