//! How well an array is a multiple of another one, and the description of such a fit.

use num_complex::Complex;

use crate::compare::cause::case::Case;
use crate::compare::cause::factor;
use crate::compare::cause::guess::{Cause, Confidence};
use crate::compare::numbers::Kind;

type Z = Complex<f64>;

/// The largest remainder, relative to the squared norm, for nine in ten of the blocks: a few large numbers could fit by chance.
const OF_BLOCK: f64 = 1e-2;

/// The largest remainder, relative to the norm of B, for a hypothesis that holds: more than the loosest tolerance of a solver leaves.
pub(super) const MOST: f64 = 1e-3;

#[derive(Clone, Copy, Debug)]
pub(super) struct Fit {
    pub c: Z,
    /// |B − c·T(A)| / |B|.
    pub left: f64,
}

impl Fit {
    /// By least squares; `None` if the numbers are not multiples of each other, if all are zero, or if some are not finite.
    pub fn new(pairs: &[(Vec<Z>, &[Z])]) -> Option<Self> {
        let (mut xx, mut xb, mut bb) = (0.0, Z::ZERO, 0.0);
        for (x, b) in pairs.iter().flat_map(|(x, b)| x.iter().zip(*b)) {
            xx += x.norm_sqr();
            bb += b.norm_sqr();
            xb += x.conj() * b;
        }
        let c = xb / xx;
        if !(c.re.is_finite() && c.im.is_finite() && bb > 0.0 && bb.is_finite()) || c == Z::ZERO {
            return None;
        }
        let (mut left, mut fitting) = (0.0, 0);
        for (x, b) in pairs {
            let of_block: f64 = x.iter().zip(*b).map(|(x, b)| (b - c * x).norm_sqr()).sum();
            left += of_block;
            fitting += usize::from(of_block <= OF_BLOCK * b.iter().map(Z::norm_sqr).sum::<f64>());
        }
        let left = (left / bb).sqrt();
        (left <= MOST && 10 * fitting >= 9 * pairs.len()).then_some(Self { c, left })
    }
}

/// "times 2 (…)"; `None` if the factor is 1.
pub(super) fn times(case: &Case<'_>, Fit { c, left }: Fit) -> Option<String> {
    let error = left.max(4.0 * case.unit());
    let is_one = (c - 1.0).norm() <= 10.0 * error;
    (!is_one).then(|| {
        let c = factor::rounded(c, error);
        format!("times {}{}", factor::shown(c), factor::meaning(c, case))
    })
}

pub(super) fn cause(case: &Case<'_>, claims: Vec<(&'static str, String)>, fit: Fit) -> Cause {
    let times = times(case, fit);
    let kind = match (&claims[..], &times) {
        ([], _) => "factor",
        ([(kind, _), rest @ ..], None) if rest.iter().all(|(other, _)| other == kind) => *kind,
        _ => "conventions",
    };
    let claims = claims.into_iter().map(|(_, claim)| claim).chain(times).collect::<Vec<_>>().join(", ");
    let roundings = if case.kind == Kind::F32 { 16.0 * case.unit() } else { 64.0 * case.unit() };
    let (confidence, what) = match fit.left {
        0.0 => (Confidence::Certain, ", nothing"),
        left if left <= roundings => (Confidence::Certain, ", roundings"),
        _ => (Confidence::Likely, ": the tolerance of a solver, or single precision"),
    };
    let evidence = format!("then |A-B| is {:.1e} of the norm{what}", fit.left);
    Cause::new(kind, confidence, format!("B is A {claims}"), evidence)
}
