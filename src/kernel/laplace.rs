//! The Laplacian's hop on colour vectors (`docs/arithmetic.md` §15).

use lanefield_reference::field::{ColourVectors, FieldError};
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::hop::Dagger;
use lanefield_reference::kernels::laplace::{self, FLOPS_PER_VECTOR, ideal_bytes_per_site};
use lanefield_reference::layout::LegOrder;
use lanefield_reference::links::DoubledGauge;
use lanefield_reference::real::Precision;

use super::Argument::{Boundary, Field, Osites, Parts, Stencil};
use super::BuildOption::{Legs, PartsPerWorkItem, Reconstruct};
use super::hop::LINKS;
use super::{Arguments, At, Ceiling, Geometry, Holds, HostCall, HostFunction, Kernel, PlainLinks, Work};
use super::{read, write};
use crate::backend::{BackendError, FieldOn, Launch};
use crate::in_precision;

/// The kernels of the family.
pub static KERNELS: &[&Kernel] = &[&LAPLACE_HOP];

/// out = laplace_hop(in), of each colour vector.
pub static LAPLACE_HOP: Kernel = Kernel {
    name: "laplace_hop",
    family: "laplace",
    computes: "out = laplace_hop(in), of colour vectors",
    dagger: Dagger::No,
    arguments: &[
        Field(write("out", Holds::ColourVectors, At::Target)),
        LINKS,
        Field(read("in", Holds::ColourVectors, At::Neighbours)),
        Stencil,
        Osites,
        Boundary,
        Parts,
    ],
    options: &[Reconstruct, Legs, PartsPerWorkItem("VECTORS_AT_ONCE")],
    geometry: Geometry::Stencil { over_parts: true, stages: false, accumulates: false, splits: false },
    precisions: &Precision::ALL,
    tuned_as: Some("laplace_hop"),
    usual_parts: 12,
    work: |shape| {
        let bytes = shape
            .links()
            .map_or(0, |links| ideal_bytes_per_site(links.format, shape.real_bytes() as usize, shape.parts()));
        let flops = shape.volume() * shape.parts() as u64 * FLOPS_PER_VECTOR;
        Work { flops, bytes: shape.volume() * bytes }
    },
    ceiling: Ceiling::Copy,
    cpu: HostFunction::Launch(cpu),
    plain: HostFunction::Launch(plain),
};

fn cpu(call: &mut HostCall<'_>) -> Result<(), FieldError> {
    in_precision!(call.shape().precision(), R => {
        let out = call.write::<R, ColourVectors>("out")?;
        let (links, source) = (call.read::<R, DoubledGauge>("links")?, call.read::<R, ColourVectors>("in")?);
        laplace::laplace_hop(out, call.host_stencil()?, links, source, call.shape().legs)
    })
}

fn plain(call: &mut HostCall<'_>, links: &PlainLinks<'_>) -> Result<(), FieldError> {
    in_precision!(call.shape().precision(), R => {
        let (shape, source) = (call.shape(), call.data::<R>("in")?.to_site_order());
        let result = links.wilson(shape).laplace_hop(&source, shape.parts(), shape.sites());
        call.data_mut::<R>("out")?.assign(&result)
    })
}

/// The Laplacian's hop, on any backend.
pub trait LaplaceKernels: Launch {
    /// out = laplace_hop of each colour vector of `source`, at the stencil's sites.
    ///
    /// # Errors
    /// [`BackendError::Argument`] for fields that do not match; what the backend reports.
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

impl<B: Launch + ?Sized> LaplaceKernels for B {}
