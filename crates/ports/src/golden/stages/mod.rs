//! Intermediates: what lies between the inputs of a kernel and its result, so that a port that differs sees from which step on.

mod along_s;
mod cg;
mod clover;
mod half;
mod hop;
pub(super) mod links;
mod sums;

use lanefield::io::npy::RawArray;
use lanefield::kernel::{Holds, Kernel};
use lanefield::reference::real::Precision;

use super::directory::Writer;
use super::manifest::StageEntry;
use super::{GoldenError, Setup};
use crate::Content;

/// Writes the stages that the kernels asked for go through.
pub(super) fn export(setup: &Setup<'_>, writer: &mut Writer) -> Result<(), GoldenError> {
    let kernels = &setup.options.kernels;
    let any = |wanted: fn(&Kernel) -> bool| kernels.iter().any(|kernel| kernel.is_launched() && wanted(kernel));
    if any(|kernel| kernel.fields().any(|role| matches!(role.holds, Holds::DoubledLinks | Holds::Links))) {
        links::export(setup, writer)?;
    }
    if any(|kernel| matches!(kernel.family, "hop" | "wilson" | "clover" | "twisted_mass")) {
        hop::export(setup, writer)?;
    }
    if any(|kernel| matches!(kernel.family, "clover" | "clover_term")) {
        clover::export(setup, writer)?;
    }
    if any(|kernel| kernel.family == "domain_wall") {
        along_s::export(setup, writer)?;
    }
    if setup.takes(Precision::Half) {
        half::export(setup, writer)?;
    }
    if any(Kernel::sums) {
        sums::export(setup, writer)?;
    }
    if any(|kernel| kernel.family == "wilson") {
        cg::export(setup, writer)?;
    }
    Ok(())
}

/// Files that belong together.
struct Stage<'a> {
    writer: &'a mut Writer,
    entry: StageEntry,
}

impl<'a> Stage<'a> {
    fn new(writer: &'a mut Writer, stage: &str, definition: &str, about: &str) -> Self {
        let (stage, definition, about) = (stage.to_owned(), definition.to_owned(), about.to_owned());
        let entry = StageEntry { stage, definition, about, parameters: Default::default(), files: Vec::new() };
        Self { writer, entry }
    }

    /// Says on what number or file the stage depends.
    fn with(mut self, name: &str, value: impl ToString) -> Self {
        self.entry.parameters.insert(name.to_owned(), value.to_string());
        self
    }

    fn path(&self, name: &str) -> String {
        format!("stages/{}/{name}", self.entry.stage)
    }

    /// Writes an array whose shape says what it holds: `name` without `.npy`.
    fn array(&mut self, name: &str, array: &RawArray) -> Result<(), GoldenError> {
        self.array_of(name, Content::of_shape(&array.shape), array)
    }

    fn array_of(&mut self, name: &str, holds: Content, array: &RawArray) -> Result<(), GoldenError> {
        let path = self.path(&format!("{name}.npy"));
        self.writer.array_of(&path, holds, array)?;
        self.entry.files.push(path);
        Ok(())
    }

    fn other(&mut self, name: &str, bytes: &[u8]) -> Result<(), GoldenError> {
        let path = self.path(name);
        self.writer.other(&path, bytes)?;
        self.entry.files.push(path);
        Ok(())
    }

    fn done(self) {
        self.writer.stage(self.entry);
    }
}
