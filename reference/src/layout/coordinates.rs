//! The coordinates of sites as two small tables. A lane holds a box of sites, so a coordinate of a site is that of its outer site in the first lane
//! plus the origin of its own lane. Counterpart: `cl/body.clh`, which reads both tables.

use super::{DIMENSION_NAMES, DIMENSIONS, Lattice, LayoutError, Place, Sites};

/// The coordinates of the sites of a field on `sites`. For a local volume they are those in the whole lattice. The coordinates of the site at
/// (osite, lane) are `osites()[osite] + lanes()[lane]`, in each direction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SiteCoordinates {
    osites: Vec<[u16; DIMENSIONS]>,
    lanes: Vec<[u16; DIMENSIONS]>,
}

impl SiteCoordinates {
    /// The largest extent of a direction.
    pub const MOST: usize = 1 << 16;

    /// The coordinates of the sites of a field on `sites`.
    ///
    /// # Errors
    /// [`LayoutError::NotRedBlack`] if `sites` is one parity of a lattice without parities; [`LayoutError::Coordinates`] if an extent is greater
    /// than [`Self::MOST`].
    pub fn new(lattice: &Lattice, sites: Sites) -> Result<Self, LayoutError> {
        lattice.check(sites)?;
        let extents = lattice.extents();
        let (whole, origin) = (extents.global(), extents.origin());
        if let Some(d) = (0..DIMENSIONS).find(|&d| whole[d] > Self::MOST) {
            return Err(LayoutError::Coordinates { dimension: DIMENSION_NAMES[d], extent: whole[d], most: Self::MOST });
        }
        let at = |osite, lane| {
            let here = lattice.coordinate(sites, Place { osite, lane });
            std::array::from_fn::<usize, DIMENSIONS, _>(|d| here[d] + origin[d])
        };
        let row = lattice.outer_extents(sites)[0];
        // In a field of one parity x goes in steps of two.
        let step = if sites == Sites::Full { 1 } else { 2 };
        let mut osites = Vec::with_capacity(lattice.osites(sites));
        for first in (0..lattice.osites(sites)).step_by(row) {
            let [x, others @ ..] = at(first, 0);
            let [y, z, t] = others.map(|x| x as u16);
            osites.extend((0..row).map(|k| [(x + step * k) as u16, y, z, t]));
        }
        // All lanes have the parity of the first where there are parities, since virtual nodes have even extents.
        let origin = |lane| {
            let (first, here) = (at(0, 0), at(0, lane));
            std::array::from_fn(|d| (here[d] - first[d]) as u16)
        };
        Ok(Self { osites, lanes: (0..lattice.nsimd()).map(origin).collect() })
    }

    /// The table `[osite]`: the coordinates of the outer site's site in the first lane. A device that stores outer sites in another order stores
    /// this table in that order.
    pub fn osites(&self) -> &[[u16; DIMENSIONS]] {
        &self.osites
    }

    /// The table `[lane]`: the origins of lanes.
    pub fn lanes(&self) -> &[[u16; DIMENSIONS]] {
        &self.lanes
    }

    /// Packs two coordinates of each entry of a table into a number, the first in the low half: `first` is 0 for x and y, 2 for z and t.
    pub fn packed(table: &[[u16; DIMENSIONS]], first: usize) -> Vec<u32> {
        table.iter().map(|x| u32::from(x[first]) | u32::from(x[first + 1]) << 16).collect()
    }
}
