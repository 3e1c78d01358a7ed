//! The links around a local volume: those of all sites within one step of it in every divided direction, including corners. Doubled links need the
//! nearest ones, and field strengths the corners.

use num_complex::Complex;

use super::colour_matrix::{LINK_WORDS, SITE_WORDS};
use crate::layout::{DIMENSIONS, Extents};

/// Coordinates in or near a local volume, which begins at 0: in divided directions from −1 to the extent, inclusive.
pub type NearCoordinate = [isize; DIMENSIONS];

/// The links around a local volume.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Border {
    extents: Extents,
    /// Slabs below and above the local volume in each divided direction. A corner is in the slab of the first direction in which it is outside.
    slabs: Vec<Slab>,
}

#[derive(Clone, Debug, PartialEq)]
struct Slab {
    dimension: usize,
    /// Its coordinate in that direction.
    at: isize,
    links: Vec<Complex<f64>>,
}

/// The range of coordinates of a direction, in or near the local volume.
fn near(extents: Extents, dimension: usize) -> std::ops::Range<isize> {
    let extent = extents[dimension] as isize;
    if extents.is_cut(dimension) { -1..extent + 1 } else { 0..extent }
}

impl Border {
    /// The links of its sites.
    pub(super) fn links_mut(&mut self) -> impl Iterator<Item = &mut Vec<Complex<f64>>> {
        self.slabs.iter_mut().map(|slab| &mut slab.links)
    }

    /// The border of a local volume. `links` receives the coordinates of each site, and the links to fill in. `None` for a whole lattice.
    pub(super) fn filled<E>(
        extents: Extents,
        mut links: impl FnMut(NearCoordinate, &mut [Complex<f64>]) -> Result<(), E>,
    ) -> Result<Option<Self>, E> {
        if !extents.is_part() {
            return Ok(None);
        }
        let mut slabs = Vec::new();
        for dimension in extents.cut_dimensions() {
            for at in [-1, extents[dimension] as isize] {
                let mut slab = Slab { dimension, at, links: Vec::new() };
                let sites: Vec<NearCoordinate> = slab.sites(extents).collect();
                slab.links = vec![Complex::new(0.0, 0.0); sites.len() * SITE_WORDS];
                for (x, words) in sites.into_iter().zip(slab.links.chunks_exact_mut(SITE_WORDS)) {
                    links(x, words)?;
                }
                slabs.push(slab);
            }
        }
        Ok(Some(Self { extents, slabs }))
    }

    /// A link of a site that is near, but not in, the local volume.
    pub(super) fn link(&self, x: NearCoordinate, direction: usize) -> Option<&[Complex<f64>]> {
        let outside = (0..DIMENSIONS).find(|&d| x[d] < 0 || x[d] >= self.extents[d] as isize)?;
        let slab = self.slabs.iter().find(|slab| slab.dimension == outside && slab.at == x[outside])?;
        let mut site = 0;
        for d in (0..DIMENSIONS).rev().filter(|&d| d != outside) {
            let range = near(self.extents, d);
            if !range.contains(&x[d]) {
                return None;
            }
            site = site * range.len() + (x[d] - range.start) as usize;
        }
        slab.links.get((site * DIMENSIONS + direction) * LINK_WORDS..)?.get(..LINK_WORDS)
    }
}

impl Slab {
    /// Its sites, x fastest.
    fn sites(&self, extents: Extents) -> impl Iterator<Item = NearCoordinate> + use<> {
        let (dimension, at) = (self.dimension, self.at);
        let range = move |d: usize| if d == dimension { at..at + 1 } else { near(extents, d) };
        range(3).flat_map(move |t| {
            range(2).flat_map(move |z| range(1).flat_map(move |y| range(0).map(move |x| [x, y, z, t])))
        })
    }
}
