//! `lanefield config`: what a gauge configuration is, making one, and bringing one into another format.

mod heatbath;

use std::fmt::Display;
use std::path::{Path, PathBuf};

use clap::Args;
use lanefield::comm::WholeLattice;
use lanefield::io::claims;
use lanefield::io::configuration::{self, ConfigurationFile, Described, Header, Origin, is_stream};
use lanefield::io::nersc::NerscHeader;
use lanefield::reference::gauge::{Configuration, LINK_WORDS, SITE_WORDS};
use lanefield::reference::layout::Extents;
use serde::Serialize;

use heatbath::Heatbath;

use super::array_output::{ArrayOutput, require_converted};
use super::configuration::{FormatArgs, MadeInputs, ReadArgs, require_memory};
use super::files::require_outputs;
use super::outcome::Outcome;
use super::output::{Head, Kind, facts, joined, show, small};
use super::ranks::{RanksArgs, require_one};

/// Show, check, make, convert or project gauge configurations (NERSC, ILDG, SciDAC, MILC, openQCD, DD-αAMG and HiRep files, NumPy and HDF5 arrays).
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

/// Read a configuration, verify it, and show its lattice, plaquette, link trace and checksum.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield config info hot.nersc
  lanefield config info hot.npy --json")]
struct Info {
    /// A NERSC, ILDG, SciDAC, MILC, openQCD, DD-αAMG or HiRep file, or a NumPy or HDF5 array (T, Z, Y, X, 4, 3, 3)
    file: PathBuf,
    #[command(flatten)]
    read: ReadArgs,
    /// Print JSON instead of a table
    #[arg(long)]
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

/// Name every defect of a configuration's file: structure, lengths, checksums, links. Exit code 1 if there are any.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield config check hot.nersc
  lanefield config check hot.lime --json")]
struct Check {
    /// A NERSC, ILDG, SciDAC, MILC, openQCD, DD-αAMG or HiRep file, or a NumPy or HDF5 array (T, Z, Y, X, 4, 3, 3)
    file: PathBuf,
    /// Extents of the lattice, for files that do not say them: LIME files with nothing but links
    #[arg(long, value_name = "X.Y.Z.T")]
    lattice: Option<Extents>,
    /// Print JSON instead of lines
    #[arg(long)]
    json: bool,
}

/// What is wrong with a file. As JSON, these fields.
#[derive(Serialize)]
struct Defects {
    file: String,
    /// `nersc`, `ildg`, `milc`, `openqcd`, `ddalphaamg`, `hirep`, `npy` or `hdf5`; null of a file of another kind.
    format: Option<String>,
    /// One a line.
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

/// Make a configuration, or an ensemble, from a seed; the same links on every machine.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield config generate hot --lattice 4.4.4.8 --seed 1 --output hot.nersc
  lanefield config generate weak --lattice 8.8.8.8 --seed 2 --spread 0.1 \\
      --output weak.npy
  lanefield config generate unit --lattice 4.4.4.4 --output unit.nersc \\
      --rows 2 --floating-point IEEE32BIG
  lanefield config generate heatbath --beta 5.7 --lattice 4.4.4.8 --seed 1 \\
      --thermalise 20 --sweeps 60 --output quenched")]
struct Generate {
    #[command(subcommand)]
    kind: Generated,
}

commands! {
    Generated {
        Unit(Unit),
        Hot(Hot),
        Weak(Weak),
        Heatbath(Box<Heatbath>),
    }
}

impl Generate {
    fn run(self) -> anyhow::Result<Outcome> {
        self.kind.run()
    }
}

/// Make a configuration whose every link is 1: the free field.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield config generate unit --lattice 4.4.4.4 --output unit.nersc")]
struct Unit {
    #[command(flatten)]
    target: Target,
}

/// Make a configuration of random links, uniform in SU(3).
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield config generate hot --lattice 4.4.4.8 --seed 1 --output hot.nersc")]
struct Hot {
    /// Seed of the random links
    #[arg(long, value_name = "N", value_parser = super::args::seed)]
    seed: u64,
    #[command(flatten)]
    target: Target,
}

/// Make a configuration of links near 1.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield config generate weak --lattice 8.8.8.8 --seed 2 --spread 0.1 \\
      --output weak.npy")]
struct Weak {
    /// Seed of the random links
    #[arg(long, value_name = "N", value_parser = super::args::seed)]
    seed: u64,
    /// Width of the Gaussian numbers in the exponent, 0 to 1000
    #[arg(long, value_name = "S", default_value = "0.2", value_parser = spread)]
    spread: f64,
    #[command(flatten)]
    target: Target,
}

impl Unit {
    fn run(self) -> anyhow::Result<Outcome> {
        self.target.write(Configuration::unit)
    }
}

impl Hot {
    fn run(self) -> anyhow::Result<Outcome> {
        self.target.write(|part| Configuration::hot(part, self.seed))
    }
}

impl Weak {
    fn run(self) -> anyhow::Result<Outcome> {
        self.target.write(|part| Configuration::weak(part, self.seed, self.spread))
    }
}

/// Where a configuration goes that is made.
#[derive(Args)]
struct Target {
    /// Extents of the lattice
    #[arg(long, value_name = "X.Y.Z.T")]
    lattice: Extents,
    /// The file to write, whose name says the format: .nersc (or no extension), .lime (ILDG), .milc, .npy, .h5
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    format: FormatArgs,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    ranks: RanksArgs,
}

fn spread(text: &str) -> Result<f64, String> {
    let value = text.parse().ok().filter(|value| (0.0..=1000.0).contains(value));
    value.ok_or_else(|| format!("invalid spread '{text}': expected a number from 0 to 1000"))
}

impl Target {
    /// Writes what is made on the part of this rank.
    fn write(&self, make: impl FnOnce(Extents) -> Configuration) -> anyhow::Result<Outcome> {
        self.format.check(&self.output)?;
        require_outputs(&[("--output", &self.output)], &[])?;
        let lattice = self.ranks.lattice(self.lattice)?;
        let part = lattice.part();
        require_memory(part)?;
        let configuration = make(part);
        let made = Made { configuration: &configuration, lattice: &lattice, ranks: &self.ranks };
        made.write(&self.output, &self.format, (None, None, None), self.json)
    }
}

/// Write a configuration in another format, which the name of the file says, or --format.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield config convert hot.nersc hot.npy
  lanefield config convert hot.nersc hot.lime --lfn mc://ldg/hot
  lanefield config convert hot.npy hot32.nersc --rows 2 \\
      --floating-point IEEE32BIG")]
struct Convert {
    #[command(flatten)]
    files: Files,
}

/// Project the links of a configuration to SU(3), however far from it they are: by polar decomposition, or to the largest Re tr U V†.
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
    /// The configuration to read
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// The file to write, whose name says the format: .nersc (or no extension), .lime (ILDG), .milc, .npy, .h5
    #[arg(value_name = "OUT")]
    output: PathBuf,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    format: FormatArgs,
    /// Print JSON instead of a table
    #[arg(long)]
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

/// A configuration to be written, of which this rank has a part.
struct Made<'a> {
    configuration: &'a Configuration,
    lattice: &'a WholeLattice,
    ranks: &'a RanksArgs,
}

impl Made<'_> {
    /// Writes it, and shows what can be read from the file then.
    fn write(
        &self,
        path: &Path,
        format: &FormatArgs,
        (origin, made_by, described): (Option<&Origin>, Option<String>, Option<Described>),
        json: bool,
    ) -> anyhow::Result<Outcome> {
        let &Self { configuration, lattice, ranks } = self;
        format.write(path, (configuration, lattice), origin, (made_by, described))?;
        if !lattice.communicator().any(lattice.is_first() && !is_stream(path))? {
            // A device or a pipe cannot be read back.
            return Ok(Outcome::Done);
        }
        let summary = Summary::of(path, &ReadArgs::default().read_any(ranks, &claims::written_to(path))?)?;
        show(json, Head::of(Kind::Config), &summary, Summary::text)
    }
}

/// What is shown of a configuration. As JSON, these fields.
#[derive(Serialize)]
struct Summary {
    file: String,
    /// `nersc`, `ildg`, `milc`, `openqcd`, `ddalphaamg`, `hirep`, `npy` or `hdf5`.
    format: String,
    lattice: [usize; 4],
    /// DATATYPE; null but for NERSC.
    datatype: Option<&'static str>,
    /// FLOATING_POINT, or NumPy's dtype; of other formats as a NERSC file would say it.
    floating_point: &'static str,
    /// CHECKSUM, 8 hex digits; suma and sumb of ILDG, sum29 and sum31 of MILC; null where there is none.
    checksum: Option<String>,
    /// Average plaquette of the links, 1 for the free field.
    plaquette: f64,
    /// Average link trace of the links.
    link_trace: f64,
    /// The largest of |U U† − 1| and |det U − 1| of any link.
    unitarity_defect: f64,
    /// The logical file name, which ILDG files and sidecars can hold; null if it is not given.
    lfn: Option<String>,
    /// ENSEMBLE_ID, ENSEMBLE_LABEL, SEQUENCE_NUMBER, CREATOR, CREATION_DATE as in the file, of ILDG files and sidecars the first three; null where there are none.
    provenance: Option<Provenance>,
}

#[derive(Serialize)]
struct Provenance {
    #[serde(flatten)]
    of: configuration::Provenance,
    /// Null but for NERSC.
    creator: Option<String>,
    creation_date: Option<String>,
}

impl Summary {
    fn of(path: &Path, file: &ConfigurationFile) -> anyhow::Result<Self> {
        let ConfigurationFile { configuration, lattice, origin, .. } = file;
        let header = if let Header::Nersc(header) = &origin.header { Some(header) } else { None };
        let two = |[a, b]: [u32; 2]| format!("{a:08x} {b:08x}");
        let checksum = match &origin.header {
            Header::Nersc(header) => header.checksum.map(|sum| format!("{sum:08x}")),
            Header::Ildg(header) => header.checksums.map(|sums| two([sums.a, sums.b])),
            Header::Milc(header) => Some(two(header.checksums)),
            Header::Plain(_) | Header::Npy(_) | Header::Hdf5(_) => None,
        };
        let floating_point = match (origin.floating_point(), &origin.header) {
            (Some(numbers), _) => numbers.name(),
            (None, Header::Npy(precision) | Header::Hdf5(precision)) => precision.dtype(),
            (None, _) => "unknown",
        };
        let mut provenance = origin.provenance();
        Ok(Self {
            file: path.display().to_string(),
            format: origin.format().to_string(),
            lattice: lattice.extents().as_array(),
            datatype: header.map(|header| header.rows.datatype()),
            floating_point,
            checksum,
            plaquette: file.plaquette()?,
            link_trace: lattice.link_trace(configuration)?,
            unitarity_defect: lattice.largest(configuration.unitarity_defect().defect)?,
            lfn: provenance.as_mut().and_then(|provenance| provenance.lfn.take()),
            provenance: provenance.filter(|of| header.is_some() || *of != Default::default()).map(|of| {
                let by = |field: fn(&NerscHeader) -> &String| header.map(|header| field(header).clone());
                Provenance {
                    of,
                    creator: by(|header| &header.creator),
                    creation_date: by(|header| &header.creation_date),
                }
            }),
        })
    }

    fn text(&self) -> String {
        let links = self.lattice.iter().product::<usize>() * SITE_WORDS / LINK_WORDS;
        let mut rows = vec![
            ("lattice", format!("{}, {links} links", joined(&self.lattice, "."))),
            ("plaquette", self.plaquette.to_string()),
            ("link trace", self.link_trace.to_string()),
            ("largest deviation", small(self.unitarity_defect, 2)),
        ];
        let mut row = |name, value: &dyn Display| rows.push((name, value.to_string()));
        match &self.checksum {
            Some(checksum) => row("checksum", checksum),
            None if matches!(&*self.format, "ildg" | "nersc") => {
                row("checksum", &"none in the file: damage cannot be told");
            }
            None => {}
        }
        row("numbers", &self.floating_point);
        if let Some(datatype) = self.datatype {
            row("datatype", &datatype);
        }
        if let Some(lfn) = &self.lfn {
            row("logical file name", lfn);
        }
        if let Some(Provenance { of, creator, creation_date }) = &self.provenance {
            row("ensemble", &format!("{} {} {}", of.ensemble_id, of.ensemble_label, of.sequence_number));
            if let (Some(creator), Some(date)) = (creator, creation_date) {
                row("creator", &format!("{creator}, {date}"));
            }
        }
        format!("{}\n{}", self.file, facts(rows))
    }
}
