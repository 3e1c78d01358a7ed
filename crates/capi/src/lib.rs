//! The C interface of Lanefield, `liblanefield`. cbindgen writes its header `include/lanefield.h` from these sources. The library has no
//! global state: its functions receive everything as handles, which `lf_context_create` and others create. Definitions of all results:
//! `docs/arithmetic.md`.
//!
//! | file | subject |
//! |---|---|
//! | `status.rs` | the status that every function returns, and the text of a failure |
//! | `pointer.rs` | handles, texts and arrays from C |
//! | `context.rs`, `device.rs` | contexts: the CPU reference, or an OpenCL device |
//! | `configuration.rs` | gauge configurations from files, seeds and arrays |
//! | `operator.rs` | operators by name, on arrays |
//! | `field.rs` | fields that a context stores, and operations on them |
//! | `sum.rs` | exact sums of arrays, and accumulating sums |
//! | `check.rs` | comparison of a caller's array with the reference |
//! | `source.rs` | sources by name |
//! | `solve.rs` | solves |
//! | `golden.rs` | golden data |

#![allow(non_camel_case_types, reason = "the names of C")]
#![allow(
    clippy::missing_safety_doc,
    reason = "the documentation is that of the header: what pointers must be is said there, for all at its top"
)]

mod check;
mod configuration;
mod context;
mod device;
mod field;
mod golden;
mod operator;
mod pointer;
mod solve;
mod source;
mod status;
mod struct_size;
mod sum;

pub use check::{lf_check_hop_f32, lf_check_hop_f64, lf_check_operator_f32, lf_check_operator_f64, lf_report};
pub use configuration::*;
pub use context::*;
pub use device::*;
pub use field::*;
pub use golden::*;

pub use operator::*;
pub use solve::*;
pub use source::*;
pub use status::{lf_last_error, lf_status, lf_status_name, lf_version};
pub use sum::*;
