//! `lanefield config`: shows, checks, generates and converts gauge configurations.

mod generate;
mod heatbath;
mod made;
mod summary;

use lanefield::io::configuration;

use generate::Generate;
use made::Made;
use summary::Summary;

use super::array_output::{ArrayOutput, require_converted};
use super::configuration::{FormatArgs, MadeInputs, ReadArgs};
use super::ranks::{RanksArgs, require_one};
use crate::prelude::*;

/// Show, check, create, convert or project gauge configurations.
///
/// Formats: NERSC, ILDG, SciDAC, MILC, openQCD, DD-αAMG and HiRep files, NumPy and HDF5 arrays.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield config generate hot --lattice 4.4.4.8 --seed 1 --output hot.nersc
  lanefield config info hot.nersc
  lanefield config convert hot.nersc hot.npy
  lanefield config convert hot.nersc hot.lime
  lanefield config check hot.lime")]
pub struct Config {
    #[command(subcommand)]
    command: Command,
}

commands! {
    Command {
        Info(Info),
        Check(Check),
        Generate(Generate),
        Convert(Convert),
        Project(Project),
    }
}

impl Config {
    pub fn run(self) -> anyhow::Result<Outcome> {
        self.command.run()
    }
}

/// Show the lattice, plaquette, link trace and checksum of a file.
///
/// The configuration is verified when it is read.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield config generate hot --lattice 4.4.4.8 --seed 1 --output hot.nersc
  lanefield config info hot.nersc
  lanefield config convert hot.nersc hot.npy
  lanefield config info hot.npy --json")]
struct Info {
    /// Configuration to read: a NERSC, ILDG, SciDAC, MILC, openQCD, DD-αAMG or HiRep file, or a NumPy or HDF5 array (T, Z, Y, X, 4, 3, 3)
    file: PathBuf,
    #[command(flatten)]
    read: ReadArgs,
    /// Print JSON instead of a table
    #[arg(long, help_heading = "Output")]
    json: bool,
    #[command(flatten)]
    ranks: RanksArgs,
}

impl Info {
    fn run(self) -> anyhow::Result<Outcome> {
        let file = self.read.read_any(&self.ranks, &self.file)?;
        let summary = Summary::of(&self.file, &file)?;
        show(self.json, Head::of(Kind::Config), &summary, Summary::text)
    }
}

/// List all defects of a configuration file.
///
/// It checks structure, lengths, checksums and links. Exit code 1 if there are any defects.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield config generate hot --lattice 4.4.4.8 --seed 1 --output hot.nersc
  lanefield config check hot.nersc
  lanefield config convert hot.nersc hot.lime
  lanefield config check hot.lime --json")]
struct Check {
    /// Configuration to check: a NERSC, ILDG, SciDAC, MILC, openQCD, DD-αAMG or HiRep file, or a NumPy or HDF5 array (T, Z, Y, X, 4, 3, 3)
    file: PathBuf,
    /// Extents of the lattice: for LIME files that contain nothing but links
    #[arg(long, value_name = "X.Y.Z.T")]
    lattice: Option<Extents>,
    /// Print JSON instead of lines
    #[arg(long, help_heading = "Output")]
    json: bool,
}

/// The defects of a file. As JSON, these fields.
#[derive(Serialize)]
struct Defects {
    file: String,
    /// `nersc`, `ildg`, `milc`, `openqcd`, `ddalphaamg`, `hirep`, `npy` or `hdf5`; null for a file of another kind.
    format: Option<String>,
    /// One defect each.
    defects: Vec<String>,
}

impl Check {
    fn run(self) -> anyhow::Result<Outcome> {
        require_one("config check")?;
        let (format, defects) = configuration::check(&self.file, self.lattice)?;
        let format = format.map(|format| format.to_string());
        let found = Defects { file: self.file.display().to_string(), format, defects };
        show(self.json, Head::of(Kind::ConfigCheck), &found, Defects::text)?;
        Ok(if found.defects.is_empty() { Outcome::Done } else { Outcome::CheckFailed })
    }
}

impl Defects {
    fn text(&self) -> String {
        match self.defects.is_empty() {
            true => format!("{}: no defects", self.file),
            false => {
                self.defects.iter().map(|defect| format!("{}: {defect}", self.file)).collect::<Vec<_>>().join("\n")
            }
        }
    }
}

/// Convert a configuration to another format.
///
/// The extension of the output file determines the format, unless --format is given.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield config generate hot --lattice 4.4.4.8 --seed 1 --output hot.nersc
  lanefield config convert hot.nersc hot.npy
  lanefield config convert hot.nersc hot.lime --lfn mc://ldg/hot
  lanefield config convert hot.npy hot32.nersc --rows 2 \\
      --floating-point IEEE32BIG")]
struct Convert {
    #[command(flatten)]
    files: Files,
}

/// Project the links of a configuration to SU(3).
///
/// The links may be far from SU(3). The projection is by polar decomposition, or to the matrix U with the largest Re tr U V† for a link V.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield config generate hot --lattice 4.4.4.8 --seed 1 --output hot.npy
  lanefield config project hot.npy near.nersc
  lanefield config project hot.npy other.nersc --projection max-re-tr")]
struct Project {
    #[command(flatten)]
    files: Files,
}

/// A configuration to read, and the file to write it to.
#[derive(Args)]
struct Files {
    /// Configuration to read
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// File to write, in the format of its extension: .nersc (or none), .lime (ILDG), .milc, .npy, .h5
    #[arg(value_name = "OUT")]
    output: PathBuf,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    format: FormatArgs,
    /// Print JSON instead of a table
    #[arg(long, help_heading = "Output")]
    json: bool,
    #[command(flatten)]
    ranks: RanksArgs,
}

impl Convert {
    fn run(self) -> anyhow::Result<Outcome> {
        self.files.run()
    }
}

impl Project {
    fn run(self) -> anyhow::Result<Outcome> {
        let files = self.files;
        Files { read: files.read.projecting(), ..files }.run()
    }
}

impl Files {
    fn run(self) -> anyhow::Result<Outcome> {
        self.format.check(&self.output)?;
        require_converted(&self.input, &self.output)?;
        let read = self.read.read_any(&self.ranks, &self.input)?;
        let made = Made { configuration: &read.configuration, lattice: &read.lattice, ranks: &self.ranks };
        let projection = self.read.projection().map(|projection| format!("project:{projection}"));
        let described = match projection.is_some() {
            true => {
                let inputs = MadeInputs::new(&read, [self.read.setting()])?;
                let sidecar = ArrayOutput::new(&self.output, "config project", &[("config", &self.input)], inputs)?;
                Some(sidecar.described()?)
            }
            false => None,
        };
        made.write(&self.output, &self.format, (Some(&read.origin), projection, described), self.json)
    }
}
