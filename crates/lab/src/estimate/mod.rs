//! Estimates before anything is built or run: what a workload can take on a machine at best, and what binds. A machine is a short file of numbers; a
//! workload is a number of lines, fetches and levels of a tree, or one of the kernels of this library, whose traffic is counted from its layout.
//!
//! | file | subject |
//! |---|---|
//! | `host.rs` | this host |
//! | `limits.rs` | the limits of a launch, and how they make a time |
//! | `traversal.rs` | trees: lines, levels, lanes, regrouping |
//! | `workload.rs` | a workload on a machine, by hand |
//! | `stencil.rs` | the kernels of this library on a machine |
//! | `ranks.rs` | many devices |
//! | `resident.rs` | what the groups of a compute unit ask of the second cache |
//! | `streams.rs` | what a launch moves from and to memory |
//! | `instructions.rs` | arithmetic of a site |

mod host;
mod instructions;
mod limits;
mod ranks;
mod resident;
mod stencil;
mod streams;
mod traversal;
mod workload;

pub use instructions::{Instructions, instructions_a_part};
pub use limits::{Limit, LimitKind, Prediction};
pub use ranks::{Binding, RanksEstimate, RanksLaunch, on_ranks};
pub use resident::{UnitTraffic, unit_traffic};
pub use stencil::{KernelEstimate, KernelWork, stencil};
pub use streams::{Streams, streams};
pub use traversal::TraversalReport;
pub use workload::{Workload, WorkloadReport};

use lanefield::backend::BackendError;
use lanefield::comm::DecompositionError;
use lanefield_reference::layout::LayoutError;

use crate::access::AccessError;
use crate::description::DescriptionError;

#[derive(Debug, thiserror::Error)]
pub enum EstimateError {
    #[error(transparent)]
    Description(#[from] DescriptionError),
    #[error(transparent)]
    Access(#[from] AccessError),
    #[error(transparent)]
    Layout(#[from] LayoutError),
    #[error(transparent)]
    Decomposition(#[from] DecompositionError),
    #[error(transparent)]
    Backend(#[from] BackendError),
}
