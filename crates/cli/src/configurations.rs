//! Several configurations of the same lattice, one after the other: files, or the directories of ensembles.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use lanefield::comm::WholeLattice;

use super::files::{ConfigurationFile, has_extension, read_configuration_on};
use super::ranks::RanksArgs;

/// Files of configurations, of which one is read at a time.
pub struct Configurations<'a> {
    files: &'a [PathBuf],
    ranks: &'a RanksArgs,
    lattice: WholeLattice,
    /// The first one, which tells the lattice.
    first: Option<ConfigurationFile>,
    next: usize,
}

impl<'a> Configurations<'a> {
    /// Reads the first one of `files`, which are one or more.
    pub fn begin(files: &'a [PathBuf], ranks: &'a RanksArgs) -> anyhow::Result<Self> {
        let first = files.first().context("no configuration was given")?;
        let first = read_configuration_on(ranks, first)?;
        Ok(Self { files, ranks, lattice: first.lattice.clone(), first: Some(first), next: 0 })
    }

    pub fn lattice(&self) -> &WholeLattice {
        &self.lattice
    }

    /// The first one, until it was taken.
    pub fn first(&self) -> Option<&ConfigurationFile> {
        self.first.as_ref()
    }

    fn read(&mut self, path: &Path) -> anyhow::Result<ConfigurationFile> {
        if let Some(first) = self.first.take() {
            return Ok(first);
        }
        let file = read_configuration_on(self.ranks, path)?;
        let (name, found, extents) = (path.display(), file.lattice.extents(), self.lattice.extents());
        ensure!(found == extents, "{name} is on {found}, and {} on {extents}", self.files[0].display());
        Ok(file)
    }
}

impl<'a> Iterator for Configurations<'a> {
    type Item = anyhow::Result<(&'a Path, ConfigurationFile)>;

    fn next(&mut self) -> Option<Self::Item> {
        let path = self.files.get(self.next)?;
        self.next += 1;
        Some(self.read(path).map(|file| (path.as_path(), file)))
    }
}

/// The files of configurations, those of a directory in the order of their names. The state in which a run of the heat bath was ended is none.
pub fn files_of(given: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in given {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let name = path.display();
        let entries = fs::read_dir(path).with_context(|| format!("cannot read {name}"))?;
        let entries: io::Result<Vec<PathBuf>> = entries.map(|entry| Ok(entry?.path())).collect();
        let entries = entries.with_context(|| format!("cannot read {name}"))?;
        let kept = |path: &PathBuf| has_extension(path, &["nersc"]) && path.file_stem() != Some(OsStr::new("stopped"));
        let mut there: Vec<PathBuf> = entries.into_iter().filter(kept).collect();
        ensure!(!there.is_empty(), "{name} has no configuration: expected files that end in .nersc");
        there.sort();
        files.append(&mut there);
    }
    Ok(files)
}
