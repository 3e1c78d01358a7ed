//! Bit-for-bit comparison of a backend with the reference, on random awkward lattices and on whole solves: the main job of
//! `lanefield verify`, and the tools with which the author of a port compares fields of their own ([`compare_fields`]).
//!
//! | file | subject |
//! |---|---|
//! | `options.rs`, `tested.rs`, `error.rs` | what to verify, which backends, and why that failed |
//! | `verification.rs` | the units of a run, and what they find |
//! | `case.rs` | random lattices, layouts and parameters |
//! | `kernels.rs` | every kernel of the list on one case |
//! | `sums.rs`, `solve.rs` | sums in every form; the history and the solution of solves of every operator by every method |
//! | `parts.rs` | solves on random decompositions, held against one rank |
//! | `compare.rs`, `rows.rs`, `report.rs` | what differs, where, by how much; rows |

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
