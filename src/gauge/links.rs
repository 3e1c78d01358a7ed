//! The links of a gauge field on a backend: a field of colour matrices for each direction, on all sites or on those of one parity.

use lanefield_reference::field::{Field, FieldError};
use lanefield_reference::gauge::{Configuration, SITE_WORDS};
use lanefield_reference::kernels::Vectors;
use lanefield_reference::layout::{DIMENSIONS, Direction, Lattice, Sites};
use lanefield_reference::object::ColourMatrix;
use num_complex::Complex;

use crate::backend::{BackendError, FieldOn, Memory};

/// Complex words of a link.
const LINK_WORDS: usize = 9;

/// The links of all directions on a backend, on the sites of a lattice, or of one parity.
pub struct LinkFields<B: Memory + ?Sized, R: Vectors> {
    fields: [FieldOn<B, R, ColourMatrix>; DIMENSIONS],
}

impl<B: Memory + ?Sized, R: Vectors> LinkFields<B, R> {
    /// Uploads the links of a configuration, rounded to `R`.
    ///
    /// # Errors
    /// [`BackendError`] of fields on a lattice that is not the configuration's, or where the device has no memory for them.
    pub fn new(
        backend: &B,
        lattice: Lattice,
        sites: Sites,
        configuration: &Configuration,
    ) -> Result<Self, BackendError> {
        if lattice.extents() != configuration.extents() {
            let (what, left) = ("the lattice of a gauge field", lattice.extents().to_string());
            return Err(FieldError::Mismatch { what, left, right: configuration.extents().to_string() }.into());
        }
        let field = |direction: Direction| {
            let links = Field::<R, _>::from_sites(lattice, sites, ColourMatrix, |site, words| {
                for (word, link) in words.iter_mut().zip(configuration.link(site, direction.index())) {
                    *word = Complex::new(R::from_f64(link.re), R::from_f64(link.im));
                }
            })?;
            backend.upload(links)
        };
        let [x, y, z, t] = Direction::ALL.map(field);
        Ok(Self { fields: [x?, y?, z?, t?] })
    }

    /// Links that are on the backend already.
    pub(super) fn of(fields: [FieldOn<B, R, ColourMatrix>; DIMENSIONS]) -> Self {
        Self { fields }
    }

    /// The links in a direction.
    pub fn along(&self, direction: Direction) -> &FieldOn<B, R, ColourMatrix> {
        &self.fields[direction.index()]
    }

    /// The links in a direction, to be written.
    pub fn along_mut(&mut self, direction: Direction) -> &mut FieldOn<B, R, ColourMatrix> {
        &mut self.fields[direction.index()]
    }

    /// The links of the four directions.
    pub fn all(&self) -> [&FieldOn<B, R, ColourMatrix>; DIMENSIONS] {
        self.fields.each_ref()
    }

    /// Writes the links into those of a configuration in site order, nine words for each of the four directions of a site: of one parity, of its sites alone.
    ///
    /// # Errors
    /// [`BackendError`] if the device fails.
    pub fn download_into(&self, backend: &B, links: &mut [Complex<f64>]) -> Result<(), BackendError> {
        for (mu, field) in self.fields.iter().enumerate() {
            let field = backend.download(field)?;
            let (lattice, sites) = (*field.lattice(), field.sites());
            let extents = lattice.extents();
            let values = field.to_site_order();
            for (site, words) in links.chunks_exact_mut(SITE_WORDS).enumerate() {
                if sites.contain(extents.coordinate(site)) {
                    let link = &mut words[LINK_WORDS * mu..][..LINK_WORDS];
                    for (to, from) in link.iter_mut().zip(&values[LINK_WORDS * site..]) {
                        *to = Complex::new(from.re.to_f64(), from.im.to_f64());
                    }
                }
            }
        }
        Ok(())
    }
}
