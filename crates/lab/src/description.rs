//! What is wrong with a description: a file of a machine or of a workload, or a number that it has.

use thiserror::Error;

/// Why a description was refused. Messages are fragments.
#[derive(Debug, Error)]
pub enum DescriptionError {
    /// A file that is not what it is read as.
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
}

impl DescriptionError {
    /// A file that is not what it is read as; the reason in one line.
    pub(crate) fn file(what: &str, reason: impl ToString) -> Self {
        Self::File { what: what.to_owned(), reason: reason.to_string().trim().replace('\n', " ") }
    }

    /// A number that cannot be.
    pub(crate) fn value(what: &str, name: &str, value: f64, expected: &'static str) -> Self {
        Self::Value { what: what.to_owned(), name: name.to_owned(), value, expected }
    }
}
