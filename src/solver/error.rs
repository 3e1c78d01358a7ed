//! Why a solver gave no solution.

use lanefield_reference::field::FieldError;
use thiserror::Error;

use super::SolverInfo;
use crate::backend::BackendError;

/// Why a watcher ended a solve. The message is a fragment.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Stopped(pub Box<dyn std::error::Error + Send + Sync>);

/// Why there is no solution. Messages are fragments; each carries what happened until then.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum SolverError {
    #[error(
        "no convergence in {} iterations: |r|/|b| is {:.3e}, not {tolerance:e}; allow more iterations, or ask for less ({})",
        info.iterations, info.relative_residual(), info.shape()
    )]
    NotConverged { tolerance: f64, info: SolverInfo },
    #[error(
        "the solve stands still: no new low of |r| in {patience} iterations, up to iteration {} ({}); ask for less, or, unless it is in \
         f64, compute in a higher precision", info.iterations, info.shape()
    )]
    Stagnation { patience: usize, info: SolverInfo },
    #[error(
        "the solve stands still: no new low of |r| in {updates} reliable updates, up to iteration {} ({}); ask for less, or let the \
         recurrence compute in a higher precision", info.iterations, info.shape()
    )]
    IdleUpdates { updates: usize, info: SolverInfo },
    #[error(
        "the operator is not positive definite: <p, A p> = {curvature:e} in iteration {} ({})", info.iterations + 1, info.shape()
    )]
    Indefinite { curvature: f64, info: SolverInfo },
    #[error(
        "the recurrence broke down: {quantity} is 0 in iteration {} ({}); take another source or guess, or conjugate gradients",
        info.iterations + 1, info.shape()
    )]
    Breakdown { quantity: &'static str, info: SolverInfo },
    #[error(
        "{quantity} is {value} in iteration {}: the source, the links or the mass hold something that is no finite number, \
         or numbers in between overflowed ({})", info.iterations + 1, info.shape()
    )]
    NotFinite { quantity: &'static str, value: f64, info: SolverInfo },
    #[error(
        "|b|² = {source_norm2:e} is so small that |r|² would underflow before convergence: multiply the source by a power of two, or check the mass"
    )]
    Underflow { source_norm2: f64 },
    #[error("there are no shifts: give at least one")]
    NoShifts,
    #[error("the shift {value} is no finite number")]
    Shift { value: f64 },
    #[error("the state cannot be gone on from: {what}")]
    WrongState { what: String },
    #[error(transparent)]
    Stopped(#[from] Stopped),
    #[error(transparent)]
    Backend(#[from] BackendError),
}

impl SolverError {
    /// What happened until then, where there was a recurrence.
    pub fn info(&self) -> Option<&SolverInfo> {
        match self {
            Self::NotConverged { info, .. }
            | Self::Stagnation { info, .. }
            | Self::IdleUpdates { info, .. }
            | Self::Indefinite { info, .. }
            | Self::Breakdown { info, .. }
            | Self::NotFinite { info, .. } => Some(info),
            Self::Underflow { .. }
            | Self::NoShifts
            | Self::Shift { .. }
            | Self::WrongState { .. }
            | Self::Stopped(_)
            | Self::Backend(_) => None,
        }
    }
}

/// A field of a saved state could not be made.
impl From<FieldError> for SolverError {
    fn from(error: FieldError) -> Self {
        Self::Backend(error.into())
    }
}
