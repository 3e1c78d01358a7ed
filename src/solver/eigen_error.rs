//! Why eigenpairs were not found.

use thiserror::Error;

use super::error::{SolverError, Stopped};
use crate::backend::BackendError;

/// Why there are no eigenpairs. Messages are fragments.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum EigenError {
    #[error("{what}")]
    Params { what: String },
    #[error(
        "{found} of {count} eigenpairs were found in {restarts} restarts, to |A v - λ v| of {tolerance:e} times the largest eigenvalue: allow more restarts, a \
         larger basis, or ask for less"
    )]
    NotConverged { found: usize, count: usize, restarts: usize, tolerance: f64 },
    #[error(
        "the polynomial is small at the wanted eigenvalues: {above:e}, above which it suppresses, is too low; give a larger one, or none"
    )]
    TooLow { above: f64 },
    #[error("the operator is not positive definite: it has the eigenvalue {value:e}")]
    NotPositive { value: f64 },
    #[error("{quantity} is {value}: the links or the mass hold something that is no finite number")]
    NotFinite { quantity: &'static str, value: f64 },
    #[error("the small matrix of {size} rows was not diagonal after {sweeps} sweeps of rotations")]
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
