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
    /// No such machine.
    #[error("no machine '{name}': use {known}, host, or a file that ends in .toml")]
    Unknown {
        /// The name as it was given.
        name: String,
        /// Those that ship.
        known: String,
    },
    /// A file that is no machine or workload, or a number that cannot be.
    #[error(transparent)]
    Description(#[from] DescriptionError),
    /// A workload that does nothing.
    #[error("{what} has no work: give levels, lines, fetches, register-bytes, instructions or regroupings above 0")]
    NoWork {
        /// Its file.
        what: String,
    },
    /// A kernel whose accesses are not described, or a lattice that cannot be laid out for it.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// A lattice that cannot be laid out.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// Ranks that a lattice has no room for.
    #[error(transparent)]
    Decomposition(#[from] DecompositionError),
    /// The host could not be measured.
    #[error(transparent)]
    Backend(#[from] BackendError),
}
