//! The staggered operator D = mass + hop on colour vectors, naive (`docs/arithmetic.md` §16) or with a second hop over long links (§25), on the full
//! lattice and in its even-odd pieces. The hop is anti-Hermitian and connects the parities, so D†D = mass² − hop² does not mix them. On one parity,
//! conjugate gradients solve mass² − Doe Deo, which is Hermitian and positive definite.

use lanefield_reference::field::ColourVectors;
use lanefield_reference::gauge::Configuration;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::colour_vectors::ideal_bytes_per_site;
use lanefield_reference::kernels::hop::Dagger;
use lanefield_reference::kernels::staggered::FLOPS_PER_VECTOR;
use lanefield_reference::layout::{LEGS, Lattice, Sites};
use lanefield_reference::links::{DoubledGauge, double_long};

use super::hop::{PARITIES, number_of_sites};
use super::model::{Defined, Definition, Parameter, ParameterValues, made_alike};
use super::traits::acts_as;
use super::traits::{AXPY_FLOPS, SCALE_FLOPS, bytes_of, fit};
use super::{ActsOn, EvenOdd, HopOperator, HopParameters, Model, Operator};
use crate::backend::{Backend, BackendError, FieldOn};
use crate::gauge::HostLinks;
use crate::kernel::prelude::*;
use crate::kernel::with_hop::{WithHop, has_bits_of_steps};
use crate::kernel::{hisq, staggered};

/// The parameters of a staggered operator.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct StaggeredParameters {
    /// Mass in lattice units.
    pub mass: f64,
    /// Number of colour vectors per site in a right-hand side. The operator acts on each separately.
    pub components: usize,
    /// Boundary phases, gauge compression and leg order.
    pub hop: HopParameters,
}

type ColourVectorsOn<B, R> = FieldOn<B, R, ColourVectors>;

/// Floating-point operations per colour vector of the hop over long links: 8 products of a matrix with a vector (66), and 8 sums of vectors (6).
const LONG_FLOPS_PER_VECTOR: u64 = 576;

/// The staggered operator, naive or HISQ.
pub struct Staggered<'b, B: Backend, R: Vectors> {
    /// Links (fat links for HISQ fermions) and stencils; its Wilson hop is not used.
    legs: HopOperator<'b, B, R>,
    /// The doubled long links of HISQ fermions, for each of the sites for which the hop was prepared.
    long_links: Vec<(Sites, FieldOn<B, R, DoubledGauge>)>,
    parameters: StaggeredParameters,
    /// A temporary field for the hop of D† on the full lattice in half precision.
    between: Option<ColourVectorsOn<B, R>>,
}

impl<'b, B: Backend, R: Vectors> Staggered<'b, B, R> {
    /// Creates the operator from links and, if there are any, long links.
    pub(super) fn new(
        backend: &'b B,
        (links, long): (&Configuration, Option<&HostLinks>),
        lattice: Lattice,
        parameters: StaggeredParameters,
        targets: &[Sites],
    ) -> Result<Self, BackendError> {
        let hop = parameters.hop;
        let legs = HopOperator::new(backend, links, lattice, hop, targets)?;
        let mut long_links = Vec::new();
        if let Some(long) = long {
            let kind = DoubledGauge { format: hop.links, boundary: hop.boundary };
            for &sites in targets {
                long_links.push((sites, backend.upload(double_long(|x, d| long.link(x, d), lattice, sites, kind)?)?));
            }
        }
        Ok(Self { legs, long_links, parameters, between: None })
    }

    fn naive(
        backend: &'b B,
        configuration: &Configuration,
        lattice: Lattice,
        parameters: StaggeredParameters,
        targets: &[Sites],
    ) -> Result<Self, BackendError> {
        Self::new(backend, (configuration, None), lattice, parameters, targets)
    }

    /// The doubled long links for these sites, if there are any.
    fn long_links(&self, onto: Sites) -> Option<&FieldOn<B, R, DoubledGauge>> {
        self.long_links.iter().find(|(sites, _)| *sites == onto).map(|(_, links)| links)
    }

    /// out = hop(ψ) on the sites of `out`; ψ is on their neighbours. A product with 1 is exact.
    ///
    /// # Errors
    /// Fails if the operator was not prepared for these sites, if fields do not match, and if the backend fails.
    pub fn hop(&self, out: &mut ColourVectorsOn<B, R>, psi: &ColourVectorsOn<B, R>) -> Result<(), BackendError> {
        let onto = self.legs.onto(out.sites())?;
        if self.long_links(out.sites()).is_some() {
            return self.with_hop(out, WithHop::Product(1.0), psi);
        }
        self.legs.backend().staggered_hop(out, &onto.stencil, &onto.links, psi, self.legs.legs())
    }

    /// Writes to `out` the result of a kernel that uses the hop of ψ, in one launch.
    fn with_hop(
        &self,
        out: &mut ColourVectorsOn<B, R>,
        done: WithHop<'_, ColourVectorsOn<B, R>>,
        psi: &ColourVectorsOn<B, R>,
    ) -> Result<(), BackendError> {
        let long = self.long_links(out.sites()).map(|long| ("long_links", long));
        let kernels = if long.is_some() { &hisq::WITH_HOP } else { &staggered::WITH_HOP };
        self.legs.with_hop_and(long, kernels, out, done, psi, Dagger::No)
    }

    /// out = a·χ − hop ψ, in separate launches.
    fn diagonal_minus_hop_in_steps(
        &self,
        a: f64,
        out: &mut ColourVectorsOn<B, R>,
        between: &mut ColourVectorsOn<B, R>,
        chi: &ColourVectorsOn<B, R>,
        psi: &ColourVectorsOn<B, R>,
    ) -> Result<(), BackendError> {
        self.hop(between, psi)?;
        self.legs.backend().scale(out, a, chi)?;
        self.legs.backend().axpy(-1.0, between, out)
    }

    const IS_FUSED: bool = has_bits_of_steps::<R>();

    fn hop_flops(&self, sites: Sites) -> u64 {
        let long = if self.long_links.is_empty() { 0 } else { LONG_FLOPS_PER_VECTOR };
        let vectors = number_of_sites(self.legs.lattice(), sites) * self.parameters.components as u64;
        vectors * (FLOPS_PER_VECTOR + long)
    }

    /// The links of a site, the source and the result.
    fn hop_bytes(&self, sites: Sites) -> u64 {
        let (format, components, real) = (self.parameters.hop.links, self.parameters.components, R::BITS as usize / 8);
        let long = if self.long_links.is_empty() { 0 } else { (LEGS * format.reals() * real) as u64 };
        number_of_sites(self.legs.lattice(), sites) * (ideal_bytes_per_site(format, real, components) + long)
    }
}

acts_as!(Staggered<'_, B, R>, [B: Backend, R: Vectors], legs, ColourVectors, |this, rhs| ColourVectors::new(rhs * this.parameters.components));

impl<B: Backend, R: Vectors> Operator<B, R> for Staggered<'_, B, R> {
    /// out = mass ψ + hop ψ, or mass ψ − hop ψ; mass ψ is rounded before the sum.
    fn apply(
        &mut self,
        out: &mut ColourVectorsOn<B, R>,
        psi: &ColourVectorsOn<B, R>,
        dagger: Dagger,
    ) -> Result<(), BackendError> {
        let (backend, mass) = (self.legs.backend(), self.parameters.mass);
        match (Self::IS_FUSED, dagger) {
            (true, Dagger::No) => self.with_hop(out, WithHop::Sum(mass, psi), psi),
            (true, Dagger::Yes) => self.with_hop(out, WithHop::Difference(mass, psi), psi),
            (false, Dagger::No) => {
                self.hop(out, psi)?;
                backend.axpy(mass, psi, out)
            }
            (false, Dagger::Yes) => {
                let mut between = match self.between.take() {
                    Some(between) => between,
                    None => backend.zeros(*out.lattice(), out.sites(), out.kind())?,
                };
                let applied = fit::<B, R, _>(&mut between, psi, backend)
                    .and_then(|()| self.diagonal_minus_hop_in_steps(mass, out, &mut between, psi, psi));
                self.between = Some(between);
                applied
            }
        }
    }

    /// A hop, and an axpy.
    fn flops(&self) -> u64 {
        self.hop_flops(Sites::Full) + AXPY_FLOPS * self.words(Sites::Full)
    }
    fn bytes(&self) -> u64 {
        let others = if Self::IS_FUSED { 1 } else { 3 };
        self.hop_bytes(Sites::Full) + others * bytes_of::<R>(self.words(Sites::Full))
    }
}

impl<B: Backend, R: Vectors> EvenOdd<B, R> for Staggered<'_, B, R> {
    /// The hop is anti-Hermitian, and −1 is exact in every precision.
    fn meooe(
        &mut self,
        out: &mut ColourVectorsOn<B, R>,
        psi: &ColourVectorsOn<B, R>,
        dagger: Dagger,
    ) -> Result<(), BackendError> {
        match dagger {
            Dagger::No => self.hop(out, psi),
            Dagger::Yes => self.with_hop(out, WithHop::Product(-1.0), psi),
        }
    }

    fn mooee(
        &mut self,
        out: &mut ColourVectorsOn<B, R>,
        psi: &ColourVectorsOn<B, R>,
        _: Dagger,
    ) -> Result<(), BackendError> {
        self.backend().scale(out, self.parameters.mass, psi)
    }

    fn mooee_inv(
        &mut self,
        out: &mut ColourVectorsOn<B, R>,
        psi: &ColourVectorsOn<B, R>,
        _: Dagger,
    ) -> Result<(), BackendError> {
        self.backend().scale(out, 1.0 / self.parameters.mass, psi)
    }

    /// The Schur complement is mass² − Doe Deo, which is that of D times the mass.
    fn schur_factor(&self) -> f64 {
        self.parameters.mass
    }

    fn inverse_hop(
        &mut self,
        out: &mut ColourVectorsOn<B, R>,
        _: &mut ColourVectorsOn<B, R>,
        psi: &ColourVectorsOn<B, R>,
        _: Dagger,
    ) -> Result<(), BackendError> {
        self.hop(out, psi)
    }

    fn diagonal_minus_hop(
        &mut self,
        out: &mut ColourVectorsOn<B, R>,
        between: &mut ColourVectorsOn<B, R>,
        chi: &ColourVectorsOn<B, R>,
        psi: &ColourVectorsOn<B, R>,
        _: Dagger,
    ) -> Result<(), BackendError> {
        let mass2 = self.parameters.mass * self.parameters.mass;
        match Self::IS_FUSED {
            true => self.with_hop(out, WithHop::Difference(mass2, chi), psi),
            false => self.diagonal_minus_hop_in_steps(mass2, out, between, chi, psi),
        }
    }

    /// Two hops, a product with mass², and a difference.
    fn schur_flops(&self) -> u64 {
        2 * self.hop_flops(PARITIES[0]) + (SCALE_FLOPS + AXPY_FLOPS) * self.words(PARITIES[0])
    }
    fn schur_bytes(&self) -> u64 {
        let others = if Self::IS_FUSED { 1 } else { 5 };
        2 * self.hop_bytes(PARITIES[0]) + others * bytes_of::<R>(self.words(PARITIES[0]))
    }
}

impl Model for StaggeredParameters {
    made_alike!(Staggered, ColourVectors, Staggered::naive);

    fn name(&self) -> &'static str {
        Self::DEFINITIONS[0].name
    }
    fn diagonal(&self) -> f64 {
        self.mass
    }
    fn object(&self, rhs: usize) -> ColourVectors {
        ColourVectors::new(rhs * self.components)
    }
    /// mass² − Doe Deo is positive definite; D is not Hermitian.
    fn is_positive(&self, even_odd: bool) -> bool {
        even_odd
    }
}

impl Defined for StaggeredParameters {
    const DEFINITIONS: &'static [Definition] = &[Definition {
        name: "staggered",
        meaning: "naive staggered fermions",
        formula: "M = mass + ½ Σ_μ η_μ [U_μ(x) ψ(x+μ) - U_μ†(x-μ) ψ(x-μ)], with η of x, y, z, t: 1, (-1)^x, (-1)^(x+y), (-1)^(x+y+z)",
        parameters: &[Parameter::number("mass", None, "quark mass"), Parameter::COMPONENTS],
        verified: &[("mass", "0.5")],
    }];

    fn of(_: &str, values: &ParameterValues, hop: HopParameters) -> Self {
        Self { mass: values.get("mass"), components: values.count("components"), hop }
    }
    fn values(&self) -> Vec<f64> {
        vec![self.mass, self.components as f64]
    }
}
