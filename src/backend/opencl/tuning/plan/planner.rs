//! The common part of all plans: the lookup of tuning parameters, the source of a kernel, the work-group sizes of a device, and the build
//! options of all kernels.

use lanefield_reference::layout::{AcceleratorThreads, BlockOrder, LaunchGeometry, PartsShape};
use lanefield_reference::real::Precision;

use super::sum_options::SumOptions;
use crate::backend::opencl::device::{DeviceError, DeviceInfo, DeviceKind};
use crate::backend::opencl::program::Source;
use crate::backend::opencl::queue::Context;
use crate::backend::opencl::tuning::access::AccessWidth;
use crate::backend::opencl::tuning::choices::Mapping;
use crate::backend::opencl::tuning::file::KernelKey;
use crate::backend::opencl::tuning::lane_form::{LaneForm, MOST_LANES, VectorsVerdict, WorkItemLanes};
use crate::backend::opencl::tuning::lookup::{Choices, Tuned};
use crate::backend::opencl::tuning::parameters::Tuning;
use crate::backend::opencl::tuning::site_order::Layout;
use crate::backend::specification::{BuildOption, KernelSource, Shape};
use crate::body::opencl::{Components, Named, kernel_text};

/// Where tuning parameters are looked up that were not set by hand.
#[derive(Clone, Copy)]
pub(crate) enum ChoiceSource<'a> {
    /// The parameters of an open device.
    Device { context: &'a Context, choices: &'a Choices, vectors: &'a VectorsVerdict },
    /// The parameters of a device that this machine need not have.
    Tuned(&'a Tuned),
}

/// Plans kernels for a device.
#[derive(Clone, Copy)]
pub(crate) struct Planner<'a> {
    pub device: &'a DeviceInfo,
    pub source: ChoiceSource<'a>,
    /// The tuning parameters that were set by hand.
    pub tuning: Tuning,
    pub layout: Layout,
    pub relaxed_math: bool,
    pub sums: SumOptions,
}

/// Local memory that is passed to a kernel as arguments, in bytes for each group; `None` if the kernel has no such argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct LocalMemory {
    pub stage: Option<usize>,
    pub shared_links: Option<usize>,
    pub accumulators: Option<usize>,
}

impl LocalMemory {
    pub(crate) fn bytes(self) -> usize {
        [self.stage, self.shared_links, self.accumulators].into_iter().flatten().sum()
    }
}

/// How a kernel will be built and launched.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub source: Source,
    /// The build options.
    pub options: String,
    pub geometry: LaunchGeometry,
    pub local: LocalMemory,
    /// The number of components of a launch. Further launches compute the others.
    pub parts_per_launch: usize,
    /// The dimension of a stencil's launch that counts outer sites.
    pub site_dimension: usize,
    /// For grid-stride launches, the number of groups, and the dimension of the launch over which they loop.
    pub stride: Option<(Staying, usize)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Staying {
    /// This number of groups on each compute unit; if `None`, as many as registers allow.
    OnUnit(Option<usize>),
    /// The number of groups for this number of outer sites.
    OverSites(usize),
}

impl Plan {
    /// The launch. In a grid-stride launch it has no more groups than can run at the same time. `log`: the compiler's report about the
    /// kernel.
    pub(crate) fn launched(&self, device: &DeviceInfo, log: &str, kernel: &str) -> LaunchGeometry {
        let mut geometry = self.geometry;
        let Some((stride, dimension)) = self.stride else { return geometry };
        let (global, local) = (geometry.global[dimension], geometry.local[dimension]);
        let of_unit = |per_unit: usize| {
            let most = (per_unit * device.compute_units as usize).max(1);
            let others = geometry.groups() / (global / local);
            (most / others).max(1) * local
        };
        let resident = || registers_in(log, kernel).map(|number| resident_groups(number, geometry.group_size()));
        let staying = match stride {
            Staying::OnUnit(groups) => groups.or_else(resident).map(of_unit),
            Staying::OverSites(osites) => Some(osites.next_multiple_of(local)),
        };
        geometry.global[dimension] = staying.map_or(global, |staying| staying.min(global));
        geometry
    }
}

/// The number of partitions of a compute unit of NVIDIA's GPUs. Each has its own registers and warps.
const PARTITIONS: usize = 4;
/// The number of registers of a partition since compute capability 5.0. The number for each work-item of a warp is a multiple of 8.
const REGISTERS: usize = 16384;
/// The maximum number of warps of a partition (the larger GPUs of each generation).
const MOST_WARPS: usize = 16;

/// The number of groups of `work_items` that fit a compute unit of an NVIDIA GPU, limited by registers; at least 1.
pub(crate) fn resident_groups(registers: usize, work_items: usize) -> usize {
    let warps = REGISTERS / (registers.next_multiple_of(8).max(8) * 32);
    (PARTITIONS * warps.min(MOST_WARPS) / work_items.div_ceil(32).max(1)).max(1)
}

/// The number of registers for each work-item of `kernel`, from the log of NVIDIA's compiler.
pub fn registers_in(log: &str, kernel: &str) -> Option<usize> {
    let of_kernel = log.split_once(&format!("'{kernel}'"))?.1;
    let number = of_kernel.split_once("Used ")?.1.split_whitespace().next()?;
    number.parse().ok()
}

/// Extents of the outer lattice, and of its blocks with the names `block`_X … `block`_T.
pub(crate) fn block_options(blocks: &BlockOrder, block: &str) -> String {
    let extents = blocks.outer().into_iter().zip(blocks.block());
    let options = ["X", "Y", "Z", "T"].into_iter().zip(extents);
    options.map(|(name, (outer, extent))| format!(" -DOUTER_{name}={outer} -D{block}_{name}={extent}")).collect()
}

/// The build option of a kernel that reads a field in another precision.
pub(crate) fn options_of_converted(shape: &Shape) -> String {
    let of = shape.kernel.options.iter().find_map(|option| match option {
        BuildOption::PrecisionOf(name) => shape.field(name),
        _ => None,
    });
    of.map_or(String::new(), |field| format!(" -DFROM={}", field.precision.bits()))
}

impl Planner<'_> {
    /// The tuning results for a call.
    pub(crate) fn tuned(&self, shape: &Shape) -> Tuning {
        let Some(key) = KernelKey::of(shape, self.layout, self.device) else { return Tuning::OPEN };
        match self.source {
            ChoiceSource::Device { choices, .. } => choices.of(self.device, &key),
            ChoiceSource::Tuned(tuned) => tuned.choice(self.device, &key),
        }
    }

    /// Whether the compiler preserves the arithmetic in vectors. If it cannot be tested, this is assumed only if vectors were set by hand.
    fn vectors_are_bitwise(&self) -> bool {
        match self.source {
            ChoiceSource::Device { context, vectors, .. } => vectors.of(context),
            ChoiceSource::Tuned(_) => self.tuning.lane_form == Some(LaneForm::Vectors),
        }
    }

    pub(crate) fn is_cpu(&self) -> bool {
        self.device.kind == DeviceKind::Cpu
    }

    /// The default number of outer sites of a group.
    pub(crate) fn threads(&self) -> AcceleratorThreads {
        self.tuning.accelerator_threads.unwrap_or_default()
    }

    /// The default division of groups over components.
    pub(crate) fn parts_shape(&self) -> PartsShape {
        // PoCL compiles a kernel again for each work-group size, which takes half a second to a second. Groups therefore have the same size
        // there for any number of components. Adjacent components would save 6 to 22% of the time of a hop on one parity
        // (docs/performance.md).
        let usual = self.is_cpu().then_some(1);
        PartsShape {
            parts: self.tuning.rhs_per_group.map(|count| count.get()).or(usual),
            at_once: self.tuning.rhs_per_work_item.map(|count| count.get()),
            ..PartsShape::default()
        }
    }

    pub(crate) fn over_parts(
        &self,
        nsimd: usize,
        parts_and_osites: (usize, usize),
        shape: PartsShape,
    ) -> LaunchGeometry {
        let most_osites = self.device.max_work_item_sizes[2];
        LaunchGeometry::over_parts(nsimd, parts_and_osites, shape, self.threads(), most_osites)
    }

    /// A launch with groups that the device supports, and the build option for groups that do not have all lanes. Sizes that were set by
    /// hand stay; if they do not fit, the launch is refused.
    /// fit then is refused by the launch.
    pub(crate) fn fitted(&self, geometry: LaunchGeometry, mapping: Mapping) -> (LaunchGeometry, &'static str) {
        let Tuning { accelerator_threads, work_items, rhs_per_group, .. } = self.tuning;
        let by_hand = accelerator_threads.is_some() || work_items.is_some() || rhs_per_group.is_some();
        let (order, lane) = match mapping {
            Mapping::LaneFast => ([2, 1, 0], 0),
            Mapping::SiteFast => ([0, 2, 1], 1),
        };
        let dimensions = if by_hand { &[lane][..] } else { &order[..] };
        let fitted = geometry.fitted(self.device.max_work_group_size, self.device.max_work_item_sizes, dimensions);
        (fitted, if fitted.local[lane] < geometry.local[lane] { " -DLANE_GROUPS" } else { "" })
    }

    /// The access width of a kernel. Kernels that treat a site as one object, whatever its components, may not find contiguous words.
    pub(crate) fn access(&self, shape: &Shape) -> AccessWidth {
        use crate::backend::specification::KernelArgument;
        let whole_sites = shape.kernel.arguments.iter().any(|argument| matches!(argument, KernelArgument::Words));
        let object = shape.target.object;
        match !whole_sites || object.parts() == 1 || self.layout.access.divides(object.part_words()) {
            true => self.layout.access,
            false => AccessWidth::Word,
        }
    }

    /// The source of a kernel whose work-items compute `at_once` components of a site.
    ///
    /// # Errors
    /// [`DeviceError::Body`] if a kernel function cannot be written as OpenCL C.
    pub(crate) fn source(&self, shape: &Shape, at_once: usize) -> Result<Source, DeviceError> {
        let kernel = shape.kernel;
        Ok(match kernel.source {
            KernelSource::Library => Source::of_library(kernel.file()).of_kernel(kernel.name),
            KernelSource::Files(files) => {
                let own = files.files().iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
                Source { file: kernel.file(), own: own.collect(), kernel: None }
            }
            KernelSource::Body(body) => {
                let program = body.program(kernel.name, shape.legs)?;
                let named = Named { name: kernel.name, computes: kernel.computes, body };
                // A CPU's compiler is slow, so one build serves any number of components there.
                let components = match shape.parts() == 1 && !self.is_cpu() && !kernel.sums() {
                    true => Components::Only,
                    false => Components::AtOnce(at_once),
                };
                // A text has only one kernel, however many its family has.
                Source::written(format!("{}.cl", kernel.name), kernel_text(named, &program, components)?)
            }
        })
    }

    /// The build options that all kernels have.
    pub(crate) fn common_options(&self, precision: Precision, nsimd: usize, access: AccessWidth) -> String {
        let takes_dot_products = self.device.compute_capability().is_some_and(|capability| capability >= 61);
        let dot_products = if precision == Precision::Half && takes_dot_products { " -DDOT_PRODUCTS" } else { "" };
        format!("-DPRECISION={} -DNSIMD={nsimd} -DACCESS_BYTES={}{dot_products}", precision.bits(), access.bytes())
    }

    /// The lanes of a work-item of a program for fields in this precision. `tuned`: the parameters that were looked up.
    pub(crate) fn work_item_lanes(&self, precision: Precision, nsimd: usize, tuned: Option<LaneForm>) -> WorkItemLanes {
        let device = self.device;
        let chosen = self.tuning.lane_form.or(tuned).unwrap_or(LaneForm::of_device(device));
        let possible = device.kind == DeviceKind::Cpu
            && !device.takes_one_lane()
            && precision != Precision::Half
            && (2..=MOST_LANES).contains(&nsimd)
            && self.layout.access.together(precision.bits(), nsimd) == 1;
        match chosen == LaneForm::Vectors && possible && self.vectors_are_bitwise() {
            true => WorkItemLanes::All,
            false => WorkItemLanes::One,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "ptxas info    : 0 bytes gmem\n\
        ptxas info    : Compiling entry function 'hop_dagger' for 'sm_90'\n\
        ptxas info    : Function properties for hop_dagger\n    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n\
        ptxas info    : Used 90 registers, 424 bytes cmem[0]\n\
        ptxas info    : Compiling entry function 'hop' for 'sm_90'\n\
        ptxas info    : Used 108 registers, 424 bytes cmem[0]\n";

    #[test]
    fn registers_are_those_of_the_kernel_asked_for() {
        assert_eq!(registers_in(LOG, "hop"), Some(108));
        assert_eq!(registers_in(LOG, "hop_dagger"), Some(90));
        assert_eq!(registers_in(LOG, "hop_many"), None);
    }

    #[test]
    fn resident_groups_are_those_that_ran_best_on_an_h200() {
        // (registers, work-items, groups): the fastest persistent launches there.
        for (registers, work_items, groups) in
            [(108, 128, 4), (85, 128, 5), (142, 128, 3), (142, 64, 6), (244, 256, 1), (108, 256, 2)]
        {
            assert_eq!(
                resident_groups(registers, work_items),
                groups,
                "{registers} registers, {work_items} work-items"
            );
        }
        assert_eq!(resident_groups(16, 1024), 2);
        assert_eq!(resident_groups(255, 1024), 1);
    }
}
