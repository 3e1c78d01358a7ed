//! A launch of a kernel, before it is run: what it reads and writes, where, how much of it caches keep, and what it takes of a compute unit. `access`,
//! `occupancy` and `estimate` are views of it. Everything follows from the specification of the kernel, the layout, the stencil tables and the launch geometry
//! that kernels use; no device is needed.
//!
//! | file | subject |
//! |---|---|
//! | `described.rs` | which kernels can be modelled |
//! | `work.rs` | a launch as it is asked for, on a machine |
//! | `launched.rs` | what is laid out and launched: a kernel, its fields, its groups |
//! | `program.rs` | the loads and stores of a work-item, and their addresses |
//! | `coalescing.rs` | transactions, efficiency and lines of the accesses of wavefronts |
//! | `streams.rs` | what a launch moves from and to memory |
//! | `units.rs`, `cache.rs` | what the groups of a compute unit ask of the second cache |
//! | `instructions.rs` | arithmetic of a site |
//! | `architecture.rs` | what a compute unit has |
//! | `resources.rs` | what a kernel takes of it, and how many groups each resource allows |

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
