//! The four-dimensional Laplacian −Δ + mass² on colour vectors (`docs/arithmetic.md` §15), on the full lattice and in its even-odd pieces. It is
//! Hermitian, and positive definite for mass ≠ 0: conjugate gradients solve it, and its Schur complement, without normal equations.

use lanefield_reference::field::ColourVectors;
use lanefield_reference::gauge::Configuration;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::colour_vectors::ideal_bytes_per_site;
use lanefield_reference::kernels::hop::Dagger;
use lanefield_reference::kernels::laplace::FLOPS_PER_VECTOR;
use lanefield_reference::layout::{Lattice, Sites};

use super::hop_plus_constant::{HopPlusConstant, HopPlusConstantModel};
use super::model::{Defined, Definition, Parameter, ParameterValues, made_alike};
use super::{HopOperator, HopParameters, Model};
use crate::backend::{Backend, BackendError, FieldOn};
use crate::kernel::laplace;
use crate::kernel::prelude::*;
use crate::kernel::with_hop::Kernels;

/// The parameters of a Laplacian.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LaplaceParameters {
    /// Mass in lattice units; the operator adds mass² to −Δ.
    pub mass: f64,
    /// Number of colour vectors per site in a right-hand side. The operator acts on each separately.
    pub components: usize,
    /// Boundary phases, gauge compression and leg order.
    pub hop: HopParameters,
}

/// The Laplacian.
pub type Laplace<'b, B, R> = HopPlusConstant<'b, B, R, LaplaceParameters>;

impl HopPlusConstantModel for LaplaceParameters {
    const WITH_HOP: &'static Kernels = &laplace::WITH_HOP;

    fn are_fused(&self, _: usize) -> bool {
        true
    }
    /// The hop is its own Hermitian conjugate, so `dagger` has no effect.
    fn apply_hop<B: Backend, R: Vectors>(
        legs: &HopOperator<'_, B, R>,
        out: &mut FieldOn<B, R, ColourVectors>,
        psi: &FieldOn<B, R, ColourVectors>,
        _: Dagger,
    ) -> Result<(), BackendError> {
        let onto = legs.onto(out.sites())?;
        legs.backend().laplace_hop(out, &onto.stencil, &onto.links, psi, legs.legs())
    }
    fn hop_flops_per_site(&self) -> u64 {
        self.components as u64 * FLOPS_PER_VECTOR
    }
    fn hop_bytes_per_site(&self, real_bytes: usize) -> u64 {
        ideal_bytes_per_site(self.hop.links, real_bytes, self.components)
    }
}

impl Model for LaplaceParameters {
    made_alike!(Laplace, ColourVectors, Laplace::new);

    fn name(&self) -> &'static str {
        Self::DEFINITIONS[0].name
    }
    /// 8 + mass².
    fn diagonal(&self) -> f64 {
        8.0 + self.mass * self.mass
    }
    fn object(&self, rhs: usize) -> ColourVectors {
        ColourVectors::new(rhs * self.components)
    }
    fn is_positive(&self, _: bool) -> bool {
        true
    }
}

impl Defined for LaplaceParameters {
    const DEFINITIONS: &'static [Definition] = &[Definition {
        name: "laplace",
        meaning: "the four-dimensional Laplacian −Δ + mass²",
        formula: "M = 8 + mass² - Σ_μ [U_μ(x) ψ(x+μ) + U_μ†(x-μ) ψ(x-μ)]",
        parameters: &[Parameter::number("mass", None, "mass, whose square is added"), Parameter::COMPONENTS],
        verified: &[("mass", "0.5")],
    }];

    fn of(_: &str, values: &ParameterValues, hop: HopParameters) -> Self {
        Self { mass: values.get("mass"), components: values.count("components"), hop }
    }
    fn values(&self) -> Vec<f64> {
        vec![self.mass, self.components as f64]
    }
}
