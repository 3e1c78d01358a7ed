//! A step of gauge fixing at a site (`docs/arithmetic.md`, "Gauge fixing"), in plain numbers.

use super::heat_bath::{conjugate, updated};
use super::{Link, matrix_adjoint};
use crate::real::Real;

/// Updates the gauge transformation of a site: each SU(2) subgroup maximises Re tr g `sum`, overrelaxed by `omega`.
pub fn relaxed<R: Real>(g: &Link<R>, sum: &Link<R>, omega: R) -> Link<R> {
    let (one, square) = (R::from_f64(1.0), omega * omega);
    updated(g, &matrix_adjoint(sum), |q, _, _| {
        let [a, x, y, z] = conjugate(q);
        let (below, above) = (one - a, one + a);
        let denominator = square.fused(below, above);
        let factor = (omega + omega) / denominator;
        Some([(-square).fused(below, above) / denominator, factor * x, factor * y, factor * z])
    })
}
