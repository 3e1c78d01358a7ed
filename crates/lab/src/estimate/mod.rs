//! Estimates before anything is built or run: what a workload can take on a machine at best, and what binds. A machine is a short file of numbers; a
//! workload is a number of lines, fetches and levels of a tree, or one of the kernels of this library (`crate::model`).
//!
//! | file | subject |
//! |---|---|
//! | `host.rs` | this host |
//! | `prediction.rs` | the limits of a launch, and how they make a time |
//! | `traversal.rs` | trees: lines, levels, lanes, regrouping |
//! | `workload.rs` | a workload on a machine, by hand |
//! | `stencil.rs` | the kernels of this library on a machine |
//! | `ranks.rs` | many devices |

mod host;
mod prediction;
mod ranks;
mod stencil;
mod traversal;
mod workload;

pub use prediction::{Load, Prediction};
pub use ranks::{RanksEstimate, RanksLimit, on_ranks};
pub use stencil::{KernelEstimate, stencil};
pub use traversal::TraversalReport;
pub use workload::{Workload, WorkloadReport};
