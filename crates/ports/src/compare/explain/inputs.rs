//! What a hop is of.

use lanefield::io::npy::ComplexArray;
use lanefield::reference::gauge::Configuration;
use lanefield::reference::kernels::hop::Dagger;
use lanefield::reference::layout::LegOrder;
use lanefield::reference::links::{BoundaryPhases, LinkFormat};

/// What a hop is of.
#[derive(Clone, Debug)]
pub struct HopInputs<'a> {
    /// The links.
    pub configuration: &'a Configuration,
    /// The source ψ, `(T, Z, Y, X, 4, 3)`.
    pub source: &'a ComplexArray,
    /// The boundary phases that it should have.
    pub boundary: BoundaryPhases,
    /// How much of a link is read.
    pub links: LinkFormat,
    /// The order of legs that it should have.
    pub legs: LegOrder,
    /// Whether it is the dagger.
    pub dagger: Dagger,
    /// Of M = 4 + mass + hop; `None` of the hop alone.
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
