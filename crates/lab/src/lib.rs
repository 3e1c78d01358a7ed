//! The laboratory of Lanefield: what a kernel takes, in which way of running it, and ways to do the same compared with each other.
//!
//! | file | subject |
//! |---|---|
//! | `ahead.rs` | what a measurement will build |
//! | `timed.rs` | backends that can be timed |
//! | `bandwidth/` | the bandwidths of memory that streams of kernels reach |
//! | `machine/`, `description.rs` | machines: those that ship, and files |
//! | `ceilings.rs` | the bandwidths that kernels are held against |
//! | `json/` | the kinds of documents, the device in each, SI units |
//! | `sources.rs` | the OpenCL C sources of `crates/lab/cl` |
//! | `timing.rs`, `spread.rs`, `record.rs` | one kernel timed in one tuning; what is recorded of it |
//! | `bench.rs` | which kernels are timed, and on what |
//! | `study.rs` | kernels in several ways of running them, timed |
//! | `orders.rs`, `sprint.rs` | what is gone through in studies of leg orders, and of stencils on GPUs |
//! | `model/` | a launch of a kernel before it is run: what it moves, and what it takes of a compute unit |
//! | `occupancy/` | how many waves of a kernel a compute unit holds |
//! | `code/` | what compilers made of the kernels: registers, spills, instructions |
//! | `tune.rs` | the search for the fastest tuning of each kernel |
//! | `peak/` | the ceilings of a device: memory, caches, arithmetic, launches, transfers |
//! | `reduce.rs` | the forms of sums of large objects |
//! | `guidelines/` | guidelines for GPU programs, as experiments |
//! | `binding.rs` | what binds a kernel |
//! | `counters/` | bandwidth from what a profiler counted |
//! | `report/` | one HTML file of what the commands measured |
//! | `trace/` | what ran when: traces and hotspots |
//! | `access/` | which lines of memory wavefronts touch at once |
//! | `estimate/` | what a workload can take on a machine: go or no go |
//! | `doctor/` | why a kernel is slow, and what will help |

#![allow(missing_docs, reason = "the program alone uses this crate: a comment says what a name does not")]

pub mod access;
pub mod ahead;
pub mod bandwidth;
mod bench;
mod binding;
pub mod ceilings;
pub mod code;
pub mod counters;
pub mod description;
pub mod doctor;
mod empty;
pub mod estimate;
pub mod guidelines;
mod json;
pub mod machine;
pub mod model;
pub mod occupancy;
pub mod orders;
pub mod peak;
pub mod plausible;
mod record;
pub mod reduce;
#[cfg(feature = "report")]
pub mod report;
pub mod sources;
mod spread;
pub mod sprint;
pub mod study;
mod timed;
mod timing;
pub mod trace;
pub mod tune;

pub use bench::{BenchCase, BenchOptions, Progress, kernels_to_time, usual_sites};
pub use binding::{Binding, Limit, Unit};
pub use json::{Device, Kind};
pub use record::{FieldFacts, KernelRecord};
pub use spread::{Compared, Spread, fastest, median};
pub use timed::Timed;
pub use timing::{Sampling, TimedCase, sample};
