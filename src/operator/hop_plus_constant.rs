//! Operators M = hop + d with a number d, on the full lattice and in even-odd pieces: the Wilson operator and the Laplacian.

use lanefield_reference::gauge::Configuration;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::hop::Dagger;
use lanefield_reference::layout::{Lattice, Sites};
use lanefield_reference::object::SiteObject as _;

use super::hop::{PARITIES, number_of_sites};
use super::schur::{diagonal_minus_hop_in_steps, inverse_hop_in_steps};
use super::traits::acts_as;
use super::traits::{AXPY_FLOPS, SCALE_FLOPS, bytes_of};
use super::{ActsOn, EvenOdd, HopOperator, Model, Operator};
use crate::backend::{Backend, BackendError, FieldOn};
use crate::kernel::prelude::*;
use crate::kernel::with_hop::{Kernels, WithHop, has_bits_of_steps};

/// The parameters of such an operator. [`Model::diagonal`] is d.
pub trait HopPlusConstantModel: Model {
    /// out = hop(ψ) on the sites of `out`; ψ is on their neighbours.
    ///
    /// # Errors
    /// Fails if the hop was not prepared for these sites, if fields do not match, and if the backend fails.
    fn apply_hop<B: Backend, R: Vectors>(
        legs: &HopOperator<'_, B, R>,
        out: &mut FieldOn<B, R, Self::Object>,
        psi: &FieldOn<B, R, Self::Object>,
        dagger: Dagger,
    ) -> Result<(), BackendError>;
    /// The kernels that use the hop in one launch.
    const WITH_HOP: &'static Kernels;
    /// Whether one launch is faster than separate steps, for fields with this number of components.
    fn are_fused(&self, parts: usize) -> bool;
    /// Floating-point operations per site in the hop of one right-hand side.
    fn hop_flops_per_site(&self) -> u64;
    /// Least number of bytes per site that the hop of one right-hand side moves, with reals of `real_bytes` bytes.
    fn hop_bytes_per_site(&self, real_bytes: usize) -> u64;
}

/// The operator.
pub struct HopPlusConstant<'b, B: Backend, R: Vectors, P> {
    legs: HopOperator<'b, B, R>,
    parameters: P,
}

type ModelField<B, R, P> = FieldOn<B, R, <P as Model>::Object>;

impl<'b, B: Backend, R: Vectors, P: HopPlusConstantModel> HopPlusConstant<'b, B, R, P> {
    pub(super) fn new(
        backend: &'b B,
        configuration: &Configuration,
        lattice: Lattice,
        parameters: P,
        targets: &[Sites],
    ) -> Result<Self, BackendError> {
        let legs = HopOperator::new(backend, configuration, lattice, parameters.hop(), targets)?;
        Ok(Self { legs, parameters })
    }

    /// out = hop(ψ) on the sites of `out`; ψ is on their neighbours.
    ///
    /// # Errors
    /// Fails if the operator was not prepared for these sites, if fields do not match, and if the backend fails.
    pub fn hop(
        &self,
        out: &mut ModelField<B, R, P>,
        psi: &ModelField<B, R, P>,
        dagger: Dagger,
    ) -> Result<(), BackendError> {
        P::apply_hop(&self.legs, out, psi, dagger)
    }

    /// Whether a field is computed in one launch.
    fn is_fused(&self, parts: usize) -> bool {
        has_bits_of_steps::<R>() && self.parameters.are_fused(parts)
    }

    fn hop_flops(&self, sites: Sites) -> u64 {
        number_of_sites(self.lattice(), sites) * self.parameters.hop_flops_per_site()
    }

    fn hop_bytes(&self, sites: Sites) -> u64 {
        number_of_sites(self.lattice(), sites) * self.parameters.hop_bytes_per_site(R::BITS as usize / 8)
    }
}

acts_as!(HopPlusConstant<'_, B, R, P>, [B: Backend, R: Vectors, P: HopPlusConstantModel], legs, P::Object, |this, rhs| this.parameters.object(rhs));

impl<B: Backend, R: Vectors, P: HopPlusConstantModel> Operator<B, R> for HopPlusConstant<'_, B, R, P> {
    fn apply(
        &mut self,
        out: &mut ModelField<B, R, P>,
        psi: &ModelField<B, R, P>,
        dagger: Dagger,
    ) -> Result<(), BackendError> {
        let diagonal = self.parameters.diagonal();
        if self.is_fused(psi.kind().object().parts()) {
            return self.legs.with_hop(P::WITH_HOP, out, WithHop::Sum(diagonal, psi), psi, dagger);
        }
        self.hop(out, psi, dagger)?;
        self.backend().axpy(diagonal, psi, out)
    }

    /// A hop, and an axpy.
    fn flops(&self) -> u64 {
        self.hop_flops(Sites::Full) + AXPY_FLOPS * self.words(Sites::Full)
    }
    fn bytes(&self) -> u64 {
        let others = if self.is_fused(self.object(1).object().parts()) { 1 } else { 3 };
        self.hop_bytes(Sites::Full) + others * bytes_of::<R>(self.words(Sites::Full))
    }
}

impl<B: Backend, R: Vectors, P: HopPlusConstantModel> EvenOdd<B, R> for HopPlusConstant<'_, B, R, P> {
    fn meooe(
        &mut self,
        out: &mut ModelField<B, R, P>,
        psi: &ModelField<B, R, P>,
        dagger: Dagger,
    ) -> Result<(), BackendError> {
        self.hop(out, psi, dagger)
    }

    fn mooee(
        &mut self,
        out: &mut ModelField<B, R, P>,
        psi: &ModelField<B, R, P>,
        _: Dagger,
    ) -> Result<(), BackendError> {
        self.backend().scale(out, self.parameters.diagonal(), psi)
    }

    fn mooee_inv(
        &mut self,
        out: &mut ModelField<B, R, P>,
        psi: &ModelField<B, R, P>,
        _: Dagger,
    ) -> Result<(), BackendError> {
        self.backend().scale(out, 1.0 / self.parameters.diagonal(), psi)
    }

    fn inverse_hop(
        &mut self,
        out: &mut ModelField<B, R, P>,
        between: &mut ModelField<B, R, P>,
        psi: &ModelField<B, R, P>,
        dagger: Dagger,
    ) -> Result<(), BackendError> {
        if self.is_fused(psi.kind().object().parts()) {
            return self.legs.with_hop(
                P::WITH_HOP,
                out,
                WithHop::Product(1.0 / self.parameters.diagonal()),
                psi,
                dagger,
            );
        }
        inverse_hop_in_steps(self, out, between, psi, dagger)
    }

    fn diagonal_minus_hop(
        &mut self,
        out: &mut ModelField<B, R, P>,
        between: &mut ModelField<B, R, P>,
        chi: &ModelField<B, R, P>,
        psi: &ModelField<B, R, P>,
        dagger: Dagger,
    ) -> Result<(), BackendError> {
        if self.is_fused(psi.kind().object().parts()) {
            return self.legs.with_hop(
                P::WITH_HOP,
                out,
                WithHop::Difference(self.parameters.diagonal(), chi),
                psi,
                dagger,
            );
        }
        diagonal_minus_hop_in_steps(self, out, between, chi, psi, dagger)
    }

    /// Two hops, a product with 1/d, a product with d, and a difference.
    fn schur_flops(&self) -> u64 {
        2 * self.hop_flops(PARITIES[0]) + (2 * SCALE_FLOPS + AXPY_FLOPS) * self.words(PARITIES[0])
    }
    fn schur_bytes(&self) -> u64 {
        let others = if self.is_fused(self.object(1).object().parts()) { 1 } else { 7 };
        2 * self.hop_bytes(PARITIES[0]) + others * bytes_of::<R>(self.words(PARITIES[0]))
    }
}
