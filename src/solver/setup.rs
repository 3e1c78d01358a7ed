//! What is solved, and by which recurrence.

use lanefield_reference::gauge::Configuration;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::layout::{Checkerboard, LaneChoice, Lattice, LatticeOptions, LayoutError};

use super::SolverParams;
use crate::operator::WilsonParameters;

/// Whether the even-odd Schur complement or the operator itself is solved.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Preconditioning {
    /// Mpc on the odd sites: about half the iterations, at half the cost each.
    #[default]
    EvenOdd,
    /// M on the full lattice.
    None,
}

/// The recurrence.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Method {
    /// Conjugate gradients, on the normal equations unless the operator is positive.
    #[default]
    ConjugateGradients,
    /// The same of all right-hand sides in one block: each searches in the directions of all.
    BlockConjugateGradients,
    /// Conjugate gradients in f64 with reliable updates of a recurrence in f32; only in f64.
    MixedF32,
    /// The same with half precision.
    MixedHalf,
    /// BiCGStab, on the operator itself.
    BiCgStab,
}

/// What to solve, and how.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Solve<M> {
    /// The operator.
    pub operator: M,
    /// Even-odd or not.
    pub preconditioning: Preconditioning,
    /// The recurrence.
    pub method: Method,
    /// When to stop.
    pub params: SolverParams,
    /// Lane width.
    pub lanes: LaneChoice,
}

/// A solve of the Wilson operator.
pub type WilsonSolve = Solve<WilsonParameters>;

impl<M> Solve<M> {
    /// The lattice of fields of precision `R` as the solve lays it out.
    ///
    /// # Errors
    /// [`LayoutError`] where it does not fit.
    pub fn lattice<R: Vectors>(&self, configuration: &Configuration) -> Result<Lattice, LayoutError> {
        let checkerboard = match self.preconditioning {
            Preconditioning::EvenOdd => Checkerboard::RedBlack,
            Preconditioning::None => Checkerboard::FullOnly,
        };
        let options = LatticeOptions { lanes: self.lanes, nodes: None, checkerboard };
        Lattice::new(configuration.extents(), R::COMPLEX, options)
    }
}
