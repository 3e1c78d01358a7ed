//! Gaussian (Wuppertal) smearing of quark fields within time slices (Güsken et al., Phys. Lett. B 227 (1989) 266).

use std::fmt;
use std::str::FromStr;

use lanefield_reference::field::list_of;
use lanefield_reference::layout::Checkerboard;
use lanefield_reference::prelude::*;
use lanefield_reference::real::Real;

use crate::backend::{Backend, BackendError};
use crate::kernel::laplace;
use crate::kernel::prelude::*;
use crate::kernel::with_hop::WithHop;
use crate::operator::{HopOperator, HopParameters};

/// Repeats ψ ← (ψ + α Σ [U_j(x) ψ(x + j) + U_j†(x − j) ψ(x − j)]) / (1 + 6 α), with the sum over j = x, y, z, for each colour vector, in f64.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Wuppertal {
    /// α; 1 + 6 α is finite and not 0.
    alpha: f64,
    /// The number of steps.
    steps: usize,
}

/// The number of colour vectors that are smeared together.
const AT_A_TIME: usize = 12;
const COLOURS: usize = ColourVectors::WORDS;

impl Wuppertal {
    /// `None` unless α and 1 + 6 α are finite, and 1 + 6 α is not 0. Other programs may have the opposite sign in 1 + 6 α, which corresponds to a
    /// negative α: Chroma's Gaussian smearing of width w in n steps has α = a / (1 − 6a) with a = w² / 4n.
    pub fn new(alpha: f64, steps: usize) -> Option<Self> {
        let divisor = 1.0 + 6.0 * alpha;
        (divisor.is_finite() && divisor != 0.0).then_some(Self { alpha, steps })
    }

    /// Smears colour vectors in site order over the whole lattice; their number per site follows from the length. `boundary`: the boundary phases of
    /// the quark, which links across the boundary include.
    pub fn smear<B: Backend>(
        self,
        backend: &B,
        configuration: &Configuration,
        boundary: BoundaryPhases,
        vectors: &[Complex<f64>],
    ) -> Result<Vec<Complex<f64>>, BackendError> {
        let extents = configuration.extents();
        let lanes = backend.lanes(LaneChoice::Auto);
        let options = LatticeOptions { lanes, nodes: None, checkerboard: Checkerboard::FullOnly };
        let lattice = Lattice::new(extents, f64::COMPLEX, options)?;
        let in_space = configuration.clone().without_links(Direction::T);
        let hop = HopParameters { boundary, ..HopParameters::default() };
        let hops = HopOperator::new(backend, &in_space, lattice, hop, &[Sites::Full])?;
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
            // A step whose α has no reciprocal rounds to ψ.
            let steps = if (1.0 / self.alpha).is_finite() { self.steps } else { 0 };
            let mut sum = backend.zeros(lattice, Sites::Full, kind)?;
            for _ in 0..steps {
                // The hop is that of −Δ, with the opposite sign.
                let with_psi = WithHop::Sum(-1.0 / self.alpha, &psi);
                hops.with_hop(&laplace::WITH_HOP, &mut sum, with_psi, &psi, Dagger::No)?;
                backend.scale(&mut psi, -self.alpha / (1.0 + 6.0 * self.alpha), &sum)?;
            }
            let done = backend.download(&psi)?.try_to_site_order()?;
            for (site, words) in done.chunks_exact(some * COLOURS).enumerate() {
                smeared[these(site)].copy_from_slice(words);
            }
        }
        Ok(smeared)
    }

    /// Smears the sink of a propagator in site order.
    pub fn smear_sink<R: Real, B: Backend>(
        self,
        backend: &B,
        configuration: &Configuration,
        boundary: BoundaryPhases,
        propagator: &[Complex<R>],
    ) -> Result<Vec<Complex<f64>>, BackendError> {
        // Swaps the two colour indices, which come last; the swap is its own inverse.
        let transposed = |values: &dyn Fn(usize) -> Complex<f64>| {
            let square = COLOURS * COLOURS;
            let from = |k: usize| k / square * square + k % COLOURS * COLOURS + k % square / COLOURS;
            let words = (0..propagator.len()).map(|k| values(from(k)));
            list_of(|| "a propagator to be smeared".to_owned(), propagator.len(), words)
        };
        let vectors = transposed(&|k| Complex::new(propagator[k].re.to_f64(), propagator[k].im.to_f64()))?;
        let smeared = self.smear(backend, configuration, boundary, &vectors)?;
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
            Some((alpha.trim().parse::<f64>().ok().filter(|alpha| alpha.is_finite())?, steps.trim().parse().ok()?))
        };
        let expected = "expected ALPHA,STEPS, a number and a whole number, as in 0.25,20";
        let (alpha, steps) = read().ok_or_else(|| format!("invalid smearing '{text}': {expected}"))?;
        let divisor =
            || format!("invalid smearing '{text}': each step divides by 1 + 6α, which is {}", 1.0 + 6.0 * alpha);
        Self::new(alpha, steps).ok_or_else(divisor)
    }
}
