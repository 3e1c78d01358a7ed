//! Errors of solvers.

use lanefield_reference::field::FieldError;
use thiserror::Error;

use super::SolverInfo;
use crate::backend::BackendError;

/// Why a watcher ended a solve. The message is a fragment.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Stopped(pub Box<dyn std::error::Error + Send + Sync>);

/// Why there is no solution. Messages are fragments; most variants carry the history up to the failure.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum SolverError {
    #[error(
        "no convergence in {} iterations: |r|/|b| is {:.3e}, the tolerance is {tolerance:e}; allow more iterations, or use a larger tolerance ({})",
        info.iterations, info.relative_residual(), info.shape()
    )]
    NotConverged { tolerance: f64, info: SolverInfo },
    #[error(
        "the solve stagnated: no new minimum of |r| in {patience} iterations, up to iteration {} ({}); use a larger tolerance or, unless it is in \
         f64, a higher precision", info.iterations, info.shape()
    )]
    Stagnation { patience: usize, info: SolverInfo },
    #[error(
        "the solve stagnated: no new minimum of |r| in {updates} reliable updates, up to iteration {} ({}); use a larger tolerance, or a \
         recurrence in a higher precision", info.iterations, info.shape()
    )]
    IdleUpdates { updates: usize, info: SolverInfo },
    #[error(
        "the operator is not positive definite: <p, A p> = {curvature:e} in iteration {} ({})", info.iterations + 1, info.shape()
    )]
    Indefinite { curvature: f64, info: SolverInfo },
    #[error(
        "the recurrence broke down: {quantity} is 0 in iteration {} ({}); use another source or guess, or conjugate gradients",
        info.iterations + 1, info.shape()
    )]
    Breakdown { quantity: &'static str, info: SolverInfo },
    #[error(
        "{quantity} is {value} in iteration {}: the source, the links or the mass are not finite, \
         or an intermediate result overflowed ({})", info.iterations + 1, info.shape()
    )]
    NotFinite { quantity: &'static str, value: f64, info: SolverInfo },
    #[error(
        "|b|² = {source_norm2:e} is so small that |r|² would underflow before convergence: multiply the source by a power of two, or check the mass"
    )]
    Underflow { source_norm2: f64 },
    #[error("there are no shifts: give at least one")]
    NoShifts,
    #[error("the shift {value} is not finite")]
    Shift { value: f64 },
    #[error("cannot resume from the state: {what}")]
    WrongState { what: String },
    #[error(transparent)]
    Stopped(#[from] Stopped),
    #[error(transparent)]
    Backend(#[from] BackendError),
}

impl SolverError {
    /// The history up to the failure, if there was a recurrence.
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

/// A field of a saved state could not be created.
impl From<FieldError> for SolverError {
    fn from(error: FieldError) -> Self {
        Self::Backend(error.into())
    }
}
