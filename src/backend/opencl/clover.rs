//! Clover terms on a device: the launches of `cl/clover_term.cl`, which make one, and of `cl/clover.cl`, which multiply with it, alone and after
//! a hop.

use lanefield_reference::field::{CloverBlocks, ComplexNumber, FieldStrength, Gauge, SiteObject, Spinors};
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::clover_term::{CloverCoefficients, not_a_parity};
use lanefield_reference::kernels::hop::Dagger;
use lanefield_reference::layout::{Lattice, LaunchGeometry, LegOrder, PartsShape, Sites, osites_in_full};
use lanefield_reference::links::LinkFormat;
use serde::{Deserialize, Serialize};

use super::field::osites;
use super::hop::DeviceHop;
use super::planner::Planned;
use super::variant::{Choices, Variant};
use super::{Arg, DeviceField, DeviceStencil, KernelFamily, OpenCl, Planner, Program};
use crate::backend::BackendError;

/// Where the kernels that go on from a hop add it up. No bit of any result depends on it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Accumulators {
    /// In registers.
    #[default]
    Registers,
    /// In local memory, 12 words a work-item: fewer registers, but fewer groups at a time.
    LocalMemory,
}

impl Accumulators {
    /// Both places.
    pub const ALL: [Self; 2] = [Self::Registers, Self::LocalMemory];
}

impl OpenCl {
    /// Chooses where the kernels that go on from a hop add it up; `None`: what was tuned, else registers.
    pub fn set_accumulators(&mut self, accumulators: Option<Accumulators>) {
        self.accumulators = accumulators;
    }

    fn term_program<R: Vectors>(&self, lattice: &Lattice) -> Result<std::sync::Arc<Program>, BackendError> {
        self.program(self.planner().variant::<R>("clover_term.cl", lattice.nsimd(), Choices::None))
    }

    /// Launches over (lane, parts, outer sites), whatever the number of parts at once that was chosen for hops.
    fn launch_over_each_part(
        &self,
        program: &Program,
        kernel: &str,
        nsimd: usize,
        parts_and_osites: (usize, usize),
        arguments: &[Arg<'_>],
    ) -> Result<(), BackendError> {
        let each = PartsShape { at_once: None, ..self.parts_shape };
        self.launch(program, kernel, self.planner().geometry_over_parts(nsimd, parts_and_osites, each), arguments)
    }

    pub(super) fn launch_field_strength<R: Vectors>(
        &self,
        out: &DeviceField<R, FieldStrength>,
        stencil: &DeviceStencil,
        links: &DeviceField<R, Gauge>,
    ) -> Result<(), BackendError> {
        let lattice = &stencil.lattice;
        out.check("the field strength", lattice, stencil.sites)?;
        out.check("the field strength", lattice, Sites::Full)?;
        links.check("the field strength's links", lattice, Sites::Full)?;
        let arguments = [
            Arg::Buffer(&out.buffer),
            Arg::Buffer(&links.buffer),
            Arg::Buffer(&stencil.neighbours),
            Arg::Buffer(&stencil.lane_steps),
            osites(out),
        ];
        let (program, parts) = (self.term_program::<R>(lattice)?, (FieldStrength::PARTS, out.osites()));
        self.launch_over_each_part(&program, "field_strength", lattice.nsimd(), parts, &arguments)
    }

    pub(super) fn launch_clover_term<R: Vectors>(
        &self,
        out: &DeviceField<R, CloverBlocks>,
        strength: &DeviceField<R, FieldStrength>,
        coefficients: CloverCoefficients,
    ) -> Result<(), BackendError> {
        strength.check("the clover term's field strength", &out.lattice, out.sites)?;
        let CloverCoefficients { diagonal, spatial, temporal } = coefficients;
        let arguments = [
            Arg::Buffer(&out.buffer),
            Arg::Buffer(&strength.buffer),
            Arg::F64(diagonal),
            Arg::F64(spatial),
            Arg::F64(temporal),
            osites(out),
        ];
        let (program, parts) = (self.term_program::<R>(&out.lattice)?, (CloverBlocks::PARTS, out.osites()));
        self.launch_over_each_part(&program, "clover_term", out.lattice.nsimd(), parts, &arguments)
    }

    pub(super) fn launch_clover_inverse<R: Vectors>(
        &self,
        out: &DeviceField<R, CloverBlocks>,
        pivots: &DeviceField<R, ComplexNumber>,
        term: &DeviceField<R, CloverBlocks>,
    ) -> Result<(), BackendError> {
        term.check("the clover term to invert", &out.lattice, out.sites)?;
        pivots.check("the pivots", &out.lattice, out.sites)?;
        let [out_buffer, pivots, term] = [&out.buffer, &pivots.buffer, &term.buffer].map(Arg::Buffer);
        let geometry = LaunchGeometry::over_sites(out.lattice.nsimd(), out.osites(), self.accelerator_threads());
        let program = self.term_program::<R>(&out.lattice)?;
        self.launch(&program, "clover_inverse", geometry, &[out_buffer, pivots, term, osites(out)])
    }

    pub(super) fn launch_pick_checkerboard<R: Vectors, K: SiteObject>(
        &self,
        out: &DeviceField<R, K>,
        x: &DeviceField<R, K>,
    ) -> Result<(), BackendError> {
        x.check("picking a parity", &out.lattice, Sites::Full)?;
        x.check_kind("picking a parity", out)?;
        let Sites::Parity(parity) = out.sites else {
            return Err(not_a_parity(out.describe()).into());
        };
        let full = self.site_order.renumbered(&out.lattice, Sites::Full, osites_in_full(&out.lattice, parity)?);
        let full = self.site_order.rearranged(&out.lattice, out.sites, full);
        let table = self.upload_table(&full, "table of one parity")?;
        let words = Arg::U32(out.kind.words() as u32);
        let [out_buffer, x, table] = [&out.buffer, &x.buffer, &table].map(Arg::Buffer);
        let geometry = LaunchGeometry::over_sites(out.lattice.nsimd(), out.osites(), self.accelerator_threads());
        let access = self.access_of_sites(out.kind);
        let program = self.program(Variant {
            access,
            ..self.planner().variant::<R>("clover_term.cl", out.lattice.nsimd(), Choices::None)
        })?;
        self.launch(&program, "pick_checkerboard", geometry, &[out_buffer, x, table, osites(out), words])
    }

    pub(super) fn launch_clover_apply<R: Vectors>(
        &self,
        out: &DeviceField<R, Spinors>,
        blocks: &DeviceField<R, CloverBlocks>,
        x: &DeviceField<R, Spinors>,
    ) -> Result<(), BackendError> {
        blocks.check("the blocks to multiply with", &out.lattice, out.sites)?;
        x.check_like("a product with blocks", out)?;
        let (nsimd, spinors) = (out.lattice.nsimd(), out.kind.count());
        let variant = self.planner().clover_apply::<R>(&out.lattice);
        let lanes = variant.lanes;
        let program = self.program(variant)?;
        let [out_buffer, blocks, x] = [&out.buffer, &blocks.buffer, &x.buffer].map(Arg::Buffer);
        let arguments = [out_buffer, blocks, x, osites(out), Arg::U32(spinors as u32)];
        self.announce_clover(out, None, false);
        self.launch_over_each_part(&program, "clover_apply", lanes.launched(nsimd), (spinors, out.osites()), &arguments)
    }

    /// `blocks` times the hop, or, with χ, `blocks` times χ minus the hop.
    pub(super) fn launch_clover_hop<R: Vectors>(
        &self,
        out: &DeviceField<R, Spinors>,
        blocks: &DeviceField<R, CloverBlocks>,
        chi: Option<&DeviceField<R, Spinors>>,
        hop: DeviceHop<'_, R>,
    ) -> Result<(), BackendError> {
        let lattice = &hop.stencil.lattice;
        self.check_hop(out, hop)?;
        blocks.check("the blocks to multiply with", lattice, out.sites)?;
        if let Some(chi) = chi {
            chi.check_like("a product with blocks", out)?;
        }
        let spinors = out.kind.count();
        let fields = (lattice, out.sites);
        let planned = self.planner().clover_hop::<R>(
            fields,
            hop.links.kind.format,
            spinors,
            (hop.legs, hop.dagger),
            chi.is_some(),
        );
        let Planned { plan, build, geometry, kernel, variant, accumulated } = planned;
        let program = self.program(variant)?;

        let mut arguments = vec![Arg::Buffer(&out.buffer), Arg::Buffer(&blocks.buffer)];
        arguments.extend(chi.map(|chi| Arg::Buffer(&chi.buffer)));
        arguments.extend(self.hop_arguments(out, hop, (&build, geometry)));
        if spinors > 1 {
            arguments.push(Arg::U32(spinors as u32));
        }
        if accumulated > 0 {
            arguments.push(Arg::Local(accumulated));
        }
        let geometry = self.walked(geometry, &program, kernel, (&plan, if spinors == 1 { 1 } else { 2 }));
        self.announce_clover(out, Some(hop.links.kind.format), chi.is_some());
        self.launch(&program, kernel, geometry, &arguments)
    }
}

impl Planner<'_> {
    /// The product with blocks.
    pub fn clover_apply<R: Vectors>(&self, lattice: &Lattice) -> Variant {
        let nsimd = lattice.nsimd();
        let lanes = self.work_item_lanes::<R>(nsimd, None).with_steps(lattice);
        Variant { lanes, ..self.variant::<R>("clover.cl", nsimd, Choices::CloverApply) }
    }

    /// Blocks times the hop of `spinors` spinors a site, or, with χ, blocks times χ minus the hop.
    pub fn clover_hop<R: Vectors>(
        &self,
        (lattice, sites): (&Lattice, Sites),
        format: LinkFormat,
        spinors: usize,
        (legs, dagger): (LegOrder, Dagger),
        with_chi: bool,
    ) -> Planned {
        let (nsimd, osites) = (lattice.nsimd(), lattice.osites(sites));
        let family = if with_chi { KernelFamily::CloverOe } else { KernelFamily::CloverEo };
        let plan = self.plan::<R>(family, (lattice, sites), format, spinors);
        let geometry = match spinors {
            1 => plan.over_sites(nsimd, osites),
            _ => self.planned_geometry(&plan, nsimd, (spinors, osites)),
        };
        let (at_once, accumulators) = (plan.at_once, plan.accumulators);
        let accumulated = match accumulators {
            Accumulators::Registers => 0,
            Accumulators::LocalMemory => {
                geometry.group_size() * plan.lanes.each(nsimd) * Spinors::WORDS * at_once * 2 * size_of::<R>()
            }
        };
        let build = plan.hop_build::<R>(geometry, format, accumulated, self.device);
        let (link_reals, many) = (format.reals(), spinors > 1);
        let choices = Choices::CloverHop { link_reals, legs, at_once, many, accumulators, build };
        let variant = Variant { lanes: plan.lanes, ..self.variant::<R>("clover.cl", nsimd, choices) };
        let kernel = match (with_chi, spinors, dagger) {
            (false, 1, Dagger::No) => "eo_clover",
            (false, 1, Dagger::Yes) => "eo_clover_dagger",
            (false, _, Dagger::No) => "eo_clover_many",
            (false, _, Dagger::Yes) => "eo_clover_many_dagger",
            (true, 1, Dagger::No) => "oe_clover",
            (true, 1, Dagger::Yes) => "oe_clover_dagger",
            (true, _, Dagger::No) => "oe_clover_many",
            (true, _, Dagger::Yes) => "oe_clover_many_dagger",
        };
        Planned { plan, build, geometry, kernel, variant, accumulated }
    }
}
