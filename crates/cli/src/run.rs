//! `lanefield run`: any kernel of the list on arrays, from files to files. What a kernel's arguments are, its specification says.

use crate::kernels::Known;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::Context as _;
use clap::Args;
use lanefield::io::atomic::write_atomically;
use lanefield::kernel::{FieldContents, FieldRole, Kernel};
use lanefield::reference::layout::{Direction, Parity, Sites};
use lanefield::reference::links::{BoundaryPhases, LinkFormat};
use lanefield::reference::real::Precision;
use lanefield_lab::Timed as _;
use lanefield_ports::golden::field_array;
use num_complex::Complex;
use serde::Serialize;

use super::args::{BackendArgs, HopArgs, SumArgs, of_storage};
use super::configuration::ReadArgs;
use super::files::{npy_name, require_outputs};
use super::kernels::of_library;
use super::outcome::Outcome;
use super::output::{Head, Kind, bits, facts, joined, print, show, with_bits};
use super::ranks::RanksArgs;

mod axes;
mod describe;
mod kernel_arguments;

/// Run a kernel on arrays, and write what it gives: every kernel, in every precision.
///
/// --describe says what arguments a kernel has. Arrays are rounded to the precision of the kernel when they are read, also to half precision; results in
/// half precision are the f32 that the fractions stand for. Links are made of --config, or read as they are stored. Sums are printed, with their bits.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield run --kernel axpy --describe
  lanefield config generate hot --lattice 4.4.4.8 --seed 1 --output hot.nersc
  lanefield source gauss:1 --lattice 4.4.4.8 --output x.npy
  lanefield source gauss:2 --lattice 4.4.4.8 --output y.npy
  lanefield run --kernel axpy --precision half --in x=x.npy --in y=y.npy \\
      --scalar a=-0.25 --out y=z.npy
  lanefield run --kernel hop --sites even --config hot.nersc --in in=x.npy \\
      --out out=hop.npy
  lanefield run --kernel inner_products --in xs=x.npy,y.npy --in y=y.npy")]
pub struct Run {
    /// The kernel
    #[arg(long, alias = "kernels", value_name = "KERNEL", value_parser = of_library)]
    kernel: &'static Kernel,
    /// Print the arguments of the kernel, and do nothing
    #[arg(long)]
    describe: bool,
    /// Precision of the result, and of what it is made of: f32, f64 or half
    #[arg(long, value_name = "PRECISION", default_value = "f64", value_parser = of_storage())]
    precision: Precision,
    /// For convert: the precision of its input [default: that of the array]
    #[arg(long, value_name = "PRECISION", value_parser = of_storage())]
    from: Option<Precision>,
    /// The sites of the result: full, even or odd
    #[arg(long, value_name = "SITES", default_value = "full", value_parser = sites)]
    sites: Sites,
    /// The configuration of which links are made: a NERSC, ILDG, SciDAC, MILC, openQCD, DD-αAMG or HiRep file, or a NumPy or HDF5 array (T, Z, Y, X, 4, 3, 3)
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    read: ReadArgs,
    /// A field that is read, or updated; of a list of fields the files with commas between them
    #[arg(long = "in", value_name = "NAME=FILE.npy")]
    inputs: Vec<Named>,
    /// A scalar: a number, RE,IM of a complex one, or one for each right-hand side with commas between them. 0x and 16 hex digits are the bits of a double
    #[arg(long = "scalar", value_name = "NAME=VALUE", allow_hyphen_values = true)]
    scalars: Vec<Named>,
    /// Numbers of right-hand sides, from 0
    #[arg(long, value_name = "NAME=K,K,…")]
    indices: Option<Named>,
    /// The file to write a result to
    #[arg(long = "out", value_name = "NAME=FILE.npy")]
    outputs: Vec<Named>,
    /// Spinors or colour vectors of a right-hand side, in kernels of several
    #[arg(long, value_name = "N", default_value_t = 1)]
    rhs_parts: usize,
    /// For sums over slices: the direction across them, x, y, z or t
    #[arg(long, value_name = "DIRECTION", default_value = "t")]
    direction: Direction,
    #[command(flatten)]
    along_s: AlongS,
    /// Refused, with the kernel that is the dagger
    #[arg(long, hide = true)]
    dagger: bool,
    #[command(flatten)]
    hop: HopArgs,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    sums: SumArgs,
    #[command(flatten)]
    backend: BackendArgs,
}

/// A matrix along s.
#[derive(Args, Clone, Debug)]
struct AlongS {
    /// For matrices along s: the coefficients, float64: (3, ls), of a sweep (2, 3, ls), of a dense one (2, ls, ls). In place of Mooee, or its inverse, of the
    /// parameters below
    #[arg(long, value_name = "FILE.npy", conflicts_with_all = ["mass", "m5", "ls"])]
    matrix: Option<PathBuf>,
    /// For matrices along s: the dagger, which is the transpose, since they are real. Of --matrix, that its coefficients are those of a transpose
    #[arg(long)]
    matrix_dagger: bool,
    /// Bare quark mass
    #[arg(long, value_name = "M", allow_hyphen_values = true, value_parser = super::args::finite)]
    mass: Option<f64>,
    /// Domain wall height
    #[arg(long, value_name = "M5", default_value = "1.8", allow_hyphen_values = true, value_parser = super::args::finite)]
    m5: f64,
    /// Möbius' b
    #[arg(long, value_name = "B", default_value = "1", allow_hyphen_values = true, value_parser = super::args::finite)]
    b: f64,
    /// Möbius' c
    #[arg(long, value_name = "C", default_value = "0", allow_hyphen_values = true, value_parser = super::args::finite)]
    c: f64,
    /// Extent of the fifth dimension
    #[arg(long, value_name = "LS")]
    ls: Option<usize>,
}

/// NAME=VALUE.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Named {
    name: String,
    value: String,
}

impl FromStr for Named {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((name, value)) if !name.is_empty() && !value.is_empty() => {
                Ok(Self { name: name.trim().to_owned(), value: value.to_owned() })
            }
            _ => Err(format!("'{text}' names no argument: expected NAME=VALUE")),
        }
    }
}

fn sites(text: &str) -> Result<Sites, String> {
    match text {
        "full" => Ok(Sites::Full),
        "even" => Ok(Sites::Parity(Parity::Even)),
        "odd" => Ok(Sites::Parity(Parity::Odd)),
        _ => Err(format!("unknown sites '{text}': expected full, even or odd")),
    }
}

/// What a run gave.
#[derive(Serialize)]
struct Report {
    kernel: &'static str,
    precision: String,
    sites: String,
    lattice: [usize; 4],
    /// Whether links were read that have their boundary phases.
    #[serde(skip)]
    has_phases: bool,
    outputs: Vec<String>,
    sums: Vec<SumOf>,
}

/// A sum.
#[derive(Serialize)]
struct SumOf {
    value: f64,
    bits: String,
}

impl Report {
    fn text(&self) -> String {
        let lattice = joined(&self.lattice, ".");
        let place = format!("{} in {} on {} sites of {lattice}", self.kernel, self.precision, self.sites);
        let sums = self.sums.iter().map(|sum| ("sum", with_bits(sum.value)));
        let outputs = self.outputs.iter().map(|file| ("written", file.clone()));
        let phases = self.has_phases.then(|| ("boundary", "as the links were stored".to_owned()));
        facts([("kernel", place)].into_iter().chain(phases).chain(outputs).chain(sums))
    }
}

impl Run {
    pub fn run(self, list: &Known) -> anyhow::Result<Outcome> {
        if self.describe {
            print(self.describe_arguments())?;
            return Ok(Outcome::Done);
        }
        self.require_arguments(list)?;
        let written: Vec<(String, &Path)> =
            self.outputs.iter().map(|out| (format!("--out {}", out.name), Path::new(&out.value))).collect();
        for Named { name, value } in &self.outputs {
            npy_name(Path::new(value)).map_err(|error| anyhow::anyhow!("--out {name}: {error}"))?;
        }
        let read: Vec<(String, &Path)> = self.files().collect();
        let outputs: Vec<(&str, &Path)> = written.iter().map(|(name, path)| (name.as_str(), *path)).collect();
        let inputs: Vec<(&str, &Path)> = read.iter().map(|(name, path)| (name.as_str(), *path)).collect();
        require_outputs(&outputs, &inputs)?;
        if self.has_phases() && self.hop.boundary != BoundaryPhases::ANTIPERIODIC_IN_TIME {
            say!("note: --boundary changes nothing: links that are read as they are stored have their phases");
        }
        let loaded = self.load()?;
        let configuration = match &self.config {
            Some(path) => Some(self.read.read(&RanksArgs::default(), path)?.configuration),
            None => None,
        };
        let extents = self.extents(&loaded, configuration.as_ref())?;
        let backend = self.backend.open()?;
        let case = backend.install(|| self.case(&backend, &loaded, configuration.as_ref(), extents))?;
        let sum = self.sums.sum(size_of::<Complex<f64>>()).context("failed to plan the sums")?;
        let outcome = backend.install(|| case.run(&backend, sum));
        let outcome = outcome.with_context(|| format!("failed to run {}", self.kernel))?;
        let mut files = Vec::new();
        for Named { name, value } in &self.outputs {
            let Some((_, field)) = outcome.fields.iter().find(|(known, _)| known == name) else { continue };
            let path = Path::new(value);
            let file = field_array(field)?.to_file()?;
            write_atomically(path, |out| out.write_all(&file))?;
            files.push(value.clone());
        }
        let report = Report {
            kernel: self.kernel.name,
            precision: self.precision.to_string(),
            sites: self.sites.to_string(),
            lattice: extents.as_array(),
            has_phases: self.has_phases(),
            outputs: files,
            sums: outcome.sums.iter().map(|&value| SumOf { value, bits: bits(value) }).collect(),
        };
        show(self.json, Head::on(Kind::Run, backend.device()), &report, Report::text)
    }

    /// The files that are read, with the names of their arguments.
    fn files(&self) -> impl Iterator<Item = (String, &Path)> {
        let of_inputs = self
            .inputs
            .iter()
            .flat_map(|input| input.value.split(',').map(|file| (format!("--in {}", input.name), Path::new(file))));
        let config = self.config.iter().map(|path| ("--config".to_owned(), path.as_path()));
        let matrix = self.along_s.matrix.iter().map(|path| ("--matrix".to_owned(), path.as_path()));
        of_inputs.chain(config).chain(matrix)
    }

    /// Whether links are read that have their boundary phases: of fewer reals they are rebuilt with those that are given.
    fn has_phases(&self) -> bool {
        self.kernel.fields().any(|role| match role.holds {
            FieldContents::DoubledLinks => self.hop.links == LinkFormat::Full && !self.is_made(&role),
            FieldContents::Links => !self.is_made(&role),
            _ => false,
        })
    }

    /// Whether links of a role are made of the configuration.
    fn is_made(&self, role: &FieldRole) -> bool {
        let given = self.inputs.iter().any(|input| input.name == role.name);
        matches!(role.holds, FieldContents::DoubledLinks | FieldContents::Links) && !given
    }
}
