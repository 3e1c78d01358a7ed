//! The Wilson hop on a device: the launches of `cl/hop.cl`, and what every kernel is told that begins with a hop.

use lanefield_reference::field::Spinors;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::hop::{Dagger, HopTerm};
use lanefield_reference::layout::{Lattice, LaunchGeometry, LegOrder, Sites};
use lanefield_reference::links::{DoubledGauge, LinkFormat};

use super::field::osites;
use super::planner::Planned;
use super::tuning::Build;
use super::variant::{Choices, Variant};
use super::{Arg, DeviceField, DeviceStencil, KernelFamily, OpenCl, Planner};
use crate::backend::{Backend, BackendError};

/// A hop on a device.
pub(super) type DeviceHop<'a, R> = HopTerm<'a, DeviceStencil, DeviceField<R, DoubledGauge>, DeviceField<R, Spinors>>;

impl Planner<'_> {
    /// The hop of `spinors` spinors a site.
    pub fn hop<R: Vectors>(
        &self,
        (lattice, sites): (&Lattice, Sites),
        format: LinkFormat,
        spinors: usize,
        (legs, dagger): (LegOrder, Dagger),
    ) -> Planned {
        let (nsimd, osites) = (lattice.nsimd(), lattice.osites(sites));
        let plan = self.plan::<R>(KernelFamily::Hop, (lattice, sites), format, spinors);
        let geometry = match spinors {
            1 => plan.over_sites(nsimd, osites),
            _ => self.planned_geometry(&plan, nsimd, (plan.a_launch, osites)),
        };
        let build = plan.hop_build::<R>(geometry, format, 0, self.device);
        let choices = Choices::Hop { link_reals: format.reals(), legs, at_once: plan.at_once, build };
        let variant = Variant { lanes: plan.lanes, ..self.variant::<R>("hop.cl", nsimd, choices) };
        let kernel = match (spinors, dagger) {
            (1, Dagger::No) => "hop",
            (1, Dagger::Yes) => "hop_dagger",
            (_, Dagger::No) => "hop_many",
            (_, Dagger::Yes) => "hop_many_dagger",
        };
        Planned { plan, build, geometry, kernel, variant, accumulated: 0 }
    }
}

impl OpenCl {
    pub(super) fn launch_hop<R: Vectors>(
        &self,
        out: &DeviceField<R, Spinors>,
        hop: DeviceHop<'_, R>,
    ) -> Result<(), BackendError> {
        let (lattice, sites) = (&hop.stencil.lattice, hop.stencil.sites);
        self.check_hop(out, hop)?;
        let (spinors, format) = (out.kind.count(), hop.links.kind.format);
        let planned = self.planner().hop::<R>((lattice, sites), format, spinors, (hop.legs, hop.dagger));
        let Planned { plan, build, geometry, kernel, variant, .. } = planned;
        let program = self.program(variant)?;
        let mut arguments = vec![Arg::Buffer(&out.buffer)];
        arguments.extend(self.hop_arguments(out, hop, (&build, geometry)));
        if spinors == 1 {
            let geometry = self.walked(geometry, &program, kernel, (&plan, 1));
            self.announce_hop(out, format, 1);
            return self.launch(&program, kernel, geometry, &arguments);
        }
        let geometry = self.walked(geometry, &program, kernel, (&plan, 2));
        let first_of_all = arguments.len();
        for first in (0..spinors).step_by(plan.a_launch) {
            arguments.truncate(first_of_all);
            arguments.extend([spinors, first, plan.a_launch].map(|number| Arg::U32(number as u32)));
            self.announce_hop(out, format, plan.a_launch.min(spinors - first));
            self.launch(&program, kernel, geometry, &arguments)?;
        }
        Ok(())
    }

    /// Refuses fields that do not make a hop onto `out`, and links that the device cannot take.
    pub(super) fn check_hop<R: Vectors>(
        &self,
        out: &DeviceField<R, Spinors>,
        hop: DeviceHop<'_, R>,
    ) -> Result<(), BackendError> {
        let (lattice, sites) = (&hop.stencil.lattice, hop.stencil.sites);
        hop.links.check("the hop's links", lattice, sites)?;
        out.check("the hop's result", lattice, sites)?;
        hop.source.check("the hop's source", lattice, sites.neighbours())?;
        hop.source.check_kind("the hop's source", out)?;
        self.takes_links::<R>(hop.links.kind.format)
    }

    /// HOP_ARGUMENTS of `cl/legs.clh`.
    pub(super) fn hop_arguments<'a, R: Vectors>(
        &self,
        out: &DeviceField<R, Spinors>,
        hop: DeviceHop<'a, R>,
        (build, geometry): (&Build, LaunchGeometry),
    ) -> Vec<Arg<'a>> {
        let staged = build.stage.map(|stage| Arg::Local(stage.bytes_of(geometry.group_size())));
        let arguments = [
            Arg::Buffer(&hop.links.buffer),
            Arg::Buffer(&hop.source.buffer),
            Arg::Buffer(&hop.stencil.neighbours),
            Arg::Buffer(&hop.stencil.lane_steps),
            osites(out),
            Arg::U32(hop.links.kind.boundary.kernel_masks()),
        ];
        let shared = (build.shared_links > 0).then_some(Arg::Local(build.shared_links));
        arguments.into_iter().chain(staged).chain(shared).collect()
    }
}
