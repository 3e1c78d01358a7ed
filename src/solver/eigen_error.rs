//! Why eigenpairs were not found.

use thiserror::Error;

use super::error::{SolverError, Stopped};
use crate::backend::BackendError;

/// Why there are no eigenpairs. Messages are fragments.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum EigenError {
    /// Parameters that nothing can be found with.
    #[error("{what}")]
    Params { what: String },
    /// Not all eigenpairs were found.
    #[error(
        "{found} of {count} eigenpairs were found in {restarts} restarts, to |A v - λ v| of {tolerance:e} times the largest eigenvalue: allow more restarts, a \
         larger basis, or ask for less"
    )]
    NotConverged { found: usize, count: usize, restarts: usize, tolerance: f64 },
    /// The polynomial does not single out the wanted eigenvalues.
    #[error(
        "the polynomial is small at the wanted eigenvalues: {above:e}, above which it suppresses, is too low; give a larger one, or none"
    )]
    TooLow { above: f64 },
    /// An eigenvalue that is not positive.
    #[error("the operator is not positive definite: it has the eigenvalue {value:e}")]
    NotPositive { value: f64 },
    /// A number that is NaN or infinite.
    #[error("{quantity} is {value}: the links or the mass hold something that is no finite number")]
    NotFinite { quantity: &'static str, value: f64 },
    /// The eigenvalues of the small matrix could not be had.
    #[error("the small matrix of {size} rows was not diagonal after {sweeps} sweeps of rotations")]
    Rotations { size: usize, sweeps: usize },
    /// Eigenpairs that are not of this operator, or none.
    #[error("the eigenvectors cannot be used: {what}")]
    WrongState { what: String },
    /// Another reason why Lanczos' recurrence ended.
    #[error(transparent)]
    Recurrence(SolverError),
    /// Whoever watched ended it.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// The backend failed.
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
