//! Theoretical occupancy: how many waves of a kernel a compute unit holds at once, by the rules of each architecture, which resource says so,
//! and what the next step up would need. What it is good for, and where the rules come from, is in `docs/occupancy.md`.
//!
//! | file | subject |
//! |---|---|
//! | `architecture.rs` | the numbers of each architecture |
//! | `limits.rs` | what each resource allows, and which one binds |
//! | `next_step.rs` | what one group more would need |
//! | `emprism.rs` | the simplified formulas of the EmPRiSM report, and where they differ |
//! | `sweep.rs` | occupancy along a row of group sizes, registers or bytes |

mod architecture;
pub mod emprism;
mod limits;
mod next_step;
mod sweep;
#[cfg(test)]
mod tests;

pub use architecture::{Accumulation, Architecture, ScalarRegisters, Vendor};
pub use limits::{Demand, Limit, Occupancy, OccupancyError, Resource, occupancy};
pub use next_step::{Need, NextStep};
pub use sweep::{Swept, SweptQuantity, sweep, sweet_spot};
