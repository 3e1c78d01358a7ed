//! The Laplacian's hop on colour vectors (`docs/arithmetic.md` §15), alone and combined with the operator's other terms in one launch. Kernel
//! functions define them.

use lanefield_reference::field::ColourVectors;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::laplace::{self, FLOPS_PER_VECTOR, LaplaceHop, laplace_hop_at};
use lanefield_reference::layout::LegOrder;
use lanefield_reference::links::DoubledGauge;
use lanefield_reference::scalar::ScalarWilson;

use super::KernelArgument::{Boundary, Osites, Parts, Stencil};
use super::body_kernel::STENCIL;
use super::colour_vectors::{IN, OUT, work};
use super::hop::LINKS;
use super::plain::PlainCall;
use super::with_hop;
use super::{Arguments, Kernel, KernelSource};
use crate::backend::{BackendError, FieldOn, Launch};
use crate::body::BodyKernel;
use crate::body::prelude::*;

/// The kernels of the family.
pub static KERNELS: &[&Kernel] = &[&LAPLACE_HOP, &LAPLACE_FULL, &EO_LAPLACE, &OE_LAPLACE];

/// out = laplace_hop(in), for each colour vector.
pub static LAPLACE_HOP: Kernel = Kernel {
    name: "laplace_hop",
    family: "laplace",
    computes: "out = laplace_hop(in), of colour vectors",
    arguments: &[OUT, LINKS, IN, Stencil, Osites, Boundary, Parts],
    tuned_as: Some("laplace_hop"),
    source: KernelSource::Body(BodyKernel::new::<LaplaceHop>(&["out", "links", "in"])),
    usual_parts: 12,
    work: |shape| work(shape, FLOPS_PER_VECTOR),
    cpu: launch!(R, |call| {
        let (out, stencil, legs) = (call.write::<R, _>("out")?, call.host_stencil()?, call.shape().legs);
        laplace::laplace_hop(out, stencil, call.read("links")?, call.read("in")?, legs)
    }),
    plain: launch!(R, |call, links| {
        let (shape, source) = (call.shape(), call.data::<R>("in")?.to_site_order());
        let result = links.wilson(shape).laplace_hop(&source, shape.parts(), shape.sites());
        call.data_mut::<R>("out")?.assign(&result)
    }),
    ..STENCIL
};

/// out = a·x + laplace_hop(psi).
#[lane_kernel(family = "laplace", twin = laplace_full_twin, parts = 12, hot)]
pub fn laplace_full<S: Site>(
    out: Write<S, ColourVectors>,
    a: Scalar<S>,
    x: Read<S, ColourVectors>,
    links: Links<S>,
    psi: Neighbours<S, ColourVectors>,
) {
    out.write(x.here().scaled_add(a.get(), laplace_hop_at(links, psi)));
}

/// out = a·laplace_hop(psi).
#[lane_kernel(family = "laplace", twin = eo_laplace_twin, parts = 12, hot)]
pub fn eo_laplace<S: Site>(
    out: Write<S, ColourVectors>,
    a: Scalar<S>,
    links: Links<S>,
    psi: Neighbours<S, ColourVectors>,
) {
    out.write(laplace_hop_at(links, psi).scaled(a.get()));
}

/// out = a·x − laplace_hop(psi).
#[lane_kernel(family = "laplace", twin = oe_laplace_twin, parts = 12, hot)]
pub fn oe_laplace<S: Site>(
    out: Write<S, ColourVectors>,
    a: Scalar<S>,
    x: Read<S, ColourVectors>,
    links: Links<S>,
    psi: Neighbours<S, ColourVectors>,
) {
    out.write(x.here().scaled(a.get()) - laplace_hop_at(links, psi));
}

with_hop::twins! { |call| call.hop_of_colours(ScalarWilson::laplace_hop, "psi"), scalar:
    laplace_full_twin = with_hop::sum;
    eo_laplace_twin = with_hop::product;
    oe_laplace_twin = with_hop::difference;
}

/// Kernels that combine the Laplacian's hop with its other terms. The hop is its own Hermitian conjugate.
pub static WITH_HOP: with_hop::Kernels =
    with_hop::Kernels { sum: [&LAPLACE_FULL; 2], product: [&EO_LAPLACE; 2], difference: [&OE_LAPLACE; 2] };

/// The Laplacian's hop, on any backend.
pub trait LaplaceKernels: Launch {
    /// out = laplace_hop of each colour vector of `source`, at the stencil's sites.
    ///
    /// # Errors
    /// [`BackendError::Argument`] if fields do not match, and errors of the backend.
    fn laplace_hop<R: Vectors>(
        &self,
        out: &mut FieldOn<Self, R, ColourVectors>,
        stencil: &Self::Table,
        links: &FieldOn<Self, R, DoubledGauge>,
        source: &FieldOn<Self, R, ColourVectors>,
        legs: LegOrder,
    ) -> Result<(), BackendError> {
        let arguments = Arguments::new(&LAPLACE_HOP).write("out", out).stencil(stencil).legs(legs);
        self.launch(arguments.read("links", links).read("in", source).call()?)
    }
}
