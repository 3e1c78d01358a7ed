//! Estimates before anything is built or run: the least time of a workload on a machine, and what limits it. A machine is a short file of numbers.
//! A workload is a number of lines, fetches and levels of a tree, or one of the kernels of this library (`crate::model`).

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
