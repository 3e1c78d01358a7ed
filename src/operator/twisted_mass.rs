//! The twisted mass operator M = hop + (4 + mass) + iμγ5 of one flavour (`docs/arithmetic.md` §17), on the full lattice and in its even-odd pieces.
//! Its kernels are the kernel functions in `crates/kernels/src/kernel/twisted_mass.rs`.

use lanefield_reference::field::Spinors;
use lanefield_reference::gauge::Configuration;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::hop::{Dagger, FLOPS_PER_SITE, ideal_bytes_per_site};
use lanefield_reference::layout::{Lattice, Sites};
use num_complex::Complex;

use super::hop::{PARITIES, number_of_sites};
use super::model::{Defined, Definition, Parameter, ParameterValues, made_alike};
use super::traits::acts_as;
use super::traits::{SpinorsOn, bytes_of};
use super::{ActsOn, EvenOdd, HopOperator, HopParameters, Model, Operator};
use crate::backend::{Backend, BackendError};
use crate::kernel::prelude::*;
use crate::kernel::twisted_mass;
use crate::kernel::with_hop::WithHop;

/// The parameters of a twisted mass operator.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct TwistedMassParameters {
    /// Bare quark mass in lattice units.
    pub mass: f64,
    /// Twisted mass μ in lattice units. The other flavour of a pair has −μ.
    pub mu: f64,
    /// The parameters of the hop.
    pub hop: HopParameters,
}

impl TwistedMassParameters {
    /// The diagonal part dm + iμγ5 as a number: dm + i·μ, dm = 4 + mass.
    fn diagonal_of_chirality(&self) -> Complex<f64> {
        Complex::new(4.0 + self.mass, self.mu)
    }

    /// 1 / (dm + i·μ), by Smith's algorithm (Communications of the ACM 5, 435 (1962)), which overflows only if the result does. At μ = 0 it is 1 /
    /// dm, as for Wilson fermions.
    fn inverse_of_chirality(&self) -> Complex<f64> {
        let Complex { re: dm, im: mu } = self.diagonal_of_chirality();
        match mu.abs() <= dm.abs() {
            true => {
                let r = mu / dm;
                let q = 1.0 / (dm + mu * r);
                Complex::new(q, -(r * q))
            }
            false => {
                let r = dm / mu;
                let q = 1.0 / (mu + dm * r);
                Complex::new(r * q, -q)
            }
        }
    }

    /// Checks that precision `R` can hold the diagonal part, or its inverse.
    fn require_in_range<R: Vectors>(&self, what: &'static str, diagonal: Complex<f64>) -> Result<(), BackendError> {
        let Self { mass, mu, .. } = *self;
        let is_finite = |number: f64| R::from_f64(number).to_f64().is_finite();
        match is_finite(diagonal.re) && is_finite(diagonal.im) {
            true => Ok(()),
            false => Err(BackendError::TwistedMass { mass, mu, what, diagonal, precision: R::NAME }),
        }
    }
}

/// The twisted mass operator.
pub struct TwistedMass<'b, B: Backend, R: Vectors> {
    hop: HopOperator<'b, B, R>,
    diagonal: Complex<f64>,
    inverse: Complex<f64>,
}

/// Operations per spinor for a product with dm + iμγ5, and for one that is added.
const PRODUCT_FLOPS: u64 = 6 * Spinors::WORDS as u64;
const SUM_FLOPS: u64 = 8 * Spinors::WORDS as u64;
/// Operations per spinor for a difference.
const DIFFERENCE_FLOPS: u64 = 2 * Spinors::WORDS as u64;

impl<'b, B: Backend, R: Vectors> TwistedMass<'b, B, R> {
    fn new(
        backend: &'b B,
        configuration: &Configuration,
        lattice: Lattice,
        parameters: TwistedMassParameters,
        targets: &[Sites],
    ) -> Result<Self, BackendError> {
        let (diagonal, inverse) = (parameters.diagonal_of_chirality(), parameters.inverse_of_chirality());
        parameters.require_in_range::<R>("diagonal", diagonal)?;
        if targets != [Sites::Full] {
            parameters.require_in_range::<R>("inverse of the diagonal", inverse)?;
        }
        let hop = HopOperator::new(backend, configuration, lattice, parameters.hop, targets)?;
        Ok(Self { hop, diagonal, inverse })
    }

    /// Operations on these sites: a hop, and others.
    fn flops_on(&self, sites: Sites, others: u64) -> u64 {
        number_of_sites(self.hop.lattice(), sites) * (FLOPS_PER_SITE + others)
    }

    /// Bytes moved by a hop and by `others` further spinors per site.
    fn bytes_on(&self, sites: Sites, others: u64) -> u64 {
        let of_hop = ideal_bytes_per_site(self.hop.format(), R::BITS as usize / 8);
        number_of_sites(self.hop.lattice(), sites) * of_hop + others * bytes_of::<R>(self.words(sites))
    }
}

/// a, or its complex conjugate for the Hermitian conjugate, since γ5 is Hermitian.
fn of_dagger(a: Complex<f64>, dagger: Dagger) -> Complex<f64> {
    match dagger {
        Dagger::No => a,
        Dagger::Yes => a.conj(),
    }
}

acts_as!(TwistedMass<'_, B, R>, [B: Backend, R: Vectors], hop, Spinors, |_, rhs| Spinors::new(rhs));

impl<B: Backend, R: Vectors> Operator<B, R> for TwistedMass<'_, B, R> {
    /// In a single launch.
    fn apply(&mut self, out: &mut SpinorsOn<B, R>, psi: &SpinorsOn<B, R>, dagger: Dagger) -> Result<(), BackendError> {
        self.hop.with_hop(
            &twisted_mass::WITH_HOP,
            out,
            WithHop::Sum(of_dagger(self.diagonal, dagger), psi),
            psi,
            dagger,
        )
    }

    /// The hop (1320 a site), and the twisted sum (96).
    fn flops(&self) -> u64 {
        self.flops_on(Sites::Full, SUM_FLOPS)
    }
    fn bytes(&self) -> u64 {
        self.bytes_on(Sites::Full, 1)
    }
}

impl<B: Backend, R: Vectors> EvenOdd<B, R> for TwistedMass<'_, B, R> {
    fn meooe(&mut self, out: &mut SpinorsOn<B, R>, psi: &SpinorsOn<B, R>, dagger: Dagger) -> Result<(), BackendError> {
        self.hop.apply(out, psi, dagger)
    }

    fn mooee(&mut self, out: &mut SpinorsOn<B, R>, psi: &SpinorsOn<B, R>, dagger: Dagger) -> Result<(), BackendError> {
        self.hop.backend().twisted_mass_apply(out, of_dagger(self.diagonal, dagger), psi)
    }

    fn mooee_inv(
        &mut self,
        out: &mut SpinorsOn<B, R>,
        psi: &SpinorsOn<B, R>,
        dagger: Dagger,
    ) -> Result<(), BackendError> {
        self.hop.backend().twisted_mass_apply(out, of_dagger(self.inverse, dagger), psi)
    }

    /// In a single launch.
    fn inverse_hop(
        &mut self,
        out: &mut SpinorsOn<B, R>,
        _: &mut SpinorsOn<B, R>,
        psi: &SpinorsOn<B, R>,
        dagger: Dagger,
    ) -> Result<(), BackendError> {
        self.hop.with_hop(&twisted_mass::WITH_HOP, out, WithHop::Product(of_dagger(self.inverse, dagger)), psi, dagger)
    }

    /// In a single launch.
    fn diagonal_minus_hop(
        &mut self,
        out: &mut SpinorsOn<B, R>,
        _: &mut SpinorsOn<B, R>,
        chi: &SpinorsOn<B, R>,
        psi: &SpinorsOn<B, R>,
        dagger: Dagger,
    ) -> Result<(), BackendError> {
        self.hop.with_hop(
            &twisted_mass::WITH_HOP,
            out,
            WithHop::Difference(of_dagger(self.diagonal, dagger), chi),
            psi,
            dagger,
        )
    }

    /// Two hops (1320 a site), two twisted products (72 each), and a difference (24).
    fn schur_flops(&self) -> u64 {
        self.flops_on(PARITIES[0], PRODUCT_FLOPS) + self.flops_on(PARITIES[0], PRODUCT_FLOPS + DIFFERENCE_FLOPS)
    }
    fn schur_bytes(&self) -> u64 {
        self.bytes_on(PARITIES[0], 0) + self.bytes_on(PARITIES[0], 1)
    }
}

impl Model for TwistedMassParameters {
    made_alike!(TwistedMass, Spinors, TwistedMass::new);

    fn name(&self) -> &'static str {
        Self::DEFINITIONS[0].name
    }
    /// The magnitude of 4 + mass + iμ.
    fn diagonal(&self) -> f64 {
        let Complex { re, im } = self.diagonal_of_chirality();
        re.hypot(im)
    }
    fn object(&self, rhs: usize) -> Spinors {
        Spinors::new(rhs)
    }
}

impl Defined for TwistedMassParameters {
    const DEFINITIONS: &'static [Definition] = &[Definition {
        name: "twisted-mass",
        meaning: "twisted mass fermions, of one flavour",
        formula: "M = 4 + mass + W + i mu γ5, with γ5 = γx γy γz γt = diag(1, 1, -1, -1)",
        parameters: &[Parameter::BARE_MASS, Parameter::number("mu", None, "twisted mass μ, times iγ5")],
        verified: &[("mass", "-0.5"), ("mu", "0.25")],
    }];

    fn of(_: &str, values: &ParameterValues, hop: HopParameters) -> Self {
        Self { mass: values.get("mass"), mu: values.get("mu"), hop }
    }
    fn values(&self) -> Vec<f64> {
        vec![self.mass, self.mu]
    }
}
