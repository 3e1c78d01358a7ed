//! Why a kernel is slow, and what will help: the checklist that people go through by hand, carried out. What a run does is observed first
//! (`observation.rs`: times, launches, compiled code, addresses, the timeline), then judged (`checks/`), so that the judgement can be tested
//! without a device.
//!
//! | file | subject |
//! |---|---|
//! | `product.rs` | observing Lanefield's own kernels, in a tuning |
//! | `described.rs`, `run.rs`, `runner.rs` | observing a kernel of one's own, described in TOML |
//! | `trace_file.rs` | the timeline of a run that was traced |
//! | `profile.rs` | kernels as a profiler counted them |
//! | `model.rs` | what the models of accesses and of time say of Lanefield's kernels |
//! | `machine.rs` | device, compiled code and addresses, as the checks are told them |
//! | `checks/` | one check a file |
//! | `finding.rs` | what was found |

pub mod checks;
mod described;
mod finding;
mod machine;
mod model;
mod observation;
mod product;
mod profile;
mod run;
mod runner;
mod trace_file;

pub use checks::diagnose;
pub use described::{Description, DescriptionError, Often, beside};
pub use finding::{Fault, Finding, Remedy};
pub use observation::{ArrayAccess, Binding, Code, Machine, Observation, Pass, Timeline};
pub use product::Examination;
pub use profile::of_profile;
pub use run::Described;
pub use trace_file::read_trace;

use lanefield::backend::BackendError;
use lanefield::backend::opencl::OpenClError;

use crate::code::ClangError;
use crate::estimate::EstimateError;

/// Why a run could not be examined.
#[derive(Debug, thiserror::Error)]
pub enum DoctorError {
    /// What the runtime reports.
    #[error(transparent)]
    OpenCl(#[from] OpenClError),
    /// What a backend reports.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// A description that cannot be used.
    #[error(transparent)]
    Description(#[from] DescriptionError),
    /// A pattern of addresses that cannot be read.
    #[error("buffer {buffer}, pattern '{pattern}': {reason}")]
    Pattern {
        /// The buffer.
        buffer: String,
        /// The pattern.
        pattern: String,
        /// Why.
        reason: String,
    },
    /// A kernel that was not compiled for another device.
    #[error(transparent)]
    Clang(#[from] ClangError),
    /// A kernel that cannot be estimated.
    #[error(transparent)]
    Estimate(#[from] EstimateError),
    /// A buffer that is read before it is made.
    #[error("buffer {name} does not exist when a kernel asks for it")]
    NoBuffer {
        /// Its name.
        name: String,
    },
}
