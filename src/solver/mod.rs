//! Solvers, written once over [`crate::backend::Backend`]: residual histories are the same bits on every backend.

mod cg;
mod wilson;

pub use cg::{CgError, CgInfo, CgParams, conjugate_gradient};
pub use wilson::{Preconditioning, SolveError, SolveReport, WilsonSolve, solve_wilson};
