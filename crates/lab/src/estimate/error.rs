//! Why there is no estimate.

use lanefield::backend::BackendError;
use lanefield_reference::layout::LayoutError;
use thiserror::Error;

use crate::access::AccessError;

/// Why there is no estimate. Messages are fragments.
#[derive(Debug, Error)]
pub enum EstimateError {
    /// No such machine.
    #[error("no machine '{name}': use {known}, host, or a file that ends in .toml")]
    Unknown {
        /// The name as it was given.
        name: String,
        /// Those that ship.
        known: String,
    },
    /// A file that is no machine, or no workload.
    #[error("{what} cannot be read: {reason}")]
    File {
        /// Which.
        what: String,
        /// Why, in one line.
        reason: String,
    },
    /// A number that cannot be.
    #[error("{what} says {name} = {value}, and {expected} is needed")]
    Value {
        /// Whose.
        what: String,
        /// Which.
        name: String,
        /// The value.
        value: f64,
        /// What would be right.
        expected: &'static str,
    },
    /// A workload that does nothing.
    #[error("{what} has no work: give levels, lines, fetches, register-bytes, instructions or regroupings above 0")]
    NoWork {
        /// Its file.
        what: String,
    },
    /// A kernel whose accesses are not described, or a lattice that cannot be laid out for it.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// A lattice that cannot be laid out.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// The host could not be measured.
    #[error(transparent)]
    Backend(#[from] BackendError),
}

impl EstimateError {
    /// A file that is no machine, or no workload; the reason in one line.
    pub(super) fn file(what: &str, reason: impl ToString) -> Self {
        Self::File { what: what.to_owned(), reason: reason.to_string().trim().replace('\n', " ") }
    }

    /// A number that cannot be.
    pub(super) fn value(what: &str, name: &str, value: f64, expected: &'static str) -> Self {
        Self::Value { what: what.to_owned(), name: name.to_owned(), value, expected }
    }
}
