//! Which rank stores which local volume: a Cartesian division of the lattice in one to four directions. If the number of ranks does not
//! divide an extent, local volumes may differ by two sites in that direction. Each begins at an even coordinate, so the parity of a site
//! does not depend on the division.

use std::fmt;
use std::str::FromStr;

use lanefield_reference::layout::{Checkerboard, Coordinate, DIMENSION_NAMES, DIMENSIONS, Reach, Scalar};
use lanefield_reference::prelude::*;
use thiserror::Error;

/// Why a lattice cannot be divided in this way. Messages are fragments.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[allow(missing_docs, reason = "the messages name the fields")]
#[non_exhaustive]
pub enum DecompositionError {
    #[error(
        "invalid decomposition '{text}': expected the number of ranks in each direction as X.Y.Z.T, for example 1.1.1.2"
    )]
    Text { text: String },
    #[error("{cut} needs {product} ranks, and there are {ranks}: start {product}, or omit the decomposition")]
    Ranks { cut: String, product: usize, ranks: usize },
    #[error(
        "{ranks} ranks cannot divide extent {extent} of {dimension}: each needs at least two sites, so at most {most} can"
    )]
    Direction { ranks: usize, extent: usize, dimension: &'static str, most: usize },
    #[error("{ranks} ranks cannot divide a lattice of {extents}: possible numbers of ranks are {possible}")]
    None { ranks: usize, extents: String, possible: String },
}

/// A division of a lattice among ranks. Rank 0 has the origin; ranks are numbered with x fastest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Decomposition {
    whole: Extents,
    cut: Cut,
}

/// Ranks in each direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cut(pub [usize; DIMENSIONS]);

impl Cut {
    /// The number of ranks.
    pub fn ranks(self) -> usize {
        self.0.iter().product()
    }
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z, t] = self.0;
        write!(f, "{x}.{y}.{z}.{t}")
    }
}

impl FromStr for Cut {
    type Err = DecompositionError;

    fn from_str(text: &str) -> Result<Self, DecompositionError> {
        let wrong = || DecompositionError::Text { text: text.to_owned() };
        let number = |text: &str| text.parse().ok().filter(|&ranks: &usize| ranks > 0).ok_or_else(wrong);
        let numbers: Vec<usize> = text.split('.').map(number).collect::<Result<_, _>>()?;
        let product = numbers.iter().try_fold(1usize, |product, &ranks| product.checked_mul(ranks));
        match (numbers.try_into(), product) {
            (Ok(cut), Some(_)) => Ok(Self(cut)),
            _ => Err(wrong()),
        }
    }
}

/// The first coordinate and the extent of a rank's local volume in one direction. Ranks get pairs of sites; if their number does not divide
/// evenly, the first ranks have one pair more. An odd extent gives the last rank one site more.
fn part_of(extent: usize, ranks: usize, rank: usize) -> (usize, usize) {
    let pairs = extent / 2;
    let before = |rank: usize| 2 * (rank * (pairs / ranks) + rank.min(pairs % ranks));
    let (first, end) = (before(rank), before(rank + 1));
    (first, if rank + 1 == ranks { extent - first } else { end - first })
}

impl Decomposition {
    /// Divides the lattice in the given way.
    pub fn new(whole: Extents, cut: Cut) -> Result<Self, DecompositionError> {
        for (d, &ranks) in cut.0.iter().enumerate() {
            let most = (whole[d] / 2).max(1);
            if ranks > most {
                let (extent, dimension) = (whole[d], DIMENSION_NAMES[d]);
                return Err(DecompositionError::Direction { ranks, extent, dimension, most });
            }
        }
        Ok(Self { whole, cut })
    }

    /// One rank with the whole lattice.
    pub fn alone(whole: Extents) -> Self {
        Self { whole, cut: Cut([1; DIMENSIONS]) }
    }

    /// As [`Self::new`], if it has this number of ranks.
    pub fn among(whole: Extents, cut: Cut, ranks: usize) -> Result<Self, DecompositionError> {
        match cut.ranks() == ranks {
            true => Self::new(whole, cut),
            false => Err(DecompositionError::Ranks { cut: cut.to_string(), product: cut.ranks(), ranks }),
        }
    }

    /// The default division among this number of ranks. Of all divisions it has the most lanes in undivided directions; of these, the least
    /// surface to send; of these, it divides later directions.
    pub fn of_ranks(whole: Extents, ranks: usize) -> Result<Self, DecompositionError> {
        let best = Self::all(whole, ranks).min_by_key(|decomposition| {
            let [x, y, z, t] = decomposition.cut.0;
            let lanes = decomposition.lanes();
            (std::cmp::Reverse(lanes), decomposition.surface(), [x, y, z, t])
        });
        best.ok_or_else(|| {
            let near = (1..=ranks).rev().filter(|&n| Self::all(whole, n).next().is_some()).take(4);
            let mut possible: Vec<String> = near.map(|n| n.to_string()).collect();
            possible.reverse();
            DecompositionError::None { ranks, extents: whole.to_string(), possible: possible.join(", ") }
        })
    }

    /// Every division among this number of ranks.
    pub fn all(whole: Extents, ranks: usize) -> impl Iterator<Item = Self> {
        // No direction is divided among more ranks than it has sites.
        let divisors = move |n: usize, d: usize| (1..=n.min(whole.as_array()[d])).filter(move |k| n.is_multiple_of(*k));
        let cuts = divisors(ranks, 0).flat_map(move |x| {
            divisors(ranks / x, 1)
                .flat_map(move |y| divisors(ranks / x / y, 2).map(move |z| Cut([x, y, z, ranks / x / y / z])))
        });
        cuts.filter_map(move |cut| Self::new(whole, cut).ok())
    }

    /// The number of f32 lanes that fit the smallest local volume, up to the number that a GPU uses.
    fn lanes(&self) -> usize {
        let last = self.cut.ranks() - 1;
        let lanes = |checkerboard| {
            let options = LatticeOptions { lanes: LaneChoice::OF_GPUS, nodes: None, checkerboard };
            Lattice::new(self.part(last), Scalar::ComplexF, options).map(|lattice| lattice.nsimd()).ok()
        };
        lanes(Checkerboard::RedBlack).or_else(|| lanes(Checkerboard::FullOnly)).unwrap_or(0)
    }

    /// The number of sites that the rank with the largest local volume sends.
    pub(crate) fn surface(&self) -> usize {
        let part = self.part(0);
        part.cut_dimensions().map(|d| 2 * part.volume() / part[d]).sum()
    }

    /// Whether each local volume has enough slices for kernels that read neighbours up to this distance.
    pub fn reaches(&self, reach: Reach) -> bool {
        (0..self.cut.ranks()).all(|rank| reach.narrow(&self.part(rank)).is_none())
    }

    /// The extents of the whole lattice.
    pub fn whole(&self) -> Extents {
        self.whole
    }

    /// Ranks in each direction.
    pub fn cut(&self) -> Cut {
        self.cut
    }

    /// The extents of a rank's local volume.
    ///
    /// # Panics
    /// If there is no such rank.
    pub fn part(&self, rank: usize) -> Extents {
        let at = self.coordinate(rank);
        let of: [(usize, usize); DIMENSIONS] = std::array::from_fn(|d| part_of(self.whole[d], self.cut.0[d], at[d]));
        match self.whole.part(of.map(|(first, _)| first), of.map(|(_, extent)| extent)) {
            Ok(part) => part,
            Err(error) => panic!("rank {rank} of {} has no part: {error}", self.cut),
        }
    }

    /// The position of a rank in the grid of ranks.
    fn coordinate(&self, rank: usize) -> Coordinate {
        let [x, y, z, _] = self.cut.0;
        [rank % x, rank / x % y, rank / (x * y) % z, rank / (x * y * z)]
    }

    /// The neighbouring rank along a leg.
    pub fn neighbour(&self, rank: usize, leg: Leg) -> usize {
        let (mut at, d) = (self.coordinate(rank), leg.dimension());
        let ranks = self.cut.0[d];
        at[d] = if leg.is_forward() { (at[d] + 1) % ranks } else { (at[d] + ranks - 1) % ranks };
        let [x, y, z, _] = self.cut.0;
        at[0] + x * (at[1] + y * (at[2] + z * at[3]))
    }
}

impl fmt::Display for Decomposition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ranks, {}", self.cut.ranks(), self.cut)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extents(e: [usize; 4]) -> Extents {
        Extents::new(e).unwrap()
    }

    #[test]
    fn parts_cover_the_lattice_once_and_begin_at_even_coordinates() {
        for (whole, cut) in [([4, 6, 10, 8], [2, 3, 2, 4]), ([9, 4, 4, 7], [2, 1, 2, 3]), ([4, 4, 4, 14], [1, 1, 1, 3])]
        {
            let decomposition = Decomposition::new(extents(whole), Cut(cut)).unwrap();
            let mut held = vec![0; extents(whole).volume()];
            for rank in 0..decomposition.cut().ranks() {
                let part = decomposition.part(rank);
                (0..part.volume()).for_each(|site| held[part.global_site(site) as usize] += 1);
                assert!(part.origin().iter().all(|x| x.is_multiple_of(2)));
                for leg in Leg::all() {
                    let back =
                        Leg::all().find(|l| l.dimension() == leg.dimension() && l.is_forward() != leg.is_forward());
                    let there = decomposition.neighbour(rank, leg);
                    assert_eq!(decomposition.neighbour(there, back.unwrap()), rank);
                }
            }
            assert!(held.iter().all(|&times| times == 1), "{whole:?} {cut:?}");
        }
    }

    #[test]
    fn the_default_keeps_lanes_and_cuts_late_directions_first() {
        let cut = |whole, ranks| Decomposition::of_ranks(extents(whole), ranks).unwrap().cut().to_string();
        assert_eq!(cut([32, 32, 32, 64], 1), "1.1.1.1");
        assert_eq!(cut([32, 32, 32, 64], 2), "1.1.1.2");
        // The same amount is sent as with 1.1.2.4, in fewer packets.
        assert_eq!(cut([32, 32, 32, 64], 8), "1.1.1.8");
        assert_eq!(cut([32, 32, 32, 64], 16), "1.1.2.8");
        assert_eq!(cut([16, 16, 16, 32], 3), "1.1.1.3");
        assert_eq!(cut([96, 96, 96, 192], 64), "1.2.4.8");
        assert_eq!(
            Decomposition::of_ranks(extents([4, 4, 4, 4]), 7).unwrap_err().to_string(),
            "7 ranks cannot divide a lattice of 4.4.4.4: possible numbers of ranks are 1, 2, 4"
        );
    }

    #[test]
    fn what_is_no_decomposition_says_what_would_be() {
        let error = |text: &str| text.parse::<Cut>().map(|cut| Decomposition::among(extents([4, 4, 4, 8]), cut, 4));
        assert!(error("2.2").unwrap_err().to_string().contains("X.Y.Z.T"));
        assert!(error("1.1.1.0").is_err());
        assert_eq!(
            error("1.1.1.2").unwrap().unwrap_err().to_string(),
            "1.1.1.2 needs 2 ranks, and there are 4: start 2, or omit the decomposition"
        );
        let error = error("4.1.1.1").unwrap().unwrap_err().to_string();
        assert_eq!(error, "4 ranks cannot divide extent 4 of x: each needs at least two sites, so at most 2 can");
    }
}
