//! Kernels that combine the Wilson hop with the operator's other terms in one launch (`docs/arithmetic.md` §9). Kernel functions define them; the hop
//! alone is in `hop.rs`.

use lanefield_reference::field::Spinors;
use lanefield_reference::kernels::Vectors;

use super::Kernel;
use super::plain::PlainCall;
use super::with_hop;
use crate::body::prelude::*;

/// The kernels of the family.
pub static KERNELS: &[&Kernel] =
    &[&WILSON_FULL, &WILSON_FULL_DAGGER, &EO_WILSON, &EO_WILSON_DAGGER, &OE_WILSON, &OE_WILSON_DAGGER];

/// The Wilson hop of ψ at the site, or its Hermitian conjugate, according to the call.
#[inline(always)]
pub(super) fn wilson_hop<S: Site>(site: S, links: Links<S>, psi: Neighbours<S, Spinors>) -> Spinor<S::Complex> {
    let (dagger, mut sum) = (site.dagger(), Spinor::empty_sum());
    for leg in links.legs() {
        sum = sum.plus_projected(leg, dagger, links.times(leg, psi.projected(leg, dagger)));
    }
    sum
}

/// out = a·x + hop(psi).
#[lane_kernel(family = "wilson", twin = wilson_full_twin, dagger, hot)]
pub fn wilson_full<S: Site>(
    site: S,
    out: Write<S, Spinors>,
    a: Scalar<S>,
    x: Read<S, Spinors>,
    links: Links<S>,
    psi: Neighbours<S, Spinors>,
) {
    out.write(x.here().scaled_add(a.get(), wilson_hop(site, links, psi)));
}

/// out = a·hop(psi).
#[lane_kernel(family = "wilson", twin = eo_wilson_twin, dagger, hot)]
pub fn eo_wilson<S: Site>(site: S, out: Write<S, Spinors>, a: Scalar<S>, links: Links<S>, psi: Neighbours<S, Spinors>) {
    out.write(wilson_hop(site, links, psi).scaled(a.get()));
}

/// out = a·x − hop(psi).
#[lane_kernel(family = "wilson", twin = oe_wilson_twin, dagger, hot)]
pub fn oe_wilson<S: Site>(
    site: S,
    out: Write<S, Spinors>,
    a: Scalar<S>,
    x: Read<S, Spinors>,
    links: Links<S>,
    psi: Neighbours<S, Spinors>,
) {
    out.write(x.here().scaled(a.get()) - wilson_hop(site, links, psi));
}

with_hop::twins! { |call| call.wilson_hop("psi", call.dagger()), scalar:
    wilson_full_twin = with_hop::sum;
    eo_wilson_twin = with_hop::product;
    oe_wilson_twin = with_hop::difference;
}

/// Kernels that combine the Wilson hop with the operator's other terms.
pub static WITH_HOP: with_hop::Kernels = with_hop::Kernels {
    sum: [&WILSON_FULL, &WILSON_FULL_DAGGER],
    product: [&EO_WILSON, &EO_WILSON_DAGGER],
    difference: [&OE_WILSON, &OE_WILSON_DAGGER],
};
