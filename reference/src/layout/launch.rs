//! The shape of a device launch over outer sites: Grid's LambdaApply. The lane is local dimension 0 (fast); `accelerator_threads`
//! outer sites are local dimension 1.

use std::fmt;
use std::str::FromStr;

use super::LayoutError;

/// Outer sites of a work-group (Grid's acceleratorThreads, which is set at run time).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AcceleratorThreads(usize);

impl AcceleratorThreads {
    /// The largest number. A device may support fewer.
    pub const MOST: usize = 1024;
    /// 8 outer sites for a work-group.
    pub const DEFAULT: Self = Self(8);

    /// A number of outer sites for a work-group.
    ///
    /// # Errors
    /// [`LayoutError::AcceleratorThreads`] for 0, and for more than [`Self::MOST`].
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

/// The shape of a work-group of a launch over components. It does not change a bit of any result.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct PartsShape {
    /// The number of work-items over the components of a site. The default is one for each component, limited by the accelerator threads.
    pub parts: Option<usize>,
    /// The number of outer sites. The default is the remaining accelerator threads.
    pub osites: Option<usize>,
    /// The number of components that one work-item computes (`rhs_per_work_item`), so that it reads what they share once. The default is chosen by
    /// the backend; it is 1 if this does not divide the number of components.
    pub at_once: Option<usize>,
    /// The number of components that one launch of the hop computes (`rhs_per_launch`). Further launches compute the others, so that repeatedly read
    /// data fits a cache. The default is chosen by the backend; it is all if this does not divide the number of components.
    pub a_launch: Option<usize>,
}

impl PartsShape {
    /// The number of components that one work-item computes, out of `parts`.
    pub fn at_once(&self, parts: usize) -> usize {
        self.at_once.filter(|&at_once| at_once > 0 && parts.is_multiple_of(at_once)).unwrap_or(1)
    }
}

/// Global and local work sizes of a launch. Dimension 0 is the lane. In a launch over sites, dimension 1 is the outer site. In a launch over
/// components, dimension 1 is the component, and dimension 2 the outer site.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LaunchGeometry {
    /// The number of work-items, rounded up to whole work-groups.
    pub global: [usize; 3],
    /// The number of work-items of a work-group.
    pub local: [usize; 3],
}

impl LaunchGeometry {
    /// One work-item for each lane of each of `osites` outer sites.
    pub fn over_sites(nsimd: usize, osites: usize, threads: AcceleratorThreads) -> Self {
        let threads = threads.get();
        Self { global: [nsimd, whole_groups(osites, threads), 1], local: [nsimd, threads, 1] }
    }

    /// One work-item for each lane, each group of components, and each of `osites` outer sites. `most_osites`: the maximum number of outer sites of
    /// a work-group on the device.
    pub fn over_parts(
        nsimd: usize,
        (parts, osites): (usize, usize),
        shape: PartsShape,
        threads: AcceleratorThreads,
        most_osites: usize,
    ) -> Self {
        let items = parts.div_ceil(shape.at_once(parts));
        let group_parts = shape.parts.unwrap_or(threads.get()).clamp(1, items.max(1));
        let group_osites = shape.osites.unwrap_or(threads.get() / group_parts).clamp(1, most_osites.max(1));
        Self {
            global: [nsimd, whole_groups(items, group_parts), whole_groups(osites, group_osites)],
            local: [nsimd, group_parts, group_osites],
        }
    }

    /// The same launch in work-groups that a device supports: at most `most` work-items, and at most `most_of` in each dimension. The sizes in
    /// `dimensions` are reduced to divisors, the first dimension first; the others do not change.
    #[must_use]
    pub fn fitted(mut self, most: usize, most_of: [usize; 3], dimensions: &[usize]) -> Self {
        for &dimension in dimensions {
            let local = self.local[dimension];
            let others = self.group_size() / local;
            // The dimensions that follow can give way as well.
            let most = (most / others).clamp(1, most_of[dimension].max(1));
            self.local[dimension] = (1..=local.min(most)).rev().find(|&size| local.is_multiple_of(size)).unwrap_or(1);
        }
        self
    }

    /// Number of work-groups.
    pub fn groups(&self) -> usize {
        self.global.iter().zip(self.local).map(|(global, local)| global / local).product()
    }

    /// The number of work-items of a work-group.
    pub fn group_size(&self) -> usize {
        self.local.iter().product()
    }
}

/// `items` rounded up to a multiple of `group`, at least one work-group.
fn whole_groups(items: usize, group: usize) -> usize {
    items.div_ceil(group).max(1) * group
}

/// The number of work-groups of a reduction over `elements`, at most `most`. Each work-group loops over stretches of `stretch` elements, in strides
/// of all work-groups. The numbers of stretches of work-groups differ by at most one.
pub fn reduction_groups(elements: usize, stretch: usize, most: usize) -> usize {
    let stretches = elements.div_ceil(stretch.max(1));
    let rounds = stretches.div_ceil(most.max(1)).max(1);
    stretches.div_ceil(rounds).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_that_a_device_does_not_take_become_smaller_from_the_first_dimension_named_on() {
        let geometry = LaunchGeometry { global: [8, 12, 64], local: [8, 4, 16] };
        let local = |most, most_of, dimensions: &[usize]| geometry.fitted(most, most_of, dimensions).local;
        assert_eq!(local(1024, [1024; 3], &[2, 1, 0]), [8, 4, 16]);
        assert_eq!(local(256, [1024; 3], &[2, 1, 0]), [8, 4, 8]);
        assert_eq!(local(16, [1024; 3], &[2, 1, 0]), [8, 2, 1]);
        assert_eq!(local(5, [1024; 3], &[2, 1, 0]), [4, 1, 1]);
        assert_eq!(local(1, [1; 3], &[2, 1, 0]), [1, 1, 1]);
        assert_eq!(local(1024, [1024, 1024, 4], &[2, 1, 0]), [8, 4, 4]);
        // Others stay, even where it does not fit then.
        assert_eq!(local(16, [1024; 3], &[0]), [1, 4, 16]);
    }
}
