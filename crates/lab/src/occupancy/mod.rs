//! Theoretical occupancy by the rules of each architecture (`crate::model`): how many waves of a kernel a compute unit holds at once. It also shows
//! which resource limits it, and what the next step up would need. `docs/occupancy.md` explains its use, and has the sources of the rules.

pub mod emprism;
mod held;
mod next_step;
mod sweep;
#[cfg(test)]
mod tests;

pub use held::{Occupancy, occupancy};
pub use next_step::Need;
pub use sweep::{Swept, SweptQuantity, sweep, sweet_spot};
