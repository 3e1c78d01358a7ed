//! Bit-for-bit comparison of a backend with the reference, on random awkward lattices and on whole solves, as in `lanefield verify`. With
//! [`compare_fields`], authors of a port can compare fields of their own.
//!
//! | file | subject |
//! |---|---|
//! | `options.rs`, `tested.rs`, `error.rs` | options, backends and errors of a verification |
//! | `verification.rs` | the units of a run, and their results |
//! | `case.rs` | random lattices, layouts and parameters |
//! | `kernels.rs` | every kernel of the list on one case |
//! | `sums.rs`, `solve.rs` | sums in every form; the history and the solution of solves of every operator by every method |
//! | `parts.rs` | solves on random decompositions, compared with one rank |
//! | `compare.rs`, `rows.rs`, `report.rs` | differences: where, and how large; rows of the report |

mod case;
mod compare;
mod error;
mod kernels;
mod options;
mod parts;
mod report;
mod rows;
mod solve;
mod sums;
mod tested;
mod verification;

pub use case::RandomCase;
pub use compare::{
    ComplexPart, Difference, FieldMismatch, Mismatch, compare_fields, compare_histories, compare_host_fields,
};
pub use error::VerifyError;
pub use options::VerifyOptions;
pub use parts::{PartsCase, PartsOutcome};
pub use report::{Failure, Row, RowVerdict, Subject, UnitError, VerifyReport};
pub use tested::{Against, Tested};
pub use verification::{Findings, Progress, UnitReport, Verification, rows, verify};
