//! The Wilson hop (`docs/arithmetic.md` §6), with one or several spinors at a site.

use lanefield_reference::field::{FieldError, Spinors};
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::hop::{self, Dagger, FLOPS_PER_SITE, HopTerm, HostHop, ideal_bytes_per_spinor};
use lanefield_reference::layout::LegOrder;
use lanefield_reference::links::DoubledGauge;
use lanefield_reference::scalar::ScalarWilson;
use num_complex::Complex;

use super::BuildOption::{Legs, PartsPerWorkItem, Reconstruct};
use super::KernelArgument::{Boundary, Field, LaunchedParts, Osites, Parts, SharedLinks, Stage, Stencil};
use super::usual::USUAL;
use super::{
    Arguments, BuildOption, FieldContents, FieldSites, Geometry, HostCall, Kernel, KernelArgument, PlainLinks,
};
use super::{Shape, Work, read, write};
use crate::backend::{BackendError, FieldOn, HopOn, Launch};

/// The kernels of the family.
pub static KERNELS: &[&Kernel] = &[&HOP, &HOP_DAGGER, &HOP_MANY, &HOP_MANY_DAGGER];

/// Build options of kernels with a hop.
pub(super) const OPTIONS: &[BuildOption] = &[Reconstruct, Legs, PartsPerWorkItem("SPINORS_AT_ONCE")];

pub(super) const OUT: KernelArgument = Field(write("out", FieldContents::Spinors, FieldSites::Target));
pub(super) const LINKS: KernelArgument = Field(read("links", FieldContents::DoubledLinks, FieldSites::Target));
pub(super) const IN: KernelArgument = Field(read("in", FieldContents::Spinors, FieldSites::Neighbours));

const ONE: &[KernelArgument] = &[OUT, LINKS, IN, Stencil, Osites, Boundary, Stage, SharedLinks];
const MANY: &[KernelArgument] = &[OUT, LINKS, IN, Stencil, Osites, Boundary, Stage, SharedLinks, Parts, LaunchedParts];

const fn kernel(name: &'static str, computes: &'static str, dagger: Dagger, many: bool) -> Kernel {
    Kernel {
        name,
        family: "hop",
        computes,
        dagger,
        arguments: if many { MANY } else { ONE },
        options: OPTIONS,
        geometry: Geometry::Stencil { over_parts: many, stages: true, accumulates: false, splits: many },
        tuned_as: Some(if many { "hop_many" } else { "hop" }),
        usual_parts: if many { 16 } else { 1 },
        work,
        cpu: launch!(R, |call| hop::hop::<R>(call.write("out")?, host_hop(call)?)),
        plain: launch!(R, |call, links| {
            let result = plain_hop::<R>(call, links)?;
            call.data_mut::<R>("out")?.assign(&result)
        }),
        ..USUAL
    }
}

/// out = hop(in), one spinor at a site.
pub static HOP: Kernel = kernel("hop", "out = hop(in)", Dagger::No, false);
/// out = hop†(in), one spinor at a site.
pub static HOP_DAGGER: Kernel = kernel("hop_dagger", "out = hop†(in)", Dagger::Yes, false);
/// out = hop(in), several spinors at a site.
pub static HOP_MANY: Kernel = kernel("hop_many", "out = hop(in), several spinors a site", Dagger::No, true);
/// out = hop†(in), several spinors at a site.
pub(crate) static HOP_MANY_DAGGER: Kernel =
    kernel("hop_many_dagger", "out = hop†(in), several spinors a site", Dagger::Yes, true);

fn work(shape: &Shape) -> Work {
    let spinors = shape.volume() * shape.parts() as u64;
    let bytes = shape
        .links()
        .map_or(0.0, |links| ideal_bytes_per_spinor(links.format, shape.real_bytes() as usize, shape.parts()));
    Work { flops: spinors * FLOPS_PER_SITE, bytes: (spinors as f64 * bytes) as u64 }
}

/// The hop of a call on the host.
pub(super) fn host_hop<'a, R: Vectors>(call: &HostCall<'a>) -> Result<HostHop<'a, R>, FieldError> {
    Ok(HopTerm {
        stencil: call.host_stencil()?,
        links: call.read::<R, DoubledGauge>("links")?,
        source: call.read::<R, Spinors>("in")?,
        legs: call.shape().legs,
        dagger: call.kernel().dagger,
    })
}

/// The hop of a call by the scalar reference, in site order.
pub(super) fn plain_hop<R: Vectors>(
    call: &HostCall<'_>,
    links: &PlainLinks<'_>,
) -> Result<Vec<Complex<R>>, FieldError> {
    let (shape, source) = (call.shape(), call.data::<R>("in")?.to_site_order());
    Ok(links.wilson(shape).hop(&source, shape.sites(), call.kernel().dagger))
}

impl<'a> PlainLinks<'a> {
    /// The scalar reference of the hop, with the links of a call.
    pub(super) fn wilson(&self, shape: &Shape) -> ScalarWilson<'a> {
        let format = shape.links().map(|links| links.format).unwrap_or_default();
        ScalarWilson { configuration: self.configuration, boundary: self.boundary, format, legs: shape.legs }
    }
}

/// The hop, on any backend.
pub trait HopKernels: Launch {
    /// out = the Wilson hop of `source`, or its Hermitian conjugate, at the stencil's sites, for each spinor of a site.
    ///
    /// # Errors
    /// [`BackendError::Argument`] if fields do not match, and errors of the backend.
    fn hop<R: Vectors>(
        &self,
        out: &mut FieldOn<Self, R, Spinors>,
        stencil: &Self::Table,
        links: &FieldOn<Self, R, DoubledGauge>,
        source: &FieldOn<Self, R, Spinors>,
        legs: LegOrder,
        dagger: Dagger,
    ) -> Result<(), BackendError> {
        let kernel = variant([&HOP, &HOP_DAGGER, &HOP_MANY, &HOP_MANY_DAGGER], out.kind(), dagger);
        let hop = HopTerm { stencil, links, source, legs, dagger };
        self.launch(hop_arguments(Arguments::new(kernel).write("out", out), hop).call()?)
    }
}

/// Selects one of four kernels: the hop, its Hermitian conjugate, and both for several spinors at a site.
pub(super) fn variant(kernels: [&'static Kernel; 4], spinors: Spinors, dagger: Dagger) -> &'static Kernel {
    kernels[2 * usize::from(spinors.count() != 1) + usize::from(dagger == Dagger::Yes)]
}

/// Adds the arguments that define a hop.
pub(super) fn hop_arguments<'a, B: Launch + ?Sized, R: Vectors>(
    arguments: Arguments<'a, B>,
    hop: HopOn<'a, B, R>,
) -> Arguments<'a, B> {
    let HopTerm { stencil, links, source, legs, .. } = hop;
    arguments.stencil(stencil).read("links", links).read("in", source).legs(legs)
}
