//! What is solved, and by which method.

use lanefield_reference::gauge::Configuration;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::layout::{Checkerboard, LaneChoice, Lattice, LatticeOptions, LayoutError};

use super::SolverParams;
use crate::operator::WilsonParameters;

/// Whether to solve the even-odd Schur complement or the operator itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Preconditioning {
    /// Mpc on the odd sites: about half the iterations, at half the cost each.
    #[default]
    EvenOdd,
    /// M on the full lattice.
    None,
}

/// The method of a solve.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Method {
    /// Conjugate gradients, on the normal equations unless the operator is positive definite.
    #[default]
    ConjugateGradients,
    /// Conjugate gradients on all right-hand sides in one block: each uses the search directions of all.
    BlockConjugateGradients,
    /// Conjugate gradients in f64 with reliable updates of a recurrence in f32; only for solutions in f64.
    MixedF32,
    /// The same with a recurrence in half precision.
    MixedHalf,
    /// BiCGStab, on the operator itself.
    BiCgStab,
}

/// What to solve, and how.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Solve<M> {
    /// The operator.
    pub operator: M,
    /// Whether to use even-odd preconditioning.
    pub preconditioning: Preconditioning,
    /// The method.
    pub method: Method,
    /// When to stop.
    pub params: SolverParams,
    /// The lane width.
    pub lanes: LaneChoice,
}

/// A solve of the Wilson operator.
pub type WilsonSolve = Solve<WilsonParameters>;

impl<M> Solve<M> {
    /// The lattice with the layout that the solve uses for fields in precision `R`.
    ///
    /// # Errors
    /// [`LayoutError`] if this layout does not fit the lattice.
    pub fn lattice<R: Vectors>(&self, configuration: &Configuration) -> Result<Lattice, LayoutError> {
        let checkerboard = match self.preconditioning {
            Preconditioning::EvenOdd => Checkerboard::RedBlack,
            Preconditioning::None => Checkerboard::FullOnly,
        };
        let options = LatticeOptions { lanes: self.lanes, nodes: None, checkerboard };
        Lattice::new(configuration.extents(), R::COMPLEX, options)
    }
}
