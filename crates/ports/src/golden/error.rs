//! What can be wrong with golden data, and how it is said. Messages are fragments.

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

/// Why golden data were not written, or not compared.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum GoldenError {
    /// The system refused.
    #[error("cannot read or write {}: {source}", .path.display())]
    File { path: PathBuf, source: io::Error },
    /// The directory would lose something, or was not made.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// No golden data.
    #[error("{} holds no golden data: {why}", .path.display())]
    NotGolden { path: PathBuf, why: String },
    /// A file is not what its manifest says.
    #[error("the golden data {} are damaged: {file} {what}; export them again", .path.display())]
    Damaged { path: PathBuf, file: String, what: String },
    /// Two sets of golden data of different parameters.
    #[error("{} is of another {what}, {theirs} instead of {ours}: export it with the same", .path.display())]
    OtherParameters { path: PathBuf, what: &'static str, theirs: String, ours: String },
    /// A directory that is none.
    #[error("{} is {}: expected the directory with the results of a port", .path.display(), if *.exists { "no directory" } else { "not there" })]
    NoDirectory { path: PathBuf, exists: bool },
    /// Nothing to compare.
    #[error(
        "{} holds no result of {}: a result has the path that it has there, as {example}{}",
        .other.display(), .path.display(), .found.as_ref().map_or_else(String::new, |found| format!(", and not as {found}"))
    )]
    NothingInCommon { path: PathBuf, other: PathBuf, example: String, found: Option<String> },
    /// Boundary phases that not all links can have.
    #[error("golden data have links of 12 and 8 reals, too: {0}")]
    Boundary(LinkError),
    /// What a backend cannot do.
    #[error("cannot make the case {case}: {source}")]
    Case { case: String, source: Box<BackendError> },
    /// The same of an intermediate.
    #[error("cannot make the stage {stage}: {source}")]
    Stage { stage: &'static str, source: Box<BackendError> },
    /// It was to go on no further.
    #[error("stopped before {before}; nothing is written")]
    Stopped { before: String },
    /// The conjugate gradients of the stage did not go well.
    #[error("cannot make the stage cg: {0}")]
    Solve(#[from] Box<SolveError>),
    /// A record was not written.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A lattice without parities, or that the lanes do not divide.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// A field was not made.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// A matrix along s was not made.
    #[error(transparent)]
    DomainWall(#[from] DomainWallError),
    /// An array was not written.
    #[error(transparent)]
    Npy(#[from] NpyError),
}
