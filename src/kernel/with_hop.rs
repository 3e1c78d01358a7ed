//! A hop, and what an operator does with it at the same site, in one launch: `docs/arithmetic.md` §6 for Wilson's, §15 for the Laplacian's. In f32 and f64
//! the results have the bits of the steps one after the other: nothing that a step stores is rounded in between. The kernels are bodies.

use lanefield_reference::body::value::ColourVector;
use lanefield_reference::field::{SiteObject, Spinors};
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::hop::HopTerm;
use lanefield_reference::scalar::{real_madd, real_times};
use num_complex::Complex;

use super::twin::PlainCall;
use super::{Arguments, Kernel};
use crate::backend::{BackendError, FieldOn, HopOn, Launch};
use crate::body::prelude::*;

/// The kernels of the family.
pub static KERNELS: &[&Kernel] = &[
    &WILSON_FULL,
    &WILSON_FULL_DAGGER,
    &EO_WILSON,
    &EO_WILSON_DAGGER,
    &OE_WILSON,
    &OE_WILSON_DAGGER,
    &LAPLACE_FULL,
    &EO_LAPLACE,
    &OE_LAPLACE,
];

/// The kernels of a hop and of its Hermitian conjugate, for each of [`WithHop`].
#[derive(Debug)]
pub struct OfHop([[&'static Kernel; 2]; 3]);

/// Those of the Wilson hop.
pub static WILSON: OfHop =
    OfHop([[&WILSON_FULL, &WILSON_FULL_DAGGER], [&EO_WILSON, &EO_WILSON_DAGGER], [&OE_WILSON, &OE_WILSON_DAGGER]]);

/// Those of the Laplacian's hop, which is its own Hermitian conjugate.
pub static LAPLACE: OfHop = OfHop([[&LAPLACE_FULL; 2], [&EO_LAPLACE; 2], [&OE_LAPLACE; 2]]);

/// What is done with a hop.
#[derive(Clone, Copy, Debug)]
pub enum WithHop<'a, F> {
    /// a·x + hop, in which a·x is not rounded by itself.
    Sum(f64, &'a F),
    /// a·hop.
    Product(f64),
    /// a·x − hop.
    Difference(f64, &'a F),
}

/// The Wilson hop of ψ at the site, or its Hermitian conjugate, as the call is.
#[inline(always)]
pub(super) fn wilson_hop<S: Site>(site: S, links: Links<S>, psi: Neighbours<S, Spinors>) -> Spinor<S::Complex> {
    let (dagger, mut sum) = (site.dagger(), Spinor::empty_sum());
    for leg in links.legs() {
        sum = sum.plus_projected(leg, dagger, links.times(leg, psi.projected(leg, dagger)));
    }
    sum
}

/// out = a·x + hop(psi).
#[lane_kernel(family = "wilson", twin = wilson_full_twin, dagger)]
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

fn wilson_full_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    let hop = call.wilson_hop("psi", call.dagger());
    twin(call, &hop, real_madd);
}

/// out = a·hop(psi).
#[lane_kernel(family = "wilson", twin = eo_wilson_twin, dagger)]
pub fn eo_wilson<S: Site>(site: S, out: Write<S, Spinors>, a: Scalar<S>, links: Links<S>, psi: Neighbours<S, Spinors>) {
    out.write(wilson_hop(site, links, psi).scaled(a.get()));
}

fn eo_wilson_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    let hop = call.wilson_hop("psi", call.dagger());
    twin(call, &hop, product);
}

/// out = a·x − hop(psi).
#[lane_kernel(family = "wilson", twin = oe_wilson_twin, dagger)]
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

fn oe_wilson_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    let hop = call.wilson_hop("psi", call.dagger());
    twin(call, &hop, difference);
}

/// The Laplacian's hop of ψ at the site.
#[inline(always)]
fn laplace_hop<S: Site>(links: Links<S>, psi: Neighbours<S, ColourVectors>) -> ColourVector<S::Complex> {
    let mut sum = ColourVector::empty_sum();
    for leg in links.legs() {
        sum = sum + links.times(leg, psi.at(leg));
    }
    sum.scaled(S::Real::constant(2.0))
}

/// out = a·x + laplace_hop(psi).
#[lane_kernel(family = "laplace", twin = laplace_full_twin, parts = 12)]
pub fn laplace_full<S: Site>(
    out: Write<S, ColourVectors>,
    a: Scalar<S>,
    x: Read<S, ColourVectors>,
    links: Links<S>,
    psi: Neighbours<S, ColourVectors>,
) {
    out.write(x.here().scaled_add(a.get(), laplace_hop(links, psi)));
}

fn laplace_full_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    let hop = call.laplace_hop("psi");
    twin(call, &hop, real_madd);
}

/// out = a·laplace_hop(psi).
#[lane_kernel(family = "laplace", twin = eo_laplace_twin, parts = 12)]
pub fn eo_laplace<S: Site>(
    out: Write<S, ColourVectors>,
    a: Scalar<S>,
    links: Links<S>,
    psi: Neighbours<S, ColourVectors>,
) {
    out.write(laplace_hop(links, psi).scaled(a.get()));
}

fn eo_laplace_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    let hop = call.laplace_hop("psi");
    twin(call, &hop, product);
}

/// out = a·x − laplace_hop(psi).
#[lane_kernel(family = "laplace", twin = oe_laplace_twin, parts = 12)]
pub fn oe_laplace<S: Site>(
    out: Write<S, ColourVectors>,
    a: Scalar<S>,
    x: Read<S, ColourVectors>,
    links: Links<S>,
    psi: Neighbours<S, ColourVectors>,
) {
    out.write(x.here().scaled(a.get()) - laplace_hop(links, psi));
}

fn oe_laplace_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    let hop = call.laplace_hop("psi");
    twin(call, &hop, difference);
}

fn product<R: Vectors>(a: R, _: Complex<R>, hop: Complex<R>) -> Complex<R> {
    real_times(a, hop)
}

fn difference<R: Vectors>(a: R, x: Complex<R>, hop: Complex<R>) -> Complex<R> {
    real_times(a, x) - hop
}

/// The twin of a kernel that makes each word of its result of a, that of x and that of the hop, which is given in site order over the whole lattice. x is
/// the hop itself where the kernel has none.
fn twin<R: Vectors>(
    call: &mut PlainCall<'_, R>,
    hop: &[Complex<R>],
    made: fn(R, Complex<R>, Complex<R>) -> Complex<R>,
) {
    let (a, parts) = (call.scalar("a"), call.parts());
    for site in call.sites() {
        for part in 0..parts {
            let words = call.read("out", site, part).len();
            let hop = &hop[words * (parts * site + part)..][..words];
            let x = if call.has("x") { call.read("x", site, part) } else { hop.to_vec() };
            let out: Vec<_> = x.into_iter().zip(hop).map(|(x, &hop)| made(a, x, hop)).collect();
            call.write("out", site, part, &out);
        }
    }
}

/// What operators do with a hop, on any backend.
pub trait WithHopKernels: Launch {
    /// out = what is done with a hop, on the stencil's sites.
    ///
    /// # Errors
    /// [`BackendError::Argument`] for fields that do not match; what the backend reports.
    fn with_hop<R: Vectors, K: SiteObject>(
        &self,
        kernels: &OfHop,
        out: &mut FieldOn<Self, R, K>,
        done: WithHop<'_, FieldOn<Self, R, K>>,
        hop: HopOn<'_, Self, R, K>,
    ) -> Result<(), BackendError> {
        let HopTerm { stencil, links, source, legs, dagger } = hop;
        let (number, a, x) = match done {
            WithHop::Sum(a, x) => (0, a, Some(x)),
            WithHop::Product(a) => (1, a, None),
            WithHop::Difference(a, x) => (2, a, Some(x)),
        };
        let mut arguments = Arguments::new(of_dagger(kernels.0[number], dagger)).write("out", out).scalar("a", a);
        if let Some(x) = x {
            arguments = arguments.read("x", x);
        }
        self.launch(arguments.read("links", links).read("psi", source).stencil(stencil).legs(legs).call()?)
    }
}

/// A kernel, or its Hermitian conjugate.
pub(super) fn of_dagger([kernel, conjugate]: [&'static Kernel; 2], dagger: Dagger) -> &'static Kernel {
    match dagger {
        Dagger::No => kernel,
        Dagger::Yes => conjugate,
    }
}
