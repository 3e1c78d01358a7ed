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
    /// No CPU reference to compute with.
    #[error("failed to start the CPU reference: {0}")]
    Cpu(BackendError),
    /// An array that no solution can be.
    #[error("cannot take {name} for a solution: {source}")]
    Array { name: &'static str, source: Box<SystemError> },
    /// A propagator of a source without spin and colour.
    #[error("it is a propagator: a --source with a spin and a colour says which of its columns is tried")]
    Propagator,
    /// Axes on which the operator does not act.
    #[error("it is {found}, and the operator acts on arrays {expected:?} on the lattice of the configuration")]
    Axes { found: String, expected: Vec<usize> },
    /// An array that cannot be read in the order or basis.
    #[error(transparent)]
    Order(#[from] OrderError),
    /// An operator near the one that was given cannot be made.
    #[error(transparent)]
    Operator(#[from] DefinitionError),
    /// The lattice cannot be laid out.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// The operator cannot be applied.
    #[error(transparent)]
    Backend(#[from] BackendError),
}
