//! Golden data: inputs, intermediates and results of every kernel as files, with a manifest; and their comparison with those of a port. The format of the
//! directory is described in `docs/golden.md`. Everything in it is a function of what was asked for ([`GoldenOptions`]): no backend, lane width or number
//! of threads changes a byte.

mod array;
mod cases;
mod check;
mod directory;
mod error;
mod manifest;
mod stages;

use lanefield::backend::Memory as _;
use lanefield::dynamic::AnyBackend;
use lanefield::kernel::{Kernel, Shape, TestData};
use lanefield::reference::gauge::Configuration;
use lanefield::reference::layout::{Extents, LaneChoice, Lattice, LatticeOptions, LegOrder, Scalar};
use lanefield::reference::links::{BoundaryPhases, LinkFormat};
use lanefield::reference::real::Precision;
use std::path::Path;

pub use array::{axes_of, field_array, from_array};
pub use check::{CheckOptions, Checked, CheckedGroup, FirstDifference, check};
pub use error::GoldenError;
pub use manifest::{CaseEntry, FileEntry, MANIFEST, Manifest, Parameters, StageEntry};

use directory::Writer;

/// What golden data are to hold.
#[derive(Clone, Debug)]
pub struct GoldenOptions {
    /// The kernels; those that are only parts of sums are left out.
    pub kernels: Vec<&'static Kernel>,
    /// The lattice, of even extents.
    pub extents: Extents,
    /// Of links, fields and scalars.
    pub seed: u64,
    /// Precisions of the targets.
    pub precisions: Vec<Precision>,
    /// Boundary phases of the links.
    pub boundary: BoundaryPhases,
    /// The order of the legs.
    pub legs: LegOrder,
    /// The lanes in which the backend computes; no byte depends on them.
    pub lanes: LaneChoice,
}

impl GoldenOptions {
    /// The lattice that is taken where none is named: every extent another one, and two in a row of the least.
    pub const LATTICE: [usize; 4] = [4, 6, 2, 8];
    /// The seed that is taken where none is named.
    pub const SEED: u64 = 1;
}

/// What was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Exported {
    /// Cases of kernels.
    pub cases: usize,
    /// Sets of intermediates.
    pub stages: usize,
    /// Files.
    pub files: usize,
    /// Bytes of all files, the manifest among them.
    pub bytes: u64,
}

/// What all parts of an export share.
struct Setup<'a> {
    backend: &'a AnyBackend,
    options: &'a GoldenOptions,
    configuration: Configuration,
    data: TestData,
    tell: &'a dyn Fn(&str) -> bool,
}

impl<'a> Setup<'a> {
    /// A lattice that does not fit is refused before anything is made of it.
    fn new(
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

    /// Says what is being made now.
    fn tell(&self, what: &str) -> Result<(), GoldenError> {
        if (self.tell)(what) { Ok(()) } else { Err(GoldenError::Stopped { before: what.to_owned() }) }
    }

    /// The lattice of fields of a precision, in the lanes asked for.
    fn lattice(&self, precision: Precision) -> Result<Lattice, GoldenError> {
        self.lattice_of(precision.scalar())
    }

    fn lattice_of(&self, scalar: Scalar) -> Result<Lattice, GoldenError> {
        let options = LatticeOptions { lanes: self.backend.lanes(self.options.lanes), ..LatticeOptions::default() };
        Ok(Lattice::new(self.options.extents, scalar, options)?)
    }

    /// The lattice of a field that is made of one in another precision: lanes that hold the same sites in both.
    fn lattice_from(&self, precision: Precision, from: Precision) -> Result<Lattice, GoldenError> {
        let lattice = self.lattice(precision)?;
        if lattice.in_scalar(from.scalar()).is_ok() {
            return Ok(lattice);
        }
        Ok(self.lattice(from)?.in_scalar(precision.scalar())?)
    }

    fn takes(&self, precision: Precision) -> bool {
        self.options.precisions.contains(&precision)
    }

    /// Those of some precisions that are asked for.
    fn of(&self, precisions: &'static [Precision]) -> impl Iterator<Item = Precision> {
        precisions.iter().copied().filter(|&precision| self.takes(precision))
    }
}

/// The calls of kernels of an [`export`], in its order: what a device will build can be known of them, and built side by side before.
///
/// # Errors
/// As [`export`], of what can be known before anything is computed.
pub fn calls(backend: &AnyBackend, options: &GoldenOptions) -> Result<Vec<Shape>, GoldenError> {
    cases::shapes(&Setup::new(backend, options, &|_| true)?)
}

/// Refuses a directory to which [`export`] could not write, before anything is computed.
///
/// # Errors
/// [`GoldenError`].
pub fn require_place(directory: &Path, replace: bool) -> Result<(), GoldenError> {
    Writer::new(directory, replace).map(drop)
}

/// Writes golden data to the directory `directory`, all of them or none: they are made beside it first. `replace` allows to replace a directory that
/// holds golden data. `tell` is told what is being made, and says whether to go on.
///
/// # Errors
/// [`GoldenError`]: a directory that holds something; a lattice that has no parities; what the backend cannot do, by the case that needs it.
pub fn export(
    backend: &AnyBackend,
    options: &GoldenOptions,
    directory: &Path,
    replace: bool,
    tell: &dyn Fn(&str) -> bool,
) -> Result<Exported, GoldenError> {
    let mut writer = Writer::new(directory, replace)?;
    let setup = Setup::new(backend, options, tell)?;
    let links = setup.configuration.links();
    let [x, y, z, t] = options.extents.as_array();
    writer.array("configuration.npy", &array::complex(&[t, z, y, x, 4, 3, 3], links)?)?;
    stages::export(&setup, &mut writer)?;
    cases::export(&setup, &mut writer)?;
    let parameters = Parameters {
        lattice: options.extents.to_string(),
        seed: options.seed,
        boundary: options.boundary.to_string(),
        legs: options.legs.to_string(),
        precisions: options.precisions.clone(),
    };
    writer.finish(parameters)
}
