//! Several configurations of the same lattice, read one after the other from files or from the directories of ensembles.

use std::ffi::OsStr;
use std::fs;
use std::io;

use lanefield::comm::WholeLattice;
use lanefield::gauge::{require_one_action, require_one_ensemble};
use lanefield::io::claims::{directory_of, place};
use lanefield::io::configuration::ConfigurationFile;

use crate::configuration::ReadArgs;
use crate::files::has_extension;
use crate::prelude::*;
use crate::ranks::RanksArgs;

/// The configurations of an ensemble that a command reads.
#[derive(Args, Clone, Debug)]
pub struct EnsembleArgs {
    /// Gauge configurations, as files or the directory of an ensemble: NERSC, ILDG, SciDAC, MILC, openQCD, DD-αAMG or HiRep files, NumPy or HDF5
    /// arrays (T, Z, Y, X, 4, 3, 3)
    #[arg(long = "config", value_name = "FILES", num_args = 1.., required_unless_present = "positional")]
    configurations: Vec<PathBuf>,
    #[arg(hide = true, conflicts_with = "configurations")]
    positional: Vec<PathBuf>,
    #[command(flatten)]
    pub read: ReadArgs,
}

impl EnsembleArgs {
    /// The files, in which a directory stands for its configurations.
    pub fn files(&self) -> anyhow::Result<Vec<PathBuf>> {
        files_of(if self.positional.is_empty() { &self.configurations } else { &self.positional })
    }
}

/// Files of configurations, which are read one at a time.
pub struct Configurations<'a> {
    files: &'a [PathBuf],
    read: ReadArgs,
    ranks: &'a RanksArgs,
    lattice: WholeLattice,
    /// The first one, which determines the lattice.
    first: Option<ConfigurationFile>,
    next: usize,
    /// The contents of those that were read.
    known: Vec<Content>,
}

/// What identifies a configuration, even in another format or rounded to 32 bits.
struct Content {
    plaquette: f64,
    /// Numbers of links that are spread over the local volume.
    links: Vec<Complex<f64>>,
}

impl Content {
    fn of(file: &ConfigurationFile) -> anyhow::Result<Self> {
        // A prime number, so that the sample includes all elements of links.
        const NUMBERS: usize = 251;
        let links = file.configuration.links();
        let places = (0..NUMBERS).map(|k| k * links.len() / NUMBERS);
        Ok(Self { plaquette: file.plaquette()?, links: places.map(|place| links[place]).collect() })
    }

    /// Whether the links are the same on all ranks, except for rounding to 32 bits. Rounding changes a number by 6e-8, and averages by less, the
    /// more numbers they have.
    fn is(&self, other: &Self, lattice: &WholeLattice) -> anyhow::Result<bool> {
        const ROUNDING: f64 = 1e-6;
        let numbers = lattice.extents().as_array().iter().product::<usize>() as f64 * 72.0;
        let near = |(a, b): (&Complex<f64>, &Complex<f64>)| (a - b).norm() <= ROUNDING;
        // Those of the whole lattice, the same on all ranks.
        if (self.plaquette - other.plaquette).abs() > ROUNDING / numbers.sqrt() {
            return Ok(false);
        }
        let is_here = self.links.iter().zip(&other.links).all(near);
        Ok(!lattice.communicator().any(!is_here)?)
    }
}

impl<'a> Configurations<'a> {
    /// Reads the first of one or more `files`.
    pub fn begin(files: &'a [PathBuf], read: ReadArgs, ranks: &'a RanksArgs) -> anyhow::Result<Self> {
        let first = files.first().context("no configuration was given")?;
        let first = read.read(ranks, first)?;
        Ok(Self { files, read, ranks, lattice: first.lattice.clone(), first: Some(first), next: 0, known: Vec::new() })
    }

    pub fn lattice(&self) -> &WholeLattice {
        &self.lattice
    }

    /// The first configuration, until it is taken.
    pub fn first(&self) -> Option<&ConfigurationFile> {
        self.first.as_ref()
    }

    /// Reads a configuration. Fails if it is on another lattice than the first, or the same as an earlier one.
    fn read(&mut self, path: &Path) -> anyhow::Result<ConfigurationFile> {
        let file = match self.first.take() {
            Some(first) => first,
            None => self.read.read(self.ranks, path)?,
        };
        let (name, found, extents) = (path.display(), file.lattice.extents(), self.lattice.extents());
        ensure!(found == extents, "{name} is on {found}, and {} on {extents}", self.files[0].display());
        // One alone is compared with none.
        if self.files.len() == 1 {
            return Ok(file);
        }
        let content = Content::of(&file)?;
        for (known, earlier) in self.known.iter().zip(self.files) {
            ensure!(!content.is(known, &self.lattice)?, "{}", twice(earlier, path));
        }
        self.known.push(content);
        Ok(file)
    }
}

/// Why a configuration that was given twice is refused.
pub fn twice(earlier: &Path, path: &Path) -> String {
    let (earlier, path) = (earlier.display(), path.display());
    format!("{path} is the same configuration as {earlier}: it would count twice; leave one of them out")
}

impl<'a> Iterator for Configurations<'a> {
    type Item = anyhow::Result<(&'a Path, ConfigurationFile)>;

    fn next(&mut self) -> Option<Self::Item> {
        let path = self.files.get(self.next)?;
        self.next += 1;
        Some(self.read(path).map(|file| (path.as_path(), file)))
    }
}

/// Whether two plaquettes, and what was measured with them, belong to the same links, except for rounding to 32 bits or a gauge transformation.
/// They then agree in more digits than different configurations of an ensemble do.
pub fn are_of_same_links<'a>(
    plaquettes: [f64; 2],
    mut measured: impl Iterator<Item = (&'a Vec<f64>, &'a Vec<f64>)>,
) -> bool {
    let near = |(a, b): (&Vec<f64>, &Vec<f64>)| {
        let most = a.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
        let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-4 * a.abs() + 1e-6 * most;
        a.iter().zip(b).all(close)
    };
    (plaquettes[0] - plaquettes[1]).abs() <= 1e-7 && measured.all(near)
}

/// The files of configurations, each once; those of a directory are sorted by name. `stopped.nersc` of an interrupted heat bath is left out.
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
        require_one_ensemble(path, &there)?;
        files.append(&mut there);
    }
    let places: Vec<PathBuf> = files.iter().map(|file| place(file)).collect();
    for (k, file) in files.iter().enumerate() {
        if let Some(earlier) = places[..k].iter().position(|place| *place == places[k]) {
            bail!("{}", twice(&files[earlier], file));
        }
    }
    let mut directories: Vec<&Path> = files.iter().map(|file| directory_of(file)).collect();
    directories.dedup();
    require_one_action(directories.into_iter())?;
    Ok(files)
}
