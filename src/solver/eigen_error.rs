//! Errors of the search for eigenpairs.

use thiserror::Error;

use super::error::{SolverError, Stopped};
use crate::backend::BackendError;

/// Why no eigenpairs were found. Messages are fragments.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum EigenError {
    #[error("{what}")]
    Params { what: String },
    #[error(
        "{found} of {count} eigenpairs were found in {restarts} restarts, with |A v - λ v| at most {tolerance:e} times the largest eigenvalue: allow more \
         restarts, or use a larger basis or tolerance"
    )]
    NotConverged { found: usize, count: usize, restarts: usize, tolerance: f64 },
    #[error(
        "the polynomial is small at the wanted eigenvalues: the range that it suppresses begins too low, at {above:e}; give a larger number, or none"
    )]
    TooLow { above: f64 },
    #[error("the operator is not positive definite: it has the eigenvalue {value:e}")]
    NotPositive { value: f64 },
    #[error("{quantity} is {value}: the links or the mass are not finite")]
    NotFinite { quantity: &'static str, value: f64 },
    #[error("the projected matrix of {size} rows was not diagonal after {sweeps} sweeps of Jacobi rotations")]
    Rotations { size: usize, sweeps: usize },
    #[error("the eigenvectors cannot be used: {what}")]
    WrongState { what: String },
    #[error(transparent)]
    Recurrence(SolverError),
    #[error(transparent)]
    Stopped(#[from] Stopped),
    #[error(transparent)]
    Backend(#[from] BackendError),
}

impl From<SolverError> for EigenError {
    fn from(error: SolverError) -> Self {
        match error {
            SolverError::NotFinite { quantity, value, .. } => Self::NotFinite { quantity, value },
            SolverError::Stopped(stopped) => Self::Stopped(stopped),
            SolverError::Backend(error) => Self::Backend(error),
            error => Self::Recurrence(error),
        }
    }
}
