//! Ghosts: outer sites that follow those of a field on a local volume, and hold sites of other ranks (the halo). They continue the box of outer
//! sites beyond its faces, in the directions in which ranks divide the lattice. There is only one virtual node in these directions, so a ghost has
//! the lanes of its face.

use super::{DIMENSIONS, Displacement, Extents, Lattice, Leg, Parity, Place, Sites};

/// How far from a site a field is read. Each value includes those before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Reach {
    /// One step.
    Nearest,
    /// One step in each of several directions: diagonal neighbours.
    Corners,
    /// Two steps in a direction.
    TwoSteps,
    /// Three steps in a direction.
    ThreeSteps,
}

impl Reach {
    /// The reach of a displacement.
    pub fn of(displacement: Displacement) -> Self {
        let steps = displacement.steps().map(i8::unsigned_abs);
        match (steps.into_iter().filter(|&steps| steps > 0).count(), steps.into_iter().max()) {
            (0 | 1, Some(3)) => Self::ThreeSteps,
            (0 | 1, Some(2)) => Self::TwoSteps,
            (0 | 1, _) => Self::Nearest,
            _ => Self::Corners,
        }
    }

    /// The number of steps in one direction.
    pub const fn steps(self) -> usize {
        match self {
            Self::Nearest | Self::Corners => 1,
            Self::TwoSteps => 2,
            Self::ThreeSteps => 3,
        }
    }

    /// The first direction in which a local volume has fewer slices than other ranks read of it.
    pub fn narrow(self, part: &Extents) -> Option<usize> {
        part.cut_dimensions().find(|&d| part[d] < self.steps())
    }
}

/// The coordinates of an outer site, which may be beyond the faces of the local volume.
pub type OuterCoordinate = [isize; DIMENSIONS];

/// The outer sites of a field on a local volume, its own and ghosts. Their numbers depend only on the extents: fields of both parities have the
/// same.
#[derive(Clone, Debug)]
pub struct GhostSites {
    outer: [usize; DIMENSIONS],
    cut: [bool; DIMENSIONS],
    osites: usize,
    /// Boxes of ghosts, in the order of their reach.
    blocks: Vec<GhostBlock>,
}

/// The ghosts on one side of the box of the local volume.
#[derive(Clone, Copy, Debug)]
struct GhostBlock {
    reach: Reach,
    /// In each direction, the offset of the block from the box; 0 within it.
    beyond: OuterCoordinate,
    /// Its first outer site.
    first: usize,
}

impl GhostSites {
    /// The outer sites of fields on `sites`; no ghosts for a whole lattice.
    pub fn new(lattice: &Lattice, sites: Sites) -> Self {
        let extents = lattice.extents();
        let mut ghosts = Self {
            outer: lattice.outer_extents(sites),
            cut: std::array::from_fn(|d| extents.is_cut(d)),
            osites: lattice.osites(sites),
            blocks: Vec::new(),
        };
        let mut first = ghosts.osites;
        for (reach, beyond) in ghosts.sides() {
            ghosts.blocks.push(GhostBlock { reach, beyond, first });
            first += ghosts.len_of(beyond);
        }
        ghosts
    }

    /// The sides of the box, in the order of their reach.
    fn sides(&self) -> Vec<(Reach, OuterCoordinate)> {
        let straight = |reach: Reach| {
            let steps = reach.steps() as isize;
            let cut = (0..DIMENSIONS).filter(|&d| self.cut[d]);
            let beyond = move |d, steps| std::array::from_fn(|of| if of == d { steps } else { 0 });
            cut.flat_map(move |d| [(reach, beyond(d, steps)), (reach, beyond(d, -steps))])
        };
        // All numbers of three digits −1, 0 and 1.
        let all = (0..3usize.pow(DIMENSIONS as u32))
            .map(|number| std::array::from_fn(|d| (number / 3usize.pow(d as u32) % 3) as isize - 1));
        let is_corner = |beyond: &OuterCoordinate| {
            beyond.iter().filter(|&&steps| steps != 0).count() > 1
                && (0..DIMENSIONS).all(|d| self.cut[d] || beyond[d] == 0)
        };
        let corners = all.filter(is_corner).map(|beyond| (Reach::Corners, beyond));
        straight(Reach::Nearest)
            .chain(corners)
            .chain(straight(Reach::TwoSteps))
            .chain(straight(Reach::ThreeSteps))
            .collect()
    }

    /// The number of outer sites of a side.
    fn len_of(&self, beyond: OuterCoordinate) -> usize {
        (0..DIMENSIONS).filter(|&d| beyond[d] == 0).map(|d| self.outer[d]).product()
    }

    /// The number of ghosts of fields that are read to this depth.
    pub fn len(&self, reach: Reach) -> usize {
        self.blocks.iter().filter(|block| block.reach <= reach).map(|block| self.len_of(block.beyond)).sum()
    }

    /// The outer site at a coordinate; `None` if no displacement leads there.
    pub fn osite(&self, at: OuterCoordinate) -> Option<usize> {
        let beyond: OuterCoordinate = std::array::from_fn(|d| match (at[d], self.outer[d] as isize) {
            (x, _) if x < 0 => x,
            (x, outer) if x >= outer => x - outer + 1,
            _ => 0,
        });
        let inside = beyond == [0; DIMENSIONS];
        let first = if inside { 0 } else { self.blocks.iter().find(|block| block.beyond == beyond)?.first };
        let within = (0..DIMENSIONS).rev().filter(|&d| beyond[d] == 0);
        Some(first + within.fold(0, |number, d| number * self.outer[d] + at[d] as usize))
    }

    /// The coordinate of an outer site.
    pub fn coordinate(&self, osite: usize) -> OuterCoordinate {
        let (mut rest, beyond) = match self.blocks.iter().rfind(|block| block.first <= osite) {
            Some(block) => (osite - block.first, block.beyond),
            None => (osite, [0; DIMENSIONS]),
        };
        std::array::from_fn(|d| match beyond[d] {
            0 => {
                let x = rest % self.outer[d];
                rest /= self.outer[d];
                x as isize
            }
            up if up > 0 => self.outer[d] as isize + up - 1,
            down => down,
        })
    }

    /// The outer site to which a step leads (`None` if no displacement leads there), and whether it leaves the virtual node. A field of one parity
    /// has sites 2h and 2h + 1 of a row at the same coordinate h: `sites` are those of the field from which the step leads.
    pub fn step(&self, sites: Sites, from: OuterCoordinate, leg: Leg) -> (Option<usize>, bool) {
        let d = leg.dimension();
        if d == 0 && matches!(sites, Sites::Parity(parity) if stays(parity, from) == leg) {
            return (self.osite(from), false);
        }
        let (mut to, outer) = (from, self.outer[d] as isize);
        to[d] += if leg.is_forward() { 1 } else { -1 };
        let inside = |x: isize| (0..outer).contains(&x);
        let leaves = inside(from[d]) && !inside(to[d]);
        if leaves && !self.cut[d] {
            to[d] = to[d].rem_euclid(outer);
        }
        (self.osite(to), leaves)
    }

    /// The place in a field on `sites` of the site at a coordinate, which may be outside the local volume in divided directions.
    pub fn place(&self, lattice: &Lattice, sites: Sites, at: [isize; DIMENSIONS]) -> Option<Place> {
        let (mut outer, mut inside) = (at, [0; DIMENSIONS]);
        if let Sites::Parity(_) = sites {
            outer[0] = at[0].div_euclid(2);
        }
        for d in (0..DIMENSIONS).filter(|&d| !self.cut[d]) {
            inside[d] = at[d].try_into().ok()?;
            outer[d] %= self.outer[d] as isize;
        }
        let lane = lattice.place(Sites::Full, inside).lane;
        Some(Place { osite: self.osite(outer)?, lane })
    }
}

/// The leg along x that connects the sites of the two parities at a coordinate: forward from an even x, backward from an odd one. It is the same in
/// all lanes.
fn stays(parity: Parity, [_, y, z, t]: OuterCoordinate) -> Leg {
    match (y + z + t + parity.index() as isize).rem_euclid(2) {
        0 => Leg::forward(0),
        _ => Leg::backward(0),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Direction, LatticeOptions, Scalar};
    use super::*;

    fn part() -> Lattice {
        let whole = Extents::new([8, 4, 4, 16]).unwrap();
        let part = whole.part([4, 0, 0, 8], [4, 4, 4, 8]).unwrap();
        Lattice::new(part, Scalar::ComplexF, LatticeOptions::default()).unwrap()
    }

    #[test]
    fn outer_sites_are_numbered_from_0_without_gaps() {
        for sites in [Sites::Full, Sites::Parity(Parity::Odd)] {
            let (lattice, ghosts) = (part(), GhostSites::new(&part(), sites));
            let all = lattice.osites(sites) + ghosts.len(Reach::ThreeSteps);
            for osite in 0..all {
                assert_eq!(ghosts.osite(ghosts.coordinate(osite)), Some(osite));
            }
            let outer = lattice.outer_extents(sites);
            let [across_x, across_t] = [0, 3].map(|d| 2 * lattice.osites(sites) / outer[d]);
            assert_eq!(ghosts.len(Reach::Nearest), across_x + across_t);
            assert_eq!(ghosts.len(Reach::Corners), across_x + across_t + 4 * outer[1] * outer[2]);
            assert_eq!(ghosts.len(Reach::ThreeSteps), 3 * (across_x + across_t) + 4 * outer[1] * outer[2]);
        }
    }

    #[test]
    fn a_displacement_reaches_as_far_as_its_steps() {
        assert_eq!(Reach::of(Displacement::along(Direction::Z, -1)), Reach::Nearest);
        assert_eq!(Reach::of(Displacement::new([1, 0, -1, 1])), Reach::Corners);
        assert_eq!(Reach::of(Displacement::along(Direction::X, 2)), Reach::TwoSteps);
        assert_eq!(Reach::of(Displacement::along(Direction::T, -3)), Reach::ThreeSteps);
    }

    #[test]
    fn a_whole_lattice_has_none() {
        let lattice = Lattice::new(Extents::new([4; 4]).unwrap(), Scalar::ComplexF, LatticeOptions::default()).unwrap();
        assert_eq!(GhostSites::new(&lattice, Sites::Full).len(Reach::ThreeSteps), 0);
    }
}
