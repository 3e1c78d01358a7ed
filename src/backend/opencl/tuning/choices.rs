//! The values of tuning parameters that have no file of their own. Counterparts: `cl/access.clh`, `cl/traversal.clh`, `cl/accelerator.clh`.

use std::fmt;
use std::str::FromStr;

use lanefield_reference::layout::DIMENSIONS;

/// How links, and the blocks of a clover term, are loaded: each is read once by one work-item.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LinkLoads {
    /// As all else.
    Cached,
    /// Past the nearest cache, which then keeps neighbours' spinors, where the compiler has a way to say so (NVIDIA's PTX, and clang's
    /// non-temporal loads); else as all else.
    PastL1,
    /// The same, and a part of them is asked to stay in the last cache until the next kernel reads them: for links a few times as large as that. On NVIDIA's
    /// GPUs from compute capability 8.0 on; elsewhere as [`Self::PastL1`].
    Kept,
    /// As all else, and those of the outer site that a work-group takes next are asked to come into the last cache, by kernels of several spinors a site whose
    /// groups stay; by other kernels as [`Self::Cached`].
    Ahead,
}
lanefield_reference::named!(LinkLoads, "link loads": Cached = "cached", PastL1 = "past-l1", Kept = "kept", Ahead = "ahead");

/// How results are stored.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Stores {
    /// As all else.
    Cached,
    /// As data that are not read again soon, where the compiler has a way to say so; else as all else.
    Streaming,
}
lanefield_reference::named!(Stores, "stores": Cached = "cached", Streaming = "streaming");

/// Whether work-groups stay and stride over the lattice.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum GridStride {
    /// Each group takes the outer sites of its place in the launch, and no others.
    Off,
    /// As many groups are launched as run at the same time, and each strides over the outer sites. The number of groups a compute unit holds;
    /// `None`: what its registers allow, where the driver tells how many the kernel takes (NVIDIA's), else as [`Self::Off`].
    On(Option<usize>),
    /// As many groups are launched as one slice in time takes, and each strides in time: of the neighbours in time, it has read one before. Of lattices whose
    /// slices are no whole number of groups, the groups stray in space.
    Slice,
}

/// Which work-items of a group are neighbours.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Mapping {
    /// Those of neighbouring lanes: launches over (lane, outer site) or (lane, component, outer site).
    #[default]
    LaneFast,
    /// Those of neighbouring outer sites, as in Grid's old mapping, to show what that costs: launches over (outer site, lane) or (outer site,
    /// lane, component).
    SiteFast,
}
lanefield_reference::named!(Mapping, "mapping": LaneFast = "lane-fast", SiteFast = "site-fast");

/// For which groups a kernel is built.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum GroupSize {
    /// For all that the device takes.
    #[default]
    Any,
    /// For groups of the very size of its launch: the compiler knows how many registers it may give a work-item, and takes sizes as constants.
    Required,
}
lanefield_reference::named!(GroupSize, "group size": Any = "any", Required = "required");

/// Where the kernels that go on from a hop add it up.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Accumulators {
    /// In registers.
    #[default]
    Registers,
    /// In local memory, 12 words a work-item: fewer registers, but fewer groups at a time.
    LocalMemory,
}
lanefield_reference::named!(Accumulators, "accumulators": Registers = "registers", LocalMemory = "local-memory");

/// In which order outer sites are launched.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Traversal {
    /// That of the memory.
    Memory,
    /// Block by block, each of so many outer sites in x, y, z and t (of one parity: half as many in x). Blocks that do not divide the lattice are
    /// made smaller until they do. Where the memory itself has subdomains, launches follow it, and this is not taken.
    Blocks([usize; DIMENSIONS]),
}

impl fmt::Display for GridStride {
    /// `off`, `on`, `on:GROUPS`, or `slice`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::On(None) => f.write_str("on"),
            Self::On(Some(groups)) => write!(f, "on:{groups}"),
            Self::Slice => f.write_str("slice"),
        }
    }
}

impl FromStr for GridStride {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let groups = |text: &str| text.parse().ok().filter(|&groups: &usize| groups > 0);
        match (text, text.strip_prefix("on:").and_then(groups)) {
            ("off", _) => Ok(Self::Off),
            ("on", _) => Ok(Self::On(None)),
            ("slice", _) => Ok(Self::Slice),
            (_, Some(groups)) => Ok(Self::On(Some(groups))),
            _ => {
                Err(format!("invalid grid stride '{text}': expected off, on, slice, or on:GROUPS with 1 group or more"))
            }
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
            _ => Err(format!(
                "invalid traversal '{text}': expected memory, or a block of outer sites X.Y.Z.T as in 8.8.4.all"
            )),
        }
    }
}

/// A number of at least 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Count(usize);

impl Count {
    /// A number; `None` for 0.
    pub const fn new(number: usize) -> Option<Self> {
        if number == 0 { None } else { Some(Self(number)) }
    }

    /// The number.
    pub const fn get(self) -> usize {
        self.0
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Count {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        text.parse().ok().and_then(Self::new).ok_or_else(|| format!("invalid number '{text}': expected at least 1"))
    }
}
