//! Gaussian smearing of quark fields within time slices (Güsken et al., Phys. Lett. B 227 (1989) 266, of Wuppertal).

use std::fmt;
use std::str::FromStr;

use lanefield_reference::field::{ColourVectors, Field, list_of};
use lanefield_reference::gauge::Configuration;
use lanefield_reference::kernels::hop::Dagger;
use lanefield_reference::layout::{Checkerboard, Direction, LaneChoice, Lattice, LatticeOptions, Sites};
use lanefield_reference::real::Real;
use num_complex::Complex;

use crate::backend::{Backend, BackendError};
use crate::kernel::prelude::*;
use crate::kernel::with_hop::WithHop;
use crate::operator::{HopOperator, HopParameters, HopPlusConstantModel as _, LaplaceParameters};

/// So many times ψ ← (ψ + α Σ [U_j(x) ψ(x + j) + U_j†(x − j) ψ(x − j)]) / (1 + 6 α) over j = x, y, z, of each colour vector by itself, in f64.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Wuppertal {
    /// α > 0.
    alpha: f64,
    /// How often.
    steps: usize,
}

/// Colour vectors that are smeared at a time.
const AT_A_TIME: usize = 12;
const COLOURS: usize = ColourVectors::WORDS;

impl Wuppertal {
    /// α from 1/1000 to 1000, so many times.
    pub fn new(alpha: f64, steps: usize) -> Option<Self> {
        (1e-3..=1e3).contains(&alpha).then_some(Self { alpha, steps })
    }

    /// Of colour vectors in site order over the whole lattice, as many a site as there are.
    ///
    /// # Errors
    /// Numbers that are no colour vectors on the lattice of the configuration; what the backend reports.
    pub fn smear<B: Backend>(
        self,
        backend: &B,
        configuration: &Configuration,
        vectors: &[Complex<f64>],
    ) -> Result<Vec<Complex<f64>>, BackendError> {
        let extents = configuration.extents();
        let lanes = backend.lanes(LaneChoice::Auto);
        let options = LatticeOptions { lanes, nodes: None, checkerboard: Checkerboard::FullOnly };
        let lattice = Lattice::new(extents, f64::COMPLEX, options)?;
        let in_space = configuration.clone().without_links(Direction::T);
        let hops = HopOperator::new(backend, &in_space, lattice, HopParameters::default(), &[Sites::Full])?;
        let count = vectors.len() / (extents.volume() * COLOURS);
        let mut smeared = list_of(|| "smeared colour vectors".to_owned(), vectors.len(), vectors.iter().copied())?;
        for first in (0..count).step_by(AT_A_TIME) {
            let some = AT_A_TIME.min(count - first);
            let these = |site: usize| (site * count + first) * COLOURS..(site * count + first + some) * COLOURS;
            let kind = ColourVectors::new(some);
            let field = Field::from_sites(lattice, Sites::Full, kind, |site, words| {
                words.copy_from_slice(&vectors[these(site)]);
            })?;
            let mut psi = backend.upload(field)?;
            let mut sum = backend.zeros(lattice, Sites::Full, kind)?;
            for _ in 0..self.steps {
                // The hop is that of −Δ: it has the opposite sign.
                let hop = hops.term(Sites::Full, &psi, Dagger::No)?;
                let with_psi = WithHop::Sum(-1.0 / self.alpha, &psi);
                LaplaceParameters::apply_with_hop(backend, &mut sum, with_psi, hop)?;
                backend.scale(&mut psi, -self.alpha / (1.0 + 6.0 * self.alpha), &sum)?;
            }
            let done = backend.download(&psi)?.try_to_site_order()?;
            for (site, words) in done.chunks_exact(some * COLOURS).enumerate() {
                smeared[these(site)].copy_from_slice(words);
            }
        }
        Ok(smeared)
    }

    /// Of the sink of a propagator in site order.
    pub fn smear_sink<R: Real, B: Backend>(
        self,
        backend: &B,
        configuration: &Configuration,
        propagator: &[Complex<R>],
    ) -> Result<Vec<Complex<f64>>, BackendError> {
        // A transposition of the two colours, which come last: it is its own inverse.
        let transposed = |values: &dyn Fn(usize) -> Complex<f64>| {
            let square = COLOURS * COLOURS;
            let from = |k: usize| k / square * square + k % COLOURS * COLOURS + k % square / COLOURS;
            let words = (0..propagator.len()).map(|k| values(from(k)));
            list_of(|| "a propagator to be smeared".to_owned(), propagator.len(), words)
        };
        let vectors = transposed(&|k| Complex::new(propagator[k].re.to_f64(), propagator[k].im.to_f64()))?;
        let smeared = self.smear(backend, configuration, &vectors)?;
        Ok(transposed(&|k| smeared[k])?)
    }
}

impl fmt::Display for Wuppertal {
    /// `0.25,20`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{}", self.alpha, self.steps)
    }
}

impl FromStr for Wuppertal {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let read = || {
            let (alpha, steps) = text.split_once(',')?;
            Self::new(alpha.trim().parse().ok()?, steps.trim().parse().ok()?)
        };
        let expected = "expected ALPHA,STEPS, with α from 0.001 to 1000, as in 0.25,20";
        read().ok_or_else(|| format!("invalid smearing '{text}': {expected}"))
    }
}
