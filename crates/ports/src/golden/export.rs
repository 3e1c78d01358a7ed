//! Golden data written, all of them or none.

use std::path::Path;

use lanefield::dynamic::AnyBackend;
use lanefield::kernel::Shape;

use super::directory::{Exported, Writer};
use super::error::GoldenError;
use super::manifest::Parameters;
use super::setup::{GoldenOptions, Setup};
use super::{array, cases, stages};

/// The calls of kernels of an [`export`], in its order: what a device will build can be known of them, and built side by side before.
pub fn calls(backend: &AnyBackend, options: &GoldenOptions) -> Result<Vec<Shape>, GoldenError> {
    cases::shapes(&Setup::new(backend, options, &|_| true)?)
}

/// Refuses a directory to which [`export`] could not write, before anything is computed.
pub fn require_place(directory: &Path, replace: bool) -> Result<(), GoldenError> {
    Writer::new(directory, replace).map(drop)
}

/// Writes golden data to the directory `directory`, all of them or none: they are made beside it first. `replace` allows to replace a directory that
/// holds golden data. `tell` is told what is being made, and says whether to go on.
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
