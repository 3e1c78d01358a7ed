//! Configurations on local volumes, with the links around them.

use num_complex::Complex;

use super::border::{Border, NearCoordinate};
use super::colour_matrix::SITE_WORDS;
use super::configuration::{Configuration, GaugeError};
use crate::layout::{Coordinate, DIMENSIONS, Extents};

impl Configuration {
    /// A configuration on a local volume or a whole lattice. `links` receives the coordinates of a site in the whole lattice, and writes its links.
    /// For a local volume it is also called for the sites around it.
    pub fn from_sites<E>(
        extents: Extents,
        mut links: impl FnMut(Coordinate, &mut [Complex<f64>]) -> Result<(), E>,
    ) -> Result<Self, E> {
        Self::from_near_sites(extents, |x, words| links(extents.in_whole(x), words))
    }

    /// As [`Self::from_sites`], with coordinates that count from the first site of the local volume.
    pub fn from_near_sites<E>(
        extents: Extents,
        mut links: impl FnMut(NearCoordinate, &mut [Complex<f64>]) -> Result<(), E>,
    ) -> Result<Self, E> {
        let mut here = vec![Complex::new(0.0, 0.0); extents.volume() * SITE_WORDS];
        for (site, words) in here.chunks_exact_mut(SITE_WORDS).enumerate() {
            links(extents.coordinate(site).map(|x| x as isize), words)?;
        }
        let border = Border::filled(extents, links)?;
        Ok(Self { extents, links: here, border })
    }

    /// A configuration on the same sites with other links, including those around a local volume: `change` receives any number of links, and
    /// overwrites them.
    #[must_use]
    pub fn with_changed_links(&self, mut change: impl FnMut(&mut [Complex<f64>])) -> Self {
        let mut changed = self.clone();
        change(&mut changed.links);
        changed.border.iter_mut().flat_map(Border::links_mut).for_each(|links| change(links));
        changed
    }

    /// The local volume of a whole configuration.
    ///
    /// # Errors
    /// [`GaugeError::Length`] if `extents` are not a local volume of this configuration.
    pub fn part(&self, extents: Extents) -> Result<Self, GaugeError> {
        if extents.global() != self.extents {
            return Err(GaugeError::Length {
                extents: Box::new(extents),
                expected: extents.global().volume() * SITE_WORDS,
                found: self.links.len(),
            });
        }
        let copy = |x: Coordinate, words: &mut [Complex<f64>]| {
            words.copy_from_slice(&self.links[self.extents.site(x) * SITE_WORDS..][..SITE_WORDS]);
            Ok(())
        };
        Self::from_sites(extents, copy)
    }

    /// The link of a site in the local volume, or within one step of it in every divided direction. In other directions the lattice is a torus.
    ///
    /// # Panics
    /// If the site is further away.
    pub(crate) fn link_near(&self, mut x: NearCoordinate, direction: usize) -> &[Complex<f64>] {
        for d in (0..DIMENSIONS).filter(|&d| !self.extents.is_cut(d)) {
            x[d] = x[d].rem_euclid(self.extents[d] as isize);
        }
        if (0..DIMENSIONS).all(|d| (0..self.extents[d] as isize).contains(&x[d])) {
            return self.link(self.extents.site(x.map(|x| x as usize)), direction);
        }
        let link = self.border.as_ref().and_then(|border| border.link(x, direction));
        match link {
            Some(link) => link,
            None => panic!("the site {x:?} is not near the local volume {}", self.extents),
        }
    }

    /// The local volume with the sites around it, as a lattice of its own: it has one more site at both ends of each divided direction.
    pub fn around(&self) -> Extents {
        let extents = std::array::from_fn(|d| self.extents[d] + 2 * usize::from(self.extents.is_cut(d)));
        match Extents::new(extents) {
            Ok(extents) => extents,
            Err(_) => unreachable!("two more sites in a direction are numbered as well"),
        }
    }

    /// The coordinates of the first site of [`Self::around`].
    pub fn first_around(&self) -> NearCoordinate {
        std::array::from_fn(|d| -isize::from(self.extents.is_cut(d)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_configuration_know_the_links_around_them() {
        let whole = Configuration::hot(Extents::new([4, 6, 4, 8]).unwrap(), 5);
        let parts = [([0, 2, 0, 4], [4, 2, 4, 4]), ([2, 0, 2, 0], [2, 6, 2, 2]), ([0, 0, 0, 6], [4, 6, 4, 2])];
        for (origin, extents) in parts {
            let extents = whole.extents().part(origin, extents).unwrap();
            let part = whole.part(extents).unwrap();
            let (around, first) = (part.around(), part.first_around());
            for site in 0..around.volume() {
                let x = around.coordinate(site);
                let near = std::array::from_fn(|d| x[d] as isize + first[d]);
                let there = whole.extents().site(extents.in_whole(near));
                for direction in 0..DIMENSIONS {
                    assert_eq!(part.link_near(near, direction), whole.link(there, direction), "{near:?} of {extents}");
                }
            }
            assert_eq!(Configuration::hot(extents, 5), part, "random links are keyed by the site in the whole lattice");
        }
        assert!(whole.part(Extents::new([2, 2, 2, 2]).unwrap()).is_err());
        assert_eq!(whole.part(whole.extents()).unwrap(), whole);
    }
}
