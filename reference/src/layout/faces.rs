//! The faces of a part of a lattice: which sites of a field the neighbouring parts read, and where a field holds those that it reads of them. Both lists
//! are in site order, so that parts with other lanes, and in other kinds of memory, understand each other.

use super::{Coordinate, DIMENSIONS, Lattice, LayoutError, Leg, Place, Sites};

/// One face of fields on some sites of a part: what is read along a leg, on both sides.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Face {
    /// The leg along which the sites are read.
    pub leg: Leg,
    /// The sites that the next part against the leg reads.
    pub sent: Vec<Place>,
    /// Where the sites of the next part along the leg are held, in the same order as that part sends them.
    pub held: Vec<Place>,
}

impl Face {
    /// The faces of fields on `sites`, in the order of the legs; none of a whole lattice.
    ///
    /// # Errors
    /// [`LayoutError::NotRedBlack`] if `sites` is one parity of a lattice without parities.
    pub fn all(lattice: &Lattice, sites: Sites) -> Result<Vec<Self>, LayoutError> {
        lattice.check(sites)?;
        let legs = Leg::all().filter(|leg| lattice.extents().is_cut(leg.dimension()));
        Ok(legs.map(|leg| Self::new(lattice, sites, leg)).collect())
    }

    fn new(lattice: &Lattice, sites: Sites, leg: Leg) -> Self {
        let (extents, d) = (lattice.extents(), leg.dimension());
        let (first, last) = (0, extents[d] - 1);
        // Forward neighbours are the first slice of the next part, backward ones the last.
        let (sent, target) = if leg.is_forward() { (first, last) } else { (last, first) };
        let place = |x| lattice.place(sites, x);
        let held = |x: Coordinate| {
            let Place { osite, lane } = lattice.place(sites.neighbours(), x);
            Place { osite: lattice.ghost_osite(sites, leg, osite), lane }
        };
        // A neighbour has the parity that a site of the field has.
        let targets = slice(extents.as_array(), d, target).filter(|&x| sites.neighbours().contain(x));
        Self {
            leg,
            sent: slice(extents.as_array(), d, sent).filter(|&x| sites.contain(x)).map(place).collect(),
            held: targets.map(held).collect(),
        }
    }

    /// Sites of the face.
    pub fn len(&self) -> usize {
        self.held.len()
    }

    /// Whether it has none, as one parity of a slice of a single site.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }
}

/// The sites of a slice, x fastest.
fn slice(extents: [usize; DIMENSIONS], dimension: usize, at: usize) -> impl Iterator<Item = Coordinate> {
    let range = move |d: usize| if d == dimension { at..at + 1 } else { 0..extents[d] };
    range(3)
        .flat_map(move |t| range(2).flat_map(move |z| range(1).flat_map(move |y| range(0).map(move |x| [x, y, z, t]))))
}

#[cfg(test)]
mod tests {
    use super::super::{Checkerboard, Extents, LaneChoice, LatticeOptions, Parity, Scalar, Stencil};
    use super::*;

    fn lattice(extents: Extents) -> Lattice {
        let options = LatticeOptions { lanes: LaneChoice::Auto, nodes: None, checkerboard: Checkerboard::RedBlack };
        Lattice::new(extents, Scalar::ComplexF, options).unwrap()
    }

    /// Each site of every part finds its neighbours, in itself or in what the neighbouring parts send.
    #[test]
    fn what_is_held_of_a_neighbour_is_the_site_that_the_stencil_looks_for() {
        let whole = Extents::new([4, 6, 4, 8]).unwrap();
        let cuts: [&[([usize; 4], [usize; 4])]; 3] = [
            &[([0; 4], [4, 6, 4, 4]), ([0, 0, 0, 4], [4, 6, 4, 4])],
            // Uneven.
            &[([0; 4], [4, 6, 4, 2]), ([0, 0, 0, 2], [4, 6, 4, 6])],
            &[
                ([0, 0, 0, 0], [2, 2, 4, 8]),
                ([2, 0, 0, 0], [2, 2, 4, 8]),
                ([0, 2, 0, 0], [2, 4, 4, 8]),
                ([2, 2, 0, 0], [2, 4, 4, 8]),
            ],
        ];
        for parts in cuts {
            let parts: Vec<Lattice> =
                parts.iter().map(|&(origin, extents)| lattice(whole.part(origin, extents).unwrap())).collect();
            for sites in [Sites::Full, Sites::Parity(Parity::Even), Sites::Parity(Parity::Odd)] {
                // Of a field on `sites`, the number of each site in the whole lattice.
                let numbers: Vec<Vec<Option<usize>>> =
                    parts.iter().map(|part| held_numbers(&parts, part, sites)).collect();
                for (part, numbers) in parts.iter().zip(&numbers) {
                    let stencil = Stencil::new(*part, sites.neighbours()).unwrap();
                    for osite in 0..stencil.osites() {
                        for lane in 0..part.nsimd() {
                            let here = Place { osite, lane };
                            let x = in_whole(part, part.coordinate(sites.neighbours(), here));
                            for leg in Leg::all() {
                                let (there, crosses) = stencil.follow(here, leg);
                                let found = numbers[there.osite * part.nsimd() + there.lane];
                                let expected = whole.site(whole.neighbour(x, leg));
                                assert_eq!(found, Some(expected), "{leg} of {x:?}, {}", part.extents());
                                let at_end =
                                    x[leg.dimension()] == if leg.is_forward() { whole[leg.dimension()] - 1 } else { 0 };
                                assert_eq!(crosses, at_end, "{leg} of {x:?}");
                            }
                        }
                    }
                }
            }
        }
    }

    fn in_whole(part: &Lattice, x: Coordinate) -> Coordinate {
        let origin = part.extents().origin();
        std::array::from_fn(|d| x[d] + origin[d])
    }

    /// The numbers of the sites of a field on `sites`, and of those that it holds of other parts.
    fn held_numbers(parts: &[Lattice], part: &Lattice, sites: Sites) -> Vec<Option<usize>> {
        let whole = part.extents().global();
        let nsimd = part.nsimd();
        let mut numbers = vec![None; (part.osites(sites) + part.ghost_osites(sites)) * nsimd];
        let of = |part: &Lattice, place: Place| whole.site(in_whole(part, part.coordinate(sites, place)));
        for osite in 0..part.osites(sites) {
            for lane in 0..nsimd {
                numbers[osite * nsimd + lane] = Some(of(part, Place { osite, lane }));
            }
        }
        for face in Face::all(part, sites).unwrap() {
            let (d, extents) = (face.leg.dimension(), part.extents());
            let mut origin = extents.origin();
            origin[d] = match face.leg.is_forward() {
                true => (origin[d] + extents[d]) % whole[d],
                false => (origin[d] + whole[d] - 1) % whole[d],
            };
            let covers = |other: &&Lattice| {
                let (o, e) = (other.extents().origin(), other.extents());
                (0..DIMENSIONS).all(|d| (o[d]..o[d] + e[d]).contains(&origin[d]))
            };
            let next = parts.iter().find(covers).unwrap();
            let theirs = Face::all(next, sites).unwrap().into_iter().find(|theirs| theirs.leg == face.leg).unwrap();
            assert_eq!(theirs.sent.len(), face.len());
            assert!(!face.is_empty());
            for (sent, held) in theirs.sent.iter().zip(&face.held) {
                let number = &mut numbers[held.osite * nsimd + held.lane];
                assert_eq!(*number, None, "held twice");
                *number = Some(of(next, *sent));
            }
        }
        numbers
    }
}
