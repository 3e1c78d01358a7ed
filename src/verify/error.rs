//! Why a verification could not be carried out.

use lanefield_reference::field::FieldError;
use lanefield_reference::gauge::GaugeError;
use lanefield_reference::layout::{LaneChoice, LayoutError};
use thiserror::Error;

use crate::backend::BackendError;
use crate::backend::opencl::DeviceError;
use crate::body::BodyError;
use crate::solver::{SolveError, SolverError};

/// Why a verification could not be carried out. Different bits are not an error. Messages are fragments.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum VerifyError {
    #[error("{case}: {source}")]
    Case { case: String, source: Box<VerifyError> },
    #[error(transparent)]
    Backend(#[from] BackendError),
    #[error(transparent)]
    Body(#[from] BodyError),
    #[error(transparent)]
    Solve(Box<SolveError>),
    #[error(transparent)]
    Gauge(#[from] GaugeError),
    #[error("{case}: the history of rank {rank} differs from that of rank 0")]
    Ranks { case: String, rank: usize },
    #[error("{ranks} ranks have no room on lattices of up to {sites} sites: start fewer")]
    TooManyRanks { ranks: usize, sites: usize },
    #[error(
        "{threads} accelerator threads with lanes of {lanes} bytes do not fit a device that takes {most_work_items} \
         work-items a group; use fewer threads, or narrower lanes"
    )]
    Group { lanes: LaneChoice, threads: usize, most_work_items: usize },
    #[error("there is no case {number}: this run has the cases 0 to {last}")]
    NoSuchCase { number: u64, last: u64 },
}

impl VerifyError {
    /// The feature that the device lacks, if that is the error: then nothing failed.
    pub(super) fn lacks(&self) -> Option<String> {
        match self {
            Self::Case { source, .. } => source.lacks(),
            Self::Backend(error) => DeviceError::lack(error),
            Self::Solve(error) => match &**error {
                SolveError::Backend(error) | SolveError::Recurrence(SolverError::Backend(error)) => {
                    DeviceError::lack(error)
                }
                _ => None,
            },
            _ => None,
        }
    }
}

impl From<SolveError> for VerifyError {
    fn from(error: SolveError) -> Self {
        Self::Solve(Box::new(error))
    }
}

impl From<FieldError> for VerifyError {
    fn from(error: FieldError) -> Self {
        Self::Backend(error.into())
    }
}

impl From<LayoutError> for VerifyError {
    fn from(error: LayoutError) -> Self {
        Self::Backend(error.into())
    }
}
