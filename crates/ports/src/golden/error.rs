//! Errors of golden data. Messages are fragments.

use std::io;
use std::path::PathBuf;

use lanefield::backend::BackendError;
use lanefield::io::directory::DirectoryError;
use lanefield::io::npy::NpyError;
use lanefield::io::record::RecordError;
use lanefield::reference::field::FieldError;
use lanefield::reference::kernels::domain_wall::DomainWallError;
use lanefield::reference::layout::LayoutError;
use lanefield::reference::links::LinkError;
use lanefield::solver::SolveError;
use thiserror::Error;

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum GoldenError {
    #[error("cannot read or write {}: {source}", .path.display())]
    File { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    #[error("{} holds no golden data: {why}", .path.display())]
    NotGolden { path: PathBuf, why: String },
    #[error("the golden data {} are damaged: {file} {what}; export them again", .path.display())]
    Damaged { path: PathBuf, file: String, what: String },
    #[error("{} has another {what}, {theirs} instead of {ours}: export both with the same", .path.display())]
    OtherParameters { path: PathBuf, what: &'static str, theirs: String, ours: String },
    #[error("{} is {}: expected the directory with the results of a port", .path.display(), if *.exists { "no directory" } else { "not there" })]
    NoDirectory { path: PathBuf, exists: bool },
    #[error(
        "{} holds no result of {}: a result has the path that it has there, as {example}{}",
        .other.display(), .path.display(), .found.as_ref().map_or_else(String::new, |found| format!(", and not as {found}"))
    )]
    NothingInCommon { path: PathBuf, other: PathBuf, example: String, found: Option<String> },
    #[error("golden data include links with reconstruct 12 and 8: {0}")]
    Boundary(LinkError),
    #[error("cannot compute the case {case}: {source}")]
    Case { case: String, source: Box<BackendError> },
    #[error("cannot compute the stage {stage}: {source}")]
    Stage { stage: &'static str, source: Box<BackendError> },
    #[error("stopped before {before}; nothing is written")]
    Stopped { before: String },
    #[error("cannot compute the stage cg: {0}")]
    Solve(#[from] Box<SolveError>),
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error(transparent)]
    Layout(#[from] LayoutError),
    #[error(transparent)]
    Field(#[from] FieldError),
    #[error(transparent)]
    DomainWall(#[from] DomainWallError),
    #[error(transparent)]
    Npy(#[from] NpyError),
}
