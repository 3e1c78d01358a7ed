//! How a kernel is built and launched: the one place where its specification, what the user set, what was tuned and the defaults come together.
//! It needs no driver, so that kernels can be compiled for devices that are not there (`offline.rs`).
//!
//! | file | subject |
//! |---|---|
//! | `planner.rs` | what all plans share: the source, the groups that a device takes, the build options of all kernels |
//! | `stencil.rs` | kernels that sum nothing |
//! | `sum.rs`, `sum_options.rs` | kernels that sum: the form of a sum, its groups and its build |

mod planner;
mod stencil;
mod sum;
mod sum_options;

pub use planner::registers_in;
pub(crate) use planner::{ChoiceSource, LocalMemory, Plan, Planner};
pub(crate) use sum::{COUNTS_AT_ONCE, Reduction, SumBuild, exchange_bytes, sums_file};
pub use sum_options::{Finish, SumForm, SumOptions};
