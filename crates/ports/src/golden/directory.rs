//! The directory of golden data while it is created, and the files written to it.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use lanefield::io::directory::NewDirectory;
use lanefield::io::npy::RawArray;

use super::error::GoldenError;
use super::manifest::{CASES, CaseEntry, FileEntry, MANIFEST, Manifest, Parameters, StageEntry, sha256};
use crate::Content;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Exported {
    pub cases: usize,
    pub stages: usize,
    pub files: usize,
    /// Bytes of all files, including the manifest.
    pub bytes: u64,
}

/// Writes files below a directory, and records their entries.
pub(super) struct Writer {
    directory: NewDirectory,
    files: BTreeMap<String, FileEntry>,
    cases: Vec<CaseEntry>,
    stages: Vec<StageEntry>,
    bytes: u64,
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> GoldenError + use<> {
    let path = path.to_owned();
    move |source| GoldenError::File { path, source }
}

impl Writer {
    pub fn new(target: &Path, replace: bool) -> Result<Self, GoldenError> {
        let is_golden = |there: &Path| Manifest::read(there).is_ok();
        let directory = NewDirectory::new(target, ".lanefield-golden-", replace, is_golden)?;
        let (files, cases, stages) = (BTreeMap::new(), Vec::new(), Vec::new());
        Ok(Self { directory, files, cases, stages, bytes: 0 })
    }

    pub fn has(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }

    pub fn place(&self, path: &str) -> Result<PathBuf, GoldenError> {
        let place = self.directory.root().join(path);
        if let Some(parent) = place.parent() {
            fs::create_dir_all(parent).map_err(failed(parent))?;
        }
        Ok(place)
    }

    /// Writes an array whose shape determines its content.
    pub fn array(&mut self, path: &str, array: &RawArray) -> Result<(), GoldenError> {
        self.array_of(path, Content::of_shape(&array.shape), array)
    }

    pub(crate) fn array_of(&mut self, path: &str, holds: Content, array: &RawArray) -> Result<(), GoldenError> {
        let (dtype, shape) = (Some(array.element.descr().to_owned()), Some(array.shape.clone()));
        let entry = FileEntry { dtype, shape, holds: Some(holds), sha256: String::new() };
        self.write(path, &array.to_file()?, entry)
    }

    pub fn other(&mut self, path: &str, bytes: &[u8]) -> Result<(), GoldenError> {
        self.write(path, bytes, FileEntry::default())
    }

    fn write(&mut self, path: &str, bytes: &[u8], entry: FileEntry) -> Result<(), GoldenError> {
        let place = self.place(path)?;
        fs::write(&place, bytes).map_err(failed(&place))?;
        self.bytes += bytes.len() as u64;
        self.files.insert(path.to_owned(), FileEntry { sha256: sha256(bytes), ..entry });
        Ok(())
    }

    pub fn case(&mut self, case: CaseEntry) {
        self.cases.push(case);
    }

    pub fn stage(&mut self, stage: StageEntry) {
        self.stages.push(stage);
    }

    pub fn finish(mut self, parameters: Parameters) -> Result<Exported, GoldenError> {
        let lines = Manifest::lines(&self.cases);
        self.other(CASES, lines.as_bytes())?;
        let Self { directory, files, cases, stages, bytes } = self;
        let (number_of_cases, number_of_stages, number_of_files) = (cases.len(), stages.len(), files.len());
        let manifest = Manifest::new(parameters, cases, stages, files);
        let mut text =
            serde_json::to_vec_pretty(&manifest).map_err(|error| failed(directory.target())(error.into()))?;
        text.push(b'\n');
        let place = directory.root().join(MANIFEST);
        fs::write(&place, &text).map_err(failed(&place))?;
        directory.finish()?;
        Ok(Exported {
            cases: number_of_cases,
            stages: number_of_stages,
            files: number_of_files + 1,
            bytes: bytes + text.len() as u64,
        })
    }
}
