//! `lanefield config`: what a gauge configuration is, making one, and bringing one into another format.

use std::borrow::Cow;
use std::fmt::Display;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use clap::{Args, ValueEnum};
use lanefield::comm::WholeLattice;
use lanefield::io::nersc::{self, FloatingPoint, NerscError, StoredRows, WriteOptions};
use lanefield::io::npy;
use lanefield::reference::gauge::{Configuration, LINK_WORDS, SITE_WORDS};
use lanefield::reference::layout::Extents;
use num_complex::Complex;
use serde::Serialize;

use super::Outcome;
use super::fields::write_arrays;
use super::files::{ConfigurationFile, Origin, failed_to_write, is_npy, read_configuration_on, require_outputs};
use super::output::{Head, Kind, facts, joined, show};
use super::ranks::RanksArgs;

/// Show, make or convert gauge configurations (NERSC files and NumPy arrays).
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield config generate hot --lattice 4.4.4.8 --seed 1 --output hot.nersc
  lanefield config info hot.nersc
  lanefield config convert hot.nersc hot.npy")]
pub struct Config {
    #[command(subcommand)]
    command: Command,
}

commands! {
    Command {
        Info(Info),
        Generate(Generate),
        Convert(Convert),
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
    /// A NERSC file, or a NumPy array (T, Z, Y, X, 4, 3, 3) if it ends in .npy
    file: PathBuf,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    ranks: RanksArgs,
}

impl Info {
    fn run(self) -> anyhow::Result<Outcome> {
        let summary = Summary::of(&self.file, &read_configuration_on(&self.ranks, &self.file)?)?;
        show(self.json, Head::of(Kind::Config), &summary, Summary::text)
    }
}

/// Which configuration to make.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Start {
    /// Every link is 1: the free field
    Unit,
    /// Random links, uniform in SU(3)
    Hot,
    /// Links near 1
    Weak,
}

/// Make a configuration from a seed; the same links on every machine.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield config generate hot --lattice 4.4.4.8 --seed 1 --output hot.nersc
  lanefield config generate weak --lattice 8.8.8.8 --seed 2 --spread 0.1 \\
      --output weak.npy
  lanefield config generate unit --lattice 4.4.4.4 --output unit.nersc \\
      --rows 2 --floating-point IEEE32BIG")]
struct Generate {
    /// Which configuration
    #[arg(value_name = "KIND")]
    kind: Start,
    /// Extents of the lattice
    #[arg(long, value_name = "X.Y.Z.T")]
    lattice: Extents,
    /// Seed of the random links; unit has no use for it
    #[arg(long, value_name = "N", value_parser = super::args::seed, required_if_eq_any = [("kind", "hot"), ("kind", "weak")])]
    seed: Option<u64>,
    /// For weak: width of the Gaussian numbers in the exponent, 0 to 1000 [default: 0.2]
    #[arg(long, value_name = "S", value_parser = spread)]
    spread: Option<f64>,
    /// The file to write: a NERSC file, or a NumPy array if it ends in .npy
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

/// Width of a weak field where none is given.
const DEFAULT_SPREAD: f64 = 0.2;

fn spread(text: &str) -> Result<f64, String> {
    let value = text.parse().ok().filter(|value| (0.0..=1000.0).contains(value));
    value.ok_or_else(|| format!("invalid spread '{text}': expected a number from 0 to 1000"))
}

impl Generate {
    fn run(self) -> anyhow::Result<Outcome> {
        ensure!(self.spread.is_none() || self.kind == Start::Weak, "--spread is for weak configurations");
        self.format.check(&self.output)?;
        require_outputs(&[("--output", &self.output)], &[])?;
        let lattice = self.ranks.lattice(self.lattice)?;
        let part = lattice.part();
        require_memory(part)?;
        let seed = self.seed.unwrap_or_default();
        let configuration = match self.kind {
            Start::Unit => Configuration::unit(part),
            Start::Hot => Configuration::hot(part, seed),
            Start::Weak => Configuration::weak(part, seed, self.spread.unwrap_or(DEFAULT_SPREAD)),
        };
        let made = Made { configuration: &configuration, lattice: &lattice, ranks: &self.ranks };
        made.write(&self.output, self.format.options(WriteOptions::default()), self.json)
    }
}

/// Refuses a lattice whose links the system has no memory for, where making them would abort the program.
fn require_memory(extents: Extents) -> anyhow::Result<()> {
    let words = extents.volume().saturating_mul(SITE_WORDS);
    let mut links: Vec<Complex<f64>> = Vec::new();
    if links.try_reserve_exact(words).is_err() {
        let bytes = words.saturating_mul(size_of::<Complex<f64>>());
        bail!("not enough memory for a configuration on {extents}: {bytes} bytes; take a smaller lattice");
    }
    Ok(())
}

/// Write a configuration in another format: NumPy if the name ends in .npy, else NERSC.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield config convert hot.nersc hot.npy
  lanefield config convert hot.npy hot32.nersc --rows 2 \\
      --floating-point IEEE32BIG")]
struct Convert {
    /// The configuration to read
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// The file to write
    #[arg(value_name = "OUT")]
    output: PathBuf,
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
        self.format.check(&self.output)?;
        require_outputs(&[("OUT", &self.output)], &[("IN", &self.input)])?;
        let read = read_configuration_on(&self.ranks, &self.input)?;
        let mut options = WriteOptions::default();
        if let Origin::Nersc(header) = &read.origin {
            options.rows = header.rows;
            options.floating_point = header.floating_point;
            // Where it comes from goes with it, as far as this format's writer can say it.
            let sayable = |text: &str| text.bytes().all(|b| b == b' ' || b.is_ascii_graphic());
            if sayable(&header.ensemble_id) && sayable(&header.ensemble_label) {
                options.ensemble_id = header.ensemble_id.clone();
                options.ensemble_label = header.ensemble_label.clone();
            }
            options.sequence_number = header.sequence_number.parse().unwrap_or(options.sequence_number);
        }
        let made = Made { configuration: &read.configuration, lattice: &read.lattice, ranks: &self.ranks };
        made.write(&self.output, self.format.options(options), self.json)
    }
}

/// How a NERSC file is written.
#[derive(Args)]
struct FormatArgs {
    /// Numbers of a NERSC file: IEEE32, IEEE32BIG, IEEE64BIG or IEEE64LITTLE [default: as in the file that is converted, else
    /// IEEE64BIG]
    #[arg(long, value_name = "FORMAT", value_parser = floating_point)]
    floating_point: Option<FloatingPoint>,
    /// Rows of each link in a NERSC file: 2 or 3 [default: as in the file that is converted, else 3]
    #[arg(long, value_name = "ROWS", value_parser = rows)]
    rows: Option<StoredRows>,
}

fn floating_point(text: &str) -> Result<FloatingPoint, String> {
    match text.to_ascii_uppercase().as_str() {
        "IEEE32" | "IEEE32LITTLE" => Ok(FloatingPoint::F32Little),
        "IEEE32BIG" => Ok(FloatingPoint::F32Big),
        "IEEE64" | "IEEE64LITTLE" => Ok(FloatingPoint::F64Little),
        "IEEE64BIG" => Ok(FloatingPoint::F64Big),
        _ => Err(format!("invalid number format '{text}': expected IEEE32, IEEE32BIG, IEEE64BIG or IEEE64LITTLE")),
    }
}

fn rows(text: &str) -> Result<StoredRows, String> {
    match text {
        "2" => Ok(StoredRows::Two),
        "3" => Ok(StoredRows::Three),
        _ => Err(format!("no links of '{text}' rows: use 2 or 3")),
    }
}

impl FormatArgs {
    fn check(&self, output: &Path) -> anyhow::Result<()> {
        ensure!(
            !is_npy(output) || (self.floating_point.is_none() && self.rows.is_none()),
            "--floating-point and --rows are for NERSC files; {} is a NumPy array, always complex128 with three rows",
            output.display()
        );
        Ok(())
    }

    fn options(&self, others: WriteOptions) -> WriteOptions {
        WriteOptions {
            rows: self.rows.unwrap_or(others.rows),
            floating_point: self.floating_point.unwrap_or(others.floating_point),
            ..others
        }
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
    fn write(&self, path: &Path, options: WriteOptions, json: bool) -> anyhow::Result<Outcome> {
        let &Self { configuration, lattice, ranks } = self;
        write_configuration(path, configuration, lattice, &options)?;
        if !lattice.communicator().any(lattice.is_first() && path.is_file())? {
            // A device or a pipe cannot be read back.
            return Ok(Outcome::Done);
        }
        let summary = Summary::of(path, &read_configuration_on(ranks, path)?)?;
        show(json, Head::of(Kind::Config), &summary, Summary::text)
    }
}

/// Writes a configuration, of which this rank has a part: a NumPy array if the name ends in .npy, else a NERSC file.
pub fn write_configuration(
    path: &Path,
    configuration: &Configuration,
    lattice: &WholeLattice,
    options: &WriteOptions,
) -> anyhow::Result<()> {
    if is_npy(path) {
        let links = |_| Ok(Cow::Borrowed(configuration.links()));
        return write_arrays(path, &npy::gauge_shape(lattice.extents()), lattice, 1, links);
    }
    let written = match lattice.part().is_part() {
        true => nersc::write_part(path, configuration, options, lattice),
        false => nersc::write(path, configuration, options),
    };
    match written {
        Err(NerscError::Write(error)) => Err(error.into()),
        result => result.with_context(|| failed_to_write(path)),
    }
}

/// What is shown of a configuration. As JSON, these fields.
#[derive(Serialize)]
struct Summary {
    /// The path as given.
    file: String,
    /// `nersc` or `npy`.
    format: &'static str,
    /// Extents x, y, z, t.
    lattice: [usize; 4],
    /// DATATYPE; null for NumPy.
    datatype: Option<&'static str>,
    /// FLOATING_POINT, or NumPy's dtype.
    floating_point: &'static str,
    /// CHECKSUM, 8 hex digits; null for NumPy.
    checksum: Option<String>,
    /// Average plaquette of the links, 1 for the free field.
    plaquette: f64,
    /// Average link trace of the links.
    link_trace: f64,
    /// The largest of |U U† − 1| and |det U − 1| of any link.
    unitarity_defect: f64,
    /// ENSEMBLE_ID, ENSEMBLE_LABEL, SEQUENCE_NUMBER, CREATOR, CREATION_DATE as in the file; null for NumPy.
    provenance: Option<Provenance>,
}

#[derive(Serialize)]
struct Provenance {
    ensemble_id: String,
    ensemble_label: String,
    sequence_number: String,
    creator: String,
    creation_date: String,
}

impl Summary {
    fn of(path: &Path, file: &ConfigurationFile) -> anyhow::Result<Self> {
        let ConfigurationFile { configuration, lattice, origin } = file;
        let header = match origin {
            Origin::Nersc(header) => Some(header),
            Origin::Npy(_) => None,
        };
        Ok(Self {
            file: path.display().to_string(),
            format: if header.is_some() { "nersc" } else { "npy" },
            lattice: lattice.extents().as_array(),
            datatype: header.map(|header| header.rows.datatype()),
            floating_point: match origin {
                Origin::Nersc(header) => header.floating_point.name(),
                Origin::Npy(precision) => precision.dtype(),
            },
            checksum: header.map(|header| format!("{:08x}", header.checksum)),
            plaquette: file.plaquette()?,
            link_trace: lattice.link_trace(configuration)?,
            unitarity_defect: lattice.largest(configuration.unitarity_defect().defect)?,
            provenance: header.map(|header| Provenance {
                ensemble_id: header.ensemble_id.clone(),
                ensemble_label: header.ensemble_label.clone(),
                sequence_number: header.sequence_number.clone(),
                creator: header.creator.clone(),
                creation_date: header.creation_date.clone(),
            }),
        })
    }

    fn text(&self) -> String {
        let links = self.lattice.iter().product::<usize>() * SITE_WORDS / LINK_WORDS;
        let mut rows = vec![
            ("lattice", format!("{}, {links} links", joined(&self.lattice, "."))),
            ("plaquette", self.plaquette.to_string()),
            ("link trace", self.link_trace.to_string()),
            ("worst unitarity", format!("{:.2e}", self.unitarity_defect)),
        ];
        let mut row = |name, value: &dyn Display| rows.push((name, value.to_string()));
        if let Some(checksum) = &self.checksum {
            row("checksum", checksum);
        }
        row("numbers", &self.floating_point);
        if let Some(datatype) = self.datatype {
            row("datatype", &datatype);
        }
        if let Some(Provenance { ensemble_id, ensemble_label, sequence_number, creator, creation_date }) =
            &self.provenance
        {
            row("ensemble", &format!("{ensemble_id} {ensemble_label} {sequence_number}"));
            row("creator", &format!("{creator}, {creation_date}"));
        }
        format!("{}\n{}", self.file, facts(rows))
    }
}
