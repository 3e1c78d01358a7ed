//! Errors of the doctor.

use lanefield::backend::BackendError;
use lanefield::backend::opencl::OpenClError;

use super::read::DescriptionError;
use crate::code::ClangError;
use crate::model::ModelError;

#[derive(Debug, thiserror::Error)]
pub enum DoctorError {
    #[error(transparent)]
    OpenCl(#[from] OpenClError),
    #[error(transparent)]
    Backend(#[from] BackendError),
    #[error(transparent)]
    Description(#[from] DescriptionError),
    #[error("buffer {buffer}, pattern '{pattern}': {reason}")]
    Pattern { buffer: String, pattern: String, reason: String },
    #[error(transparent)]
    Clang(#[from] ClangError),
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error("buffer {name} does not exist when a kernel needs it")]
    NoBuffer { name: String },
}
