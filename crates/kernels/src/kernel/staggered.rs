//! The naive staggered hop on colour vectors (`docs/arithmetic.md` §16), alone and combined with the operator's other terms in one launch. Kernel
//! functions define them.

use lanefield_reference::field::ColourVectors;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::staggered::{self, FLOPS_PER_VECTOR, StaggeredHop, staggered_hop_at};
use lanefield_reference::layout::LegOrder;
use lanefield_reference::links::DoubledGauge;
use lanefield_reference::scalar::ScalarWilson;

use super::KernelArgument::{Boundary, Computed, Osites, Parts, Stencil};
use super::body_kernel::STENCIL;
use super::colour_vectors::{IN, OUT, work};
use super::coordinates::COORDINATES;
use super::hop::LINKS;
use super::plain::PlainCall;
use super::with_hop;
use super::{Arguments, Kernel, KernelSource};
use crate::backend::{BackendError, FieldOn, Launch};
use crate::body::BodyKernel;
use crate::body::prelude::*;

/// The kernels of the family.
pub static KERNELS: &[&Kernel] = &[&STAGGERED_HOP, &STAGGERED_FULL, &EO_STAGGERED, &OE_STAGGERED];

/// out = staggered_hop(in), for each colour vector.
pub static STAGGERED_HOP: Kernel = Kernel {
    name: "staggered_hop",
    family: "staggered",
    computes: "out = staggered_hop(in), of colour vectors",
    arguments: &[
        OUT,
        LINKS,
        IN,
        Stencil,
        Osites,
        Boundary,
        Parts,
        Computed(COORDINATES[0]),
        Computed(COORDINATES[1]),
        Computed(COORDINATES[2]),
        Computed(COORDINATES[3]),
    ],
    tuned_as: Some("staggered_hop"),
    source: KernelSource::Body(BodyKernel::new::<StaggeredHop>(&["out", "links", "in", "site"])),
    work: |shape| work(shape, FLOPS_PER_VECTOR),
    cpu: launch!(R, |call| {
        let (out, stencil, legs) = (call.write::<R, _>("out")?, call.host_stencil()?, call.shape().legs);
        staggered::staggered_hop(out, stencil, call.read("links")?, call.read("in")?, legs)
    }),
    plain: launch!(R, |call, links| {
        let (shape, source) = (call.shape(), call.data::<R>("in")?.to_site_order());
        let result = links.wilson(shape).staggered_hop(&source, shape.parts(), shape.sites());
        call.data_mut::<R>("out")?.assign(&result)
    }),
    ..STENCIL
};

/// out = a·x + staggered_hop(psi).
#[lane_kernel(family = "staggered", twin = staggered_full_twin, hot)]
pub fn staggered_full<S: Site>(
    out: Write<S, ColourVectors>,
    a: Scalar<S>,
    x: Read<S, ColourVectors>,
    links: Links<S>,
    psi: Neighbours<S, ColourVectors>,
    site: Coordinates<S>,
) {
    out.write(x.here().scaled_add(a.get(), staggered_hop_at(links, psi, site)));
}

/// out = a·staggered_hop(psi).
#[lane_kernel(family = "staggered", twin = eo_staggered_twin, hot)]
pub fn eo_staggered<S: Site>(
    out: Write<S, ColourVectors>,
    a: Scalar<S>,
    links: Links<S>,
    psi: Neighbours<S, ColourVectors>,
    site: Coordinates<S>,
) {
    out.write(staggered_hop_at(links, psi, site).scaled(a.get()));
}

/// out = a·x − staggered_hop(psi).
#[lane_kernel(family = "staggered", twin = oe_staggered_twin, hot)]
pub fn oe_staggered<S: Site>(
    out: Write<S, ColourVectors>,
    a: Scalar<S>,
    x: Read<S, ColourVectors>,
    links: Links<S>,
    psi: Neighbours<S, ColourVectors>,
    site: Coordinates<S>,
) {
    out.write(x.here().scaled(a.get()) - staggered_hop_at(links, psi, site));
}

with_hop::twins! { |call| call.hop_of_colours(ScalarWilson::staggered_hop, "psi"), scalar:
    staggered_full_twin = with_hop::sum;
    eo_staggered_twin = with_hop::product;
    oe_staggered_twin = with_hop::difference;
}

/// Kernels that combine the staggered hop with the operator's other terms.
pub static WITH_HOP: with_hop::Kernels =
    with_hop::Kernels { sum: [&STAGGERED_FULL; 2], product: [&EO_STAGGERED; 2], difference: [&OE_STAGGERED; 2] };

/// The staggered hop, on any backend.
pub trait StaggeredKernels: Launch {
    /// out = staggered_hop of each colour vector of `source`, at the stencil's sites.
    ///
    /// # Errors
    /// [`BackendError::Argument`] if fields do not match, and errors of the backend.
    fn staggered_hop<R: Vectors>(
        &self,
        out: &mut FieldOn<Self, R, ColourVectors>,
        stencil: &Self::Table,
        links: &FieldOn<Self, R, DoubledGauge>,
        source: &FieldOn<Self, R, ColourVectors>,
        legs: LegOrder,
    ) -> Result<(), BackendError> {
        let arguments = Arguments::new(&STAGGERED_HOP).write("out", out).stencil(stencil).legs(legs);
        self.launch(arguments.read("links", links).read("in", source).call()?)
    }
}
