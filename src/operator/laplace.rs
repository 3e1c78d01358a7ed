//! The four-dimensional Laplacian −Δ + mass² on colour vectors (`docs/arithmetic.md` §15), on the full lattice and in its even-odd pieces.
//! It is Hermitian, and positive definite for mass ≠ 0: conjugate gradients solve it, and its Schur complement, as they are.

use lanefield_reference::field::ColourVectors;
use lanefield_reference::gauge::Configuration;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::hop::Dagger;
use lanefield_reference::kernels::laplace::{FLOPS_PER_VECTOR, ideal_bytes_per_site};
use lanefield_reference::layout::{Lattice, Sites};
use lanefield_reference::links::LinkFormat;

use super::hop::number_of_sites;
use super::wilson::PARITIES;
use super::{
    ActsOn, AnyModel, Definition, EvenOdd, HopOperator, HopParameters, Model, Operator, Parameter, ParameterKind,
};
use crate::backend::{Backend, BackendError, FieldOn};
use crate::kernel::prelude::*;

/// What defines a Laplacian, beside the configuration.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct LaplaceParameters {
    /// Mass in lattice units; mass² is added to −Δ.
    pub mass: f64,
    /// Boundary phases, link format and leg order.
    pub hop: HopParameters,
}

impl LaplaceParameters {
    /// The diagonal, 8 + mass².
    pub fn diagonal(&self) -> f64 {
        8.0 + self.mass * self.mass
    }
}

/// The operator by name.
pub static DEFINITIONS: &[Definition] = &[Definition {
    name: "laplace",
    meaning: "the four-dimensional Laplacian −Δ + mass²",
    parameters: &[
        Parameter::number("mass", None, "mass, whose square is added"),
        Parameter {
            name: "components",
            kind: ParameterKind::Count(1024),
            default: Some(1.0),
            follows: None,
            meaning: "colour vectors per site",
            key: None,
        },
    ],
    verified_mass: "0.5",
    make: |values, hop| {
        let laplace = LaplaceParameters { mass: values.get("mass"), hop };
        AnyModel::Laplace(LaplaceModel { laplace, components: values.count("components") })
    },
    values: |model| match model {
        AnyModel::Laplace(model) => vec![model.laplace.mass, model.components as f64],
        _ => Vec::new(),
    },
}];

/// The Laplacian, on columns of `components` colour vectors a site, each of which it takes by itself.
pub struct Laplace<'b, B: Backend, R: Vectors> {
    /// Links and stencils; its Wilson hop is not used.
    legs: HopOperator<'b, B, R>,
    format: LinkFormat,
    components: usize,
    diagonal: f64,
}

impl<'b, B: Backend, R: Vectors> Laplace<'b, B, R> {
    /// −Δ + mass² on the full lattice, for `components` colour vectors a column.
    ///
    /// # Errors
    /// As [`HopOperator::new`]. Without components no field can be made: [`Operator::zeros`] says so.
    pub fn full(
        backend: &'b B,
        configuration: &Configuration,
        lattice: Lattice,
        parameters: LaplaceParameters,
        components: usize,
    ) -> Result<Self, BackendError> {
        Self::onto(backend, configuration, lattice, parameters, components, &[Sites::Full])
    }

    /// Its even-odd pieces.
    ///
    /// # Errors
    /// As [`HopOperator::new`].
    pub fn even_odd(
        backend: &'b B,
        configuration: &Configuration,
        lattice: Lattice,
        parameters: LaplaceParameters,
        components: usize,
    ) -> Result<Self, BackendError> {
        Self::onto(backend, configuration, lattice, parameters, components, &PARITIES)
    }

    fn onto(
        backend: &'b B,
        configuration: &Configuration,
        lattice: Lattice,
        parameters: LaplaceParameters,
        components: usize,
        targets: &[Sites],
    ) -> Result<Self, BackendError> {
        let legs = HopOperator::new(backend, configuration, lattice, parameters.hop, targets)?;
        Ok(Self { legs, format: parameters.hop.links, components, diagonal: parameters.diagonal() })
    }

    /// out = laplace_hop(ψ) on the sites of `out`; ψ lives on their neighbours.
    ///
    /// # Errors
    /// [`BackendError::Field`] for sites that the operator was not made for, and for fields that do not match.
    pub fn hop(
        &self,
        out: &mut FieldOn<B, R, ColourVectors>,
        psi: &FieldOn<B, R, ColourVectors>,
    ) -> Result<(), BackendError> {
        let onto = self.legs.onto(out.sites())?;
        self.legs.backend().laplace_hop(out, &onto.stencil, &onto.links, psi, self.legs.legs())
    }

    /// Floating-point operations of one hop of a column onto `sites`: 576 for each colour vector.
    pub fn hop_flops(&self, sites: Sites) -> u64 {
        self.colour_vectors(sites) * FLOPS_PER_VECTOR
    }

    /// Bytes that one hop of a column onto `sites` has to move at least: the links and each vector read once, each result written once.
    pub fn hop_bytes(&self, sites: Sites) -> u64 {
        number_of_sites(self.legs.lattice(), sites)
            * ideal_bytes_per_site(self.format, R::BITS as usize / 8, self.components)
    }

    /// Colour vectors of a column on `sites`.
    fn colour_vectors(&self, sites: Sites) -> u64 {
        number_of_sites(self.legs.lattice(), sites) * self.components as u64
    }

    /// Bytes of a column on `sites`.
    fn column_bytes(&self, sites: Sites) -> u64 {
        self.colour_vectors(sites) * (2 * ColourVectors::WORDS * R::BITS as usize / 8) as u64
    }
}

/// Floating-point operations of `scale` on a colour vector.
const SCALE_FLOPS: u64 = 6;
/// Floating-point operations of `axpy` on colour vectors.
const AXPY_FLOPS: u64 = 12;

impl<B: Backend, R: Vectors> ActsOn<B> for Laplace<'_, B, R> {
    type Object = ColourVectors;

    fn backend(&self) -> &B {
        self.legs.backend()
    }
    fn lattice(&self) -> Lattice {
        self.legs.lattice()
    }
    fn object(&self, columns: usize) -> ColourVectors {
        ColourVectors::new(columns * self.components)
    }
}

impl<B: Backend, R: Vectors> Operator<B, R> for Laplace<'_, B, R> {
    fn sites(&self) -> Sites {
        Sites::Full
    }

    /// out = (−Δ + mass²) ψ; the operator is its own Hermitian conjugate, so `dagger` makes no difference.
    fn apply(
        &mut self,
        out: &mut FieldOn<B, R, ColourVectors>,
        psi: &FieldOn<B, R, ColourVectors>,
        _: Dagger,
    ) -> Result<(), BackendError> {
        self.hop(out, psi)?;
        self.legs.backend().axpy(self.diagonal, psi, out)
    }

    /// A hop, and an axpy.
    fn flops(&self) -> u64 {
        self.hop_flops(Sites::Full) + AXPY_FLOPS * self.colour_vectors(Sites::Full)
    }
    fn bytes(&self) -> u64 {
        self.hop_bytes(Sites::Full) + 3 * self.column_bytes(Sites::Full)
    }
}

impl<B: Backend, R: Vectors> EvenOdd<B, R> for Laplace<'_, B, R> {
    fn meooe(
        &mut self,
        out: &mut FieldOn<B, R, ColourVectors>,
        psi: &FieldOn<B, R, ColourVectors>,
        _: Dagger,
    ) -> Result<(), BackendError> {
        self.hop(out, psi)
    }

    fn mooee(
        &mut self,
        out: &mut FieldOn<B, R, ColourVectors>,
        psi: &FieldOn<B, R, ColourVectors>,
        _: Dagger,
    ) -> Result<(), BackendError> {
        self.legs.backend().scale(out, self.diagonal, psi)
    }

    fn mooee_inv(
        &mut self,
        out: &mut FieldOn<B, R, ColourVectors>,
        psi: &FieldOn<B, R, ColourVectors>,
        _: Dagger,
    ) -> Result<(), BackendError> {
        self.legs.backend().scale(out, 1.0 / self.diagonal, psi)
    }

    /// Two hops, a product with 1/d, and one with d and a difference.
    fn schur_flops(&self) -> u64 {
        2 * self.hop_flops(PARITIES[0]) + (2 * SCALE_FLOPS + AXPY_FLOPS) * self.colour_vectors(PARITIES[0])
    }
    fn schur_bytes(&self) -> u64 {
        2 * self.hop_bytes(PARITIES[0]) + 7 * self.column_bytes(PARITIES[0])
    }
}

/// A Laplacian on columns of some components: what a solve is given.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LaplaceModel {
    /// The operator.
    pub laplace: LaplaceParameters,
    /// Colour vectors of a column.
    pub components: usize,
}

impl Model for LaplaceModel {
    type Object = ColourVectors;
    type Full<'b, B: Backend + 'b, R: Vectors> = Laplace<'b, B, R>;
    type Pieces<'b, B: Backend + 'b, R: Vectors> = Laplace<'b, B, R>;

    fn name(&self) -> &'static str {
        "laplace"
    }
    fn mass(&self) -> f64 {
        self.laplace.mass
    }
    fn diagonal(&self) -> f64 {
        self.laplace.diagonal()
    }
    fn hop(&self) -> HopParameters {
        self.laplace.hop
    }
    fn object(&self, columns: usize) -> ColourVectors {
        ColourVectors::new(columns * self.components)
    }
    fn is_positive(&self, _: bool) -> bool {
        true
    }
    fn full<'b, B: Backend, R: Vectors>(
        &self,
        backend: &'b B,
        configuration: &Configuration,
        lattice: Lattice,
    ) -> Result<Laplace<'b, B, R>, BackendError> {
        Laplace::full(backend, configuration, lattice, self.laplace, self.components)
    }
    fn even_odd<'b, B: Backend, R: Vectors>(
        &self,
        backend: &'b B,
        configuration: &Configuration,
        lattice: Lattice,
    ) -> Result<Laplace<'b, B, R>, BackendError> {
        Laplace::even_odd(backend, configuration, lattice, self.laplace, self.components)
    }
}
