//! `lanefield config`: what a gauge configuration is, making one, and bringing one into another format.

mod heatbath;

use std::borrow::Cow;
use std::fmt::Display;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use clap::{Args, ValueEnum};
use lanefield::comm::WholeLattice;
use lanefield::io::ildg::{self, IldgError};
use lanefield::io::milc::{self, MilcError};
use lanefield::io::nersc::{self, ByteOrder, FloatingPoint, NerscError, StoredRows, WriteOptions};
use lanefield::io::npy;
use lanefield::reference::gauge::{Configuration, LINK_WORDS, SITE_WORDS};
use lanefield::reference::layout::Extents;
use num_complex::Complex;
use serde::Serialize;

use heatbath::Heatbath;

use super::Outcome;
use super::fields::write_arrays;
use super::files::{
    ConfigurationFile, Origin, failed_to_write, has_extension, is_npy, read_configuration_of, read_configuration_on,
    require_outputs,
};
use super::output::{Head, Kind, facts, joined, show};
use super::ranks::{RanksArgs, require_one};

/// Show, check, make or convert gauge configurations (NERSC, ILDG, SciDAC and MILC files, and NumPy arrays).
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
    /// A NERSC, ILDG, SciDAC or MILC file, or a NumPy array (T, Z, Y, X, 4, 3, 3) if it ends in .npy
    file: PathBuf,
    #[command(flatten)]
    lattice: LatticeOfFile,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    ranks: RanksArgs,
}

impl Info {
    fn run(self) -> anyhow::Result<Outcome> {
        let file = read_configuration_of(&self.ranks, &self.file, self.lattice.lattice)?;
        let summary = Summary::of(&self.file, &file)?;
        show(self.json, Head::of(Kind::Config), &summary, Summary::text)
    }
}

/// The lattice of a file that does not say it.
#[derive(Args)]
struct LatticeOfFile {
    /// Extents of the lattice, for files that do not say them: LIME files with nothing but links
    #[arg(long, value_name = "X.Y.Z.T")]
    lattice: Option<Extents>,
}

/// Name every defect of a configuration's file: structure, lengths, checksums, links. Exit code 1 if there are any.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield config check hot.nersc
  lanefield config check hot.lime --json")]
struct Check {
    /// A NERSC, ILDG, SciDAC or MILC file, or a NumPy array if it ends in .npy
    file: PathBuf,
    #[command(flatten)]
    lattice: LatticeOfFile,
    /// Print JSON instead of lines
    #[arg(long)]
    json: bool,
}

/// What is wrong with a file. As JSON, these fields.
#[derive(Serialize)]
struct Defects {
    file: String,
    /// `nersc`, `ildg`, `milc` or `npy`.
    format: &'static str,
    /// One a line.
    defects: Vec<String>,
}

impl Check {
    fn run(self) -> anyhow::Result<Outcome> {
        let (path, given) = (self.file.as_path(), self.lattice.lattice);
        require_one("config check")?;
        let (format, defects) = if !is_npy(path) && ildg::is_lime(path) {
            ("ildg", ildg::check(path, given)?)
        } else if !is_npy(path) && milc::is_milc(path) {
            ("milc", milc::check(path)?)
        } else {
            // A file that cannot be opened has not been judged.
            std::fs::File::open(path).with_context(|| format!("failed to read {}", path.display()))?;
            let read = read_configuration_of(&RanksArgs::default(), path, given);
            let defects = read.err().map(|error| error.root_cause().to_string());
            (if is_npy(path) { "npy" } else { "nersc" }, defects.into_iter().collect())
        };
        let found = Defects { file: path.display().to_string(), format, defects };
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
    /// The file to write: a NumPy array if it ends in .npy, an ILDG file if in .lime, a MILC file if in .milc, else a NERSC file
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
        made.write(&self.output, &self.format, None, self.json)
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

/// Write a configuration in another format, which the name of the file says, or --format.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield config convert hot.nersc hot.npy
  lanefield config convert hot.nersc hot.lime --lfn mc://ldg/hot
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
    lattice: LatticeOfFile,
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
        let read = read_configuration_of(&self.ranks, &self.input, self.lattice.lattice)?;
        let made = Made { configuration: &read.configuration, lattice: &read.lattice, ranks: &self.ranks };
        made.write(&self.output, &self.format, Some(&read.origin), self.json)
    }
}

/// A format of configurations.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// NERSC
    Nersc,
    /// ILDG, with the records of SciDAC
    Ildg,
    /// MILC, version 5
    Milc,
    /// A NumPy array
    Npy,
}

impl Format {
    /// What the name of a file says: NERSC has no extension of its own.
    fn of(path: &Path) -> Self {
        if is_npy(path) {
            Self::Npy
        } else if has_extension(path, &["lime", "ildg", "scidac"]) {
            Self::Ildg
        } else if has_extension(path, &["milc"]) {
            Self::Milc
        } else {
            Self::Nersc
        }
    }
}

/// How a file is written.
#[derive(Args, Default)]
struct FormatArgs {
    /// Format of the file [default: npy of .npy, ildg of .lime, .ildg and .scidac, milc of .milc, else nersc]
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Numbers of the file: IEEE32, IEEE32BIG, IEEE64BIG or IEEE64LITTLE; ILDG files have big-endian ones, MILC files 32-bit ones [default: as in the
    /// file that is converted, else IEEE64BIG, of MILC IEEE32]
    #[arg(long, value_name = "FORMAT", value_parser = floating_point)]
    floating_point: Option<FloatingPoint>,
    /// Rows of each link in a NERSC file: 2 or 3 [default: as in the file that is converted, else 3]
    #[arg(long, value_name = "ROWS", value_parser = rows)]
    rows: Option<StoredRows>,
    /// The logical file name in an ILDG file [default: as in the file that is converted]
    #[arg(long, value_name = "NAME")]
    lfn: Option<String>,
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
    fn of(&self, output: &Path) -> Format {
        self.format.unwrap_or_else(|| Format::of(output))
    }

    fn check(&self, output: &Path) -> anyhow::Result<()> {
        let (format, shown) = (self.of(output), output.display());
        ensure!(
            format == Format::Npy || !is_npy(output),
            "{shown} would be read as a NumPy array: give it another extension than .npy"
        );
        ensure!(
            format != Format::Npy || (self.floating_point.is_none() && self.rows.is_none()),
            "--floating-point and --rows are not for NumPy arrays: {shown} is a NumPy array, always complex128 with three rows"
        );
        ensure!(
            self.rows.is_none() || format == Format::Nersc,
            "--rows is for NERSC files: links of {shown} have three rows"
        );
        ensure!(self.lfn.is_none() || format == Format::Ildg, "--lfn is for ILDG files, and {shown} is none");
        if let Some(numbers) = self.floating_point {
            let name = numbers.name();
            ensure!(
                format != Format::Ildg || numbers.byte_order() == ByteOrder::Big,
                "ILDG files have big-endian numbers, and not {name}: use IEEE32BIG or IEEE64BIG"
            );
            ensure!(
                format != Format::Milc || numbers.size() == 4,
                "MILC files have 32-bit numbers, and not {name}: use IEEE32 or IEEE32BIG"
            );
        }
        Ok(())
    }

    /// How a NERSC file is written: as the one that is converted, where that is one.
    fn nersc(&self, origin: Option<&Origin>) -> WriteOptions {
        let mut options = WriteOptions::default();
        if let Some(Origin::Nersc(header)) = origin {
            options.rows = header.rows;
            // Where it comes from goes with it, as far as this format's writer can say it.
            let sayable = |text: &str| text.bytes().all(|b| b == b' ' || b.is_ascii_graphic());
            if sayable(&header.ensemble_id) && sayable(&header.ensemble_label) {
                options.ensemble_id = header.ensemble_id.clone();
                options.ensemble_label = header.ensemble_label.clone();
            }
            options.sequence_number = header.sequence_number.parse().unwrap_or(options.sequence_number);
        }
        if let Some(numbers) = origin.and_then(numbers) {
            options.floating_point = numbers;
        }
        options.rows = self.rows.unwrap_or(options.rows);
        options.floating_point = self.floating_point.unwrap_or(options.floating_point);
        options
    }

    fn ildg(&self, origin: Option<&Origin>) -> ildg::WriteOptions {
        let numbers = self.floating_point.or(origin.and_then(numbers));
        let double = numbers.is_none_or(|numbers| numbers.size() == 8);
        let mut options = ildg::WriteOptions { double, ..ildg::WriteOptions::default() };
        if let Some(Origin::Ildg(header)) = origin {
            options.lfn = header.lfn.clone();
            options.info = header.info.clone().unwrap_or_default();
        }
        options.lfn = self.lfn.clone().or(options.lfn);
        options
    }

    fn milc(&self, origin: Option<&Origin>) -> milc::WriteOptions {
        let mut options = milc::WriteOptions::default();
        if let Some(Origin::Milc(header)) = origin {
            options.byte_order = header.byte_order;
            options.time_stamp = header.time_stamp.clone();
        }
        if let Some(numbers) = self.floating_point {
            options.byte_order = numbers.byte_order();
        }
        options
    }
}

/// The numbers of a file, where a file of another format can have them.
fn numbers(origin: &Origin) -> Option<FloatingPoint> {
    match origin {
        Origin::Nersc(header) => Some(header.floating_point),
        Origin::Ildg(header) => Some(header.floating_point),
        Origin::Milc(_) => Some(FloatingPoint::F32Big),
        Origin::Npy(_) => None,
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
    fn write(&self, path: &Path, format: &FormatArgs, origin: Option<&Origin>, json: bool) -> anyhow::Result<Outcome> {
        let &Self { configuration, lattice, ranks } = self;
        write_as(path, configuration, lattice, format, origin)?;
        if !lattice.communicator().any(lattice.is_first() && path.is_file())? {
            // A device or a pipe cannot be read back.
            return Ok(Outcome::Done);
        }
        let summary = Summary::of(path, &read_configuration_on(ranks, path)?)?;
        show(json, Head::of(Kind::Config), &summary, Summary::text)
    }
}

/// Writes a configuration, of which this rank has a part, in the format that the name of the file says.
pub fn write_configuration(path: &Path, configuration: &Configuration, lattice: &WholeLattice) -> anyhow::Result<()> {
    write_as(path, configuration, lattice, &FormatArgs::default(), None)
}

/// The same in the format that is asked for, and as the file that it comes from.
fn write_as(
    path: &Path,
    configuration: &Configuration,
    lattice: &WholeLattice,
    format: &FormatArgs,
    origin: Option<&Origin>,
) -> anyhow::Result<()> {
    let unwritten = |error: anyhow::Error| error.context(failed_to_write(path));
    // Errors of writing name the file.
    match format.of(path) {
        Format::Npy => {
            let links = |_| Ok(Cow::Borrowed(configuration.links()));
            write_arrays(path, &npy::gauge_shape(lattice.extents()), lattice, 1, links)
        }
        Format::Nersc => match nersc::write_part(path, configuration, &format.nersc(origin), lattice) {
            Err(NerscError::Write(error)) => Err(error.into()),
            result => result.map_err(|error| unwritten(error.into())),
        },
        Format::Ildg => match ildg::write_part(path, configuration, &format.ildg(origin), lattice) {
            Err(IldgError::Write(error)) => Err(error.into()),
            result => result.map_err(|error| unwritten(error.into())),
        },
        Format::Milc => match milc::write_part(path, configuration, &format.milc(origin), lattice) {
            Err(MilcError::Write(error)) => Err(error.into()),
            result => result.map_err(|error| unwritten(error.into())),
        },
    }
}

/// What is shown of a configuration. As JSON, these fields.
#[derive(Serialize)]
struct Summary {
    file: String,
    /// `nersc`, `ildg`, `milc` or `npy`.
    format: &'static str,
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
    /// The logical file name of an ILDG file; null where there is none.
    lfn: Option<String>,
    /// ENSEMBLE_ID, ENSEMBLE_LABEL, SEQUENCE_NUMBER, CREATOR, CREATION_DATE as in the file; null but for NERSC.
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
        let header = if let Origin::Nersc(header) = origin { Some(header) } else { None };
        let two = |[a, b]: [u32; 2]| format!("{a:08x} {b:08x}");
        let (format, floating_point, checksum) = match origin {
            Origin::Nersc(header) => ("nersc", header.floating_point.name(), Some(format!("{:08x}", header.checksum))),
            Origin::Ildg(header) => {
                ("ildg", header.floating_point.name(), header.checksums.map(|sums| two([sums.a, sums.b])))
            }
            Origin::Milc(header) => {
                let numbers = match header.byte_order {
                    ByteOrder::Big => FloatingPoint::F32Big,
                    ByteOrder::Little => FloatingPoint::F32Little,
                };
                ("milc", numbers.name(), Some(two(header.checksums)))
            }
            Origin::Npy(precision) => ("npy", precision.dtype(), None),
        };
        Ok(Self {
            file: path.display().to_string(),
            format,
            lattice: lattice.extents().as_array(),
            datatype: header.map(|header| header.rows.datatype()),
            floating_point,
            checksum,
            lfn: if let Origin::Ildg(header) = origin { header.lfn.clone() } else { None },
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
        match &self.checksum {
            Some(checksum) => row("checksum", checksum),
            None if self.format == "ildg" => row("checksum", &"none in the file: damage cannot be told"),
            None => {}
        }
        row("numbers", &self.floating_point);
        if let Some(datatype) = self.datatype {
            row("datatype", &datatype);
        }
        if let Some(lfn) = &self.lfn {
            row("logical file name", lfn);
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
