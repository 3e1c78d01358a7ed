//! The extents of a lattice, the coordinates of its sites, and their order. Sites are numbered with x fastest, then y, z, t: this is *site order*,
//! the order of files, golden data and random numbers. It does not depend on lanes.

use std::fmt;
use std::hash::{Hash, Hasher};
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

/// Number of sites in each direction, `[x, y, z, t]`. Each is at least 1, and their product is at most 2³¹ − 1, because stencil tables number sites
/// with 31 bits.
///
/// If ranks divide the lattice, these are the extents of one local volume, together with its origin and the extents of the whole lattice.
/// Coordinates and numbers of sites then count from the origin, unless a name contains `global`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Extents {
    here: [usize; DIMENSIONS],
    /// The origin of a local volume, and the extents of the whole lattice.
    origin: [usize; DIMENSIONS],
    global: [usize; DIMENSIONS],
}

// Calls of kernels are looked up by the lattices of their fields: what tells whole ones apart is short.
impl Hash for Extents {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.here.hash(state);
        if self.is_part() {
            (self.origin, self.global).hash(state);
        }
    }
}

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
            Some(v) if v > 0 && v <= Self::MAX_VOLUME => {
                Ok(Self { here: extents, origin: [0; DIMENSIONS], global: extents })
            }
            _ => Err(LayoutError::Extents { extents: extents.map(|l| l.to_string()).join(".") }),
        }
    }

    /// The local volume of these extents with this `origin` and these `extents`.
    ///
    /// # Errors
    /// [`LayoutError::Part`] if it begins at an odd coordinate, where parities would be swapped, or is not within the whole lattice;
    /// [`LayoutError::Extents`] as in [`Self::new`].
    pub fn part(&self, origin: Coordinate, extents: [usize; DIMENSIONS]) -> Result<Self, LayoutError> {
        let Self { here, .. } = Self::new(extents)?;
        let (whole, shown) = (self.as_array(), |x: [usize; DIMENSIONS]| x.map(|x| x.to_string()).join("."));
        let fits = (0..DIMENSIONS).all(|d| origin[d] + extents[d] <= whole[d] && origin[d].is_multiple_of(2));
        match fits && !self.is_part() {
            true => Ok(Self { here, origin, global: self.here }),
            false => Err(LayoutError::Part { extents: shown(extents), origin: shown(origin), whole: self.to_string() }),
        }
    }

    /// The extents of the whole lattice.
    pub fn global(&self) -> Self {
        Self { here: self.global, origin: [0; DIMENSIONS], global: self.global }
    }

    /// The origin of the local volume in the whole lattice.
    pub fn origin(&self) -> Coordinate {
        self.origin
    }

    /// Whether this is a local volume rather than a whole lattice.
    pub fn is_part(&self) -> bool {
        self.here != self.global
    }

    /// Whether ranks divide the lattice in a direction, so that neighbours may belong to other ranks.
    #[inline]
    pub fn is_cut(&self, dimension: usize) -> bool {
        self.here[dimension] != self.global[dimension]
    }

    /// The directions in which ranks divide the lattice.
    pub fn cut_dimensions(&self) -> impl Iterator<Item = usize> + use<> {
        let cut: [bool; DIMENSIONS] = std::array::from_fn(|d| self.is_cut(d));
        (0..DIMENSIONS).filter(move |&d| cut[d])
    }

    /// The coordinates in the whole lattice, a torus, of a site that may be outside the local volume.
    pub fn in_whole(&self, x: [isize; DIMENSIONS]) -> Coordinate {
        std::array::from_fn(|d| (self.origin[d] as isize + x[d]).rem_euclid(self.global[d] as isize) as usize)
    }

    /// The coordinates here of a site of the whole lattice; `None` if it is in another local volume.
    pub fn here(&self, x: Coordinate) -> Option<Coordinate> {
        let inside = (0..DIMENSIONS).all(|d| (self.origin[d]..self.origin[d] + self.here[d]).contains(&x[d]));
        inside.then(|| std::array::from_fn(|d| x[d] - self.origin[d]))
    }

    /// The number in the whole lattice of site number `site` of this local volume.
    #[inline]
    pub fn global_site(&self, site: usize) -> u64 {
        if !self.is_part() {
            return site as u64;
        }
        let here = self.coordinate(site);
        let [x, y, z, t]: [u64; DIMENSIONS] = std::array::from_fn(|d| (here[d] + self.origin[d]) as u64);
        let [lx, ly, lz, _] = self.global.map(|extent| extent as u64);
        x + lx * (y + ly * (z + lz * t))
    }

    /// The extents as an array, `[x, y, z, t]`.
    pub fn as_array(&self) -> [usize; DIMENSIONS] {
        self.here
    }

    /// Number of sites.
    pub fn volume(&self) -> usize {
        self.here.iter().product()
    }

    /// Number of sites of the whole lattice.
    pub fn global_volume(&self) -> u64 {
        self.global.iter().map(|&extent| extent as u64).product()
    }

    /// Number of the site at `coordinate`, x fastest. Each coordinate must be less than its extent.
    #[inline]
    pub fn site(&self, coordinate: Coordinate) -> usize {
        let [lx, ly, lz, _] = self.here;
        let [x, y, z, t] = coordinate;
        x + lx * (y + ly * (z + lz * t))
    }

    /// Coordinates of site number `site`; the inverse of [`Self::site`].
    #[inline]
    pub fn coordinate(&self, site: usize) -> Coordinate {
        let [lx, ly, lz, _] = self.here;
        [site % lx, site / lx % ly, site / (lx * ly) % lz, site / (lx * ly * lz)]
    }
}

impl std::ops::Index<usize> for Extents {
    type Output = usize;
    fn index(&self, dimension: usize) -> &usize {
        &self.here[dimension]
    }
}

impl fmt::Display for Extents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |[x, y, z, t]: [usize; DIMENSIONS]| format!("{x}.{y}.{z}.{t}");
        f.write_str(&shown(self.here))?;
        if self.is_part() { write!(f, " of {} from {} on", shown(self.global), shown(self.origin)) } else { Ok(()) }
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
