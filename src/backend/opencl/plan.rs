//! How one stencil kernel is built and launched: the one place where what the user set, what was tuned and the defaults come together. What
//! the user set decides, each field for itself.

use lanefield_reference::field::Spinors;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::layout::{AcceleratorThreads, Lattice, LaunchGeometry, PartsShape, Sites};
use lanefield_reference::links::LinkFormat;
use lanefield_reference::real::Real as _;
use lanefield_reference::sixteen::Sixteen;

use super::choice::StoredPrecision;
use super::context::lock;
use super::lanes::WorkItemLanes;
use super::link_sharing::shared_bytes;
use super::neighbours::Stage;
use super::tuning::{Build, registers_in, resident_groups};
use super::{
    AccessWidth, Accumulators, DeviceInfo, GroupSize, KernelChoice, KernelFamily, KernelKey, LinkLoads, LinkSharing,
    Mapping, Neighbours, OpenCl, Planner, Program, SiteOrder, Stores, Traversal, Tuned, Tuning, Walk,
};

/// Cache of a GPU at least: some drivers tell another one's size (an H200 says 4 MiB, and has 50).
const GPU_CACHE_BYTES: u64 = 48 << 20;

/// A kernel's build and launch.
pub(super) struct Plan {
    /// Outer sites a group, of a kernel over sites.
    pub threads: AcceleratorThreads,
    pub walk: Walk,
    pub build: Build,
    pub lanes: WorkItemLanes,
    pub accumulators: Accumulators,
    /// Parts that a work-item takes.
    pub at_once: usize,
    /// Parts of a launch.
    pub a_launch: usize,
    /// The group of a kernel over parts.
    shape: PartsShape,
    group_size: GroupSize,
    /// Where neighbours' spinors shall wait, if not in registers.
    stage: Option<Stage>,
    /// Whether links shall be shared.
    shares_links: bool,
    /// Stored words that lie together.
    together: usize,
}

impl Plan {
    /// The build for launches in groups of this one's.
    pub fn build_for(&self, geometry: LaunchGeometry) -> Build {
        Build { group: (self.group_size == GroupSize::Required).then_some(geometry.local), ..self.build }
    }

    /// The build of a kernel that begins with a hop on fields of `R` with links in `format`, and goes on with `taken` bytes of local memory a
    /// group. What a group shares comes before what each work-item keeps there.
    pub fn hop_build<R: Vectors>(
        &self,
        geometry: LaunchGeometry,
        format: LinkFormat,
        taken: usize,
        device: &DeviceInfo,
    ) -> Build {
        let shared = self.shares_links.then(|| shared_bytes::<R>(geometry, self.build.mapping, format, self.together));
        let fits = |bytes: &usize| (taken + bytes) as u64 <= device.local_memory_bytes;
        let shared_links = shared.flatten().filter(fits).unwrap_or(0);
        let fitted = |stage: Stage| stage.fitted(geometry.group_size(), taken + shared_links, device);
        Build { stage: self.stage.and_then(fitted), shared_links, ..self.build_for(geometry) }
    }

    /// The launch over lanes and outer sites.
    pub fn over_sites(&self, nsimd: usize, osites: usize) -> LaunchGeometry {
        let lane_fast = LaunchGeometry::over_sites(self.lanes.launched(nsimd), osites, self.threads);
        match self.build.mapping {
            Mapping::LaneFast => lane_fast,
            Mapping::SiteFast => in_dimensions(lane_fast, [1, 0, 2]),
        }
    }
}

/// The same launch with dimension `order[k]` as dimension k.
fn in_dimensions(geometry: LaunchGeometry, order: [usize; 3]) -> LaunchGeometry {
    LaunchGeometry { global: order.map(|k| geometry.global[k]), local: order.map(|k| geometry.local[k]) }
}

/// Whether three time slices of `parts` spinors a site fit the device's cache.
pub fn slices_in_cache(
    device: &DeviceInfo,
    (lattice, sites): (&Lattice, Sites),
    parts: usize,
    precision: StoredPrecision,
) -> bool {
    let [.., slices] = lattice.outer_extents(sites);
    let spinor = match precision {
        StoredPrecision::Sixteen => Sixteen::device_bytes(Spinors::WORDS),
        StoredPrecision::F32 => f32::device_bytes(Spinors::WORDS),
        StoredPrecision::F64 => f64::device_bytes(Spinors::WORDS),
    };
    let a_slice = lattice.osites(sites) / slices * lattice.nsimd() * spinor;
    3 * parts * a_slice <= device.global_cache_bytes.max(GPU_CACHE_BYTES) as usize
}

impl OpenCl {
    /// The choices that are looked up for kernels.
    pub fn tuned(&self) -> &Tuned {
        &self.tuned
    }

    /// Looks choices up there from now on. Fields stay valid; no bit of any result changes.
    pub fn set_tuned(&mut self, tuned: Tuned) {
        self.tuned = tuned;
        lock(&self.looked_up).clear();
    }

    /// The access width where nobody chose: the tuned one, else that of the kind of device.
    pub fn default_access(&self) -> AccessWidth {
        self.tuned.access().unwrap_or_else(|| AccessWidth::of_device(self.context.info()))
    }

    /// The order of outer sites where nobody chose: the tuned one, else the host's.
    pub fn default_site_order(&self) -> SiteOrder {
        self.tuned.site_order().unwrap_or_default()
    }

    /// What names a kernel on fields of `R`, of `parts` spinors or colour vectors a site, to the tuner.
    pub fn kernel_key<R: Vectors>(
        &self,
        kernel: KernelFamily,
        fields: (&Lattice, Sites),
        links: LinkFormat,
        parts: usize,
    ) -> KernelKey {
        self.planner().kernel_key::<R>(kernel, fields, links, parts)
    }

    /// The choice for a kernel, looked up once.
    pub fn choice(&self, key: &KernelKey) -> KernelChoice {
        *lock(&self.looked_up).entry(*key).or_insert_with(|| self.tuned.choice(self.context.info(), key))
    }

    /// The launch of a kernel whose groups walk over the sites, dimension `dimension` where lanes are the first: no more of them than run at the
    /// same time.
    pub(super) fn walked(
        &self,
        mut geometry: LaunchGeometry,
        program: &Program,
        kernel: &str,
        (plan, dimension): (&Plan, usize),
    ) -> LaunchGeometry {
        if !plan.build.persistent {
            return geometry;
        }
        let dimension = if plan.build.mapping == Mapping::SiteFast { 0 } else { dimension };
        let chosen = match plan.walk {
            Walk::Persistent(Some(groups)) => Some(groups),
            _ => registers_in(program.log(), kernel).map(|number| resident_groups(number, geometry.group_size())),
        };
        if let Some(a_unit) = chosen {
            let most = (a_unit * self.context.info().compute_units as usize).max(1);
            let others = geometry.groups() / (geometry.global[dimension] / geometry.local[dimension]);
            let groups = (most / others).max(1) * geometry.local[dimension];
            geometry.global[dimension] = geometry.global[dimension].min(groups);
        }
        geometry
    }
}

impl Planner<'_> {
    /// What names a kernel on fields of `R`, of `parts` spinors or colour vectors a site, to the tuner.
    pub fn kernel_key<R: Vectors>(
        &self,
        kernel: KernelFamily,
        (lattice, sites): (&Lattice, Sites),
        links: LinkFormat,
        parts: usize,
    ) -> KernelKey {
        let precision = StoredPrecision::of::<R>();
        KernelKey {
            kernel,
            precision,
            links,
            parts,
            lanes: lattice.nsimd(),
            volume_class: lattice.extents().volume().ilog2(),
            access: self.access,
            site_order: self.site_order,
            slices_in_cache: slices_in_cache(self.device, (lattice, sites), parts, precision),
        }
    }

    /// How a kernel is built and launched.
    pub(super) fn plan<R: Vectors>(
        &self,
        kernel: KernelFamily,
        (lattice, sites): (&Lattice, Sites),
        links: LinkFormat,
        parts: usize,
    ) -> Plan {
        let choice = self.choice(&self.kernel_key::<R>(kernel, (lattice, sites), links, parts));
        let (device, nsimd) = (self.device, lattice.nsimd());
        let Tuning {
            link_loads,
            stores,
            walk,
            traversal,
            mapping,
            group_size,
            most_registers,
            lane_form: _,
            neighbours,
            link_sharing,
        } = self.tuning;
        let walk = walk.or(choice.walk).unwrap_or(Walk::EachGroupOnce);
        let choices = (
            link_loads.or(choice.link_loads).unwrap_or(LinkLoads::Cached),
            stores.or(choice.stores).unwrap_or(Stores::Cached),
            walk,
            traversal.or(choice.traversal).unwrap_or(Traversal::Memory),
        );
        let lanes = self.work_item_lanes::<R>(nsimd, choice.lane_form).with_steps(lattice);
        let launched_lanes = lanes.launched(nsimd);
        // Files are edited by people: what no group of the device holds is made smaller.
        let most = (device.max_work_group_size / launched_lanes).max(1);
        let tuned_threads =
            choice.accelerator_threads.and_then(|threads| AcceleratorThreads::new(threads.min(most)).ok());
        let asked_for = self.parts_shape;
        let at_once = match asked_for.at_once {
            Some(_) => asked_for.at_once(parts),
            None => choice.at_once_of(parts),
        };
        let divides = |number: &usize| *number > 0 && parts.is_multiple_of(*number) && number.is_multiple_of(at_once);
        let a_launch = asked_for.a_launch.or(choice.a_launch).filter(divides).unwrap_or(parts);
        let mut shape = PartsShape { at_once: Some(at_once), ..asked_for };
        if let (true, None, None, Some(work_items)) =
            (parts > 1, asked_for.parts, asked_for.osites, choice.work_items.map(|n| n.min(device.max_work_group_size)))
        {
            let side_by_side = choice.parts.unwrap_or(1).min(a_launch / at_once).min(most);
            shape.parts = Some(side_by_side);
            shape.osites = Some((work_items / (side_by_side * launched_lanes)).max(1));
        }
        let threads = tuned_threads.filter(|_| !self.threads_chosen).unwrap_or(self.threads);
        // A place that was chosen for other groups may not hold these.
        let group = nsimd * if parts > 1 { choice.work_items.unwrap_or(threads.get()) } else { threads.get() };
        let memory = group * Spinors::WORDS * at_once * 2 * size_of::<R>();
        let fits =
            |place: &Accumulators| *place == Accumulators::Registers || memory as u64 <= device.local_memory_bytes;
        let in_memory = self.site_order.on(lattice, sites).is_none().then(|| lattice.outer_extents(sites));
        let most_registers = most_registers.or(choice.most_registers).unwrap_or(0);
        let build = Build {
            mapping: mapping.or(choice.mapping).unwrap_or_default(),
            relaxed: self.relaxed_math,
            ..Build::new(choices, most_registers, device, in_memory)
        };
        let one_lane = lanes == WorkItemLanes::One;
        let in_local = one_lane && neighbours.or(choice.neighbours) == Some(Neighbours::LocalMemory);
        let sharing = link_sharing.or(choice.link_sharing).unwrap_or_default();
        let together = self.access.together(R::BITS as usize, nsimd);
        Plan {
            threads,
            walk,
            build,
            lanes,
            accumulators: self.accumulators.or(choice.accumulators.filter(fits)).unwrap_or_default(),
            at_once,
            a_launch,
            shape,
            group_size: group_size.or(choice.group_size).unwrap_or_default(),
            stage: in_local.then(|| Stage::new::<R>(device, together, at_once)),
            shares_links: one_lane && parts > 1 && sharing == LinkSharing::Shared,
            together,
        }
    }

    /// The launch of a planned kernel over lanes, parts and outer sites.
    pub(super) fn planned_geometry(
        &self,
        plan: &Plan,
        nsimd: usize,
        parts_and_osites: (usize, usize),
    ) -> LaunchGeometry {
        let over = |shape, most_osites| {
            LaunchGeometry::over_parts(plan.lanes.launched(nsimd), parts_and_osites, shape, plan.threads, most_osites)
        };
        let [of_first, _, of_last] = self.device.max_work_item_sizes;
        match plan.build.mapping {
            Mapping::LaneFast => over(plan.shape, of_last),
            Mapping::SiteFast => {
                let parts = plan.shape.parts.unwrap_or(plan.threads.get()).min(of_last);
                in_dimensions(over(PartsShape { parts: Some(parts), ..plan.shape }, of_first), [2, 0, 1])
            }
        }
    }
}
