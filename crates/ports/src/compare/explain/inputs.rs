//! The inputs of a hop.

use lanefield::io::npy::ComplexArray;
use lanefield::prelude::*;

#[derive(Clone, Debug)]
pub struct HopInputs<'a> {
    pub configuration: &'a Configuration,
    /// The source ψ, `(T, Z, Y, X, 4, 3)`.
    pub source: &'a ComplexArray,
    pub boundary: BoundaryPhases,
    /// The gauge compression of links.
    pub links: LinkFormat,
    pub legs: LegOrder,
    pub dagger: Dagger,
    /// The mass of M = 4 + mass + hop; `None` for the hop alone.
    pub mass: Option<f64>,
}

impl HopInputs<'_> {
    /// "the hop", "M = 4 + mass + hop"
    pub(super) fn name(&self) -> &'static str {
        match (self.mass, self.dagger) {
            (None, Dagger::No) => "the hop",
            (None, Dagger::Yes) => "the hop†",
            (Some(_), Dagger::No) => "M = 4 + mass + hop",
            (Some(_), Dagger::Yes) => "M† = 4 + mass + hop†",
        }
    }
}
