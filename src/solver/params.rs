//! Parameters of every solver: when to stop, and how to compute sums.

use lanefield_reference::kernels::Vectors;

use crate::backend::Sum;

/// When to stop, and how to compute sums.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SolverParams {
    /// Stop when |r|² ≤ tolerance² · |b|².
    pub tolerance: f64,
    /// Give up after this number of iterations.
    pub max_iterations: usize,
    /// Give up after this number of iterations without a new minimum of |r|².
    pub patience: usize,
    /// How sums over sites are computed. Exact sums give the same history everywhere; with tree sums it depends on the plan and on the lane width.
    pub sum: Sum,
}

impl SolverParams {
    /// The defaults for a precision: tolerance 1e-10 for f64, 1e-6 for f32; 10000 iterations, a patience of 1000; exact sums.
    pub fn auto<R: Vectors>() -> Self {
        let tolerance = if R::BITS == 64 { 1e-10 } else { 1e-6 };
        Self { tolerance, max_iterations: 10_000, patience: 1000, sum: Sum::Exact }
    }
}
