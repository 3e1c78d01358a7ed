//! The phases of staggered fermions as two tables of signs. A lane holds a box of sites, so a coordinate of a site is that of its outer site in
//! the first lane plus the origin of its own lane; a phase is (−1) to a sum of coordinates, so it is the product of a sign of the outer site and
//! a sign of the lane. Counterpart: `cl/staggered.cl`, which reads both tables.

use super::{Coordinate, DIMENSIONS, Lattice, LayoutError, Place, Sites};

/// The signs η_μ(x) of the sites of a field on `sites`: η_x = 1, η_y = (−1)^x, η_z = (−1)^(x+y), η_t = (−1)^(x+y+z) (Kogut and Susskind, Phys.
/// Rev. D 11, 395 (1975), in the form of Kawamoto and Smit, Nucl. Phys. B 192, 100 (1981)).
///
/// An entry of a table has bit μ set for a sign −1 in direction μ. The phases of the site at (osite, lane) are `osites()[osite] ^ lanes()[lane]`.
/// Coordinates are those of the lattice, whatever its extents: on an odd extent the signs are not periodic.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StaggeredPhases {
    lattice: Lattice,
    sites: Sites,
    osites: Vec<u32>,
    lanes: Vec<u32>,
}

impl StaggeredPhases {
    /// The phases of the sites of a field on `sites`.
    ///
    /// # Errors
    /// [`LayoutError::NotRedBlack`] if `sites` is one parity of a lattice without parities.
    pub fn new(lattice: &Lattice, sites: Sites) -> Result<Self, LayoutError> {
        lattice.check(sites)?;
        // In a field of one parity x follows from the other coordinates: `Lattice::coordinate` says how. There all lanes have the signs of the
        // first, since virtual nodes have even extents.
        let negative = |osite, lane| Self::of_coordinate(lattice.coordinate(sites, Place { osite, lane }));
        let osites = (0..lattice.osites(sites)).map(|osite| negative(osite, 0)).collect();
        let lanes = (0..lattice.nsimd()).map(|lane| negative(0, lane) ^ negative(0, 0)).collect();
        Ok(Self { lattice: *lattice, sites, osites, lanes })
    }

    /// Bit μ set where η_μ of the site at `coordinate` is −1.
    pub fn of_coordinate(coordinate: Coordinate) -> u32 {
        let sum_before = |mu: usize| coordinate[..mu].iter().sum::<usize>();
        (0..DIMENSIONS).map(|mu| ((sum_before(mu) % 2) as u32) << mu).sum()
    }

    /// The lattice.
    pub fn lattice(&self) -> &Lattice {
        &self.lattice
    }

    /// The sites whose phases these are.
    pub fn sites(&self) -> Sites {
        self.sites
    }

    /// The table `[osite]`: the phases of the outer site's site in lane 0. A device that stores outer sites in another order stores this table in the
    /// same order.
    pub fn osites(&self) -> &[u32] {
        &self.osites
    }

    /// The table `[lane]`: by which signs a lane's phases differ from those of lane 0, at every outer site. All 0 where virtual nodes have even
    /// extents.
    pub fn lanes(&self) -> &[u32] {
        &self.lanes
    }

    /// In words, for error messages.
    pub fn describe(&self) -> String {
        let Self { lattice, sites, .. } = self;
        let (extents, width, nodes) = (lattice.extents(), lattice.width(), lattice.nodes());
        format!("staggered phases on {extents}, {sites} sites, {width}-byte lanes cut {nodes}")
    }

    /// Bit μ set where η_μ of the site at `place` is −1.
    #[inline]
    pub fn at(&self, place: Place) -> u32 {
        self.osites[place.osite] ^ self.lanes[place.lane]
    }
}
