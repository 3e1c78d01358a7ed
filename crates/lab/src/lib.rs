//! The laboratory of Lanefield: times kernels in their variants, compares alternatives, and explains what limits them.
//!
//! | file | subject |
//! |---|---|
//! | `ahead.rs` | the programs that a measurement will build |
//! | `timed.rs` | backends that can be timed |
//! | `bandwidth/` | the bandwidths of memory that streams of kernels reach |
//! | `machine/`, `description.rs` | machines: those that ship, and files |
//! | `ceilings.rs` | the bandwidths with which kernels are compared |
//! | `json/` | the kinds of documents, the device in each, SI units |
//! | `sources.rs` | the OpenCL C sources of `crates/lab/cl` |
//! | `timing.rs`, `spread.rs`, `record.rs` | one kernel timed in one tuning; the record of it |
//! | `bench.rs` | which kernels to time, and on which fields |
//! | `study.rs` | kernels timed in several variants |
//! | `orders.rs`, `sprint.rs` | the cases of studies of leg orders, and of stencils on GPUs |
//! | `model/` | a launch of a kernel before it runs: what it moves, and its demand on a compute unit |
//! | `occupancy/` | how many waves of a kernel a compute unit holds |
//! | `code/` | the compiled code of kernels: registers, spills, instructions |
//! | `tune.rs` | the search for the fastest tuning of each kernel |
//! | `peak/` | the ceilings of a device: memory, caches, arithmetic, launches, transfers |
//! | `reduce.rs` | the forms of sums of large objects |
//! | `guidelines/` | guidelines for GPU programs, as experiments |
//! | `binding.rs` | what limits a kernel |
//! | `counters/` | bandwidth from a profiler's counters |
//! | `report/` | one HTML file of the results of commands |
//! | `trace/` | what ran when: traces and hotspots |
//! | `access/` | the lines of memory that wavefronts touch |
//! | `estimate/` | the best possible time of a workload on a machine: go or no go |
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
