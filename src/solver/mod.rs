//! Solvers, written once for all [`crate::backend::Backend`]s: residual histories have the same bits on every backend.
//!
//! | file | subject |
//! |---|---|
//! | `params.rs`, `info.rs`, `error.rs` | parameters, results and errors of every solver |
//! | `recurrence.rs` | the common interface: steps, saved states, watchers |
//! | `cg.rs`, `batch.rs`, `block.rs`, `mixed.rs`, `bicgstab.rs`, `multishift.rs` | the recurrences |
//! | `queued_cg.rs` | iterations that are queued without waiting for their scalars |
//! | `watchers.rs`, `identity.rs` | checkpoints, records and their replay, and the identity of a solve |
//! | `solve.rs`, `shifts.rs` | solves from configuration and source to solution, also with shifts |
//! | `setup.rs`, `source.rs`, `solve_error.rs` | options, sources and errors of a solve |
//! | `operators.rs` | the operators of a solve, of any model |
//! | `scale.rs` | sources of very small or large numbers |
//! | `lanczos.rs`, `chebyshev.rs`, `basis.rs` | the lowest eigenpairs of the operator that conjugate gradients invert |
//! | `eigenpairs.rs` | eigenpairs from configuration to file, and as guesses for solves |
//! | `dense.rs` | small matrices on the host |
//! | `check.rs` | checks that the solution solves the equation, and that the inputs did not change |
//! | `method_names.rs` | names of methods, for the command line, C and Python |

mod basis;
mod batch;
mod between;
mod bicgstab;
mod block;
mod cg;
mod chebyshev;
mod check;
mod dense;
mod eigen_error;
mod eigenpairs;
mod error;
mod identity;
mod info;
mod lanczos;
mod method_names;
mod mixed;
mod multishift;
mod operators;
mod params;
mod queued_cg;
mod recurrence;
mod relative_errors;
mod scale;
mod setup;
mod shifts;
mod solve;
mod solve_error;
mod source;
mod watchers;

pub use crate::io::checkpoint::{SavedField, SavedState};
pub use batch::{BatchConjugateGradients, BatchSolution, conjugate_gradient_batch};
pub use bicgstab::{BiCgStab, bicgstab};
pub use block::{BlockConjugateGradients, block_conjugate_gradient};
pub use cg::{ConjugateGradients, conjugate_gradient};
pub use eigen_error::EigenError;
pub use eigenpairs::{Eigenpairs, eigen_identity, eigenpairs, eigenpairs_from, search_identity};
pub use error::{SolverError, Stopped};
pub use identity::{DescribedSolve, identity};
pub use info::SolverInfo;
pub use lanczos::{EigenParams, EigenProgress, EigenRun};
pub use method_names::UnknownMethod;
pub use mixed::{MixedConjugateGradients, mixed_conjugate_gradient};
pub use multishift::{MultiShiftConjugateGradients, ShiftedSolutions, multi_shift_conjugate_gradient};
pub use params::SolverParams;
pub use recurrence::{Recurrence, WatchedScalar, Watcher, run};
pub(crate) use relative_errors::relative_errors;
pub use setup::{Method, Preconditioning, Solve, WilsonSolve};
pub use shifts::solve_with_shifts;
pub use solve::{SolveReport, SolvedRhs, solve, solve_deflated, solve_from};
pub use solve_error::SolveError;
pub use watchers::{Checkpoints, Digests, Replay, ReplayDifference, SolveRecorder, Watchers};
