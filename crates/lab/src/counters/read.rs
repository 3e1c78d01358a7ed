//! Reads a profiler's file, whose columns identify its kind.

use std::path::Path;

use lanefield::reference::ensure;

use super::error::CountersError;
use super::profile::Profile;
use super::sheet::Sheet;
use super::units::Kilobyte;
use super::{ncu, rocprof};

impl Profile {
    /// Adds the contents of a file. Files must be from one run: times from a run without counters take precedence over those from a run with
    /// counters.
    pub fn read(&mut self, path: &Path, kilobyte: Kilobyte) -> Result<(), CountersError> {
        let text =
            lanefield::bounded::read(path).map_err(|source| CountersError::Read { path: path.to_owned(), source })?;
        let sheet = Sheet::parse(path, &String::from_utf8_lossy(&text))?;
        let mut of_file = Self::default();
        let added = match sheet.has("Kernel Name") {
            true => ncu::add(&mut of_file, &sheet)?,
            false => rocprof::add(&mut of_file, &sheet, kilobyte)?,
        };
        ensure!(added != 0, CountersError::unfit(path, "has no kernels"));
        of_file
            .kernels
            .into_iter()
            .for_each(|(kernel, collected)| self.kernels.entry(kernel).or_default().join(collected));
        Ok(())
    }
}
