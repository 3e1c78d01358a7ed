//! Programs: OpenCL C, built for a device.
//!
//! | file | subject |
//! |---|---|
//! | `sources.rs` | the files of `cl/`, and their includes |
//! | `cache.rs` | binaries and verdicts on disk |
//! | `launched.rs` | kernels that are in a driver's own cache |
//! | `programs.rs` | programs and their kernels, built once, and the progress of building |

mod cache;
mod launched;
mod programs;
mod sources;

pub use cache::{Cache, EntryKind, Key};
pub(crate) use launched::{PROGRAM_ALONE, note_launched, was_launched};
pub(crate) use programs::full_options;
pub use programs::{Builds, BuiltKernel, KernelInfo, Program, Programs};
pub(crate) use sources::expand_for;
pub use sources::{Source, expand_with};
