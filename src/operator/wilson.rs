//! The Wilson operator M = hop + (4 + mass), on the full lattice and in its even-odd pieces.

use lanefield_reference::field::Spinors;
use lanefield_reference::gauge::Configuration;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::hop::Dagger;
use lanefield_reference::layout::{Lattice, Parity, Sites};

use super::hop::number_of_sites;
use super::{ActsOn, AnyModel, Definition, EvenOdd, HopOperator, HopParameters, Model, Operator, Parameter};
use crate::backend::{Backend, BackendError, FieldOn};
use crate::kernel::prelude::*;

/// What defines a Wilson operator, beside the configuration.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct WilsonParameters {
    /// Bare quark mass in lattice units.
    pub mass: f64,
    /// The hop's own parameters.
    pub hop: HopParameters,
}

impl WilsonParameters {
    /// The diagonal, 4 + mass.
    pub fn diagonal(&self) -> f64 {
        4.0 + self.mass
    }
}

/// The operator by name.
pub static DEFINITIONS: &[Definition] = &[Definition {
    name: "wilson",
    meaning: "Wilson fermions",
    parameters: &[Parameter::number("mass", None, "bare quark mass")],
    verified_mass: "-0.5",
    make: |values, hop| AnyModel::Wilson(WilsonParameters { mass: values.get("mass"), hop }),
    values: |model| vec![model.mass()],
}];

/// The Wilson operator.
pub struct Wilson<'b, B: Backend, R: Vectors> {
    hop: HopOperator<'b, B, R>,
    diagonal: f64,
}

impl<'b, B: Backend, R: Vectors> Wilson<'b, B, R> {
    /// M on the full lattice.
    ///
    /// # Errors
    /// As [`HopOperator::new`].
    pub fn full(
        backend: &'b B,
        configuration: &Configuration,
        lattice: Lattice,
        parameters: WilsonParameters,
    ) -> Result<Self, BackendError> {
        let hop = HopOperator::new(backend, configuration, lattice, parameters.hop, &[Sites::Full])?;
        Ok(Self { hop, diagonal: parameters.diagonal() })
    }

    /// The even-odd pieces of M.
    ///
    /// # Errors
    /// As [`HopOperator::new`].
    pub fn even_odd(
        backend: &'b B,
        configuration: &Configuration,
        lattice: Lattice,
        parameters: WilsonParameters,
    ) -> Result<Self, BackendError> {
        let hop = HopOperator::new(backend, configuration, lattice, parameters.hop, &PARITIES)?;
        Ok(Self { hop, diagonal: parameters.diagonal() })
    }
}

pub(super) const PARITIES: [Sites; 2] = [Sites::Parity(Parity::Even), Sites::Parity(Parity::Odd)];

/// Floating-point operations a site of `scale` on a spinor.
pub(super) const SCALE_FLOPS: u64 = 24;
/// Floating-point operations a site of `axpy` on spinors.
pub(super) const AXPY_FLOPS: u64 = 48;

impl<B: Backend, R: Vectors> ActsOn<B> for Wilson<'_, B, R> {
    type Object = Spinors;

    fn backend(&self) -> &B {
        self.hop.backend()
    }
    fn lattice(&self) -> Lattice {
        self.hop.lattice()
    }
    fn object(&self, columns: usize) -> Spinors {
        Spinors::new(columns)
    }
}

impl<B: Backend, R: Vectors> Operator<B, R> for Wilson<'_, B, R> {
    fn sites(&self) -> Sites {
        Sites::Full
    }

    fn apply(
        &mut self,
        out: &mut FieldOn<B, R, Spinors>,
        psi: &FieldOn<B, R, Spinors>,
        dagger: Dagger,
    ) -> Result<(), BackendError> {
        self.hop.apply(out, psi, dagger)?;
        self.hop.backend().axpy(self.diagonal, psi, out)
    }

    fn flops(&self) -> u64 {
        self.hop.flops(Sites::Full) + AXPY_FLOPS * number_of_sites(self.hop.lattice(), Sites::Full)
    }

    fn bytes(&self) -> u64 {
        self.hop.bytes(Sites::Full) + 3 * spinor_bytes::<R>(self.hop.lattice(), Sites::Full)
    }
}

/// Bytes of a spinor field.
pub(super) fn spinor_bytes<R: Vectors>(lattice: Lattice, sites: Sites) -> u64 {
    number_of_sites(lattice, sites) * (2 * Spinors::WORDS * R::BITS as usize / 8) as u64
}

impl<B: Backend, R: Vectors> EvenOdd<B, R> for Wilson<'_, B, R> {
    fn meooe(
        &mut self,
        out: &mut FieldOn<B, R, Spinors>,
        psi: &FieldOn<B, R, Spinors>,
        dagger: Dagger,
    ) -> Result<(), BackendError> {
        self.hop.apply(out, psi, dagger)
    }

    fn mooee(
        &mut self,
        out: &mut FieldOn<B, R, Spinors>,
        psi: &FieldOn<B, R, Spinors>,
        _: Dagger,
    ) -> Result<(), BackendError> {
        self.hop.backend().scale(out, self.diagonal, psi)
    }

    fn mooee_inv(
        &mut self,
        out: &mut FieldOn<B, R, Spinors>,
        psi: &FieldOn<B, R, Spinors>,
        _: Dagger,
    ) -> Result<(), BackendError> {
        self.hop.backend().scale(out, 1.0 / self.diagonal, psi)
    }

    /// Two hops, a product with 1/dm, and one with dm and a difference.
    fn schur_flops(&self) -> u64 {
        let sites = number_of_sites(self.hop.lattice(), PARITIES[0]);
        2 * self.hop.flops(PARITIES[0]) + (2 * SCALE_FLOPS + AXPY_FLOPS) * sites
    }
    fn schur_bytes(&self) -> u64 {
        2 * self.hop.bytes(PARITIES[0]) + 7 * spinor_bytes::<R>(self.hop.lattice(), PARITIES[0])
    }
}

impl Model for WilsonParameters {
    type Object = Spinors;
    type Full<'b, B: Backend + 'b, R: Vectors> = Wilson<'b, B, R>;
    type Pieces<'b, B: Backend + 'b, R: Vectors> = Wilson<'b, B, R>;

    fn name(&self) -> &'static str {
        "wilson"
    }
    fn mass(&self) -> f64 {
        self.mass
    }
    fn diagonal(&self) -> f64 {
        Self::diagonal(self)
    }
    fn hop(&self) -> HopParameters {
        self.hop
    }
    fn object(&self, columns: usize) -> Spinors {
        Spinors::new(columns)
    }
    fn full<'b, B: Backend, R: Vectors>(
        &self,
        backend: &'b B,
        configuration: &Configuration,
        lattice: Lattice,
    ) -> Result<Wilson<'b, B, R>, BackendError> {
        Wilson::full(backend, configuration, lattice, *self)
    }
    fn even_odd<'b, B: Backend, R: Vectors>(
        &self,
        backend: &'b B,
        configuration: &Configuration,
        lattice: Lattice,
    ) -> Result<Wilson<'b, B, R>, BackendError> {
        Wilson::even_odd(backend, configuration, lattice, *self)
    }
}
