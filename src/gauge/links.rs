//! The links of a gauge field on a backend: one field of colour matrices per direction, on all sites or on those of one parity.

use lanefield_reference::field::FieldError;
use lanefield_reference::gauge::NearCoordinate;
use lanefield_reference::layout::{DIMENSIONS, GhostSites, Place, Reach};
use lanefield_reference::object::ColourMatrix;
use lanefield_reference::prelude::*;
use lanefield_reference::real::Real as _;

use crate::backend::{BackendError, FieldOn, HostField, Memory};

/// Complex words of a link.
const LINK_WORDS: usize = 9;

/// The links of all directions on a backend, on the full lattice or on one parity.
pub struct LinkFields<B: Memory + ?Sized, R: Vectors> {
    fields: [FieldOn<B, R, ColourMatrix>; DIMENSIONS],
}

impl<B: Memory + ?Sized, R: Vectors> LinkFields<B, R> {
    /// Uploads the links of a configuration, rounded to `R`.
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

    /// From links that are on the backend already.
    pub(super) fn of(fields: [FieldOn<B, R, ColourMatrix>; DIMENSIONS]) -> Self {
        Self { fields }
    }

    /// The links in a direction.
    pub fn along(&self, direction: Direction) -> &FieldOn<B, R, ColourMatrix> {
        &self.fields[direction.index()]
    }

    /// The links in a direction, mutably.
    pub(crate) fn along_mut(&mut self, direction: Direction) -> &mut FieldOn<B, R, ColourMatrix> {
        &mut self.fields[direction.index()]
    }

    /// The links of the four directions.
    pub fn all(&self) -> [&FieldOn<B, R, ColourMatrix>; DIMENSIONS] {
        self.fields.each_ref()
    }

    /// The links on the host, with those of neighbouring ranks that are read. `of`: the links of all sites, or of both parities.
    pub(crate) fn on_host(of: &[&Self], backend: &B, reach: Reach) -> Result<HostLinks, BackendError> {
        let mut fields = Vec::with_capacity(of.len() * DIMENSIONS);
        for links in of {
            for field in &links.fields {
                fields.push(backend.load_with_ghosts(field.any(), reach)?);
            }
        }
        let lattice = *of[0].fields[0].lattice();
        let sites = of.iter().map(|links| links.fields[0].sites());
        Ok(HostLinks {
            lattice,
            ghosts: sites.map(|sites| (sites, GhostSites::new(&lattice, sites))).collect(),
            fields,
        })
    }

    /// The links as a configuration, from fields on all sites or on both parities. On ranks, all ranks must call it.
    pub(crate) fn configuration(of: &[&Self], backend: &B) -> Result<Configuration, BackendError> {
        let links = Self::on_host(of, backend, Reach::Corners)?;
        Configuration::from_near_sites(links.lattice.extents(), |x, words| {
            for (direction, words) in words.chunks_exact_mut(LINK_WORDS).enumerate() {
                words.copy_from_slice(&links.link(x, direction));
            }
            Ok(())
        })
    }
}

pub(crate) struct HostLinks {
    lattice: Lattice,
    /// The sites, and where they are stored.
    ghosts: Vec<(Sites, GhostSites)>,
    /// Four fields for each of these sets of sites.
    fields: Vec<HostField>,
}

impl HostLinks {
    /// The link of a site in a direction, row by row.
    ///
    /// # Panics
    /// If the site is not held.
    pub(crate) fn link(&self, x: NearCoordinate, direction: usize) -> [Complex<f64>; LINK_WORDS] {
        let held = self.ghosts.iter().enumerate().find(|(_, (sites, _))| sites.contain_near(x));
        let place = held.and_then(|(number, (sites, ghosts))| Some((number, ghosts.place(&self.lattice, *sites, x)?)));
        let Some((number, Place { osite, lane })) = place else { panic!("the site {x:?} is not held") };
        let (field, nsimd) = (&self.fields[DIMENSIONS * number + direction], self.lattice.nsimd());
        let at = |word: usize| 2 * ((osite * LINK_WORDS + word) * nsimd + lane);
        std::array::from_fn(|word| {
            let real = |part: usize| match field {
                HostField::F32(field) => field.reals_with_ghosts()[at(word) + part].into(),
                HostField::F64(field) => field.reals_with_ghosts()[at(word) + part],
                HostField::Half(field) => field.reals_with_ghosts()[at(word) + part].to_f64(),
            };
            Complex::new(real(0), real(1))
        })
    }
}
