//! Plans kernels without sums: mostly stencils, which have most of the tuning parameters. Counterparts of the build options:
//! `cl/access.clh`, `cl/traversal.clh`, `cl/accelerator.clh`.

use std::fmt::Write as _;

use lanefield_reference::field::Spinors;
use lanefield_reference::kernels::reduce::Sum;
use lanefield_reference::layout::{AcceleratorThreads, BlockOrder, DIMENSIONS, LaunchGeometry, PartsShape};

use super::planner::{LocalMemory, Plan, Planner, Staying, block_options, options_of_converted};
use super::sum::SumOf;
use crate::backend::opencl::device::{DeviceError, DeviceInfo};
use crate::backend::opencl::tuning::choices::{
    Accumulators, GridStride, GroupSize, LinkLoads, Mapping, Stores, Traversal,
};
use crate::backend::opencl::tuning::lane_form::WorkItemLanes;
use crate::backend::opencl::tuning::link_sharing::{LinkSharing, shared_bytes};
use crate::backend::opencl::tuning::neighbours::{Neighbours, Stage};
use crate::backend::specification::{BuildOption, Geometry, Shape};

/// The parameters with which a kernel is built.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Build {
    link_loads: LinkLoads,
    stores: Stores,
    grid_stride: bool,
    /// 0: the compiler decides.
    max_registers: u32,
    /// The order of a launch, if it is not that of the memory.
    blocks: Option<BlockOrder>,
    mapping: Mapping,
    /// The required work-group size, if there is one.
    group: Option<[usize; 3]>,
    /// Whether a part of the links is requested to stay in the last cache.
    keeps_links: bool,
    /// Space for neighbours' spinors in local memory, if they are not in registers.
    stage: Option<Stage>,
    /// The local memory for links that a group shares, in bytes; 0 if it shares none.
    shared_links: usize,
    /// Whether arithmetic is relaxed. Only for a study, since its bits are not the reference's.
    relaxed: bool,
    /// Whether the compiler reports the resources of a kernel.
    verbose: bool,
}

impl Build {
    /// `outer`: the extents of the outer lattice, if the memory has its order.
    fn new(
        (link_loads, stores, grid_stride, traversal): (LinkLoads, Stores, GridStride, Traversal),
        max_registers: u32,
        device: &DeviceInfo,
        outer: Option<[usize; DIMENSIONS]>,
    ) -> Self {
        let blocks = match (traversal, outer) {
            (Traversal::Blocks(wanted), Some(outer)) => Some(BlockOrder::of_extents(outer, wanted)),
            _ => None,
        };
        let blocks = blocks.filter(|blocks| !blocks.is_lexicographic());
        let grid_stride = grid_stride != GridStride::Off;
        let nvidia = device.takes_nvidia_options();
        let max_registers = if nvidia { max_registers } else { 0 };
        let (mapping, group, relaxed) = (Mapping::LaneFast, None, false);
        let (stage, shared_links) = (None, 0);
        let verbose = grid_stride && nvidia;
        let keeps_links = link_loads == LinkLoads::Kept && device.keeps_what_is_asked();
        Self {
            link_loads,
            keeps_links,
            stores,
            grid_stride,
            max_registers,
            blocks,
            mapping,
            group,
            stage,
            shared_links,
            relaxed,
            verbose,
        }
    }

    fn options(&self) -> String {
        let mut options = String::new();
        options += match self.link_loads {
            LinkLoads::Cached => "",
            LinkLoads::PastL1 | LinkLoads::Kept => " -DLINKS_PAST_L1",
            LinkLoads::Ahead => " -DLINKS_ASKED_FOR",
        };
        if self.keeps_links {
            options += " -DLINKS_KEPT";
        }
        if self.stores == Stores::Streaming {
            options += " -DSTREAMING_STORES";
        }
        if self.grid_stride {
            options += " -DPERSISTENT";
        }
        if let Some(blocks) = &self.blocks {
            options += &block_options(blocks, "TRAVERSAL_BLOCK");
        }
        if self.mapping == Mapping::SiteFast {
            options += " -DSITE_FAST";
        }
        if let Some([x, y, z]) = self.group {
            options += &format!(" -DGROUP_X={x} -DGROUP_Y={y} -DGROUP_Z={z}");
        }
        if let Some(stage) = self.stage {
            options += &stage.options();
        }
        if self.shared_links > 0 {
            options += " -DLINKS_SHARED";
        }
        if self.relaxed {
            options += " -DRELAXED_MATH -cl-fast-relaxed-math";
        }
        if self.max_registers > 0 {
            options += &format!(" -cl-nv-maxrregcount={}", self.max_registers);
        }
        if self.verbose {
            options += " -cl-nv-verbose";
        }
        options
    }
}

/// The number of groups of a launch that is limited to `items` work-items in a dimension.
fn groups_over(geometry: LaunchGeometry, dimension: usize, items: usize) -> usize {
    let local = geometry.local[dimension];
    let along = geometry.global[dimension] / local;
    geometry.groups() / along * items.div_ceil(local).min(along)
}

/// The same launch with dimension `order[k]` as dimension k.
fn in_dimensions(geometry: LaunchGeometry, order: [usize; 3]) -> LaunchGeometry {
    LaunchGeometry { global: order.map(|k| geometry.global[k]), local: order.map(|k| geometry.local[k]) }
}

impl Planner<'_> {
    /// Plans a kernel without sums.
    ///
    /// # Errors
    /// [`DeviceError`] for a kind of sum that the device does not support.
    pub(crate) fn plan(&self, shape: &Shape) -> Result<Plan, DeviceError> {
        let (lattice, precision, parts) = (shape.lattice(), shape.precision(), shape.parts());
        let (nsimd, osites) = (lattice.nsimd(), shape.target.osites());
        if let Geometry::Stencil { .. } = shape.kernel.geometry {
            return self.stencil(shape);
        }
        let each = PartsShape { at_once: None, ..self.parts_shape() };
        let one = WorkItemLanes::One;
        let mut at_once = 1;
        let (lanes, geometry) = match shape.kernel.geometry {
            Geometry::Sites => (one, LaunchGeometry::over_sites(nsimd, osites, self.threads())),
            Geometry::Elements => (one, LaunchGeometry::over_sites(nsimd, osites * parts, self.threads())),
            Geometry::Parts { vectors } => {
                let lanes =
                    if vectors { self.work_item_lanes(precision, nsimd, None).with_steps(lattice) } else { one };
                (lanes, self.over_parts(lanes.launched(nsimd), (parts, osites), each))
            }
            Geometry::AlongS => {
                use lanefield_reference::kernels::domain_wall::MatrixForm;
                let lanes = self.work_item_lanes(precision, nsimd, None);
                let ls = shape.matrix.map_or(parts, |matrix| matrix.ls);
                let (results, of_item) = match shape.matrix.map(|matrix| matrix.form) {
                    Some(MatrixForm::Dense) => (parts, self.results_per_work_item(ls)),
                    Some(MatrixForm::Sweep) => (2 * parts / ls, 1),
                    _ => (parts, 1),
                };
                at_once = of_item;
                let cut = PartsShape { at_once: Some(at_once), ..self.parts_shape() };
                (lanes, self.over_parts(lanes.launched(nsimd), (results, osites), cut))
            }
            _ => {
                let cut = PartsShape { at_once: Some(1), ..self.parts_shape() };
                (one, self.over_parts(nsimd, (parts, osites), cut))
            }
        };
        let (geometry, lane_groups) = self.fitted(geometry, Mapping::LaneFast);
        let mut options = self.common_options(precision, nsimd, self.access(shape));
        options += &lanes.options();
        options += lane_groups;
        options += &self.options(shape, at_once, Accumulators::Registers)?;
        let local = LocalMemory::default();
        let source = self.source(shape, at_once)?;
        Ok(Plan { source, options, geometry, local, parts_per_launch: parts, site_dimension: 1, stride: None })
    }

    /// The build options that a specification names.
    fn options(&self, shape: &Shape, at_once: usize, accumulators: Accumulators) -> Result<String, DeviceError> {
        let mut options = String::new();
        for option in shape.kernel.options {
            // Writing to a string does not fail.
            let _ = match *option {
                // A kernel that reads neighbours need not have doubled links.
                BuildOption::Reconstruct if shape.reconstruct() == 0 => Ok(()),
                BuildOption::Reconstruct => write!(options, " -DLINK_REALS={}", shape.reconstruct()),
                BuildOption::Legs => shape
                    .legs
                    .legs()
                    .iter()
                    .enumerate()
                    .try_for_each(|(k, leg)| write!(options, " -DLEG_{k}={}", leg.point())),
                BuildOption::PartsPerWorkItem(name) => write!(options, " -D{name}={at_once}"),
                BuildOption::PartWords if !shape.kernel.options.contains(&BuildOption::Sums) => {
                    write!(options, " -DWORDS={}", shape.target.object.part_words())
                }
                BuildOption::PartWords => Ok(()),
                BuildOption::PrecisionOf(_) => {
                    options += &options_of_converted(shape);
                    Ok(())
                }
                BuildOption::Accumulators if accumulators == Accumulators::LocalMemory => {
                    write!(options, " -DACCUMULATORS_IN_LOCAL")
                }
                BuildOption::Accumulators => Ok(()),
                BuildOption::Sums => {
                    let build = self.sum_build(SumOf::new(shape, None), Sum::Exact, None)?;
                    write!(options, "{}", build.options())
                }
                BuildOption::Define(name) => write!(options, " -D{name}"),
            };
        }
        Ok(options)
    }

    /// The number of results of a dense matrix that one work-item computes. The default is up to four on GPUs, the fastest on an H200.
    fn results_per_work_item(&self, ls: usize) -> usize {
        match self.tuning.rhs_per_work_item {
            None if !self.is_cpu() => [4, 2, 3].into_iter().find(|&n| ls.is_multiple_of(n)).unwrap_or(1),
            _ => self.parts_shape().at_once(ls),
        }
    }

    /// Plans a stencil. For each parameter, the user's setting has priority over the tuning result.
    fn stencil(&self, shape: &Shape) -> Result<Plan, DeviceError> {
        let (lattice, sites, precision, parts) = (shape.lattice(), shape.sites(), shape.precision(), shape.parts());
        let (device, nsimd, osites) = (self.device, lattice.nsimd(), shape.target.osites());
        let Geometry::Stencil { over_parts, stages, accumulates, splits } = shape.kernel.geometry else {
            unreachable!("this is how stencils are planned")
        };
        let tuned = self.tuned(shape);
        let chosen = self.tuning.or(tuned);
        let lanes = self.work_item_lanes(precision, nsimd, tuned.lane_form).with_steps(lattice);
        let launched_lanes = lanes.launched(nsimd);
        // People edit files: values that do not fit a group of the device are reduced.
        let most = (device.max_work_group_size / launched_lanes).max(1);
        let tuned_threads =
            tuned.accelerator_threads.and_then(|threads| AcceleratorThreads::new(threads.get().min(most)).ok());
        let threads = self.tuning.accelerator_threads.or(tuned_threads).unwrap_or_default();

        let at_once = match self.tuning.rhs_per_work_item {
            Some(count) => PartsShape { at_once: Some(count.get()), ..PartsShape::default() }.at_once(parts),
            None => tuned.rhs_per_work_item_of(parts),
        };
        let divides = |number: &usize| parts.is_multiple_of(*number) && number.is_multiple_of(at_once);
        let per_launch = chosen.rhs_per_launch.map(|count| count.get()).filter(divides).filter(|_| splits);
        let parts_per_launch = per_launch.unwrap_or(parts);
        let mut cut = PartsShape { at_once: Some(at_once), ..self.parts_shape() };
        let work_items = chosen.work_items.map(|count| count.get().min(device.max_work_group_size));
        if let (true, Some(work_items)) =
            (parts > 1, work_items.filter(|_| self.tuning.rhs_per_group.is_none() || self.tuning.work_items.is_some()))
        {
            let per_group = chosen.rhs_per_group.map_or(1, |count| count.get());
            let side_by_side = per_group.min(parts_per_launch / at_once).min(most);
            cut.parts = Some(side_by_side);
            cut.osites = Some((work_items / (side_by_side * launched_lanes)).max(1));
        }

        let grid_stride = chosen.grid_stride.unwrap_or(GridStride::Off);
        let in_memory = self.layout.site_order.is_of_host(lattice, sites).then(|| lattice.outer_extents(sites));
        let choices = (
            chosen.link_loads.unwrap_or(LinkLoads::Cached),
            chosen.stores.unwrap_or(Stores::Cached),
            grid_stride,
            chosen.traversal.unwrap_or(Traversal::Memory),
        );
        let build = Build {
            mapping: chosen.mapping.unwrap_or_default(),
            relaxed: self.relaxed_math,
            ..Build::new(choices, chosen.max_registers.unwrap_or(0), device, in_memory)
        };

        let geometry = match over_parts {
            false => {
                let lane_fast = LaunchGeometry::over_sites(launched_lanes, osites, threads);
                if build.mapping == Mapping::SiteFast { in_dimensions(lane_fast, [1, 0, 2]) } else { lane_fast }
            }
            true => {
                let over = |cut, most_osites| {
                    let extent = (parts_per_launch, osites);
                    LaunchGeometry::over_parts(launched_lanes, extent, cut, threads, most_osites)
                };
                let [of_first, _, of_last] = device.max_work_item_sizes;
                match build.mapping {
                    Mapping::LaneFast => over(cut, of_last),
                    Mapping::SiteFast => {
                        let side_by_side = cut.parts.unwrap_or(threads.get()).min(of_last);
                        in_dimensions(over(PartsShape { parts: Some(side_by_side), ..cut }, of_first), [2, 0, 1])
                    }
                }
            }
        };

        let (geometry, lane_groups) = self.fitted(geometry, build.mapping);

        // Local memory that was tuned for other groups may be too small for these.
        let real = precision.scalar().bytes() / 2;
        let accumulator_bytes = |items: usize| items * Spinors::WORDS * at_once * 2 * real;
        let tuned_group =
            nsimd * if parts > 1 { tuned.work_items.map_or(threads.get(), |n| n.get()) } else { threads.get() };
        let fits = |place: &Accumulators| {
            *place == Accumulators::Registers || accumulator_bytes(tuned_group) as u64 <= device.local_memory_bytes
        };
        let place = self.tuning.accumulators.or(tuned.accumulators.filter(fits)).unwrap_or_default();
        let place = if accumulates { place } else { Accumulators::Registers };
        let mut local = LocalMemory::default();
        if place == Accumulators::LocalMemory {
            local.accumulators = Some(accumulator_bytes(geometry.group_size() * lanes.each(nsimd)));
        }
        let one_lane = lanes == WorkItemLanes::One;
        let together = self.layout.access.together(precision.bits(), nsimd);
        let taken = |local: &LocalMemory| local.bytes();
        let whole_lanes = lane_groups.is_empty();
        if stages
            && one_lane
            && whole_lanes
            && parts > 1
            && chosen.link_sharing.unwrap_or_default() == LinkSharing::Shared
        {
            let format = shape.links().map(|links| links.format).unwrap_or_default();
            let shared = shared_bytes(precision, geometry, build.mapping, format, together);
            local.shared_links = shared.filter(|bytes| (taken(&local) + bytes) as u64 <= device.local_memory_bytes);
        }
        let mut stage = None;
        if stages && one_lane && chosen.neighbours == Some(Neighbours::LocalMemory) {
            let wanted = Stage::new(precision, device, together, at_once);
            stage = wanted.fitted(geometry.group_size(), taken(&local), device);
            local.stage = stage.map(|stage| stage.bytes_of(geometry.group_size()));
        }
        let required = chosen.group_size == Some(GroupSize::Required);
        let build = Build {
            group: required.then_some(geometry.local),
            stage,
            shared_links: local.shared_links.unwrap_or(0),
            ..build
        };
        let mut options = self.common_options(precision, nsimd, self.layout.access);
        options += &lanes.options();
        options += lane_groups;
        options += &build.options();
        // A stencil has no sums.
        options += &self.options(shape, at_once, place).unwrap_or_default();
        let dimension = match (build.mapping, over_parts) {
            (Mapping::SiteFast, _) => 0,
            (_, false) => 1,
            (_, true) => 2,
        };
        let staying = match grid_stride {
            GridStride::Off => None,
            GridStride::On(groups) => Some(Staying::OnUnit(groups)),
            GridStride::Slice => {
                let slice = lattice.outer_extents(sites)[..3].iter().product();
                // The slices of a small lattice would leave compute units without a group.
                let fills = groups_over(geometry, dimension, slice) >= device.compute_units as usize;
                fills.then_some(Staying::OverSites(slice))
            }
        };
        let stride = staying.map(|staying| (staying, dimension));
        let source = self.source(shape, at_once)?;
        Ok(Plan { source, options, geometry, local, parts_per_launch, site_dimension: dimension, stride })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_a_slice_are_whole_ones_and_no_more_than_there_are() {
        let geometry = LaunchGeometry { global: [16, 16, 1024], local: [16, 4, 4] };
        let groups = [1024, 128, 127, 1, 4096].map(|items| groups_over(geometry, 2, items));
        assert_eq!(groups, [4 * 256, 4 * 32, 4 * 32, 4, 4 * 256]);
    }

    #[test]
    fn a_build_names_what_was_chosen_and_blocks_that_are_no_order_of_their_own_are_none() {
        let device = crate::backend::opencl::device::testing::device("NVIDIA H200");
        let build = |block, outer| {
            let choices = (LinkLoads::Cached, Stores::Cached, GridStride::Off, Traversal::Blocks(block));
            Build::new(choices, 0, &device, outer)
        };
        let outer = Some([4, 8, 8, 8]);
        let of_one_size = Build { group: Some([8, 4, 1]), mapping: Mapping::SiteFast, ..build([8, 8, 8, 2], outer) };
        assert_eq!(of_one_size.options(), " -DSITE_FAST -DGROUP_X=8 -DGROUP_Y=4 -DGROUP_Z=1");
        let blocks = build([2, 2, 8, 8], outer).options();
        assert!(blocks.contains("-DOUTER_Z=8 -DTRAVERSAL_BLOCK_Z=8") && blocks.contains("-DTRAVERSAL_BLOCK_X=2"));
        // If the memory has subdomains, launches follow them.
        assert_eq!(build([2, 2, 8, 8], None).options(), "");
    }
}
