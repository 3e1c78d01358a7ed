//! The identity of a solve, as stored in its checkpoints and records (`docs/arithmetic.md` §18).

use lanefield_reference::gauge::Configuration;
use lanefield_reference::kernels::Vectors;

use super::{Preconditioning, Solve};
use crate::comm::{CommError, WholeLattice};
use crate::io::identity::{Identity, describe_configuration};
use crate::operator::HopParameters;

/// The description of a solve.
#[derive(Clone, Debug)]
pub struct DescribedSolve<'a> {
    /// The operator with its parameters: "wilson, mass 0.1".
    pub operator: &'a str,
    /// The source: "gauss:7".
    pub source: String,
    /// The solver: "cg".
    pub solver: &'a str,
    /// How sums over sites are computed: "exact".
    pub sum: String,
}

/// Everything on which the bits of a solve depend; `configuration` is the local volume of this rank.
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
    /// The name in files and documents: "even-odd", "none".
    pub fn name(self) -> &'static str {
        match self {
            Self::EvenOdd => "even-odd",
            Self::None => "none",
        }
    }
}
