//! Why there is no estimate.

use lanefield::backend::BackendError;
use lanefield::comm::DecompositionError;
use lanefield_reference::layout::LayoutError;
use thiserror::Error;

use crate::access::AccessError;
use crate::description::DescriptionError;

/// Why there is no estimate. Messages are fragments.
#[derive(Debug, Error)]
pub enum EstimateError {
    #[error("no machine '{name}': use {known}, host, or a file that ends in .toml")]
    Unknown { name: String, known: String },
    #[error(transparent)]
    Description(#[from] DescriptionError),
    #[error("{what} has no work: give levels, lines, fetches, register-bytes, instructions or regroupings above 0")]
    NoWork { what: String },
    #[error(transparent)]
    Access(#[from] AccessError),
    #[error(transparent)]
    Layout(#[from] LayoutError),
    #[error(transparent)]
    Decomposition(#[from] DecompositionError),
    #[error(transparent)]
    Backend(#[from] BackendError),
}
