//! The shape of a device launch over outer sites: Grid's LambdaApply. The lane is local dimension 0 (fast); `accelerator_threads`
//! outer sites are local dimension 1.

use std::fmt;
use std::str::FromStr;

use super::LayoutError;

/// Outer sites a work-group (Grid's acceleratorThreads, set at run time).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AcceleratorThreads(usize);

impl AcceleratorThreads {
    /// The largest number accepted; a device may take fewer.
    pub const MOST: usize = 1024;
    /// 8 outer sites a group.
    pub const DEFAULT: Self = Self(8);

    /// A number of outer sites a group.
    ///
    /// # Errors
    /// [`LayoutError::AcceleratorThreads`] for 0 and for more than [`Self::MOST`].
    pub fn new(threads: usize) -> Result<Self, LayoutError> {
        match threads {
            1..=Self::MOST => Ok(Self(threads)),
            _ => Err(LayoutError::AcceleratorThreads { threads: threads.to_string(), most: Self::MOST }),
        }
    }

    /// The number.
    pub const fn get(self) -> usize {
        self.0
    }
}

impl Default for AcceleratorThreads {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl fmt::Display for AcceleratorThreads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for AcceleratorThreads {
    type Err = LayoutError;
    fn from_str(text: &str) -> Result<Self, LayoutError> {
        let error = || LayoutError::AcceleratorThreads { threads: text.to_owned(), most: Self::MOST };
        Self::new(text.parse().map_err(|_| error())?).map_err(|_| error())
    }
}

/// Global and local work sizes of a launch: dimension 0 is the lane, dimension 1 the outer site.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LaunchGeometry {
    /// Work-items in all, `[nsimd, outer sites rounded up to whole groups]`.
    pub global: [usize; 2],
    /// Work-items a group, `[nsimd, threads]`.
    pub local: [usize; 2],
}

impl LaunchGeometry {
    /// One work-item for each lane of each of `osites` outer sites.
    pub fn over_sites(nsimd: usize, osites: usize, threads: AcceleratorThreads) -> Self {
        let groups = osites.div_ceil(threads.get()).max(1);
        Self { global: [nsimd, groups * threads.get()], local: [nsimd, threads.get()] }
    }

    /// Number of work-groups.
    pub fn groups(&self) -> usize {
        self.global[1] / self.local[1]
    }

    /// Work-items a group.
    pub fn group_size(&self) -> usize {
        self.local[0] * self.local[1]
    }
}

/// Work-groups of a reduction over `elements`, at most `most`. A group of `group` work-items walks over stretches of twice its size, in strides
/// of all groups; each takes as many stretches as any other, or one less.
pub fn reduction_groups(elements: usize, group: usize, most: usize) -> usize {
    let stretches = elements.div_ceil(2 * group.max(1));
    let rounds = stretches.div_ceil(most.max(1)).max(1);
    stretches.div_ceil(rounds).max(1)
}
