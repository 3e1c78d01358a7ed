//! A gauge field on all sites of a lattice, on a backend, in f64.

use lanefield_reference::layout::{Checkerboard, DIMENSIONS, Stencil};
use lanefield_reference::object::ColourMatrix;
use lanefield_reference::prelude::*;
use lanefield_reference::real::Real as _;

use super::{GaugeFieldError, LinkFields};
use crate::backend::{Backend, BackendError, FieldOn};
use crate::kernel::prelude::*;

/// The links of one direction, or other colour matrices, on all sites.
pub type LinkField<B> = FieldOn<B, f64, ColourMatrix>;

/// A gauge field on all sites of a lattice, on a backend, in f64.
pub struct GaugeField<'b, B: Backend> {
    pub(super) backend: &'b B,
    pub(super) lattice: Lattice,
    pub(super) stencil: B::Table,
    pub(super) links: LinkFields<B, f64>,
}

impl<'b, B: Backend> GaugeField<'b, B> {
    /// Uploads a configuration.
    pub fn new(backend: &'b B, configuration: &Configuration, lanes: LaneChoice) -> Result<Self, BackendError> {
        let options = LatticeOptions { lanes: backend.lanes(lanes), nodes: None, checkerboard: Checkerboard::FullOnly };
        let lattice = Lattice::new(configuration.extents(), f64::COMPLEX, options)?;
        let stencil = backend.stencil(Stencil::new(lattice, Sites::Full)?)?;
        let links = LinkFields::new(backend, lattice, Sites::Full, configuration)?;
        Ok(Self { backend, lattice, stencil, links })
    }

    /// The backend.
    pub fn backend(&self) -> &'b B {
        self.backend
    }

    /// The lattice.
    pub fn lattice(&self) -> Lattice {
        self.lattice
    }

    /// The links.
    pub fn links(&self) -> &LinkFields<B, f64> {
        &self.links
    }

    /// The links of each direction.
    pub(super) fn all(&self) -> [&LinkField<B>; DIMENSIONS] {
        self.links.all()
    }

    pub(super) fn zeros(&self) -> Result<LinkField<B>, BackendError> {
        self.backend.zeros(self.lattice, Sites::Full, ColourMatrix)
    }

    /// Four fields of zeros, one per direction.
    pub(super) fn four_zeros(&self) -> Result<[LinkField<B>; DIMENSIONS], BackendError> {
        Ok([self.zeros()?, self.zeros()?, self.zeros()?, self.zeros()?])
    }

    /// Copies the links from fields.
    pub(super) fn set(&mut self, links: &[LinkField<B>; DIMENSIONS]) -> Result<(), BackendError> {
        for (direction, links) in Direction::ALL.into_iter().zip(links) {
            self.backend.copy(self.links.along_mut(direction), links)?;
        }
        Ok(())
    }

    /// Downloads the links.
    pub fn configuration(&self) -> Result<Configuration, GaugeFieldError> {
        Ok(self.downloaded(&self.links)?)
    }

    pub(super) fn downloaded(&self, fields: &LinkFields<B, f64>) -> Result<Configuration, BackendError> {
        LinkFields::configuration(&[fields], self.backend)
    }
}
