//! How a kernel is built and launched: the one place where its specification, what the user set, what was tuned and the defaults come together.
//! It needs no driver, so that kernels can be compiled for devices that are not there (`offline.rs`).

use std::fmt::Write as _;

use lanefield_reference::field::Spinors;
use lanefield_reference::kernels::reduce::Sum;
use lanefield_reference::layout::{AcceleratorThreads, Lattice, LaunchGeometry, PartsShape, Sites};
use lanefield_reference::real::Precision;

use super::build::{Build, registers_in, resident_groups};
use super::lanes::WorkItemLanes;
use super::link_sharing::shared_bytes;
use super::neighbours::Stage;
use super::sum_plan::{SumOf, SumOptions};
use super::tuned::KernelKey;
use super::{
    AccessWidth, Accumulators, DeviceError, DeviceInfo, DeviceKind, GridStride, GroupSize, LinkLoads, Mapping,
    Neighbours, OpenCl, SiteOrder, Source, Stores, Traversal, Tuned, Tuning,
};
use crate::backend::specification::{BuildOption, Geometry, KernelSource, Shape};
use crate::body::opencl::{Components, Named, kernel_text};

/// Cache of a GPU at least: some drivers tell another one's size (an H200 says 4 MiB, and has 50).
const GPU_CACHE_BYTES: u64 = 48 << 20;

/// The layout of fields in device memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Layout {
    /// Bytes of an access, which words that lie together fill.
    pub access: AccessWidth,
    /// The order of outer sites.
    pub site_order: SiteOrder,
}

/// Where choices are looked up that nobody made.
#[derive(Clone, Copy)]
pub(super) enum ChoiceSource<'a> {
    /// Where this backend does.
    Backend(&'a OpenCl),
    /// There.
    Tuned(&'a Tuned),
}

/// Plans kernels for a device.
#[derive(Clone, Copy)]
pub(super) struct Planner<'a> {
    pub device: &'a DeviceInfo,
    pub source: ChoiceSource<'a>,
    /// What was chosen by hand.
    pub tuning: Tuning,
    pub layout: Layout,
    pub relaxed_math: bool,
    pub sums: SumOptions,
}

/// Local memory that a kernel takes as arguments, in bytes of a group; `None` where the argument is not there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct LocalMemory {
    pub stage: Option<usize>,
    pub shared_links: Option<usize>,
    pub accumulators: Option<usize>,
}

impl LocalMemory {
    /// All of it.
    pub fn bytes(self) -> usize {
        [self.stage, self.shared_links, self.accumulators].into_iter().flatten().sum()
    }
}

/// A kernel as it will be built and launched.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub source: Source,
    /// The build options.
    pub options: String,
    pub geometry: LaunchGeometry,
    pub local: LocalMemory,
    /// Components of a launch; the others follow in launches of their own.
    pub parts_per_launch: usize,
    /// The dimension of a stencil's launch that counts outer sites.
    pub site_dimension: usize,
    /// How many groups stay, where they do, and the dimension of the launch that they stride over.
    stride: Option<(Staying, usize)>,
}

/// How many groups stay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Staying {
    /// So many on each compute unit, or as many as registers allow.
    OnUnit(Option<usize>),
    /// Those that take so many outer sites.
    OverSites(usize),
}

impl Plan {
    /// The launch, of no more groups than run at the same time where groups stay. `log`: what the compiler said of the kernel.
    pub fn launched(&self, device: &DeviceInfo, log: &str, kernel: &str) -> LaunchGeometry {
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

/// The build option of a kernel that reads a field in another precision.
pub(super) fn options_of_converted(shape: &Shape) -> String {
    let of = shape.kernel.options.iter().find_map(|option| match option {
        BuildOption::PrecisionOf(name) => shape.field(name),
        _ => None,
    });
    of.map_or(String::new(), |field| format!(" -DFROM={}", field.precision.bits()))
}

/// Groups of a launch that has no more than `items` work-items in a dimension.
fn groups_over(geometry: LaunchGeometry, dimension: usize, items: usize) -> usize {
    let local = geometry.local[dimension];
    let along = geometry.global[dimension] / local;
    geometry.groups() / along * items.div_ceil(local).min(along)
}

/// The same launch with dimension `order[k]` as dimension k.
fn in_dimensions(geometry: LaunchGeometry, order: [usize; 3]) -> LaunchGeometry {
    LaunchGeometry { global: order.map(|k| geometry.global[k]), local: order.map(|k| geometry.local[k]) }
}

/// Whether three time slices of `parts` spinors a site fit half of the device's cache: links and results pass through it, too.
pub fn slices_in_cache(
    device: &DeviceInfo,
    (lattice, sites): (&Lattice, Sites),
    parts: usize,
    precision: Precision,
) -> bool {
    let [.., slices] = lattice.outer_extents(sites);
    let slice = lattice.osites(sites) / slices * lattice.nsimd() * precision.device_bytes(Spinors::WORDS);
    2 * 3 * parts * slice <= device.global_cache_bytes.max(GPU_CACHE_BYTES) as usize
}

impl KernelKey {
    /// What names a call on fields of this layout to the tuner; `None` if nothing is tuned of its kernel.
    pub fn of(shape: &Shape, layout: Layout, device: &DeviceInfo) -> Option<Self> {
        let (lattice, precision, parts) = (shape.lattice(), shape.precision(), shape.parts());
        Some(Self {
            kernel: shape.kernel.tuned_as?,
            precision,
            links: shape.links().map(|links| links.format).unwrap_or_default(),
            parts,
            lanes: lattice.nsimd(),
            volume_class: lattice.extents().volume().ilog2(),
            access: layout.access,
            site_order: layout.site_order.as_tuned(),
            slices_in_cache: slices_in_cache(device, (lattice, shape.sites()), parts, precision),
        })
    }
}

impl Planner<'_> {
    /// What was tuned for a call.
    fn tuned(&self, shape: &Shape) -> Tuning {
        let Some(key) = KernelKey::of(shape, self.layout, self.device) else { return Tuning::OPEN };
        match self.source {
            ChoiceSource::Backend(backend) => backend.choice(&key),
            ChoiceSource::Tuned(tuned) => tuned.choice(self.device, &key),
        }
    }

    /// Whether the compiler keeps the arithmetic of vectors; of one that cannot be asked it is not assumed.
    pub fn vectors_are_bitwise(&self) -> bool {
        match self.source {
            ChoiceSource::Backend(backend) => backend.vectors_are_bitwise(),
            ChoiceSource::Tuned(_) => false,
        }
    }

    pub fn is_cpu(&self) -> bool {
        self.device.kind == DeviceKind::Cpu
    }

    /// Outer sites of a group, where nothing is tuned.
    pub fn threads(&self) -> AcceleratorThreads {
        self.tuning.accelerator_threads.unwrap_or_default()
    }

    /// How groups over components are cut, where nothing is tuned.
    fn parts_shape(&self) -> PartsShape {
        // PoCL compiles a kernel once more for every size of groups, in half a second to a second: so there they are as large whatever number of parts
        // there is. Parts side by side would save 6 to 22% of the time of a hop on one parity (docs/performance.md).
        let usual = self.is_cpu().then_some(1);
        PartsShape {
            parts: self.tuning.rhs_per_group.map(|count| count.get()).or(usual),
            at_once: self.tuning.rhs_per_work_item.map(|count| count.get()),
            ..PartsShape::default()
        }
    }

    fn over_parts(&self, nsimd: usize, parts_and_osites: (usize, usize), shape: PartsShape) -> LaunchGeometry {
        let most_osites = self.device.max_work_item_sizes[2];
        LaunchGeometry::over_parts(nsimd, parts_and_osites, shape, self.threads(), most_osites)
    }

    /// A launch in groups that the device takes, and the build option of one whose groups have not all lanes. Sizes that were chosen by hand stay: what does not
    /// fit then is refused by the launch.
    pub fn fitted(&self, geometry: LaunchGeometry, mapping: Mapping) -> (LaunchGeometry, &'static str) {
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

    /// The access width of a kernel: those that see a site as one object, whatever its components, may not find words together.
    pub fn access(&self, shape: &Shape) -> AccessWidth {
        use crate::backend::specification::Argument;
        let whole_sites = shape.kernel.arguments.iter().any(|argument| matches!(argument, Argument::Words));
        let object = shape.target.object;
        match !whole_sites || object.parts() == 1 || self.layout.access.divides(object.part_words()) {
            true => self.layout.access,
            false => AccessWidth::Word,
        }
    }

    /// The source of a kernel whose work-items take `at_once` components of a site.
    ///
    /// # Errors
    /// [`DeviceError::Body`] of a body that is none.
    pub fn source(&self, shape: &Shape, at_once: usize) -> Result<Source, DeviceError> {
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
                // A CPU's compiler takes long, and one build serves any number of components there.
                let components = match shape.parts() == 1 && !self.is_cpu() && !kernel.sums() {
                    true => Components::Only,
                    false => Components::AtOnce(at_once),
                };
                // A text has one kernel, whatever others are of its family.
                Source::written(format!("{}.cl", kernel.name), kernel_text(named, &program, components)?)
            }
        })
    }

    /// The build options that all kernels have.
    pub fn common_options(&self, precision: Precision, nsimd: usize, access: AccessWidth) -> String {
        let takes_dot_products = self.device.compute_capability().is_some_and(|capability| capability >= 61);
        let dot_products = if precision == Precision::Half && takes_dot_products { " -DDOT_PRODUCTS" } else { "" };
        format!("-DPRECISION={} -DNSIMD={nsimd} -DACCESS_BYTES={}{dot_products}", precision.bits(), access.bytes())
    }

    /// How a kernel is built and launched that does not sum.
    ///
    /// # Errors
    /// [`DeviceError`] for a way to take sums that the device has not.
    pub fn plan(&self, shape: &Shape) -> Result<Plan, DeviceError> {
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
                use lanefield_reference::kernels::domain_wall::Form;
                let lanes = self.work_item_lanes(precision, nsimd, None);
                let ls = shape.matrix.map_or(parts, |matrix| matrix.ls);
                let (results, of_item) = match shape.matrix.map(|matrix| matrix.form) {
                    Some(Form::Dense) => (parts, self.results_per_work_item(ls)),
                    Some(Form::Sweep) => (2 * parts / ls, 1),
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
                // A kernel that reads at neighbours may have no doubled links.
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

    /// Results of a dense matrix that one work-item takes: where nobody chose, up to four on GPUs, the fastest on an H200.
    fn results_per_work_item(&self, ls: usize) -> usize {
        match self.tuning.rhs_per_work_item {
            None if !self.is_cpu() => [4, 2, 3].into_iter().find(|&n| ls.is_multiple_of(n)).unwrap_or(1),
            _ => self.parts_shape().at_once(ls),
        }
    }

    /// A stencil: what the user set decides, each parameter for itself, then what was tuned.
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
        // Files are edited by people: what no group of the device holds is made smaller.
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

        // A place that was tuned for other groups may not hold these.
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
            && chosen.link_sharing.unwrap_or_default() == super::LinkSharing::Shared
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
        // A stencil takes no sums.
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
                // A slice of a small lattice would leave units without a group.
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
}
