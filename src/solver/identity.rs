//! The identity of a solve, as its checkpoints and records carry it (`docs/arithmetic.md` §18).

use lanefield_reference::gauge::Configuration;
use lanefield_reference::kernels::Vectors;

use super::{Preconditioning, Solve};
use crate::comm::{CommError, WholeLattice};
use crate::io::identity::{Identity, describe_configuration};
use crate::operator::HopParameters;

/// What a solve is called, by its parts.
#[derive(Clone, Debug)]
pub struct DescribedSolve<'a> {
    /// The operator with its parameters: "wilson, mass 0.1".
    pub operator: &'a str,
    /// The source: "gauss:7".
    pub source: String,
    /// The solver: "cg".
    pub solver: &'a str,
    /// How sums over sites are taken: "exact".
    pub sum: String,
}

/// All that the bits of a solve depend on; `configuration` is the part of this rank.
pub fn identity<R: Vectors, M>(
    how: &Solve<M>,
    hop: HopParameters,
    (configuration, lattice): (&Configuration, &WholeLattice),
    described: DescribedSolve<'_>,
) -> Result<Identity, CommError> {
    let DescribedSolve { operator, source, solver, sum } = described;
    let identity = Identity::default()
        .with("operator", operator)
        .with("boundary", hop.boundary)
        .with("links", hop.links)
        .with("legs", hop.legs)
        .with("configuration", describe_configuration(configuration, lattice)?)
        .with("source", source)
        .with("precision", R::NAME)
        .with("solver", solver)
        .with("preconditioning", how.preconditioning.name())
        .with("tolerance", format!("{:e}", how.params.tolerance))
        .with("sum", sum);
    Ok(identity)
}

impl Preconditioning {
    /// As files and documents name it: "even-odd", "none".
    pub fn name(self) -> &'static str {
        match self {
            Self::EvenOdd => "even-odd",
            Self::None => "none",
        }
    }
}
