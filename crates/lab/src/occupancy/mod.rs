//! Theoretical occupancy: how many waves of a kernel a compute unit holds at once, by the rules of each architecture (`crate::model`), which resource
//! says so, and what the next step up would need. What it is good for, and where the rules come from, is in `docs/occupancy.md`.

pub mod emprism;
mod held;
mod next_step;
mod sweep;
#[cfg(test)]
mod tests;

pub use held::{Occupancy, occupancy};
pub use next_step::Need;
pub use sweep::{Swept, SweptQuantity, sweep, sweet_spot};
