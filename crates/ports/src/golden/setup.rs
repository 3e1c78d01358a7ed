//! The options of golden data, and what all parts of an export share.

use lanefield::dynamic::AnyBackend;
use lanefield::kernel::{Kernel, TestData};
use lanefield::prelude::*;

use super::error::GoldenError;

#[derive(Clone, Debug)]
pub struct GoldenOptions {
    /// The kernels, without those that are only parts of sums.
    pub kernels: Vec<&'static Kernel>,
    /// The lattice, with even extents.
    pub extents: Extents,
    pub seed: u64,
    pub precisions: Vec<Precision>,
    pub boundary: BoundaryPhases,
    pub legs: LegOrder,
    /// The lane width with which the backend computes; no byte depends on it.
    pub lanes: LaneChoice,
}

impl GoldenOptions {
    /// The default lattice: every extent is different, and the smallest has two sites.
    pub const LATTICE: [usize; 4] = [4, 6, 2, 8];
    pub const SEED: u64 = 1;
}

pub(super) struct Setup<'a> {
    pub backend: &'a AnyBackend,
    pub options: &'a GoldenOptions,
    pub configuration: Configuration,
    pub data: TestData,
    pub tell: &'a dyn Fn(&str) -> bool,
}

impl<'a> Setup<'a> {
    /// Fails for an unsuitable lattice before anything is computed.
    pub fn new(
        backend: &'a AnyBackend,
        options: &'a GoldenOptions,
        tell: &'a dyn Fn(&str) -> bool,
    ) -> Result<Self, GoldenError> {
        let (extents, seed) = (options.extents, options.seed);
        let configuration = Configuration::hot(extents, seed);
        options.boundary.require_links(LinkFormat::TwoRows).map_err(GoldenError::Boundary)?;
        let setup = Self { backend, options, configuration, data: TestData::new(seed), tell };
        setup.lattice(Precision::F32)?;
        Ok(setup)
    }

    pub fn tell(&self, what: &str) -> Result<(), GoldenError> {
        if (self.tell)(what) { Ok(()) } else { Err(GoldenError::Stopped { before: what.to_owned() }) }
    }

    /// The lattice for fields of a precision, with the requested lanes.
    pub fn lattice(&self, precision: Precision) -> Result<Lattice, GoldenError> {
        self.lattice_of(precision.scalar())
    }

    pub(crate) fn lattice_of(&self, scalar: Scalar) -> Result<Lattice, GoldenError> {
        let options = LatticeOptions { lanes: self.backend.lanes(self.options.lanes), ..LatticeOptions::default() };
        Ok(Lattice::new(self.options.extents, scalar, options)?)
    }

    /// The lattice for a field that is converted from another precision: lanes that hold the same sites in both.
    pub(crate) fn lattice_from(&self, precision: Precision, from: Precision) -> Result<Lattice, GoldenError> {
        let lattice = self.lattice(precision)?;
        if lattice.in_scalar(from.scalar()).is_ok() {
            return Ok(lattice);
        }
        Ok(self.lattice(from)?.in_scalar(precision.scalar())?)
    }

    pub fn takes(&self, precision: Precision) -> bool {
        self.options.precisions.contains(&precision)
    }

    /// The requested ones among some precisions.
    pub fn of(&self, precisions: &'static [Precision]) -> impl Iterator<Item = Precision> {
        precisions.iter().copied().filter(|&precision| self.takes(precision))
    }
}
