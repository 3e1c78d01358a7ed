//! The lane layout: the division of a lattice into virtual nodes, one for each lane (Grid's simd_layout).

use std::cmp::Reverse;
use std::fmt;

use super::{Checkerboard, DIMENSION_NAMES, DIMENSIONS, Extents, LayoutError, Leg};

/// Number of virtual nodes in each dimension, `[x, y, z, t]`. All are powers of two, since the numbers of lanes are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct VirtualNodes([usize; DIMENSIONS]);

impl VirtualNodes {
    /// The default division of `extents` into `nsimd` virtual nodes: as even as possible, and in the later dimensions first. If no dimension needs
    /// more than two, this is Grid's `GridDefaultSimd` (a factor of two in t, then z, y, x).
    ///
    /// # Errors
    /// [`LayoutError::Split`] if there is none; it has the largest number of virtual nodes that fits.
    pub fn fit(extents: Extents, nsimd: usize, checkerboard: Checkerboard) -> Result<Self, LayoutError> {
        Self::find(extents, nsimd, checkerboard, Self::even_and_late).ok_or_else(|| {
            let most = std::iter::successors(Some(nsimd / 2), |n| Some(n / 2))
                .take_while(|&n| n > 0)
                .find_map(|n| Self::find(extents, n, checkerboard, Self::even_and_late).map(|nodes| (n, nodes)));
            LayoutError::Split {
                extents: extents.to_string(),
                nsimd,
                even: match checkerboard {
                    Checkerboard::FullOnly => "",
                    Checkerboard::RedBlack => " of even extents",
                },
                possible: match most {
                    Some((n, nodes)) => format!("{n} fit, as {nodes}; take narrower lanes or a larger lattice"),
                    None => "not even one fits; parities need even extents".to_owned(),
                },
            }
        })
    }

    /// As [`Self::fit`], with as few virtual nodes as possible in t, then in z; in y one, or two if rows have fewer than 32 sites
    /// (docs/performance.md). A row of outer sites along x is then short, and a work-group has several rows side by side, which share neighbours in
    /// y.
    pub(crate) fn fit_in_space(
        extents: Extents,
        nsimd: usize,
        checkerboard: Checkerboard,
    ) -> Result<Self, LayoutError> {
        let in_y = if extents[0] < 32 { 2 } else { 1 };
        let in_space = |[_, y, z, t]: [usize; DIMENSIONS]| (t, z, y.abs_diff(in_y));
        Self::find(extents, nsimd, checkerboard, in_space).map_or_else(|| Self::fit(extents, nsimd, checkerboard), Ok)
    }

    /// A measure of how uneven the numbers are: larger is less even.
    fn even(mut nodes: [usize; DIMENSIONS]) -> [usize; DIMENSIONS] {
        nodes.sort_unstable_by_key(|&n| Reverse(n));
        nodes
    }

    fn even_and_late([x, y, z, t]: [usize; DIMENSIONS]) -> impl Ord {
        (Self::even([x, y, z, t]), Reverse([t, z, y, x]))
    }

    /// The division that comes first in an order.
    fn find<O: Ord>(
        extents: Extents,
        nsimd: usize,
        checkerboard: Checkerboard,
        order: impl Fn([usize; DIMENSIONS]) -> O,
    ) -> Option<Self> {
        let powers = |most: usize| (0..=most.ilog2()).map(|k| 1usize << k);
        let cuts = powers(nsimd).flat_map(|x| {
            powers(nsimd / x).flat_map(move |y| powers(nsimd / x / y).map(move |z| Self([x, y, z, nsimd / x / y / z])))
        });
        cuts.filter(|nodes| nodes.check(extents, checkerboard).is_ok()).min_by_key(|nodes| order(nodes.0))
    }

    /// An explicit lane layout.
    ///
    /// # Errors
    /// [`LayoutError::Nodes`] if the product is not `nsimd`; [`LayoutError::Cut`] if an extent is not a multiple (for a red-black lattice: an even
    /// multiple).
    pub fn explicit(
        nodes: [usize; DIMENSIONS],
        extents: Extents,
        nsimd: usize,
        checkerboard: Checkerboard,
    ) -> Result<Self, LayoutError> {
        let product = nodes.iter().try_fold(1usize, |p, &n| p.checked_mul(n));
        if product != Some(nsimd) {
            return Err(LayoutError::Nodes { nodes: nodes.map(|n| n.to_string()).join("."), nsimd });
        }
        let nodes = Self(nodes);
        nodes.check(extents, checkerboard)?;
        Ok(nodes)
    }

    fn check(&self, extents: Extents, checkerboard: Checkerboard) -> Result<(), LayoutError> {
        let unit = match checkerboard {
            Checkerboard::FullOnly => 1,
            Checkerboard::RedBlack => 2,
        };
        for (dimension, &parts) in self.0.iter().enumerate() {
            let extent = extents[dimension];
            // Where ranks cut the lattice, a neighbour is in the same lane.
            if extents.is_cut(dimension) && parts > 1 {
                let possible = "possible is 1, since ranks cut the lattice there".to_owned();
                return Err(LayoutError::Cut { extent, dimension: DIMENSION_NAMES[dimension], parts, possible });
            }
            if !extent.is_multiple_of(parts * unit) {
                let possible: Vec<String> = (0..usize::BITS)
                    .map(|k| 1usize << k)
                    .take_while(|n| n * unit <= extent)
                    .filter(|n| extent.is_multiple_of(n * unit))
                    .map(|n| n.to_string())
                    .collect();
                return Err(LayoutError::Cut {
                    extent,
                    dimension: DIMENSION_NAMES[dimension],
                    parts,
                    possible: match (possible.is_empty(), checkerboard) {
                        (true, _) => "parities need an even extent".to_owned(),
                        (false, Checkerboard::FullOnly) => format!("possible are {}", possible.join(", ")),
                        (false, Checkerboard::RedBlack) => {
                            format!("possible are {} (each virtual node needs even extents)", possible.join(", "))
                        }
                    },
                });
            }
        }
        Ok(())
    }

    /// The lane of the virtual node that follows that of `lane` along `leg`, and whether the step crosses the boundary of the lattice.
    pub fn step(&self, lane: usize, leg: Leg) -> (usize, bool) {
        let (nodes, d) = (self.0, leg.dimension());
        let stride: usize = nodes[..d].iter().product();
        let here = lane / stride % nodes[d];
        let (there, crosses) = match leg.is_forward() {
            true => ((here + 1) % nodes[d], here + 1 == nodes[d]),
            false => ((here + nodes[d] - 1) % nodes[d], here == 0),
        };
        (lane - here * stride + there * stride, crosses)
    }

    /// The numbers of virtual nodes, `[x, y, z, t]`.
    pub fn as_array(&self) -> [usize; DIMENSIONS] {
        self.0
    }

    /// Number of virtual nodes: the number of lanes.
    pub fn count(&self) -> usize {
        self.0.iter().product()
    }
}

impl std::ops::Index<usize> for VirtualNodes {
    type Output = usize;
    fn index(&self, dimension: usize) -> &usize {
        &self.0[dimension]
    }
}

impl fmt::Display for VirtualNodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z, t] = self.0;
        write!(f, "{x}.{y}.{z}.{t}")
    }
}
