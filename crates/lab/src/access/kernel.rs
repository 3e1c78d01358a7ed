//! What is laid out and launched: a kernel, its fields, and its groups of work-items, from the layout, the stencil tables and the launch geometry
//! that the kernels use. No device is needed. Counterparts: `src/backend/opencl/plan.rs`, `cl/accelerator.clh`.

use std::fmt;
use std::str::FromStr;

use lanefield::backend::opencl::{
    AccessWidth, KernelChoice, KernelFamily, LinkLoads, Mapping, StoredPrecision, Traversal, Walk,
};
use lanefield_reference::layout::{
    AcceleratorThreads, BlockOrder, Lattice, LaunchGeometry, LayoutError, LegOrder, PartsShape, Sites, Stencil,
};
use lanefield_reference::links::LinkFormat;
use serde::Serialize;

/// A kernel whose accesses are known.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StencilKernel {
    /// The Wilson hop, of one or several spinors a site.
    Hop,
    /// The same of sixteen spinors a site where nothing else is said: a domain wall.
    DomainWall,
    /// EOClover.
    CloverEo,
    /// OEClover.
    CloverOe,
    /// The Laplacian's hop.
    Laplace,
    /// out ← a·x + y.
    Axpy,
    /// out ← x.
    Copy,
    /// |x|².
    Norm2,
}

impl StencilKernel {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Hop,
        Self::DomainWall,
        Self::CloverEo,
        Self::CloverOe,
        Self::Laplace,
        Self::Axpy,
        Self::Copy,
        Self::Norm2,
    ];

    /// What choices are looked up for it; none for vector operations.
    pub fn family(self) -> Option<KernelFamily> {
        match self {
            Self::Hop | Self::DomainWall => Some(KernelFamily::Hop),
            Self::CloverEo => Some(KernelFamily::CloverEo),
            Self::CloverOe => Some(KernelFamily::CloverOe),
            Self::Laplace => Some(KernelFamily::Laplace),
            Self::Axpy | Self::Copy | Self::Norm2 => None,
        }
    }

    /// Parts of a site where nobody says: 16 of a domain wall.
    pub fn usual_parts(self) -> usize {
        if self == Self::DomainWall { crate::kernels::LS } else { 1 }
    }
}

impl fmt::Display for StencilKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hop => "hop",
            Self::DomainWall => "domain-wall",
            Self::CloverEo => "clover-eo",
            Self::CloverOe => "clover-oe",
            Self::Laplace => "laplace",
            Self::Axpy => "axpy",
            Self::Copy => "copy",
            Self::Norm2 => "norm2",
        })
    }
}

impl FromStr for StencilKernel {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        // The names that `bench`, `doctor` and `occupancy` have are taken, too.
        let name = match text.to_ascii_lowercase().as_str() {
            "eoclover" | "eo_clover" => "clover-eo".to_owned(),
            "oeclover" | "oe_clover" => "clover-oe".to_owned(),
            "domain-wall-hop" | "domain_wall" => "domain-wall".to_owned(),
            "laplace_hop" => "laplace".to_owned(),
            other => other.to_owned(),
        };
        let known = Self::ALL.into_iter().find(|kernel| kernel.to_string() == name);
        known.ok_or_else(|| {
            let names = Self::ALL.map(|kernel| kernel.to_string()).join(", ");
            format!("'{text}' is no kernel whose accesses are known: use {names}")
        })
    }
}

/// What is to be laid out and launched.
#[derive(Clone, Copy, Debug)]
pub struct KernelSetup {
    /// The kernel.
    pub kernel: StencilKernel,
    /// How fields are stored.
    pub precision: StoredPrecision,
    /// How links are stored.
    pub links: LinkFormat,
    /// Spinors or colour vectors a site.
    pub parts: usize,
    /// The lattice in lanes.
    pub lattice: Lattice,
    /// The sites of the result.
    pub sites: Sites,
    /// Bytes of an access.
    pub access: AccessWidth,
    /// The order of the legs.
    pub legs: LegOrder,
    /// How the kernel is launched; what is left open is as for one outer site a work-item, without hints.
    pub choice: KernelChoice,
}

/// A kernel with its tables and the shape of its launch.
#[derive(Clone, Debug)]
pub struct Launched {
    /// What was asked for.
    pub setup: KernelSetup,
    /// Neighbours.
    pub stencil: Stencil,
    /// Parts that a work-item takes.
    pub at_once: usize,
    /// The launch with the lane in dimension 0.
    pub geometry: LaunchGeometry,
    /// Which work-items are neighbours.
    pub mapping: Mapping,
    /// Whether links and blocks are loaded past the nearest cache.
    pub links_past_l1: bool,
    /// Whether groups stay and walk over the sites.
    pub persistent: bool,
    blocks: Option<BlockOrder>,
}

/// A work-group's place in the launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Group {
    /// Its number over the parts of a site.
    pub parts: usize,
    /// Its number over outer sites.
    pub sites: usize,
}

/// A work-item's share of the work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Item {
    /// Its lane.
    pub lane: usize,
    /// Its outer site.
    pub osite: usize,
    /// The first of its parts.
    pub part: usize,
}

impl Launched {
    /// Lays out and launches a kernel, as the backend would on a device that takes groups of any size.
    ///
    /// # Errors
    /// [`LayoutError`] where the lattice has no such sites, or the number of threads is none.
    pub fn new(setup: KernelSetup) -> Result<Self, LayoutError> {
        let KernelSetup { lattice, sites, choice, parts, kernel, .. } = setup;
        let stencil = Stencil::new(lattice, sites)?;
        let (nsimd, osites) = (lattice.nsimd(), lattice.osites(sites));
        let at_once = if kernel.family().is_some() { choice.at_once_of(parts) } else { 1 };
        let threads = AcceleratorThreads::new(choice.accelerator_threads.unwrap_or(AcceleratorThreads::DEFAULT.get()))?;
        let geometry = match (kernel.family(), parts) {
            (None, _) => LaunchGeometry::over_sites(nsimd, osites * parts, threads),
            (Some(_), 1) => LaunchGeometry::over_sites(nsimd, osites, threads),
            _ => {
                let mut shape = PartsShape { at_once: Some(at_once), ..PartsShape::default() };
                if let Some(work_items) = choice.work_items {
                    let side_by_side = choice.parts.unwrap_or(1).clamp(1, (parts / at_once).max(1));
                    shape.parts = Some(side_by_side);
                    shape.osites = Some((work_items / (side_by_side * nsimd)).max(1));
                }
                LaunchGeometry::over_parts(nsimd, (parts, osites), shape, threads, usize::MAX)
            }
        };
        let blocks = match choice.traversal {
            Some(Traversal::Blocks(wanted)) if kernel.family().is_some() => {
                Some(BlockOrder::of_extents(lattice.outer_extents(sites), wanted))
            }
            _ => None,
        };
        Ok(Self {
            setup,
            stencil,
            at_once,
            geometry,
            mapping: choice.mapping.filter(|_| kernel.family().is_some()).unwrap_or_default(),
            links_past_l1: choice.link_loads == Some(LinkLoads::PastL1),
            persistent: matches!(choice.walk, Some(Walk::Persistent(_))),
            blocks: blocks.filter(|blocks| !blocks.is_lexicographic()),
        })
    }

    /// Extents of a block of outer sites that is visited before the next; the whole lattice where launches follow the memory.
    pub fn block(&self) -> [usize; 4] {
        self.blocks.map_or_else(|| self.setup.lattice.outer_extents(self.setup.sites), |blocks| blocks.block())
    }

    /// Whether a third dimension counts parts and outer sites apart.
    fn over_parts(&self) -> bool {
        self.setup.parts > 1 && self.setup.kernel.family().is_some()
    }

    /// Work-items of a group over parts, and over outer sites.
    fn group_extent(&self) -> (usize, usize) {
        let [_, first, second] = self.geometry.local;
        if self.over_parts() { (first, second) } else { (1, first) }
    }

    /// Groups over the parts of a site, and over outer sites.
    pub fn groups(&self) -> (usize, usize) {
        let groups: [usize; 3] = std::array::from_fn(|d| self.geometry.global[d] / self.geometry.local[d]);
        if self.over_parts() { (groups[1], groups[2]) } else { (1, groups[1]) }
    }

    /// A group by its number in the launch: parts first, as dimensions are numbered.
    pub fn group(&self, number: usize) -> Group {
        let (of_parts, _) = self.groups();
        Group { parts: number % of_parts, sites: number / of_parts }
    }

    /// The work-items of a group in the order in which hardware numbers them; `None` for those that have nothing to do.
    pub fn items(&self, group: Group) -> Vec<Option<Item>> {
        let nsimd = self.setup.lattice.nsimd();
        let (parts, sites) = self.group_extent();
        let elements = if self.setup.kernel.family().is_some() { 1 } else { self.setup.parts };
        let places = self.setup.lattice.osites(self.setup.sites) * elements;
        let part_items = if self.over_parts() { self.setup.parts / self.at_once } else { 1 };
        let item = |lane: usize, part: usize, site: usize| {
            let (place, part) = (group.sites * sites + site, group.parts * parts + part);
            let inside = place < places && part < part_items;
            // Vector operations see the parts of a site as sites of their own.
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
}
