//! Errors of the model of a kernel on a machine.

use lanefield::backend::BackendError;
use lanefield::comm::DecompositionError;
use lanefield::kernel;
use lanefield_reference::layout::LayoutError;

use super::described::is_described;
use crate::description::DescriptionError;

#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    #[error("the accesses of {kernel} are not described: give one of {}", all_described())]
    NotDescribed { kernel: &'static str },
    #[error(transparent)]
    Description(#[from] DescriptionError),
    #[error(transparent)]
    Layout(#[from] LayoutError),
    #[error(transparent)]
    Decomposition(#[from] DecompositionError),
    #[error(transparent)]
    Backend(#[from] BackendError),
}

fn all_described() -> String {
    let names: Vec<&str> = kernel::all().filter(|kernel| is_described(kernel)).map(|kernel| kernel.name).collect();
    names.join(", ")
}
