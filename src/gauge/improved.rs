//! Energy density and topological charge of an improved field strength, F = 4/3 · F(1×1) − 1/12 · F(2×2) of the clovers of squares of one and of two steps,
//! whose errors of second order in the lattice spacing cancel (after Bilson-Thompson, Leinweber and Williams, Ann. Phys. 304 (2003) 1).

use lanefield_reference::field::Field;
use lanefield_reference::gauge::{Configuration, LINK_WORDS, SITE_WORDS};
use lanefield_reference::layout::{Coordinate, DIMENSIONS, Extents, LaneChoice, Sites};
use lanefield_reference::object::ColourMatrix;
use num_complex::Complex;

use super::hisq::each;
use super::observables::PLANES;
use super::{CloverObservables, GaugeField, GaugeFieldError, LinkFields};
use crate::backend::{Backend, BackendError};
use crate::kernel::prelude::*;

impl<B: Backend> GaugeField<'_, B> {
    /// Energy density and topological charge of the improved field strength.
    ///
    /// # Errors
    /// [`GaugeFieldError::Odd`] of extents that two steps do not divide; what the backend reports.
    pub fn improved_clover(&self) -> Result<CloverObservables, GaugeFieldError> {
        let backend = self.backend;
        let wide = self.wide_strengths()?;
        self.clover_of(|strength, plane| {
            backend.clover_leaves(strength, &self.stencil, PLANES[plane], self.along(PLANES[plane]))?;
            let mut improved = self.zeros()?;
            backend.scale(&mut improved, 4.0 / 3.0, strength)?;
            let values = &wide[plane];
            let field = Field::from_sites(self.lattice, Sites::Full, ColourMatrix, |site, words| {
                words.copy_from_slice(&values[LINK_WORDS * site..][..LINK_WORDS]);
            })?;
            backend.axpy(-1.0 / 12.0, &backend.upload(field)?, &mut improved)?;
            *strength = improved;
            Ok(())
        })
    }

    /// The clovers of squares of two steps, of each plane, in site order: they are those of single steps on each of sixteen lattices of every other site, whose
    /// links are products of two.
    fn wide_strengths(&self) -> Result<Vec<Vec<Complex<f64>>>, GaugeFieldError> {
        let extents = self.lattice.extents();
        if extents.is_part() {
            return Err(GaugeFieldError::Part { extents: extents.to_string() });
        }
        if extents.as_array().iter().any(|extent| extent % 2 != 0) {
            return Err(GaugeFieldError::Odd { extents: extents.to_string() });
        }
        let half = Extents::new(extents.as_array().map(|extent| extent / 2)).map_err(BackendError::from)?;
        let pairs = each(|direction| self.line(direction, 2))?;
        let twice = self.downloaded(&LinkFields::of(pairs))?;
        let mut strengths = vec![vec![Complex::ZERO; extents.volume() * LINK_WORDS]; PLANES.len()];
        for corner in 0..1 << DIMENSIONS {
            let full = |site: usize| {
                let x: Coordinate = half.coordinate(site);
                extents.site(std::array::from_fn(|d| 2 * x[d] + (corner >> d & 1)))
            };
            let links = (0..half.volume()).flat_map(|site| &twice.links()[SITE_WORDS * full(site)..][..SITE_WORDS]);
            let every_other = Configuration::new(half, links.copied().collect())?;
            let every_other = GaugeField::new(self.backend, &every_other, LaneChoice::Auto)?;
            let mut strength = every_other.zeros()?;
            for (plane, strengths) in PLANES.into_iter().zip(&mut strengths) {
                let links = every_other.along(plane);
                self.backend.clover_leaves(&mut strength, &every_other.stencil, plane, links)?;
                let words = self.backend.download(&strength)?.try_to_site_order()?;
                for (site, words) in words.chunks_exact(LINK_WORDS).enumerate() {
                    strengths[LINK_WORDS * full(site)..][..LINK_WORDS].copy_from_slice(words);
                }
            }
        }
        Ok(strengths)
    }
}
