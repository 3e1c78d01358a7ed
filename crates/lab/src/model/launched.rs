//! A launch with its layout: a kernel, its fields, and its groups of work-items, from the kernel's specification and from the layout, stencil
//! tables and launch geometry that kernels use. No device is needed. Counterparts: `src/backend/opencl/tuning/plan/stencil.rs`,
//! `cl/accelerator.clh`.

use lanefield::backend::opencl::{AccessWidth, GridStride, LinkLoads, Mapping, Traversal, Tuning};
use lanefield::kernel::{Geometry, KernelArgument, Shape};
use lanefield::reference::ensure;
use lanefield_reference::layout::{BlockOrder, LaunchGeometry, PartsShape, Stencil};

use super::described::is_described;
use super::error::ModelError;

/// A kernel with its tables and the shape of its launch.
#[derive(Clone, Debug)]
pub struct Launched {
    pub shape: Shape,
    pub access: AccessWidth,
    /// How the kernel is launched; values that are left open mean one outer site per work-item, without hints.
    pub tuning: Tuning,
    pub stencil: Option<Stencil>,
    pub at_once: usize,
    pub geometry: LaunchGeometry,
    pub mapping: Mapping,
    /// Whether loads of links and blocks bypass the nearest cache.
    pub links_past_l1: bool,
    /// Whether the launch is grid-stride.
    pub persistent: bool,
    blocks: Option<BlockOrder>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Item {
    pub lane: usize,
    pub osite: usize,
    /// The first of its components.
    pub part: usize,
}

impl Launched {
    /// Lays out and launches a kernel as the backend would on a device without a limit on the group size.
    pub fn new(shape: Shape, access: AccessWidth, tuning: Tuning) -> Result<Self, ModelError> {
        let kernel = shape.kernel;
        ensure!(is_described(kernel), ModelError::NotDescribed { kernel: kernel.name });
        let (lattice, parts) = (shape.lattice(), shape.parts());
        let is_stencil = kernel.arguments.iter().any(|argument| matches!(argument, KernelArgument::Stencil));
        let stencil = is_stencil.then(|| Stencil::new(*lattice, shape.sites())).transpose()?;
        let (nsimd, osites) = (lattice.nsimd(), shape.target.osites());
        let threads = tuning.accelerator_threads.unwrap_or_default();
        let mut at_once = 1;
        let geometry = match kernel.geometry {
            Geometry::Stencil { over_parts: true, .. } => {
                at_once = tuning.rhs_per_work_item_of(parts);
                let mut cut = PartsShape { at_once: Some(at_once), ..PartsShape::default() };
                if let (true, Some(work_items)) = (parts > 1, tuning.work_items) {
                    let per_group = tuning.rhs_per_group.map_or(1, |count| count.get());
                    let side_by_side = per_group.clamp(1, (parts / at_once).max(1));
                    cut.parts = Some(side_by_side);
                    cut.osites = Some((work_items.get() / (side_by_side * nsimd)).max(1));
                }
                LaunchGeometry::over_parts(nsimd, (parts, osites), cut, threads, usize::MAX)
            }
            Geometry::Stencil { .. } => LaunchGeometry::over_sites(nsimd, osites, threads),
            _ => LaunchGeometry::over_sites(nsimd, osites * parts, threads),
        };
        let blocks = match (tuning.traversal, &stencil) {
            (Some(Traversal::Blocks(wanted)), Some(_)) => {
                Some(BlockOrder::of_extents(lattice.outer_extents(shape.sites()), wanted))
            }
            _ => None,
        };
        Ok(Self {
            at_once,
            geometry,
            mapping: tuning.mapping.filter(|_| stencil.is_some()).unwrap_or_default(),
            links_past_l1: matches!(tuning.link_loads, Some(LinkLoads::PastL1 | LinkLoads::Kept)),
            persistent: matches!(tuning.grid_stride, Some(GridStride::On(_))),
            blocks: blocks.filter(|blocks| !blocks.is_lexicographic()),
            stencil,
            shape,
            access,
            tuning,
        })
    }

    /// Extents of a block of outer sites that is visited before the next; the whole lattice if launches follow the order of memory.
    pub fn block(&self) -> [usize; 4] {
        self.blocks.map_or_else(|| self.shape.lattice().outer_extents(self.shape.sites()), |blocks| blocks.block())
    }

    /// Whether a third dimension separates components from outer sites.
    fn over_parts(&self) -> bool {
        matches!(self.shape.kernel.geometry, Geometry::Stencil { over_parts: true, .. })
    }

    /// Work-items of a group over components, and over outer sites.
    fn group_extent(&self) -> (usize, usize) {
        let [_, first, second] = self.geometry.local;
        if self.over_parts() { (first, second) } else { (1, first) }
    }

    /// Groups over the components of a site, and over outer sites.
    pub fn groups(&self) -> (usize, usize) {
        let groups: [usize; 3] = std::array::from_fn(|d| self.geometry.global[d] / self.geometry.local[d]);
        if self.over_parts() { (groups[1], groups[2]) } else { (1, groups[1]) }
    }

    /// The work-items of the group with this number in the launch, components first, as dimensions are numbered. They are in the order in which
    /// hardware numbers them; `None` for work-items without work.
    pub fn items(&self, group: usize) -> Vec<Option<Item>> {
        let (of_parts, _) = self.groups();
        let nsimd = self.shape.lattice().nsimd();
        let (parts, sites) = self.group_extent();
        let elements = if self.stencil.is_some() { 1 } else { self.shape.parts() };
        let places = self.shape.target.osites() * elements;
        let part_items = if self.over_parts() { self.shape.parts() / self.at_once } else { 1 };
        let item = |lane: usize, part: usize, site: usize| {
            let (place, part) = (group / of_parts * sites + site, group % of_parts * parts + part);
            let inside = place < places && part < part_items;
            // Vector operations treat the components of a site as sites of their own.
            let (place, part) = if elements > 1 { (place / elements, place % elements) } else { (place, part) };
            let osite = self.blocks.map_or(place, |blocks| blocks.osite_at(place));
            inside.then_some(Item { lane, osite, part: part * self.at_once })
        };
        let all = 0..nsimd * parts * sites;
        match self.mapping {
            Mapping::LaneFast => all.map(|n| item(n % nsimd, n / nsimd % parts, n / nsimd / parts)).collect::<Vec<_>>(),
            Mapping::SiteFast => all.map(|n| item(n / sites % nsimd, n / sites / nsimd, n % sites)).collect(),
        }
    }

    /// The wavefronts of some groups, each with its work-items that have work; wavefronts without are left out.
    pub fn waves(&self, groups: impl IntoIterator<Item = usize>, wavefront: usize) -> Vec<Vec<Item>> {
        let mut waves: Vec<Vec<Item>> = Vec::new();
        for group in groups {
            let items = self.items(group);
            waves.extend(items.chunks(wavefront.max(1)).map(|wave| wave.iter().flatten().copied().collect()));
        }
        waves.retain(|wave| !wave.is_empty());
        waves
    }
}
