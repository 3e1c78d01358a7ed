//! The naive staggered hop on colour vectors (`docs/arithmetic.md` §16).

use lanefield_reference::field::ColourVectors;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::staggered::{self, FLOPS_PER_VECTOR, StaggeredHop};
use lanefield_reference::layout::LegOrder;
use lanefield_reference::links::DoubledGauge;

use super::Argument::{Boundary, Computed, Osites, Parts, Stencil};
use super::colour_vectors::{IN, OUT, work};
use super::coordinates::COORDINATES;
use super::hop::LINKS;
use super::written::STENCIL;
use super::{Arguments, Kernel, KernelSource};
use crate::backend::{BackendError, FieldOn, Launch};
use crate::body::Written;

/// The kernels of the family.
pub static KERNELS: &[&Kernel] = &[&STAGGERED_HOP];

/// out = staggered_hop(in), of each colour vector.
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
    source: KernelSource::Body(Written::new::<StaggeredHop>(&["out", "links", "in", "site"])),
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

/// The staggered hop, on any backend.
pub trait StaggeredKernels: Launch {
    /// out = staggered_hop of each colour vector of `source`, at the stencil's sites.
    ///
    /// # Errors
    /// [`BackendError::Argument`] for fields that do not match; what the backend reports.
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
