//! The slices of a lattice across one direction, as kernels loop over them: the outer sites and the lanes of each slice.
//!
//! The sites of an outer site's lanes are whole virtual nodes apart. So in the slice direction they are at coordinates c, c + C, c + 2C, …, where C
//! is the extent of a virtual node. Outer sites with the same c form class c. Lanes with the same number of virtual nodes before them form a lane
//! group. Slice c + C·g is class c in the lanes of group g.

use super::{Direction, Lattice, LayoutError, Place, Sites};

/// The slices of the sites of a lattice across a direction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Slices {
    extent: usize,
    classes: usize,
    osites: Vec<u32>,
    lanes: Vec<u32>,
}

impl Slices {
    /// The slices of `sites` across `direction`.
    ///
    /// # Errors
    /// [`LayoutError::NotRedBlack`] if `sites` is one parity and the lattice does not have parities.
    pub fn new(lattice: &Lattice, sites: Sites, direction: Direction) -> Result<Self, LayoutError> {
        lattice.check(sites)?;
        let d = direction.index();
        let extent = lattice.extents()[d];
        let classes = extent / lattice.nodes()[d];
        let coordinate = |osite, lane| lattice.coordinate(sites, Place { osite, lane })[d];
        let mut of_class = vec![Vec::with_capacity(lattice.osites(sites) / classes); classes];
        for osite in 0..lattice.osites(sites) {
            of_class[coordinate(osite, 0)].push(osite as u32);
        }
        let osites = of_class.concat();
        let mut lanes: Vec<u32> = (0..lattice.nsimd() as u32).collect();
        lanes.sort_by_key(|&lane| coordinate(0, lane as usize));
        Ok(Self { extent, classes, osites, lanes })
    }

    /// Number of slices: the extent in their direction.
    pub fn count(&self) -> usize {
        self.extent
    }

    /// Number of classes of outer sites; slice s is class s mod classes.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// The outer sites of a class, in ascending order. All classes have the same number of them.
    pub(crate) fn osites_of(&self, class: usize) -> &[u32] {
        let a_class = self.osites_a_class();
        &self.osites[class * a_class..][..a_class]
    }

    /// The outer sites, class by class.
    pub fn osites(&self) -> &[u32] {
        &self.osites
    }

    /// The outer sites and the lanes of a slice, each ascending.
    pub fn slice(&self, slice: usize) -> (&[u32], &[u32]) {
        let a_group = self.lanes_a_group();
        (self.osites_of(slice % self.classes), &self.lanes[slice / self.classes * a_group..][..a_group])
    }

    /// The number of outer sites of a class.
    pub fn osites_a_class(&self) -> usize {
        self.osites.len() / self.classes
    }

    /// The lanes, group by group, in ascending order within each. Slice s has those of group s / classes.
    pub fn lanes(&self) -> &[u32] {
        &self.lanes
    }

    /// The number of lanes of a group, a power of two.
    pub fn lanes_a_group(&self) -> usize {
        self.lanes.len() * self.classes / self.extent
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Checkerboard, Extents, LaneChoice, LatticeOptions, Parity, Scalar};
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes")]
    fn every_site_is_in_the_slice_of_its_coordinate_once_in_memory_order() {
        let cases = [
            ([6, 4, 4, 8], "64", None, Checkerboard::RedBlack),
            ([8, 4, 2, 8], "128", Some([4, 1, 1, 4]), Checkerboard::RedBlack),
            ([8, 8, 4, 4], "64", Some([2, 2, 2, 1]), Checkerboard::RedBlack),
            ([3, 5, 2, 7], "8", None, Checkerboard::FullOnly),
        ];
        for (extents, lanes, nodes, checkerboard) in cases {
            let options = LatticeOptions { lanes: lanes.parse::<LaneChoice>().unwrap(), nodes, checkerboard };
            let lattice = Lattice::new(Extents::new(extents).unwrap(), Scalar::ComplexF, options).unwrap();
            let parities = [Sites::Full, Sites::Parity(Parity::Even), Sites::Parity(Parity::Odd)];
            let sets = if checkerboard == Checkerboard::FullOnly { &parities[..1] } else { &parities[..] };
            for &sites in sets {
                for direction in Direction::ALL {
                    let slices = Slices::new(&lattice, sites, direction).unwrap();
                    let mut seen = 0;
                    for slice in 0..slices.count() {
                        let (osites, lanes) = slices.slice(slice);
                        assert!(osites.is_sorted() && lanes.is_sorted());
                        for &osite in osites {
                            for &lane in lanes {
                                let place = Place { osite: osite as usize, lane: lane as usize };
                                assert_eq!(lattice.coordinate(sites, place)[direction.index()], slice);
                                seen += 1;
                            }
                        }
                    }
                    assert_eq!(seen, lattice.osites(sites) * lattice.nsimd(), "{extents:?} {sites} {direction}");
                }
            }
        }
    }
}
