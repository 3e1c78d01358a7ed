//! The Laplacian's hop on a device: `cl/laplace.cl`, all colour vectors of a site in one launch.

use lanefield_reference::field::ColourVectors;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::layout::{Lattice, LegOrder, Sites};
use lanefield_reference::links::{DoubledGauge, LinkFormat};

use super::field::osites;
use super::planner::Planned;
use super::tuning::Build;
use super::variant::{Choices, Variant};
use super::{Arg, DeviceField, DeviceStencil, KernelFamily, OpenCl, Planner};
use crate::backend::{Backend, BackendError};

/// What `laplace.cl` is built for, beside precision and lanes.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct LaplaceChoices {
    link_reals: usize,
    legs: LegOrder,
    /// Colour vectors that a work-item takes.
    at_once: usize,
    build: Build,
}

impl LaplaceChoices {
    /// The build options.
    pub fn options(&self) -> String {
        let Self { link_reals, legs, at_once, build } = self;
        let legs = legs.legs().into_iter().enumerate().map(|(k, leg)| format!(" -DLEG_{k}={}", leg.point()));
        let legs = legs.collect::<String>();
        format!("{} -DLINK_REALS={link_reals} -DVECTORS_AT_ONCE={at_once}{legs}", build.options())
    }
}

impl Planner<'_> {
    /// The hop of `vectors` colour vectors a site.
    pub fn laplace<R: Vectors>(
        &self,
        (lattice, sites): (&Lattice, Sites),
        format: LinkFormat,
        vectors: usize,
        legs: LegOrder,
    ) -> Planned {
        let nsimd = lattice.nsimd();
        let plan = self.plan::<R>(KernelFamily::Laplace, (lattice, sites), format, vectors);
        let geometry = self.planned_geometry(&plan, nsimd, (vectors, lattice.osites(sites)));
        let build = plan.build_for(geometry);
        let choices =
            Choices::Laplace(LaplaceChoices { link_reals: format.reals(), legs, at_once: plan.at_once, build });
        let variant = Variant { lanes: plan.lanes, ..self.variant::<R>("laplace.cl", nsimd, choices) };
        Planned { plan, build, geometry, kernel: "laplace_hop", variant, accumulated: 0 }
    }
}

impl OpenCl {
    /// out = laplace_hop(source), as `Backend::laplace_hop`.
    pub(super) fn launch_laplace_hop<R: Vectors>(
        &self,
        out: &mut DeviceField<R, ColourVectors>,
        stencil: &DeviceStencil,
        links: &DeviceField<R, DoubledGauge>,
        source: &DeviceField<R, ColourVectors>,
        legs: LegOrder,
    ) -> Result<(), BackendError> {
        let (lattice, sites, vectors) = (&stencil.lattice, stencil.sites, out.kind.count());
        links.check("the Laplacian's links", lattice, sites)?;
        out.check("the Laplacian's result", lattice, sites)?;
        source.check("the Laplacian's source", lattice, sites.neighbours())?;
        source.check_kind("the Laplacian's source", out)?;
        self.takes_links::<R>(links.kind.format)?;
        let planned = self.planner().laplace::<R>((lattice, sites), links.kind.format, vectors, legs);
        let Planned { plan, geometry, kernel, variant, .. } = planned;
        let program = self.program(variant)?;
        let arguments = [
            Arg::Buffer(&out.buffer),
            Arg::Buffer(&links.buffer),
            Arg::Buffer(&source.buffer),
            Arg::Buffer(&stencil.neighbours),
            Arg::Buffer(&stencil.lane_steps),
            osites(out),
            Arg::U32(links.kind.boundary.kernel_masks()),
            Arg::U32(vectors as u32),
        ];
        let geometry = self.walked(geometry, &program, kernel, (&plan, 2));
        self.announce_laplace(out, links.kind.format);
        self.launch(&program, kernel, geometry, &arguments)
    }
}
