//! Errors of a solve from configuration and source.

use lanefield_reference::field::FieldError;
use lanefield_reference::layout::LayoutError;
use thiserror::Error;

use super::eigen_error::EigenError;
use super::error::SolverError;
use super::setup::Method;
use crate::backend::BackendError;

/// Why a solve failed. Messages are fragments.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum SolveError {
    #[error(transparent)]
    Recurrence(#[from] SolverError),
    #[error(
        "the true residual is {true_residual:.3e}, over ten times the tolerance {tolerance:e}, though the recurrence says \
         {recurrence:.3e} after {iterations} iterations: the rounding of {precision} limits the accuracy; \
         use a larger tolerance{}", if *precision == "f64" { "" } else { ", or f64" }
    )]
    TrueResidual {
        true_residual: f64,
        recurrence: f64,
        tolerance: f64,
        precision: &'static str,
        iterations: usize,
        history: Vec<f64>,
    },
    #[error("a source of {length} complex numbers is not a whole number of right-hand sides of {of_one} each")]
    RightHandSides { length: usize, of_one: usize },
    #[error(
        "{method:?} accepts one right-hand side, not {rhs}: solve them one by one, or use (block) conjugate gradients"
    )]
    NoBatch { method: Method, rhs: usize },
    #[error(
        "{method:?} solves the operator itself, but the eigenvectors belong to the system of conjugate gradients: use that method, or no deflation"
    )]
    NoDeflation { method: Method },
    #[error(transparent)]
    Deflation(Box<EigenError>),
    #[error(
        "a solve with shifts accepts one right-hand side of {of_one} complex numbers, not a source of {length}: solve them one by one"
    )]
    OneRightHandSide { length: usize, of_one: usize },
    #[error("{method:?} does not accept shifts: solve for each shift separately, or use conjugate gradients")]
    NoShifts { method: Method },
    #[error("mixed precision computes solutions in f64, not in {precision}")]
    NotMixed { precision: &'static str },
    #[error(
        "on the even sites the residual is {residual:.3e} of its terms, and rounding explains at most {bound:.3e}: memory, or the device, lost \
         bits; solve again, and test the memory"
    )]
    EvenSites { residual: f64, bound: f64, history: Vec<f64> },
    #[error(
        "the solution of right-hand side {rhs} has numbers such as {value:e} · 2^{power}, which {precision} cannot hold: multiply that source by a power of \
         two{}", if *precision == "f32" { ", or use f64" } else { "" }
    )]
    Range { rhs: usize, value: f64, power: i32, precision: &'static str },
    #[error(
        "right-hand side {rhs} of the source is not finite: it has {value} {}",
        site.map_or_else(|| "on another rank".to_owned(), |site| format!("at site {site}, counted from 0 in site order"))
    )]
    Source { rhs: usize, site: Option<usize>, value: f64 },
    #[error("{what} changed during the solve: memory lost bits; solve again, and test the memory")]
    Changed { what: &'static str },
    #[error(transparent)]
    Backend(#[from] BackendError),
}

impl From<FieldError> for SolveError {
    fn from(error: FieldError) -> Self {
        Self::Backend(error.into())
    }
}

impl From<EigenError> for SolveError {
    fn from(error: EigenError) -> Self {
        Self::Deflation(Box::new(error))
    }
}

impl From<LayoutError> for SolveError {
    fn from(error: LayoutError) -> Self {
        Self::Backend(error.into())
    }
}

impl SolveError {
    /// The residual history up to the failure, if there is one.
    pub fn history(&self) -> Option<&[f64]> {
        match self {
            Self::Recurrence(error) => error.info().map(|info| &info.history[..]),
            Self::TrueResidual { history, .. } | Self::EvenSites { history, .. } => Some(history),
            _ => None,
        }
    }
}
