//! The choices by which stencil kernels are built and launched, beside the access width: none changes a bit of any result. Each has a default
//! that depends on the device and on the kernel (`defaults.toml`); each can be tuned, and set by hand. Counterparts: `cl/access.clh`, `cl/traversal.clh`,
//! `cl/accelerator.clh`.

use std::fmt;
use std::str::FromStr;

use lanefield_reference::layout::{BlockOrder, DIMENSIONS};
use serde::{Deserialize, Serialize};

use super::neighbours::Stage;
use super::{DeviceInfo, LaneForm, LinkSharing, Neighbours};

/// How links, and the blocks of a clover term, are loaded: each is read once by one work-item.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkLoads {
    /// As all else.
    Cached,
    /// Past the nearest cache, which then keeps neighbours' spinors, where the compiler has a way to say so (NVIDIA's PTX, and clang's
    /// non-temporal loads); else as all else.
    #[serde(rename = "past-l1")]
    PastL1,
}

/// How results are stored.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stores {
    /// As all else.
    Cached,
    /// As data that are not read again soon, where the compiler has a way to say so; else as all else.
    Streaming,
}

/// Which outer sites a work-group takes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Walk {
    /// Those of its place in the launch, and no others.
    EachGroupOnce,
    /// As many groups are launched as run at the same time, and each walks over the sites. The number of groups a compute unit holds; `None`: what
    /// its registers allow, where the driver tells how many the kernel takes (NVIDIA's), else as [`Self::EachGroupOnce`].
    Persistent(Option<usize>),
}

/// Which work-items of a group are neighbours.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mapping {
    /// Those of neighbouring lanes: launches over (lane, site) or (lane, part, site).
    #[default]
    LaneFast,
    /// Those of neighbouring outer sites, as in Grid's old mapping, to show what that costs: launches over (site, lane) or (site, lane, part).
    SiteFast,
}

impl Mapping {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::LaneFast, Self::SiteFast];
}

/// For which groups a kernel is built.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GroupSize {
    /// For all that the device takes.
    #[default]
    Any,
    /// For groups of the very size of its launch: the compiler knows how many registers it may give a work-item, and takes sizes as constants.
    Required,
}

impl GroupSize {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::Any, Self::Required];
}

/// In which order outer sites are launched.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Traversal {
    /// That of the memory.
    Memory,
    /// Block by block, each of so many outer sites in x, y, z and t (of one parity: half as many in x). Blocks that do not divide the lattice are
    /// made smaller until they do. Where the memory itself has subdomains, launches follow it, and this is not taken.
    Blocks([usize; DIMENSIONS]),
}

impl fmt::Display for Walk {
    /// `once`, `persistent`, or `persistent:GROUPS`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EachGroupOnce => f.write_str("once"),
            Self::Persistent(None) => f.write_str("persistent"),
            Self::Persistent(Some(groups)) => write!(f, "persistent:{groups}"),
        }
    }
}

impl FromStr for Walk {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let groups = |text: &str| text.parse().ok().filter(|&groups: &usize| groups > 0);
        match (text, text.strip_prefix("persistent:").and_then(groups)) {
            ("once", _) => Ok(Self::EachGroupOnce),
            ("persistent", _) => Ok(Self::Persistent(None)),
            (_, Some(groups)) => Ok(Self::Persistent(Some(groups))),
            _ => Err(format!("'{text}' is no walk: use once, persistent, or persistent:GROUPS with 1 group or more")),
        }
    }
}

/// What stands for a whole extent.
const ALL: &str = "all";

impl fmt::Display for Traversal {
    /// `memory`, or the extents of a block, as in `8.8.4.all`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let extent = |&extent: &usize| if extent == usize::MAX { ALL.to_owned() } else { extent.to_string() };
        match self {
            Self::Memory => f.write_str("memory"),
            Self::Blocks(block) => f.write_str(&block.iter().map(extent).collect::<Vec<_>>().join(".")),
        }
    }
}

impl FromStr for Traversal {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let extent = |text: &str| match text {
            ALL => Some(usize::MAX),
            _ => text.parse().ok().filter(|&extent: &usize| extent > 0),
        };
        let block: Option<Vec<usize>> = text.split('.').map(extent).collect();
        match (text, block.and_then(|block| block.try_into().ok())) {
            ("memory", _) => Ok(Self::Memory),
            (_, Some(block)) => Ok(Self::Blocks(block)),
            _ => {
                Err(format!("'{text}' is no traversal: use memory, or a block of outer sites X.Y.Z.T as in 8.8.4.all"))
            }
        }
    }
}

/// Files have these types as the text that [`fmt::Display`] writes.
macro_rules! as_text {
    ($($name:ty),+) => {$(
        impl From<$name> for String {
            fn from(value: $name) -> Self {
                value.to_string()
            }
        }
        impl TryFrom<String> for $name {
            type Error = String;
            fn try_from(text: String) -> Result<Self, String> {
                text.parse()
            }
        }
    )+};
}
as_text!(Walk, Traversal, super::AccessWidth, super::SiteOrder);

/// What is chosen by hand; `None`: what was tuned, else the default.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Tuning {
    /// How links are loaded.
    pub link_loads: Option<LinkLoads>,
    /// How results are stored.
    pub stores: Option<Stores>,
    /// Which outer sites a group takes.
    pub walk: Option<Walk>,
    /// In which order.
    pub traversal: Option<Traversal>,
    /// Which work-items are neighbours.
    pub mapping: Option<Mapping>,
    /// For which groups a kernel is built.
    pub group_size: Option<GroupSize>,
    /// Registers that the compiler may give a work-item, 0: as it likes. More work-items then fit a compute unit, and some of what they hold may
    /// go to memory. Where the compiler has no such option (all but NVIDIA's), nothing happens.
    pub most_registers: Option<u32>,
    /// Whether a work-item takes one lane or all.
    pub lane_form: Option<LaneForm>,
    /// Where a hop holds neighbours' spinors.
    pub neighbours: Option<Neighbours>,
    /// How the hop of several spinors a site loads links.
    pub link_sharing: Option<LinkSharing>,
}

/// The choices for one kernel, as it is built.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Build {
    pub link_loads: LinkLoads,
    pub stores: Stores,
    pub persistent: bool,
    /// 0: as the compiler likes.
    pub most_registers: u32,
    /// The order of a launch, where it is not that of the memory.
    pub blocks: Option<BlockOrder>,
    pub mapping: Mapping,
    /// The only size of groups.
    pub group: Option<[usize; 3]>,
    /// Where neighbours' spinors wait, if not in registers.
    pub stage: Option<Stage>,
    /// Bytes of the links that a group shares, 0 where it shares none.
    pub shared_links: usize,
    /// Whether arithmetic is relaxed: for a study alone, since its bits are not the reference's.
    pub relaxed: bool,
    /// Whether the compiler is to say what a kernel takes.
    pub verbose: bool,
}

impl Build {
    /// `outer`: extents of the outer lattice, where the memory has its order.
    pub fn new(
        (link_loads, stores, walk, traversal): (LinkLoads, Stores, Walk, Traversal),
        most_registers: u32,
        device: &DeviceInfo,
        outer: Option<[usize; DIMENSIONS]>,
    ) -> Self {
        let blocks = match (traversal, outer) {
            (Traversal::Blocks(wanted), Some(outer)) => Some(BlockOrder::of_extents(outer, wanted)),
            _ => None,
        };
        let blocks = blocks.filter(|blocks| !blocks.is_lexicographic());
        let persistent = matches!(walk, Walk::Persistent(_));
        let nvidia = device.takes_nvidia_options();
        let most_registers = if nvidia { most_registers } else { 0 };
        let (mapping, group, relaxed) = (Mapping::LaneFast, None, false);
        let (stage, shared_links) = (None, 0);
        let verbose = persistent && nvidia;
        Self {
            link_loads,
            stores,
            persistent,
            most_registers,
            blocks,
            mapping,
            group,
            stage,
            shared_links,
            relaxed,
            verbose,
        }
    }

    pub fn options(&self) -> String {
        let mut options = String::new();
        if self.link_loads == LinkLoads::PastL1 {
            options += " -DLINKS_PAST_L1";
        }
        if self.stores == Stores::Streaming {
            options += " -DSTREAMING_STORES";
        }
        if self.persistent {
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
        if self.most_registers > 0 {
            options += &format!(" -cl-nv-maxrregcount={}", self.most_registers);
        }
        if self.verbose {
            options += " -cl-nv-verbose";
        }
        options
    }
}

/// Extents of the outer lattice, and of its blocks under the names `block`_X … `block`_T.
pub(super) fn block_options(blocks: &BlockOrder, block: &str) -> String {
    let extents = blocks.outer().into_iter().zip(blocks.block());
    let options = ["X", "Y", "Z", "T"].into_iter().zip(extents);
    options.map(|(name, (outer, extent))| format!(" -DOUTER_{name}={outer} -D{block}_{name}={extent}")).collect()
}

/// Parts of a compute unit of NVIDIA's GPUs, each of which has registers and warps of its own.
const PARTITIONS: usize = 4;
/// Registers of a partition since compute capability 5.0; a warp of 32 work-items takes a multiple of 8 for each.
const REGISTERS: usize = 16384;
/// Warps that a partition holds at most (the larger GPUs of each generation).
const MOST_WARPS: usize = 16;

/// Groups of `work_items` that a compute unit of an NVIDIA GPU holds, as registers allow, at least 1.
pub(super) fn resident_groups(registers: usize, work_items: usize) -> usize {
    let warps = REGISTERS / (registers.next_multiple_of(8).max(8) * 32);
    (PARTITIONS * warps.min(MOST_WARPS) / work_items.div_ceil(32).max(1)).max(1)
}

/// Registers a work-item of `kernel`, as the log of NVIDIA's compiler tells them.
pub fn registers_in(log: &str, kernel: &str) -> Option<usize> {
    let of_kernel = log.split_once(&format!("'{kernel}'"))?.1;
    let number = of_kernel.split_once("Used ")?.1.split_whitespace().next()?;
    number.parse().ok()
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

    #[test]
    fn a_build_names_what_was_chosen_and_blocks_that_are_no_order_of_their_own_are_none() {
        let device = super::super::testing::device("NVIDIA H200");
        let build = |block, outer| {
            let choices = (LinkLoads::Cached, Stores::Cached, Walk::EachGroupOnce, Traversal::Blocks(block));
            Build::new(choices, 0, &device, outer)
        };
        let outer = Some([4, 8, 8, 8]);
        let of_one_size = Build { group: Some([8, 4, 1]), mapping: Mapping::SiteFast, ..build([8, 8, 8, 2], outer) };
        assert_eq!(of_one_size.options(), " -DSITE_FAST -DGROUP_X=8 -DGROUP_Y=4 -DGROUP_Z=1");
        let blocks = build([2, 2, 8, 8], outer).options();
        assert!(blocks.contains("-DOUTER_Z=8 -DTRAVERSAL_BLOCK_Z=8") && blocks.contains("-DTRAVERSAL_BLOCK_X=2"));
        // Where the memory has subdomains, launches follow it.
        assert_eq!(build([2, 2, 8, 8], None).options(), "");
    }

    #[test]
    fn choices_are_written_as_they_are_read() {
        for walk in [Walk::EachGroupOnce, Walk::Persistent(None), Walk::Persistent(Some(3))] {
            assert_eq!(walk.to_string().parse(), Ok(walk));
        }
        for traversal in [Traversal::Memory, Traversal::Blocks([8, 8, 4, usize::MAX])] {
            assert_eq!(traversal.to_string().parse(), Ok(traversal));
        }
        for text in ["persistent:0", "twice", ""] {
            assert!(text.parse::<Walk>().is_err_and(|error| error.contains(&format!("'{text}'"))), "{text}");
        }
        for text in ["8.8.4", "8.8.4.0", "8.8.4.all.1", ""] {
            assert!(text.parse::<Traversal>().is_err_and(|error| error.contains(&format!("'{text}'"))), "{text}");
        }
    }
}
