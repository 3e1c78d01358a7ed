//! Backends store fields and run kernels. A backend implements three small traits: [`Memory`], [`Launch`] and [`Reduce`]. The kernels of all
//! families are functions over these (`kernel`). Operators and solvers are written once over [`Backend`], and do not depend on which backend they
//! run on: every backend computes the same bits.

mod any_field;
mod cpu;
mod cpu_launch;
mod error;
pub mod ghosts;
pub mod graph;
mod host_field;
mod launch;
mod memory;
mod queued;
mod sequence;
pub mod shared_packets;
pub mod specification;
mod table;
pub mod timeline;
mod work;

pub use any_field::AnyField;
pub use cpu::{Cpu, Threads};
pub use error::BackendError;
pub use host_field::HostField;
pub use lanefield_reference::kernels::reduce::{PartialSums, Sum};
pub use launch::{Anew, Backend, Launch, Reduce};
pub use memory::{FieldOn, HopOn, Memory};
pub use queued::{MOST_QUEUED, QueuedBounds, QueuedIterations, QueuedSums};
pub use sequence::{LaunchSequence, Step};
pub use table::{HostTable, Table, TableFacts};
