//! Why a kernel is slow, and what will help: an automated version of the checklist that people go through by hand. First a run is observed
//! (`observation.rs`: times, launches, compiled code, addresses, the timeline), then it is judged (`checks/`), so that the judgement can be tested
//! without a device.
//!
//! | file | subject |
//! |---|---|
//! | `product.rs` | observing Lanefield's own kernels, in a tuning |
//! | `described.rs`, `read.rs`, `run.rs`, `runner.rs` | observing a kernel of one's own, described in TOML |
//! | `trace_file.rs` | the timeline of a run that was traced |
//! | `profile.rs` | kernels as a profiler counted them |
//! | `model.rs` | what the models of accesses and of time say of Lanefield's kernels |
//! | `facts.rs` | device, compiled code and addresses, as the checks are told them |
//! | `checks/` | one check a file |
//! | `finding.rs` | what was found |

pub mod checks;
mod described;
mod error;
mod facts;
mod finding;
mod model;
mod observation;
mod product;
mod profile;
mod read;
mod run;
mod runner;
mod trace_file;

pub use checks::diagnose;
pub use described::{Described, Description};
pub use finding::{Fault, Finding, Remedy};
pub use observation::{DeviceFacts, Observation, Timeline};
pub use product::Examination;
pub use profile::of_profile;
pub use read::{DescriptionError, beside};
pub use trace_file::read_trace;
