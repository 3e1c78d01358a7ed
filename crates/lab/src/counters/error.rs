//! Errors of profiles.

use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why a profile could not be read. Messages name file, line and column.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CountersError {
    #[error("failed to read {}: {source}", .path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{} {reason}", .path.display())]
    Unfit { path: PathBuf, reason: String },
    #[error("{}, line {line}, column \"{column}\": '{value}' {reason}", .path.display())]
    Cell { path: PathBuf, line: u64, column: String, value: String, reason: String },
    #[error("there is no kernel \"{name}\" in {place}; there are: {known}")]
    NoSuchKernel { name: String, place: String, known: String },
}

impl CountersError {
    pub(super) fn unfit(path: &Path, reason: impl Into<String>) -> Self {
        Self::Unfit { path: path.to_owned(), reason: reason.into() }
    }
}
