//! The hop of HISQ fermions on colour vectors, with fat and long links (`docs/arithmetic.md` §25), and kernels that combine it with the operator's
//! other terms in one launch. Kernel functions define the kernels. Their reference implementations use the scalar reference in
//! `reference/src/scalar/hisq.rs`.

use lanefield_reference::kernels::staggered::sign;
use lanefield_reference::scalar::hisq as plain;

use super::Kernel;
use super::staples::step;
use super::twin::*;
use super::with_hop;
use crate::body::prelude::*;

/// The kernels of the family.
pub static KERNELS: &[&Kernel] = &[&HISQ_FULL, &EO_HISQ, &OE_HISQ];

/// The hop at a site: the sum over legs of the fat link times the neighbour's colour vector, plus the sum of the long link times the colour vector
/// three steps away. Each term has the sign of the staggered hop.
#[inline(always)]
fn hisq_hop_at<S: Site>(
    links: Links<S>,
    long_links: Links<S>,
    psi: OddDistance<S, ColourVectors>,
    site: Coordinates<S>,
) -> ColourVector<S::Complex> {
    let mut sum = ColourVector::empty_sum();
    for leg in links.legs() {
        let sign = sign(site, leg);
        sum = links.times(leg, psi.at(steps(leg, 1))).scaled_add(sign, sum);
        sum = long_links.times(leg, psi.at(steps(leg, 3))).scaled_add(sign, sum);
    }
    sum
}

/// A displacement of `count` steps along a leg.
fn steps(leg: Leg, count: i8) -> Displacement {
    step(Direction::ALL[leg.dimension()], if leg.is_forward() { count } else { -count })
}

/// out = a·x + hisq_hop(psi).
#[lane_kernel(family = "hisq", twin = hisq_full_twin, hot)]
pub fn hisq_full<S: Site>(
    out: Write<S, ColourVectors>,
    a: Scalar<S>,
    x: Read<S, ColourVectors>,
    links: Links<S>,
    long_links: Links<S>,
    psi: OddDistance<S, ColourVectors>,
    site: Coordinates<S>,
) {
    out.write(x.here().scaled_add(a.get(), hisq_hop_at(links, long_links, psi, site)));
}

/// out = a·hisq_hop(psi).
#[lane_kernel(family = "hisq", twin = eo_hisq_twin, hot)]
pub fn eo_hisq<S: Site>(
    out: Write<S, ColourVectors>,
    a: Scalar<S>,
    links: Links<S>,
    long_links: Links<S>,
    psi: OddDistance<S, ColourVectors>,
    site: Coordinates<S>,
) {
    out.write(hisq_hop_at(links, long_links, psi, site).scaled(a.get()));
}

/// out = a·x − hisq_hop(psi).
#[lane_kernel(family = "hisq", twin = oe_hisq_twin, hot)]
pub fn oe_hisq<S: Site>(
    out: Write<S, ColourVectors>,
    a: Scalar<S>,
    x: Read<S, ColourVectors>,
    links: Links<S>,
    long_links: Links<S>,
    psi: OddDistance<S, ColourVectors>,
    site: Coordinates<S>,
) {
    out.write(x.here().scaled(a.get()) - hisq_hop_at(links, long_links, psi, site));
}

with_hop::twins! { |call| plain_hop(call), scalar:
    hisq_full_twin = with_hop::sum;
    eo_hisq_twin = with_hop::product;
    oe_hisq_twin = with_hop::difference;
}

/// The hop of the field psi in site order. All link fields of a call must belong to one configuration.
fn plain_hop<R: Vectors>(call: &PlainCall<'_, R>) -> Vec<Complex<R>> {
    let parts = call.parts();
    let mut hop = vec![Complex::new(R::default(), R::default()); 3 * parts * call.volume()];
    for site in call.sites() {
        for part in 0..parts {
            let term = |leg: Leg, count: i8| {
                let psi = call.read("psi", call.displaced(site, steps(leg, count)), part);
                matrix_times_vector(&call.link(site, leg), &[psi[0], psi[1], psi[2]])
            };
            let here = plain::hisq_hop_at(call.coordinate(site), call.legs(), |leg| term(leg, 1), |leg| term(leg, 3));
            hop[3 * (parts * site + part)..][..3].copy_from_slice(&here);
        }
    }
    hop
}

/// Kernels that combine the HISQ operator's hop with its other terms. The hop uses doubled fat links; `long_links` are the doubled long links of the
/// same sites.
pub static WITH_HOP: with_hop::Kernels =
    with_hop::Kernels { sum: [&HISQ_FULL; 2], product: [&EO_HISQ; 2], difference: [&OE_HISQ; 2] };
