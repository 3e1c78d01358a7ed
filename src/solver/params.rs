//! What every solver is told: when to stop, and how to take sums.

use lanefield_reference::kernels::Vectors;

use crate::backend::Sum;

/// When to stop.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SolverParams {
    /// Stop when |r|² ≤ tolerance² · |b|².
    pub tolerance: f64,
    /// Give up after so many iterations.
    pub max_iterations: usize,
    /// Give up after so many iterations in which |r|² reached no new low.
    pub patience: usize,
    /// How sums over sites are taken. Exact sums give the same history everywhere; that of a tree depends on its plan and on the lane width.
    pub sum: Sum,
}

impl SolverParams {
    /// The default for a precision: 1e-10 for f64, 1e-6 for f32; 10000 iterations, 1000 of patience; exact sums.
    pub fn auto<R: Vectors>() -> Self {
        let tolerance = if R::BITS == 64 { 1e-10 } else { 1e-6 };
        Self { tolerance, max_iterations: 10_000, patience: 1000, sum: Sum::Exact }
    }
}
