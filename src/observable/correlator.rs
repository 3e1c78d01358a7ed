//! Meson correlators, C_Γ(t) = Σ_x exp(−i p·(x − y)) tr[γ5 S† γ5 Γ S Γ†] over the sites x of time slice t, with Grid's sign and normalisation. The
//! trace at each site is computed in f64 on the host, in a defined order (`docs/arithmetic.md` §11); the sum over sites is exact.

use lanefield_reference::ensure;
use lanefield_reference::field::{ComplexNumber, FieldError, Propagator, SiteObject as _};
use lanefield_reference::layout::{Checkerboard, Coordinate};
use lanefield_reference::prelude::*;
use lanefield_reference::real::Real;
use thiserror::Error;

use super::{Gamma, Momentum};
use crate::backend::{Backend, BackendError, Sum};
use crate::kernel::prelude::*;

/// Why a correlator cannot be computed. Messages are fragments.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum CorrelatorError {
    #[error("time slice {origin} of the source is outside 0 to {} on {extents}", extents[3] - 1)]
    OriginTime { origin: usize, extents: Extents },
    #[error(
        "the propagator at t = {time} from the source has Σ |S|² = {norm2:e}: its numbers there are 0, or products of them are out of range: check the mass \
         and the precision, or multiply it by a power of two"
    )]
    OutOfRange { time: usize, norm2: f64 },
    #[error(transparent)]
    Backend(#[from] BackendError),
}

/// Correlators of the pion and the rho: real parts, at times 0 to T − 1 after the source.
#[derive(Clone, PartialEq, Debug)]
pub struct MesonCorrelators {
    /// Γ = γ5: Σ |S|².
    pub pion: Vec<f64>,
    /// Γ = γx, γy, γz.
    pub rho_components: [Vec<f64>; 3],
    /// The average of the three components, ((x + y) + z) / 3.
    pub rho: Vec<f64>,
}

/// C_Γ(t) at zero momentum for times t = 0 … T − 1 after the source, which is in time slice `origin`. `propagator` is in site order, with the words
/// of [`Propagator`] at each site. On ranks, it and `extents` are those of the local volume, and times are those of the whole lattice. `lanes`
/// changes no bit.
pub fn meson_correlator<R: Real, B: Backend>(
    backend: &B,
    extents: Extents,
    propagator: &[Complex<R>],
    gamma: Gamma,
    origin: usize,
    lanes: LaneChoice,
) -> Result<Vec<Complex<f64>>, CorrelatorError> {
    let at = CorrelatorProjection { source: [0, 0, 0, origin], momentum: Momentum::ZERO, lanes };
    projected(backend, extents, [propagator], (at, BoundaryPhases::PERIODIC), |[site]| trace(site, gamma))
}

/// The source and the momentum of a correlator.
#[derive(Clone, Copy, Debug)]
pub struct CorrelatorProjection {
    /// The source y: times count from its time slice, and phases of momenta from its site.
    pub source: Coordinate,
    /// The momentum p.
    pub momentum: Momentum,
    /// The lane width, which changes no bit.
    pub lanes: LaneChoice,
}

/// Sums over time slices of a function of the propagators at each site, times exp(−i p·(x − y)), starting at the time slice of the source. The
/// boundary phases `boundary` of the function are e^{iθ}, with which p is (2πn + θ)/L.
pub(super) fn projected<R: Real, B: Backend, const N: usize>(
    backend: &B,
    extents: Extents,
    propagators: [&[Complex<R>]; N],
    (CorrelatorProjection { source, momentum, lanes }, boundary): (CorrelatorProjection, BoundaryPhases),
    made: impl Fn([&[Complex<R>]; N]) -> Complex<f64> + Sync,
) -> Result<Vec<Complex<f64>>, CorrelatorError> {
    let (origin, whole) = (source[3], extents.global());
    ensure!(origin < whole[3], CorrelatorError::OriginTime { origin, extents: whole });
    let needed = extents.volume() * Propagator::WORDS;
    if let Some(wrong) = propagators.iter().find(|propagator| propagator.len() != needed) {
        let (given, object) = (wrong.len(), Propagator.name());
        return Err(
            BackendError::from(FieldError::Length { given, needed, object, extents: extents.to_string() }).into()
        );
    }
    let options = LatticeOptions { lanes, nodes: None, checkerboard: Checkerboard::FullOnly };
    let lattice = Lattice::new(extents, f64::COMPLEX, options).map_err(BackendError::from)?;
    let summed = |of_site: &(dyn Fn(usize) -> Complex<f64> + Sync)| -> Result<Vec<Complex<f64>>, BackendError> {
        let at_sites =
            Field::from_sites(lattice, Sites::Full, ComplexNumber, |site, object| object[0] = of_site(site))?;
        let mut sums = backend.slice_sums(&backend.upload(at_sites)?, Direction::T, Sum::Exact)?.concat();
        sums.rotate_left(origin);
        Ok(sums)
    };
    let phases = momentum.phases(whole, source, boundary);
    let correlator = summed(&|site| {
        let value = made(propagators.map(|s| words_of(s, site)));
        match &phases {
            Some(phases) => value * phases.at(extents.in_whole(extents.coordinate(site).map(|x| x as isize))),
            None => value,
        }
    })?;
    // A correlator may be 0 by symmetry. Terms that are out of range are an error.
    let is_normal = |c: &Complex<f64>| c.is_finite() && (c.re.is_normal() || c.im.is_normal());
    if !correlator.iter().all(is_normal) {
        let norms2 = propagators.map(|s| summed(&|site| trace(words_of(s, site), Gamma::FIVE)));
        let [first, others @ ..] = &norms2.into_iter().collect::<Result<Vec<_>, _>>()?[..] else {
            return Ok(correlator);
        };
        for (time, _) in correlator.iter().enumerate().filter(|(_, c)| !is_normal(c)) {
            let norm2 = first[time].re;
            // For the nucleon, |S|³.
            let size = others.iter().fold(norm2, |size, other| size * other[time].re.sqrt());
            if !(f64::MIN_POSITIVE / f64::EPSILON..f64::INFINITY).contains(&size) {
                return Err(CorrelatorError::OutOfRange { time, norm2 });
            }
        }
    }
    Ok(correlator)
}

fn words_of<R>(propagator: &[Complex<R>], site: usize) -> &[Complex<R>] {
    &propagator[site * Propagator::WORDS..][..Propagator::WORDS]
}

/// Computes the correlators of the pion and the rho.
///
/// # Errors
/// [`CorrelatorError`], also if squares of numbers are out of range.
pub fn meson_correlators<R: Real, B: Backend>(
    backend: &B,
    extents: Extents,
    propagator: &[Complex<R>],
    origin: usize,
    lanes: LaneChoice,
) -> Result<MesonCorrelators, CorrelatorError> {
    let real = |gamma| {
        let correlator = meson_correlator(backend, extents, propagator, gamma, origin, lanes)?;
        Ok::<Vec<f64>, CorrelatorError>(correlator.into_iter().map(|c| c.re).collect())
    };
    let pion = real(Gamma::FIVE)?;
    let (x, y, z) = (real(Gamma::X)?, real(Gamma::Y)?, real(Gamma::Z)?);
    let rho = x.iter().zip(&y).zip(&z).map(|((x, y), z)| ((x + y) + z) / 3.0).collect();
    Ok(MesonCorrelators { pion, rho_components: [x, y, z], rho })
}

/// tr[γ5 S† γ5 Γ S Γ†] = Σ ± conj(S_ab) S_{p(a) p(b)} over sink spin a, source spin b, sink and source colour.
pub(super) fn trace<R: Real>(s: &[Complex<R>], gamma: Gamma) -> Complex<f64> {
    const COLOURS: usize = 9;
    let block = |a: usize, b: usize| {
        let block = s[(4 * a + b) * COLOURS..][..COLOURS].iter();
        block.map(|z| Complex::new(z.re.to_f64(), z.im.to_f64()))
    };
    let mut sum = Complex::ZERO;
    for a in 0..4 {
        for b in 0..4 {
            let sign = gamma.sign(a, b);
            for (x, y) in block(a, b).zip(block(gamma.partner(a), gamma.partner(b))) {
                let x = x * sign;
                sum.re = x.im.fused(y.im, x.re.fused(y.re, sum.re));
                sum.im = (-x.im).fused(y.re, x.re.fused(y.im, sum.im));
            }
        }
    }
    sum
}
