//! `lanefield golden`: inputs, intermediates and results of every kernel as files, for whoever writes the kernels elsewhere, and the comparison with
//! theirs. What is written: `lanefield_ports::golden`.

use crate::kernels::Known;
use crate::prelude::*;

use lanefield_lab::ahead::Step;
use lanefield_ports::golden::{self, CheckOptions, Checked, CheckedGroup, Exported, GoldenOptions};

use super::args::{CpuUnlessGiven, of_storage};
use super::build_ahead::{Builder, JobsArgs};
use super::files::{replaces, require_no_file};
use super::interrupt;
use super::kernels;
use super::numbers::bytes;
use super::numbers::count;
use super::output::{facts, joined, table};
use super::progress::styled_bar;

/// Write golden data of every kernel, or check a port with them.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield golden export golden --kernel hop --lattice 2.2.2.4
  lanefield golden export port --kernel hop --lattice 2.2.2.4 --device auto
  lanefield golden check golden --against port

The examples use the results of a device in place of those of a port.")]
pub struct Golden {
    #[command(subcommand)]
    command: Command,
}

commands! {
    Command(kernels: &Known) {
        Export(Box<Export>) with kernels,
        Check(Check),
    }
}

impl Golden {
    pub fn run(self, kernels: &Known) -> anyhow::Result<Outcome> {
        self.command.run(kernels)
    }
}

/// Write golden data: inputs, intermediates and results of kernels.
///
/// Every backend writes the same bytes, with any lanes and threads; the CPU reference is the fastest. docs/golden.md describes the files, and how to
/// compare a port with them.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield golden export golden
  lanefield golden export golden-f32 --kernel hop --precision f32 \\
      --device auto
  lanefield golden export golden-hop --kernel hop,clover --lattice 2.2.2.4 \\
      --precision f64 --boundary 1,1,1,-1")]
struct Export {
    /// Directory to write. --force replaces one that contains golden data
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Kernels to export, or families of kernels. If a kernel has the name of its family, family:NAME is the family, as in family:hop
    #[arg(long = "kernel", alias = "kernels", value_name = "KERNEL,…", num_args = 1.., value_delimiter = ',', default_value = "all")]
    kernels: Vec<String>,
    /// Extents of the lattice, all even
    #[arg(long, value_name = "X.Y.Z.T", default_value = lattice())]
    lattice: Extents,
    /// Seed of links, fields and scalars
    #[arg(long, value_name = "N", default_value_t = GoldenOptions::SEED, value_parser = super::args::seed)]
    seed: u64,
    /// Precisions of results: f32, f64, half [default: all]
    #[arg(long, value_name = "PRECISION", num_args = 1.., value_delimiter = ',', value_parser = of_storage())]
    precision: Vec<Precision>,
    /// Boundary phases in x,y,z,t: 1 periodic, -1 antiperiodic, 0 fixed (no hop across the boundary)
    #[arg(long, value_name = "PHASES", default_value = "1,1,1,-1", allow_hyphen_values = true)]
    boundary: BoundaryPhases,
    /// Order in which the hop adds its legs
    #[arg(long, value_name = "ORDER", default_value_t, allow_hyphen_values = true)]
    legs: LegOrder,
    /// Print JSON instead of a table
    #[arg(long, help_heading = "Output")]
    json: bool,
    #[command(flatten)]
    jobs: JobsArgs,
    #[command(flatten)]
    backend: CpuUnlessGiven,
}

fn lattice() -> String {
    let [x, y, z, t] = GoldenOptions::LATTICE;
    format!("{x}.{y}.{z}.{t}")
}

#[derive(Serialize)]
struct Written {
    directory: String,
    lattice: [usize; 4],
    seed: u64,
    kernels: usize,
    chosen: Vec<&'static str>,
    cases: usize,
    stages: usize,
    files: usize,
    bytes: u64,
}

impl Export {
    fn run(self, list: &Known) -> anyhow::Result<Outcome> {
        let kernels = kernels::wanted(
            list,
            &self.kernels,
            |kernel| kernel.is_launched(),
            "is a part of other operations, not launched",
        )?;
        let mut precisions = if self.precision.is_empty() { Precision::ALL.to_vec() } else { self.precision.clone() };
        precisions.sort_unstable();
        precisions.dedup();
        let options = GoldenOptions {
            kernels,
            extents: self.lattice,
            seed: self.seed,
            precisions,
            boundary: self.boundary,
            legs: self.legs,
            lanes: self.backend.0.lanes,
        };
        require_no_file(&self.directory)?;
        golden::require_place(&self.directory, replaces())?;
        let mut backend = self.backend.0.open(Precision::F64)?;
        // Most of the time is a device's compiler.
        let calls = backend.opencl().map(|_| golden::calls(&backend, &options)).transpose();
        let calls = calls.context("failed to export golden data")?;
        if let (Some(calls), Some(device)) = (calls, backend.opencl_mut()) {
            let needs = calls.iter().flat_map(|shape| device.needs(shape, Sum::Exact).unwrap_or_default());
            let steps = needs.map(Step::Program).collect();
            Builder::new(self.jobs).build(device, steps);
        }
        let bar = styled_bar("{elapsed_precise} {msg}");
        // Until all is in its place a signal is to leave nothing behind.
        interrupt::keep();
        let tell = |what: &str| {
            bar.set_message(what.to_owned());
            !interrupt::interrupted()
        };
        let exported = backend.install(|| golden::export(&backend, &options, &self.directory, replaces(), &tell));
        bar.finish_and_clear();
        let Exported { cases, stages, files, bytes } = exported.context("failed to export golden data")?;
        let written = Written {
            directory: self.directory.display().to_string(),
            lattice: options.extents.as_array(),
            seed: options.seed,
            kernels: options.kernels.len(),
            chosen: options.kernels.iter().map(|kernel| kernel.name).collect(),
            cases,
            stages,
            files,
            bytes,
        };
        show(self.json, Head::on(Kind::GoldenExport, backend.device()), &written, Written::text)
    }
}

impl Written {
    fn text(&self) -> String {
        facts([
            ("directory", self.directory.clone()),
            ("lattice", format!("{}, seed {}", joined(&self.lattice, "."), self.seed)),
            ("kernels", format!("{}, in {}", some(&self.chosen, CHOSEN), count(self.cases, "case"))),
            ("stages", self.stages.to_string()),
            ("files", format!("{}, {}", self.files, bytes(self.bytes))),
        ])
    }
}

/// Compare the results of a port with golden data.
///
/// It compares the results that exist, and lists those that are missing. A result has the same path in both directories. The golden data are first
/// checked against the SHA-256 of their manifest.
///
/// Exit code 0: all results that exist are the same; 1: some differ (or are missing, with --complete); 2: nothing can be compared.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield golden export golden --kernel hop --lattice 2.2.2.4
  lanefield golden export port --kernel hop --lattice 2.2.2.4 --device auto
  lanefield golden check golden --against port
  lanefield golden check golden --against port --all --complete
  lanefield golden check golden --against port --ulps 1 --json

The examples use the results of a device in place of those of a port.")]
struct Check {
    /// Directory of golden data
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Directory with the results of a port, or other golden data
    #[arg(long, value_name = "OTHER")]
    against: PathBuf,
    /// Accept differences of up to N units in the last place
    #[arg(long, value_name = "N", default_value_t = 0)]
    ulps: u64,
    /// Explain every file that differs, not only the first: as `lanefield compare` does
    #[arg(long)]
    all: bool,
    /// Count a missing result as a difference
    #[arg(long)]
    complete: bool,
    /// Print JSON instead of a table
    #[arg(long, help_heading = "Output")]
    json: bool,
}

#[derive(Serialize)]
struct Comparison {
    same: bool,
    /// Whether what is missing counts as a difference.
    complete: bool,
    ulps: u64,
    compared: usize,
    differ: usize,
    missing: usize,
    #[serde(flatten)]
    checked: Checked,
}

impl Check {
    fn run(self) -> anyhow::Result<Outcome> {
        let options = CheckOptions { ulps: self.ulps, all: self.all };
        let checked = golden::check(&self.directory, &self.against, options);
        let checked = checked.context("failed to compare with golden data")?;
        let comparison = Comparison {
            same: checked.is_same() && !(self.complete && checked.missing() > 0),
            complete: self.complete,
            ulps: self.ulps,
            compared: checked.compared(),
            differ: checked.differ(),
            missing: checked.missing(),
            checked,
        };
        show(self.json, Head::of(Kind::GoldenCheck), &comparison, Comparison::text)?;
        Ok(if comparison.same { Outcome::Done } else { Outcome::CheckFailed })
    }
}

/// Lines set in by two spaces.
fn indented(text: &str) -> String {
    let line = |line: &str| if line.is_empty() { String::new() } else { format!("  {line}") };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Names of a list that are shown; of the others how many there are.
const SHOWN: usize = 3;
const CHOSEN: usize = 8;

/// "1 case", "9 cases"
/// The first names of a list, and how many others there are.
fn some<T: AsRef<str>>(names: &[T], most: usize) -> String {
    let shown: Vec<&str> = names.iter().take(most).map(AsRef::as_ref).collect();
    match names.len().saturating_sub(most) {
        0 => shown.join(", "),
        others => format!("{} and {}", shown.join(", "), count(others, "other")),
    }
}

impl Comparison {
    fn text(&self) -> String {
        let Self { same, ulps, compared, differ, missing, checked, .. } = self;
        let mut rows = table(["kernel, or stage", "compared", "differ", "missing"], 1..4);
        for CheckedGroup { name, compared, differ, missing } in &checked.groups {
            rows.add_row([name.clone(), compared.to_string(), differ.len().to_string(), missing.len().to_string()]);
        }
        let mut text = rows.trim_fmt();
        for (difference, which) in
            checked.first.iter().zip(["first"]).chain(checked.others.iter().map(|other| (other, "then")))
        {
            text += &format!("\n{which}: {}\n", difference.file);
            // A is what should be there.
            let what = difference.comparison.as_ref().map_or_else(|| difference.what.clone(), ToString::to_string);
            text += &indented(&what);
        }
        let all: Vec<&String> = checked.groups.iter().flat_map(|group| &group.differ).collect();
        if !all.is_empty() {
            text += &format!("\ndiffer: {}", some(&all, SHOWN));
        }
        // Of a kernel that a port has only the files that it lacks are news.
        let lacking = checked.groups.iter().filter(|group| group.compared > 0).flat_map(|group| &group.missing);
        let lacking: Vec<&String> = lacking.collect();
        if !lacking.is_empty() {
            text += &format!("\nmissing: {}", some(&lacking, SHOWN));
        }
        if !checked.unknown.is_empty() {
            text += &format!("\nunknown, and not compared: {}", some(&checked.unknown, SHOWN));
        }
        let within = if *ulps > 0 { format!(" to {ulps} ulp") } else { String::new() };
        text + &match (differ, same) {
            (0, true) => format!("\nthe same{within}: {}; missing: {missing}", count(*compared, "file")),
            (0, false) => {
                format!("\nnot complete, though the same{within}: {}; missing: {missing}", count(*compared, "file"))
            }
            (1, _) => format!("\n1 of {} differs{within}; missing: {missing}", count(*compared, "file")),
            _ => format!("\n{differ} of {} differ{within}; missing: {missing}", count(*compared, "file")),
        }
    }
}
