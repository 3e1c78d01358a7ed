//! A model of a kernel's launch before it runs: what it reads and writes, what caches keep, and its demand on a compute unit. `access`, `occupancy`
//! and `estimate` are views of it. Everything follows from the kernel's specification and from the layout, stencil tables and launch geometry that
//! kernels use; no device is needed.
//!
//! | file | subject |
//! |---|---|
//! | `described.rs` | which kernels can be modelled |
//! | `work.rs` | a requested launch on a machine |
//! | `launched.rs` | a launch with its layout: a kernel, its fields, its groups |
//! | `program.rs` | the loads and stores of a work-item, and their addresses |
//! | `coalescing.rs` | transactions, efficiency and lines of the accesses of wavefronts |
//! | `streams.rs` | what a launch moves from and to memory |
//! | `units.rs`, `cache.rs` | the traffic between the compute units and the second-level cache |
//! | `instructions.rs` | arithmetic of a site |
//! | `architecture.rs` | what a compute unit has |
//! | `resources.rs` | a kernel's demand on it, and how many groups each resource allows |

mod architecture;
mod cache;
mod coalescing;
mod described;
mod error;
mod instructions;
mod launched;
mod program;
mod resources;
mod streams;
mod units;
mod work;

pub use architecture::{Accumulation, Architecture, OccupancyError, ScalarRegisters, Vendor};
pub use coalescing::{Counts, SECTOR, WaveAccess, count};
pub use described::is_described;
pub use error::ModelError;
pub use instructions::Instructions;
pub use launched::{Item, Launched};
pub use program::{Array, Instruction};
pub use resources::{Demand, GroupLimit, Resource};
pub(crate) use resources::{check, groups_held, lanes_filled, limits};
pub use streams::Streams;
pub use units::UnitTraffic;
pub use work::KernelWork;
