//! The extents of a lattice, the coordinates of its sites, and their order. Sites are numbered with x fastest, then y, z, t:
//! this is *site order*, the order of files, golden data and random numbers. Lanes know nothing of it.

use std::fmt;
use std::str::FromStr;

use super::LayoutError;

/// Number of space-time dimensions: x, y, z, t.
pub const DIMENSIONS: usize = 4;

/// Names of the dimensions, in storage order.
pub const DIMENSION_NAMES: [&str; DIMENSIONS] = ["x", "y", "z", "t"];

/// The planes μ < ν in the order in which a field strength stores them: xy, xz, xt, yz, yt, zt.
pub const PLANES: [[usize; 2]; 6] = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]];

/// Coordinates of a site, in sites, `[x, y, z, t]`.
pub type Coordinate = [usize; DIMENSIONS];

/// Number of sites in each direction, `[x, y, z, t]`; each at least 1, their product at most 2³¹ − 1 (stencil tables
/// number sites with 31 bits).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Extents([usize; DIMENSIONS]);

impl Extents {
    /// Largest number of sites of a lattice.
    pub const MAX_VOLUME: usize = (1 << 31) - 1;

    /// Extents in sites, `[x, y, z, t]`.
    ///
    /// # Errors
    /// [`LayoutError::Extents`] if an extent is zero or the volume exceeds [`Self::MAX_VOLUME`].
    pub fn new(extents: [usize; DIMENSIONS]) -> Result<Self, LayoutError> {
        let volume = extents.iter().try_fold(1usize, |v, &l| v.checked_mul(l));
        match volume {
            Some(v) if v > 0 && v <= Self::MAX_VOLUME => Ok(Self(extents)),
            _ => Err(LayoutError::Extents { extents: extents.map(|l| l.to_string()).join(".") }),
        }
    }

    /// The extents as an array, `[x, y, z, t]`.
    pub fn as_array(&self) -> [usize; DIMENSIONS] {
        self.0
    }

    /// Number of sites.
    pub fn volume(&self) -> usize {
        self.0.iter().product()
    }

    /// Number of the site at `coordinate`, x fastest. Each coordinate must be less than its extent.
    #[inline]
    pub fn site(&self, coordinate: Coordinate) -> usize {
        let [lx, ly, lz, _] = self.0;
        let [x, y, z, t] = coordinate;
        x + lx * (y + ly * (z + lz * t))
    }

    /// Coordinates of the site numbered `site`; the inverse of [`Self::site`].
    #[inline]
    pub fn coordinate(&self, site: usize) -> Coordinate {
        let [lx, ly, lz, _] = self.0;
        [site % lx, site / lx % ly, site / (lx * ly) % lz, site / (lx * ly * lz)]
    }

    /// The neighbour of `coordinate`, one step along `leg`, on the torus.
    #[inline]
    pub fn neighbour(&self, coordinate: Coordinate, leg: super::Leg) -> Coordinate {
        let mut c = coordinate;
        let d = leg.dimension();
        let l = self.0[d];
        c[d] = if leg.is_forward() { (c[d] + 1) % l } else { (c[d] + l - 1) % l };
        c
    }
}

impl std::ops::Index<usize> for Extents {
    type Output = usize;
    fn index(&self, dimension: usize) -> &usize {
        &self.0[dimension]
    }
}

impl fmt::Display for Extents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z, t] = self.0;
        write!(f, "{x}.{y}.{z}.{t}")
    }
}

impl fmt::Debug for Extents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Extents({self})")
    }
}

impl FromStr for Extents {
    type Err = LayoutError;

    /// Reads `X.Y.Z.T`, for example `16.16.16.32`.
    fn from_str(text: &str) -> Result<Self, LayoutError> {
        let error = || LayoutError::Extents { extents: text.to_owned() };
        let parts: Vec<usize> = text.split('.').map(|p| p.parse().map_err(|_| error())).collect::<Result<_, _>>()?;
        Self::new(parts.try_into().map_err(|_| error())?)
    }
}
