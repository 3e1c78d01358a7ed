//! Writes golden data, all of them or none.

use std::path::Path;

use lanefield::dynamic::AnyBackend;
use lanefield::kernel::Shape;

use super::directory::{Exported, Writer};
use super::error::GoldenError;
use super::manifest::Parameters;
use super::setup::{GoldenOptions, Setup};
use super::{array, cases, stages};

/// The calls of kernels of an [`export`], in order, so that the programs that a device will need can be built in parallel before.
pub fn calls(backend: &AnyBackend, options: &GoldenOptions) -> Result<Vec<Shape>, GoldenError> {
    cases::shapes(&Setup::new(backend, options, &|_| true)?)
}

/// Checks, before anything is computed, that [`export`] will be able to write to this directory.
pub fn require_place(directory: &Path, replace: bool) -> Result<(), GoldenError> {
    Writer::new(directory, replace).map(drop)
}

/// Writes golden data to `directory`, all of them or none: they are created in a temporary directory next to it. With `replace`, a directory with
/// golden data may be replaced. `tell` is called with what is created next, and returns whether to continue.
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
