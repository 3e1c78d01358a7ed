//! The faces of a local volume: the sites of a field that neighbouring ranks read, and the places of its halo. Both lists are in site order, so
//! ranks with different lane layouts and memory can exchange them.

use std::ops::Range;

use super::{DIMENSION_NAMES, DIMENSIONS, GhostSites, Lattice, LayoutError, Leg, Place, Reach, Sites};

/// One face of fields on some sites of a local volume: the sites that are read along a leg, on both sides.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Face {
    /// The leg along which the sites are read.
    pub leg: Leg,
    /// The sites that the neighbouring rank against the leg reads.
    pub sent: Vec<Place>,
    /// The places of the halo for the sites of the neighbouring rank along the leg, in the order in which that rank sends them.
    pub held: Vec<Place>,
}

impl Face {
    /// The faces of fields on `sites` that are read to this depth, in the order of their directions; empty for a whole lattice. Beyond
    /// [`Reach::Nearest`], the faces of a direction must be sent after those of earlier directions have arrived. A corner then travels from rank to
    /// rank as part of faces.
    ///
    /// # Errors
    /// [`LayoutError::NotRedBlack`] if `sites` is one parity of a lattice without parities; [`LayoutError::Reach`] if a local volume has fewer
    /// slices than are read.
    pub fn all(lattice: &Lattice, sites: Sites, reach: Reach) -> Result<Vec<Self>, LayoutError> {
        lattice.check(sites)?;
        let extents = lattice.extents();
        if let Some(d) = reach.narrow(&extents) {
            let (dimension, steps) = (DIMENSION_NAMES[d], reach.steps());
            return Err(LayoutError::Reach { extents: extents.to_string(), dimension, steps });
        }
        let ghosts = GhostSites::new(lattice, sites);
        let directions = extents.cut_dimensions().flat_map(|d| [Leg::forward(d), Leg::backward(d)]);
        Ok(directions.map(|leg| Self::new(lattice, sites, &ghosts, leg, reach)).collect())
    }

    fn new(lattice: &Lattice, sites: Sites, ghosts: &GhostSites, leg: Leg, reach: Reach) -> Self {
        let (extents, d) = (lattice.extents(), leg.dimension());
        let mut face = Self { leg, sent: Vec::new(), held: Vec::new() };
        for step in 0..reach.steps() as isize {
            // Beside the first slice lie ghosts that came before.
            let beside = |of: usize| isize::from(reach > Reach::Nearest && step == 0 && of < d && extents.is_cut(of));
            let ranges =
                std::array::from_fn(|of| if of == d { 0..1 } else { -beside(of)..extents[of] as isize + beside(of) });
            let last = extents[d] as isize - 1;
            // Forward neighbours are the first slices of the next part, backward ones the last.
            let (sent, held) = if leg.is_forward() { (step, last + 1 + step) } else { (last - step, -1 - step) };
            let in_slice = |at: isize| {
                let sites_of =
                    sites_in(ranges.clone()).map(move |x| std::array::from_fn(|of| if of == d { at } else { x[of] }));
                sites_of.filter(move |&x| sites.contain_near(x)).filter_map(|x| ghosts.place(lattice, sites, x))
            };
            face.sent.extend(in_slice(sent));
            face.held.extend(in_slice(held));
        }
        face
    }

    /// The number of sites of the face.
    pub fn len(&self) -> usize {
        self.held.len()
    }

    /// Whether it is empty, for example for one parity of a slice with a single site.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }
}

/// The sites of a box, x fastest.
fn sites_in([x, y, z, t]: [Range<isize>; DIMENSIONS]) -> impl Iterator<Item = [isize; DIMENSIONS]> {
    t.flat_map(move |t| {
        let (x, y) = (x.clone(), y.clone());
        z.clone().flat_map(move |z| {
            let x = x.clone();
            y.clone().flat_map(move |y| x.clone().map(move |x| [x, y, z, t]))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::{
        Checkerboard, Coordinate, Displacement, Extents, LaneChoice, LatticeOptions, Parity, Scalar, Stencil,
    };
    use super::*;

    fn lattice(extents: Extents) -> Lattice {
        let options = LatticeOptions { lanes: LaneChoice::Auto, nodes: None, checkerboard: Checkerboard::RedBlack };
        Lattice::new(extents, Scalar::ComplexF, options).unwrap()
    }

    /// Each site of every local volume finds what it reads, in itself or in what neighbouring ranks send.
    #[test]
    fn what_is_held_at_a_displacement_is_the_site_to_which_the_stencil_leads() {
        let whole = Extents::new([4, 8, 4, 8]).unwrap();
        let cuts: [&[([usize; 4], [usize; 4])]; 3] = [
            &[([0; 4], [4, 8, 4, 4]), ([0, 0, 0, 4], [4, 8, 4, 4])],
            // Uneven.
            &[([0; 4], [4, 8, 4, 2]), ([0, 0, 0, 2], [4, 8, 4, 6])],
            &[
                ([0, 0, 0, 0], [2, 4, 4, 8]),
                ([2, 0, 0, 0], [2, 4, 4, 8]),
                ([0, 4, 0, 0], [2, 4, 4, 8]),
                ([2, 4, 0, 0], [2, 4, 4, 8]),
            ],
        ];
        let digits = |number: usize| std::array::from_fn(|d| (number / 7usize.pow(d as u32) % 7) as i8 - 3);
        let all: Vec<Displacement> =
            (0..7usize.pow(4)).map(digits).filter(is_displacement).map(Displacement::new).collect();
        for parts in cuts {
            let parts: Vec<Lattice> =
                parts.iter().map(|&(origin, extents)| lattice(whole.part(origin, extents).unwrap())).collect();
            for reach in [Reach::Nearest, Reach::Corners, Reach::TwoSteps, Reach::ThreeSteps] {
                let is_narrow = |part: &Lattice| part.extents().cut_dimensions().any(|d| part.extents()[d] < 3);
                if reach == Reach::ThreeSteps && parts.iter().any(is_narrow) {
                    assert!(parts.iter().any(|part| Face::all(part, Sites::Full, reach).is_err()));
                    continue;
                }
                for sites in [Sites::Full, Sites::Parity(Parity::Even), Sites::Parity(Parity::Odd)] {
                    let numbers = held_numbers(&parts, sites, reach);
                    let read = all.iter().filter(|displacement| Reach::of(**displacement) <= reach);
                    for (displacement, (part, numbers)) in
                        read.flat_map(|d| parts.iter().zip(&numbers).map(move |part| (*d, part)))
                    {
                        find_all(part, sites, numbers, displacement);
                    }
                }
            }
        }
    }

    fn is_displacement(steps: &[i8; 4]) -> bool {
        let directions = steps.iter().filter(|&&steps| steps != 0).count();
        directions == 1 || (directions > 1 && steps.iter().all(|steps| steps.abs() <= 1))
    }

    /// Checks what a field on `sites` holds at a displacement from each site from which it can be read.
    fn find_all(part: &Lattice, sites: Sites, numbers: &[Option<usize>], displacement: Displacement) {
        let whole = part.extents().global();
        let from = if displacement.is_odd() { sites.neighbours() } else { sites };
        let [first, second] = [from, from.neighbours()].map(|sites| Stencil::new(*part, sites).unwrap());
        for osite in 0..first.osites() {
            for lane in 0..part.nsimd() {
                let mut there = Place { osite, lane };
                let mut x = in_whole(part, part.coordinate(from, there));
                for (step, leg) in displacement.legs().enumerate() {
                    let (next, crosses) = (if step % 2 == 0 { &first } else { &second }).follow(there, leg);
                    let d = leg.dimension();
                    if step == 0 {
                        assert_eq!(crosses, x[d] == if leg.is_forward() { whole[d] - 1 } else { 0 }, "{leg} of {x:?}");
                    }
                    (there, x) = (next, whole.neighbour(x, leg));
                }
                let found = numbers[there.osite * part.nsimd() + there.lane];
                assert_eq!(found, Some(whole.site(x)), "{displacement} to {x:?}, {}", part.extents());
            }
        }
    }

    fn in_whole(part: &Lattice, x: Coordinate) -> Coordinate {
        let origin = part.extents().origin();
        std::array::from_fn(|d| x[d] + origin[d])
    }

    /// For each local volume, the numbers of the sites of a field on `sites` and in its halo, exchanged direction by direction.
    fn held_numbers(parts: &[Lattice], sites: Sites, reach: Reach) -> Vec<Vec<Option<usize>>> {
        let whole = parts[0].extents().global();
        let own = |part: &Lattice| {
            let (osites, nsimd) = (part.osites(sites), part.nsimd());
            let mut numbers = vec![None; (osites + GhostSites::new(part, sites).len(reach)) * nsimd];
            for (number, held) in numbers[..osites * nsimd].iter_mut().enumerate() {
                let place = Place { osite: number / nsimd, lane: number % nsimd };
                *held = Some(whole.site(in_whole(part, part.coordinate(sites, place))));
            }
            numbers
        };
        let mut numbers: Vec<Vec<Option<usize>>> = parts.iter().map(own).collect();
        let faces: Vec<Vec<Face>> = parts.iter().map(|part| Face::all(part, sites, reach).unwrap()).collect();
        for direction in 0..DIMENSIONS {
            let before = numbers.clone();
            for (part, faces_of) in faces.iter().enumerate() {
                for face in faces_of.iter().filter(|face| face.leg.dimension() == direction) {
                    let next = next(parts, &parts[part], face.leg);
                    let theirs = faces[next].iter().find(|theirs| theirs.leg == face.leg).unwrap();
                    assert_eq!(theirs.sent.len(), face.len());
                    assert!(!face.is_empty());
                    for (sent, held) in theirs.sent.iter().zip(&face.held) {
                        let number = &mut numbers[part][held.osite * parts[part].nsimd() + held.lane];
                        assert_eq!(*number, None, "held twice");
                        *number = before[next][sent.osite * parts[next].nsimd() + sent.lane];
                    }
                }
            }
        }
        numbers
    }

    /// The neighbouring local volume along a leg.
    fn next(parts: &[Lattice], part: &Lattice, leg: Leg) -> usize {
        let (d, extents, whole) = (leg.dimension(), part.extents(), part.extents().global());
        let mut origin = extents.origin();
        origin[d] = match leg.is_forward() {
            true => (origin[d] + extents[d]) % whole[d],
            false => (origin[d] + whole[d] - 1) % whole[d],
        };
        let covers = |other: &Lattice| {
            let (o, e) = (other.extents().origin(), other.extents());
            (0..DIMENSIONS).all(|d| (o[d]..o[d] + e[d]).contains(&origin[d]))
        };
        parts.iter().position(covers).unwrap()
    }
}
