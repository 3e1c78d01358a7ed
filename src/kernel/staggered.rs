//! The naive staggered hop on colour vectors (`docs/arithmetic.md` §16).

use lanefield_reference::field::{ColourVectors, FieldError};
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::hop::Dagger;
use lanefield_reference::kernels::staggered::{self, FLOPS_PER_VECTOR, ideal_bytes_per_site};
use lanefield_reference::layout::{LegOrder, StaggeredPhases};
use lanefield_reference::links::DoubledGauge;
use lanefield_reference::real::Precision;

use super::Argument::{Boundary, Computed, Field, Osites, Parts, Stencil};
use super::BuildOption::{Legs, PartsPerWorkItem, Reconstruct};
use super::hop::LINKS;
use super::{Arguments, At, Ceiling, ComputedTable, Geometry, Holds, HostCall, HostFunction, Kernel, PlainLinks, Rows};
use super::{Work, read, write};
use crate::backend::{BackendError, FieldOn, Launch};
use crate::in_precision;

/// The kernels of the family.
pub static KERNELS: &[&Kernel] = &[&STAGGERED_HOP];

/// out = staggered_hop(in), of each colour vector.
pub static STAGGERED_HOP: Kernel = Kernel {
    name: "staggered_hop",
    family: "staggered",
    computes: "out = staggered_hop(in), of colour vectors",
    dagger: Dagger::No,
    arguments: &[
        Field(write("out", Holds::ColourVectors, At::Target)),
        LINKS,
        Field(read("in", Holds::ColourVectors, At::Neighbours)),
        Stencil,
        Osites,
        Boundary,
        Parts,
        Computed(ComputedTable {
            name: "staggered phases of outer sites",
            rows: Rows::Osites,
            make: |lattice, sites| Ok(StaggeredPhases::new(lattice, sites)?.osites().to_vec()),
        }),
        Computed(ComputedTable {
            name: "staggered phases of lanes",
            rows: Rows::Lanes,
            make: |lattice, sites| Ok(StaggeredPhases::new(lattice, sites)?.lanes().to_vec()),
        }),
    ],
    options: &[Reconstruct, Legs, PartsPerWorkItem("VECTORS_AT_ONCE")],
    geometry: Geometry::Stencil { over_parts: true, stages: false, accumulates: false, splits: false },
    precisions: &Precision::ALL,
    tuned_as: Some("staggered_hop"),
    usual_parts: 1,
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
    let phases = StaggeredPhases::new(call.shape().lattice(), call.shape().sites())?;
    in_precision!(call.shape().precision(), R => {
        let out = call.write::<R, ColourVectors>("out")?;
        let (links, source) = (call.read::<R, DoubledGauge>("links")?, call.read::<R, ColourVectors>("in")?);
        staggered::staggered_hop(out, call.host_stencil()?, &phases, links, source, call.shape().legs)
    })
}

fn plain(call: &mut HostCall<'_>, links: &PlainLinks<'_>) -> Result<(), FieldError> {
    in_precision!(call.shape().precision(), R => {
        let (shape, source) = (call.shape(), call.data::<R>("in")?.to_site_order());
        let result = links.wilson(shape).staggered_hop(&source, shape.parts(), shape.sites());
        call.data_mut::<R>("out")?.assign(&result)
    })
}

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

impl<B: Launch + ?Sized> StaggeredKernels for B {}
