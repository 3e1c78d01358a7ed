//! Solvers, written once over [`crate::backend::Backend`]: residual histories are the same bits on every backend.
//!
//! | file | subject |
//! |---|---|
//! | `params.rs`, `info.rs`, `error.rs` | what every solver is told, what it tells, and why it gave no solution |
//! | `recurrence.rs` | what all have in common: steps, saved states, watchers |
//! | `cg.rs`, `batch.rs`, `mixed.rs`, `bicgstab.rs`, `multishift.rs` | the recurrences |
//! | `watchers.rs`, `identity.rs` | checkpoints, records and their replay, and what solve they are of |
//! | `solve.rs`, `shifts.rs` | a solve from configuration and source to solution, and with shifts to several |
//! | `scale.rs` | sources of very small or large numbers |
//! | `check.rs` | whether the solution solves the equation, and nothing changed meanwhile |

mod batch;
mod bicgstab;
mod cg;
mod check;
mod error;
mod identity;
mod info;
mod mixed;
mod multishift;
mod params;
mod recurrence;
mod scale;
mod shifts;
mod solve;
mod watchers;

pub use crate::io::checkpoint::{SavedField, SavedState};
pub use batch::{BatchConjugateGradients, BatchSolution, conjugate_gradient_batch};
pub use bicgstab::{BiCgStab, bicgstab};
pub use cg::{ConjugateGradients, conjugate_gradient};
pub use error::SolverError;
pub use identity::{Described, identity};
pub use info::SolverInfo;
pub use mixed::{MixedConjugateGradients, mixed_conjugate_gradient, reliable_delta};
pub use multishift::{MultiShiftConjugateGradients, ShiftedSolutions, multi_shift_conjugate_gradient};
pub use params::SolverParams;
pub use recurrence::{Recurrence, Stopped, WatchedScalar, Watcher, run};
pub use shifts::solve_with_shifts;
pub use solve::{Method, Preconditioning, Solve, SolveError, SolveReport, SolvedRhs, WilsonSolve, solve, solve_from};
pub use watchers::{Checkpoints, Digests, Recorder, Replay, ReplayDifference, Watchers};
