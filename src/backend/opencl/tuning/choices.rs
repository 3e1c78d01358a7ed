//! The values of tuning parameters that have no file of their own. Counterparts: `cl/access.clh`, `cl/traversal.clh`, `cl/accelerator.clh`.

use std::fmt;
use std::str::FromStr;

use lanefield_reference::layout::DIMENSIONS;

/// How links, and the blocks of a clover term, are loaded. Each is read once by one work-item.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LinkLoads {
    /// Like all other data.
    Cached,
    /// Bypasses the nearest cache, which then has more room for neighbours' spinors, if the compiler can express that (NVIDIA's PTX, and
    /// clang's non-temporal loads). Otherwise as [`Self::Cached`].
    PastL1,
    /// As [`Self::PastL1`]; in addition, part of the links is requested to stay in the last cache until the next kernel reads them. It
    /// helps if the links are a few times as large as that cache. Only on NVIDIA's GPUs from compute capability 8.0 on; elsewhere as
    /// [`Self::PastL1`].
    Kept,
    /// As [`Self::Cached`]; in addition, the links of the next outer site of a work-group are prefetched into the last cache. Only in
    /// grid-stride kernels with several spinors at each site; in other kernels as [`Self::Cached`].
    Ahead,
}
lanefield_reference::named!(LinkLoads, "link loads": Cached = "cached", PastL1 = "past-l1", Kept = "kept", Ahead = "ahead");

/// How results are stored.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Stores {
    /// Like all other data.
    Cached,
    /// As data that are not read again soon, if the compiler can express that; otherwise as [`Self::Cached`].
    Streaming,
}
lanefield_reference::named!(Stores, "stores": Cached = "cached", Streaming = "streaming");

/// Whether launches are grid-stride.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum GridStride {
    /// Grid-stride off: each work-group computes the outer sites of its place in the launch, and ends.
    Off,
    /// The number of work-groups that can run at the same time is launched, and each loops over the outer sites. The parameter is the
    /// number of groups for each compute unit. If it is `None`, the registers of the kernel limit it, if the driver reports their number
    /// (NVIDIA's); otherwise as [`Self::Off`].
    On(Option<usize>),
    /// The number of work-groups that one time slice needs is launched, and each loops over time. Each group has thus recently read one of
    /// the neighbours in time. If a slice is not a whole number of groups, groups drift in space.
    Slice,
}

/// Which work-items of a work-group are neighbours.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Mapping {
    /// Those of neighbouring lanes: launches over (lane, outer site) or (lane, component, outer site).
    #[default]
    LaneFast,
    /// Those of neighbouring outer sites, as in Grid's old mapping, to show its cost: launches over (outer site, lane) or (outer site,
    /// lane, component).
    SiteFast,
}
lanefield_reference::named!(Mapping, "mapping": LaneFast = "lane-fast", SiteFast = "site-fast");

/// The work-group sizes for which a kernel is built.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum GroupSize {
    /// All sizes that the device supports.
    #[default]
    Any,
    /// Only the size of its launch. The compiler then knows how many registers a work-item may use, and sizes are constants.
    Required,
}
lanefield_reference::named!(GroupSize, "group size": Any = "any", Required = "required");

/// Where kernels that continue from a hop accumulate it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Accumulators {
    /// In registers.
    #[default]
    Registers,
    /// In local memory, 12 words for each work-item. This needs fewer registers, but fewer groups fit at a time.
    LocalMemory,
}
lanefield_reference::named!(Accumulators, "accumulators": Registers = "registers", LocalMemory = "local-memory");

/// The order in which outer sites are launched.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Traversal {
    /// The order in memory.
    Memory,
    /// Block by block. The parameters are the extents of a block in outer sites, in x, y, z and t (on one parity half as many in x).
    /// Extents that do not divide the lattice are reduced until they do. If the memory itself has subdomains, launches follow these, and
    /// blocks are ignored.
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

/// The text for a whole extent.
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
    /// The number; `None` if it is 0.
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
