//! The sites of one parity in a field on the full lattice.

use super::{Lattice, LayoutError, Parity, Place, Sites};

/// For each outer site of a field of `parity`, the outer site of a field on all sites that holds the same sites, in the same lanes. It exists
/// because virtual nodes have even extents: a node of the half lattice is half of a node of the full one.
///
/// # Errors
/// [`LayoutError::NotRedBlack`] if the lattice has no parities.
pub fn osites_in_full(lattice: &Lattice, parity: Parity) -> Result<Vec<u32>, LayoutError> {
    let sites = Sites::Parity(parity);
    lattice.check(sites)?;
    let full = |osite| lattice.place(Sites::Full, lattice.coordinate(sites, Place { osite, lane: 0 })).osite as u32;
    Ok((0..lattice.osites(sites)).map(full).collect())
}

#[cfg(test)]
mod tests {
    use super::super::{Checkerboard, Extents, LaneChoice, LatticeOptions, Scalar};
    use super::*;

    #[test]
    fn every_lane_of_a_half_osite_is_that_lane_of_its_full_osite() {
        for (extents, lanes) in [([4, 6, 2, 10], "8"), ([8, 4, 4, 8], "64"), ([12, 8, 4, 4], "128")] {
            let options = LatticeOptions {
                lanes: lanes.parse::<LaneChoice>().unwrap(),
                nodes: None,
                checkerboard: Checkerboard::RedBlack,
            };
            let lattice = Lattice::new(Extents::new(extents).unwrap(), Scalar::ComplexF, options).unwrap();
            for parity in Parity::BOTH {
                for (osite, full) in osites_in_full(&lattice, parity).unwrap().into_iter().enumerate() {
                    for lane in 0..lattice.nsimd() {
                        let site = lattice.coordinate(Sites::Parity(parity), Place { osite, lane });
                        let there = Place { osite: full as usize, lane };
                        assert_eq!(lattice.coordinate(Sites::Full, there), site, "{extents:?} {lanes} {parity}");
                    }
                }
            }
        }
    }
}
