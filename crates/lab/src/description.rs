//! What is wrong with a description: a file of a machine or of a workload, or a number that it has.

use thiserror::Error;

/// Why a description was refused. Messages are fragments.
#[derive(Debug, Error)]
pub enum DescriptionError {
    #[error("{what} cannot be read: {reason}")]
    File { what: String, reason: String },
    #[error("{what} says {name} = {value}, and {expected} is needed")]
    Value { what: String, name: String, value: f64, expected: &'static str },
}

impl DescriptionError {
    /// A file that is not what it is read as; the reason in one line.
    pub(crate) fn file(what: &str, reason: impl ToString) -> Self {
        Self::File { what: what.to_owned(), reason: reason.to_string().trim().replace('\n', " ") }
    }

    pub(crate) fn value(what: &str, name: &str, value: f64, expected: &'static str) -> Self {
        Self::Value { what: what.to_owned(), name: name.to_owned(), value, expected }
    }
}
