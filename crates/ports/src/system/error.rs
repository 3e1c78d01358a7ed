use lanefield::backend::BackendError;
use lanefield::operator::DefinitionError;
use lanefield::reference::layout::LayoutError;
use thiserror::Error;

use crate::order::OrderError;

/// Why arrays cannot be tried as solutions of a system.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum SystemError {
    #[error("failed to start the CPU reference: {0}")]
    Cpu(BackendError),
    #[error("cannot take {name} for a solution: {source}")]
    Array { name: &'static str, source: Box<SystemError> },
    #[error("it is a propagator: give a --source with a spin and a colour, to choose the column to try")]
    Propagator,
    #[error("it is {found}, and the operator acts on arrays {expected:?} on the lattice of the configuration")]
    Axes { found: String, expected: Vec<usize> },
    #[error(transparent)]
    Order(#[from] OrderError),
    #[error(transparent)]
    Operator(#[from] DefinitionError),
    #[error(transparent)]
    Layout(#[from] LayoutError),
    #[error(transparent)]
    Backend(#[from] BackendError),
}
