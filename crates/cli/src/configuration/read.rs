//! Gauge configurations that commands read, from files of any format.

use lanefield::gauge::{require_ensemble_of_directory, require_one_ensemble};
use lanefield::io::claims;
use lanefield::io::configuration::{self, ConfigurationFile, ReadOptions, is_stream};
use lanefield::reference::gauge::{Projection, SITE_WORDS};
use lanefield_lab::trace::{Group, span};
use serde_json::Value;

use crate::files::naming_a_dataset;
use crate::prelude::*;
use crate::ranks::{self, RanksArgs};

/// The advice for links that are too far from SU(3).
pub const PROJECT: &str = "--project brings links to SU(3)";

/// How a configuration is read.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct ReadArgs {
    /// Extents of the lattice: for LIME files that contain nothing but links
    #[arg(long, help_heading = "Reading configurations", value_name = "X.Y.Z.T")]
    lattice: Option<Extents>,
    /// Project the links to SU(3), even if they are far from it
    #[arg(long, help_heading = "Reading configurations")]
    project: bool,
    /// Method of projection to SU(3): polar (decomposition), or max-re-tr, the matrix U with the largest Re tr U V† for a link V [default: polar]
    #[arg(long, help_heading = "Reading configurations", value_name = "PROJECTION")]
    projection: Option<Projection>,
}

impl ReadArgs {
    /// These arguments, with a projection.
    pub fn projecting(self) -> Self {
        Self { project: true, ..self }
    }

    /// How links are projected, if they are.
    pub fn projection(&self) -> Option<Projection> {
        self.projection.or(self.project.then_some(Projection::Polar))
    }

    /// The arguments as text of a command line, each after a blank.
    pub fn text(&self) -> String {
        let lattice = self.lattice.map(|lattice| format!(" --lattice {lattice}"));
        let projection = self.projection().map(|projection| format!(" --projection {projection}"));
        lattice.into_iter().chain(projection).collect()
    }

    /// The projection as a setting on which outputs depend.
    pub fn setting(&self) -> (&'static str, Value) {
        ("projection", self.projection().map(|projection| projection.to_string()).into())
    }

    /// Adds to an error how the command line can avoid it.
    fn advised(&self, path: &Path, error: anyhow::Error) -> anyhow::Error {
        let text = error.to_string();
        match self.projection() {
            _ if text.contains("datasets of complex numbers are in the file") => {
                anyhow::anyhow!("{text}: {}", naming_a_dataset(path))
            }
            None if text.contains("is not in SU(3)") => anyhow::anyhow!("{text}; {PROJECT}"),
            Some(Projection::Polar) if text.contains("after the projection") => {
                anyhow::anyhow!(
                    "{text}: a singular matrix has no polar decomposition; --projection max-re-tr also accepts it"
                )
            }
            _ => error,
        }
    }

    /// As [`Self::read_any`]; also fails if the configuration is in the directory of another ensemble.
    pub fn read(&self, ranks: &RanksArgs, path: &Path) -> anyhow::Result<ConfigurationFile> {
        if is_stream(path) {
            return self.read_any(ranks, path);
        }
        let directory = claims::directory_of(path);
        require_one_ensemble(directory, &[path.to_owned()])?;
        let file = self.read_any(ranks, path)?;
        if let Some(provenance) = file.origin.provenance() {
            require_ensemble_of_directory(directory, path, &provenance.ensemble_id)?;
        }
        Ok(file)
    }

    /// Reads the local volume of a configuration, and verifies everything that its file states.
    pub fn read_any(&self, ranks: &RanksArgs, path: &Path) -> anyhow::Result<ConfigurationFile> {
        let _span = span(Group::File, || format!("read {}", path.display()));
        ensure!(
            !(is_stream(path) && ranks::are_several()),
            "{} is not a regular file, so several ranks cannot read it: write it to a file first",
            path.display()
        );
        let options = ReadOptions { lattice: self.lattice, projection: self.projection() };
        let read = configuration::read_on(path, options, |extents| ranks.lattice(extents));
        let file = read.map_err(|error| self.advised(path, error))?;
        for problem in file.problems.iter().filter(|_| ranks::is_first()) {
            say!("warning: {}: {problem}; it was read without it", path.display());
        }
        Ok(file)
    }
}

/// The configuration that a command reads.
#[derive(Args, Clone, Debug)]
pub struct ConfigArgs {
    /// Gauge configuration: a NERSC, ILDG, SciDAC, MILC, openQCD, DD-αAMG or HiRep file, or a NumPy or HDF5 array (T, Z, Y, X, 4, 3, 3)
    #[arg(long, value_name = "FILE")]
    pub config: PathBuf,
    #[command(flatten)]
    pub read: ReadArgs,
}

impl ConfigArgs {
    /// As [`ReadArgs::read`].
    pub fn read(&self, ranks: &RanksArgs) -> anyhow::Result<ConfigurationFile> {
        self.read.read(ranks, &self.config)
    }
}

/// Refuses a lattice whose links the system has no memory for, where making them would abort the program.
pub fn require_memory(extents: Extents) -> anyhow::Result<()> {
    let words = extents.volume().saturating_mul(SITE_WORDS);
    let mut links: Vec<Complex<f64>> = Vec::new();
    if links.try_reserve_exact(words).is_err() {
        let bytes = words.saturating_mul(size_of::<Complex<f64>>());
        bail!("not enough memory for a configuration on {extents}: {bytes} bytes; take a smaller lattice");
    }
    Ok(())
}
