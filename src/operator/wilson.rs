//! The Wilson operator M = hop + (4 + mass), on the full lattice and in its even-odd pieces.

use lanefield_reference::field::Spinors;
use lanefield_reference::gauge::Configuration;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::hop::{Dagger, FLOPS_PER_SITE, ideal_bytes_per_site};
use lanefield_reference::layout::{Lattice, Sites};

use super::hop_plus_constant::{HopPlusConstant, HopPlusConstantModel};
use super::model::{Defined, Definition, Parameter, ParameterValues, made_alike};
use super::{HopOperator, HopParameters, Model};
use crate::backend::{Backend, BackendError, FieldOn};
use crate::kernel::wilson;
use crate::kernel::with_hop::Kernels;

/// The parameters of a Wilson operator.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct WilsonParameters {
    /// Bare quark mass in lattice units.
    pub mass: f64,
    /// The parameters of the hop.
    pub hop: HopParameters,
}

/// The Wilson operator.
pub type Wilson<'b, B, R> = HopPlusConstant<'b, B, R, WilsonParameters>;

impl HopPlusConstantModel for WilsonParameters {
    const WITH_HOP: &'static Kernels = &wilson::WITH_HOP;

    /// Several spinors have a hop kernel of their own, which shares links among them.
    fn are_fused(&self, parts: usize) -> bool {
        parts == 1
    }
    fn apply_hop<B: Backend, R: Vectors>(
        legs: &HopOperator<'_, B, R>,
        out: &mut FieldOn<B, R, Spinors>,
        psi: &FieldOn<B, R, Spinors>,
        dagger: Dagger,
    ) -> Result<(), BackendError> {
        legs.apply(out, psi, dagger)
    }
    fn hop_flops_per_site(&self) -> u64 {
        FLOPS_PER_SITE
    }
    fn hop_bytes_per_site(&self, real_bytes: usize) -> u64 {
        ideal_bytes_per_site(self.hop.links, real_bytes)
    }
}

impl Model for WilsonParameters {
    made_alike!(Wilson, Spinors, Wilson::new);

    fn name(&self) -> &'static str {
        Self::DEFINITIONS[0].name
    }
    fn diagonal(&self) -> f64 {
        4.0 + self.mass
    }
    fn object(&self, rhs: usize) -> Spinors {
        Spinors::new(rhs)
    }
}

impl Defined for WilsonParameters {
    const DEFINITIONS: &'static [Definition] = &[Definition {
        name: "wilson",
        meaning: "Wilson fermions",
        formula: "M = 4 + mass + W",
        parameters: &[Parameter::BARE_MASS],
        verified: &[("mass", "-0.5")],
    }];

    fn of(_: &str, values: &ParameterValues, hop: HopParameters) -> Self {
        Self { mass: values.get("mass"), hop }
    }
    fn values(&self) -> Vec<f64> {
        vec![self.mass]
    }
}
