//! The Laplacian's hop on colour vectors (`docs/arithmetic.md` §15), alone and with what the operator does with it in one launch. The kernels are bodies.

use lanefield_reference::field::ColourVectors;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::laplace::{self, FLOPS_PER_VECTOR, LaplaceHop, laplace_hop_at};
use lanefield_reference::layout::LegOrder;
use lanefield_reference::links::DoubledGauge;

use super::Argument::{Boundary, Osites, Parts, Stencil};
use super::colour_vectors::{IN, OUT, work};
use super::hop::LINKS;
use super::twin::PlainCall;
use super::with_hop::{self, WithHop};
use super::written::STENCIL;
use super::{Arguments, Kernel, KernelSource, Value};
use crate::backend::{BackendError, FieldOn, HopOn, Launch};
use crate::body::Written;
use crate::body::prelude::*;

/// The kernels of the family.
pub static KERNELS: &[&Kernel] = &[&LAPLACE_HOP, &LAPLACE_FULL, &EO_LAPLACE, &OE_LAPLACE];

/// out = laplace_hop(in), of each colour vector.
pub static LAPLACE_HOP: Kernel = Kernel {
    name: "laplace_hop",
    family: "laplace",
    computes: "out = laplace_hop(in), of colour vectors",
    arguments: &[OUT, LINKS, IN, Stencil, Osites, Boundary, Parts],
    tuned_as: Some("laplace_hop"),
    source: KernelSource::Body(Written::new::<LaplaceHop>(&["out", "links", "in"])),
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

fn laplace_full_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    let (a, hop) = (call.scalar("a"), call.laplace_hop("psi"));
    with_hop::twin(call, &hop, |x, hop| with_hop::sum(a, x, hop));
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

fn eo_laplace_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    let (a, hop) = (call.scalar("a"), call.laplace_hop("psi"));
    with_hop::twin(call, &hop, |_, hop| with_hop::product(a, hop));
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

fn oe_laplace_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    let (a, hop) = (call.scalar("a"), call.laplace_hop("psi"));
    with_hop::twin(call, &hop, |x, hop| with_hop::difference(a, x, hop));
}

/// The Laplacian's hop, and what the operator does with it, on any backend.
pub trait LaplaceKernels: Launch {
    /// out = laplace_hop of each colour vector of `source`, at the stencil's sites.
    ///
    /// # Errors
    /// [`BackendError::Argument`] for fields that do not match; what the backend reports; so for every function here.
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

    /// out = what is done with a hop, which is its own Hermitian conjugate, on the stencil's sites.
    fn laplace_with_hop<R: Vectors>(
        &self,
        out: &mut FieldOn<Self, R, ColourVectors>,
        done: WithHop<'_, FieldOn<Self, R, ColourVectors>>,
        hop: HopOn<'_, Self, R, ColourVectors>,
    ) -> Result<(), BackendError> {
        let kernels =
            with_hop::Kernels { sum: [&LAPLACE_FULL; 2], product: [&EO_LAPLACE; 2], difference: [&OE_LAPLACE; 2] };
        done.launch(self, &kernels, out, hop, Value::Scalar)
    }
}
