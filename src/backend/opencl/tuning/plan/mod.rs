//! Plans: how a kernel is built and launched. This is the only place where its specification, the user's settings, tuning results and
//! defaults are combined. It needs no driver, so kernels can be compiled for devices that this machine does not have (`offline.rs`).
//!
//! | file | subject |
//! |---|---|
//! | `planner.rs` | the common part of all plans: the source, the work-group sizes of a device, the build options of all kernels |
//! | `stencil.rs` | kernels without sums |
//! | `sum.rs`, `sum_options.rs` | kernels with sums: the form of a sum, its work-groups and its build options |

mod planner;
mod stencil;
mod sum;
mod sum_options;

pub use planner::registers_in;
pub(crate) use planner::{ChoiceSource, LocalMemory, Plan, Planner};
pub(crate) use sum::{COUNTS_AT_ONCE, Reduction, SumBuild, exchange_bytes, sums_file};
pub use sum_options::{Finish, SumForm, SumOptions};
