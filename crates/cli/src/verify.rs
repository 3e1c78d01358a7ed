//! `lanefield verify`: the main job. Every kernel and whole solves on an OpenCL device and on the CPU reference, compared bit for bit, in
//! one table. Where there is no OpenCL, the CPU reference against the plain scalar implementation.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context as _, bail};
use clap::Args;
use indicatif::ProgressStyle;
use lanefield::backend::opencl::{DeviceInfo, DeviceKind, HOW_TO_GET_OPENCL, OpenCl, OpenClError, devices, probe};
use lanefield::backend::select::{DeviceChoice, Selected, resolve};
use lanefield::backend::{Cpu, Memory as _, Threads};
use lanefield::reference::layout::{AcceleratorThreads, LaneChoice, LegOrder};
use lanefield::reference::real::Precision;
use lanefield::verify::{Against, Progress, Row, Tested, VerifyOptions, VerifyReport, rows, verify};
use serde::Serialize;

use super::Outcome;
use super::args::warn_of_tuning;
use super::files::read_configuration;
use super::output::{show, table};
use super::progress::progress_bar;

/// Compare an OpenCL device with the CPU reference, bit for bit: every kernel on random awkward lattices, then whole solves.
///
/// Each random case draws its own lattice, cut into virtual nodes, boundary phases, links, fields (ordinary numbers, of wide range, subnormal, with
/// infinities and NaNs) and scalars. It covers full, even and odd sites, and 18, 12 and 8 reals per link. Lane widths and work-group sizes vary
/// from case to case, unless they are given here. Without OpenCL, the CPU reference is compared with the plain implementation instead, which
/// --require-device makes an error.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield verify --list
  lanefield verify --quick --cases 1 --sums 20
  lanefield verify --quick --case 0 --device cpu --json")]
pub struct Verify {
    /// The device to test: auto (the first GPU, else any OpenCL device), a number from `lanefield devices`, or part of a name; cpu compares
    /// the CPU reference with the plain implementation
    #[arg(long, value_name = "DEVICE", default_value = "auto", env = "LANEFIELD_DEVICE")]
    device: DeviceChoice,
    /// List the rows of the table, every kernel and every solve, and run nothing
    #[arg(long)]
    list: bool,
    /// Fail if no OpenCL device is found, instead of testing the CPU reference
    #[arg(long)]
    require_device: bool,
    /// Random cases per precision, on each of which every kernel runs [default: 48; with --quick 12]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    cases: Option<u32>,
    /// Random cases of sums over sites, each with six operations on random objects in a random form [default: 2400; with --quick 240]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=100_000_000))]
    sums: Option<u32>,
    /// Key of all random choices and data
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    seed: u64,
    /// A shorter run with fewer programs to build: two lane widths per precision, few work-group sizes, fewer cases
    #[arg(long)]
    quick: bool,
    /// Also solve on this NERSC configuration
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Repeat only the case of this number
    #[arg(long, value_name = "NUMBER")]
    case: Option<u64>,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
    /// CPU threads [default: RAYON_NUM_THREADS, else all cores]
    #[arg(long, value_name = "N")]
    threads: Option<Threads>,
    /// Outer sites per work-group [default: 8 and others in turn]
    #[arg(long, value_name = "N")]
    accelerator_threads: Option<AcceleratorThreads>,
    /// One lane width in bytes: 8, 16, 32, 64, 128 or 256; auto covers all of them
    #[arg(long, value_name = "BYTES|auto", default_value_t)]
    lanes: LaneChoice,
    /// One leg order [default: the default one, and a few others]
    #[arg(long, value_name = "ORDER", allow_hyphen_values = true)]
    legs: Option<LegOrder>,
}

/// All that is known at the end.
#[derive(Serialize)]
struct Verdict<'a> {
    kind: &'static str,
    lanefield: &'static str,
    /// "same bits" or "DIFFERENT".
    verdict: &'static str,
    /// Whether the results may be called bitwise: same bits, and the device's arithmetic passed its probe.
    bitwise: bool,
    /// The device under test; none where the CPU reference is.
    device: Option<&'a DeviceInfo>,
    /// Why no device was tested, where one would have been.
    no_opencl: Option<String>,
    /// Where the device's arithmetic does not follow IEEE 754.
    probe: Option<String>,
    host: String,
    components: u64,
    comparisons: u64,
    seconds: f64,
    /// The command that repeats the first case that failed.
    repeat: Option<String>,
    report: &'a VerifyReport,
}

/// A row of the table before anything was run. As JSON, these fields.
#[derive(Serialize)]
struct Listed {
    kernel: String,
    precision: Precision,
    reconstruct: Option<usize>,
}

/// The rows. As JSON, these fields.
#[derive(Serialize)]
struct List {
    kind: &'static str,
    rows: Vec<Listed>,
}

impl Verify {
    pub fn run(self) -> anyhow::Result<Outcome> {
        if self.list {
            return self.print_list();
        }
        let start = Instant::now();
        let host = Cpu::new(self.threads).context("failed to start the CPU reference")?;
        let mut options = self.options()?;
        let (device, no_opencl) = self.target()?;
        let (report, why_not) = match device.as_deref() {
            Some(device) => {
                options.most_work_items = device.max_work_group_size.min(device.max_work_item_sizes[1]);
                options.local_memory_bytes = device.local_memory_bytes;
                if device.kind == DeviceKind::Cpu {
                    (options.few_cuts, options.largest_group) = (true, options.most_work_items);
                }
                let opened = OpenCl::open(device);
                let mut opened = opened.with_context(|| format!("failed to open the device {}", device.name))?;
                warn_of_tuning(&opened);
                eprintln!("verifying {} against the CPU reference", device);
                let verdict = probe(opened.context()).context("failed to probe the device's arithmetic")?;
                (self.verify(&mut opened, Against::Cpu, &host, &options)?, verdict.why_not())
            }
            None => {
                // Plain loops are slow: no large lattices.
                options.large_lattices = false;
                if let Some(threads) = self.threads {
                    options.accelerator_threads = Some(AcceleratorThreads::new(threads.get())?);
                }
                let mut tested = Cpu::new(self.threads).context("failed to start the CPU reference")?;
                eprintln!("verifying the CPU reference against the {}", Against::PlainLoops.name());
                (self.verify(&mut tested, Against::PlainLoops, &host, &options)?, None)
            }
        };
        let verdict = Verdict {
            kind: "verify",
            lanefield: env!("CARGO_PKG_VERSION"),
            verdict: word(report.same_bits()),
            bitwise: report.same_bits() && why_not.is_none(),
            device: device.as_deref(),
            no_opencl,
            probe: why_not,
            host: host.describe(),
            components: report.components(),
            comparisons: report.comparisons(),
            seconds: start.elapsed().as_secs_f64(),
            repeat: self.repeat(&report),
            report: &report,
        };
        show(self.json, &verdict, Verdict::text)?;
        Ok(if verdict.bitwise { Outcome::Done } else { Outcome::CheckFailed })
    }

    fn print_list(&self) -> anyhow::Result<Outcome> {
        let listed = rows(&self.options()?)?.into_iter().map(|row| Listed {
            kernel: row.kernel,
            precision: row.precision,
            reconstruct: row.reconstruct,
        });
        let list = List { kind: "verify", rows: listed.collect() };
        show(self.json, &list, |list| {
            let mut lines = table(["kernel", "precision", "reconstruct"], []);
            for Listed { kernel, precision, reconstruct: links } in &list.rows {
                lines.add_row([kernel.clone(), precision.to_string(), reconstruct(*links)]);
            }
            lines
        })
    }

    fn options(&self) -> anyhow::Result<VerifyOptions> {
        let mut options = if self.quick { VerifyOptions::quick(self.seed) } else { VerifyOptions::full(self.seed) };
        if let Some(path) = &self.config {
            options.configuration = Some(read_configuration(path)?.configuration);
        }
        options.cases = self.cases.unwrap_or(options.cases);
        options.sums = self.sums.unwrap_or(options.sums);
        options.only = self.case;
        options.lanes = self.lanes;
        options.legs = self.legs;
        options.accelerator_threads = self.accelerator_threads;
        Ok(options)
    }

    /// The device to test; where it is the CPU reference, why, if that was not asked for.
    fn target(&self) -> anyhow::Result<(Option<Box<DeviceInfo>>, Option<String>)> {
        if self.device == DeviceChoice::Cpu {
            if self.require_device {
                bail!(
                    "--require-device needs an OpenCL device, and --device cpu is the CPU reference: leave one of them out"
                );
            }
            return Ok((None, None));
        }
        let (devices, reason) = match devices() {
            Ok(devices) => (devices, "no OpenCL device of this machine can be used".to_owned()),
            Err(OpenClError::NoOpenCl { reason }) => (Vec::new(), reason),
            Err(error) => return Err(error).context("failed to list the OpenCL devices"),
        };
        Ok(match resolve(&self.device, &devices)? {
            Selected::OpenCl(device) => (Some(device), None),
            Selected::Cpu if self.require_device => {
                bail!("--require-device: no OpenCL device was found ({reason}); {HOW_TO_GET_OPENCL}")
            }
            Selected::Cpu => (None, Some(format!("{reason}; {HOW_TO_GET_OPENCL}"))),
        })
    }

    fn verify<B: Tested>(
        &self,
        tested: &mut B,
        against: Against,
        host: &Cpu,
        options: &VerifyOptions,
    ) -> anyhow::Result<VerifyReport> {
        let bar = progress_bar();
        if let Ok(style) = ProgressStyle::with_template("{wide_bar} {pos}/{len} cases, {msg}, {elapsed}") {
            bar.set_style(style);
        }
        let observe = |Progress { done, cases, components }: Progress| {
            bar.set_length(cases);
            bar.set_position(done);
            bar.set_message(format!("{} million components compared", components / 1_000_000));
        };
        let report = verify(tested, against, host, options, observe).context("failed to verify")?;
        bar.finish_and_clear();
        Ok(report)
    }

    /// The command that repeats the first case that failed.
    fn repeat(&self, report: &VerifyReport) -> Option<String> {
        let failure = report.rows.iter().find_map(|row| row.failure.as_ref())?;
        let mut command = format!("lanefield verify --seed {} --case {}", self.seed, failure.case);
        let mut add = |argument: Option<String>| command += &argument.unwrap_or_default();
        add(self.quick.then(|| " --quick".to_owned()));
        add(self.cases.map(|cases| format!(" --cases {cases}")));
        add(self.sums.map(|sums| format!(" --sums {sums}")));
        add((self.device != DeviceChoice::Auto).then(|| format!(" --device '{}'", self.device)));
        add((self.lanes != LaneChoice::Auto).then(|| format!(" --lanes {}", self.lanes)));
        add(self.legs.map(|legs| format!(" --legs {legs}")));
        add(self.accelerator_threads.map(|threads| format!(" --accelerator-threads {threads}")));
        add(self.config.as_ref().map(|path| format!(" --config '{}'", path.display())));
        Some(command)
    }
}

fn word(same: bool) -> &'static str {
    if same { "same bits" } else { "DIFFERENT" }
}

/// 1234567 as 1 234 567.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (k, digit) in digits.chars().enumerate() {
        if k > 0 && (digits.len() - k).is_multiple_of(3) {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    grouped
}

impl Verdict<'_> {
    /// The table, what differs, what was compared with what, and the verdict.
    fn text(&self) -> String {
        let mut lines = Vec::new();
        let header = ["kernel", "precision", "reconstruct", "cases", "real components", "verdict", "time"];
        let mut rows = table(header, [2, 3, 4, 6]);
        for row in &self.report.rows {
            rows.add_row([
                kernel(row),
                row.precision.to_string(),
                reconstruct(row.reconstruct),
                row.comparisons.to_string(),
                grouped(row.components),
                verdict_of(row),
                format!("{:.2} s", row.seconds),
            ]);
        }
        lines.push(format!("{rows}\n"));
        for row in &self.report.rows {
            if let Some(failure) = &row.failure {
                let (precision, mismatch) = (row.precision, &failure.mismatch);
                let links = row.reconstruct.map_or_else(String::new, |reals| format!(" reconstruct {reals}"));
                lines.push(format!("{} {precision}{links}: {mismatch}\n    {}", row.kernel, failure.description));
            }
        }
        if let Some(command) = &self.repeat {
            lines.push(format!("to repeat the first of these: {command}\n"));
        }

        match self.device {
            Some(device) => {
                lines.push(format!("device    {}", device.name));
                lines.push(format!("platform  {}, {}", device.platform_name, device.platform_version));
                lines.push(format!("driver    {}", device.driver_version));
                lines.push(format!("against   {}", self.host));
            }
            None => lines.push(format!("tested    {}\nagainst   the {}", self.report.tested, self.report.reference)),
        }
        lines.push(format!("seed      {}", self.report.seed));
        if let (Some(_), None) = (self.device, &self.probe) {
            let verdict = "the device's arithmetic follows IEEE 754: its results may be called bitwise";
            lines.push(format!("probe     {verdict}"));
        }
        if let Some(reason) = &self.no_opencl {
            lines.push(format!("\nNo OpenCL device was tested: {reason}."));
            let against = self.report.reference;
            lines.push(format!("Instead, the CPU reference was compared with the {against}."));
        }
        let (components, comparisons) = (grouped(self.components), grouped(self.comparisons));
        let verdict = self.verdict;
        lines.push(format!(
            "\n{verdict}: {components} real components in {comparisons} comparisons, {:.1} s",
            self.seconds
        ));
        if let Some(reason) = &self.probe {
            lines.push(format!("Results of this device cannot be called bitwise, whatever the table says: {reason}."));
        }
        lines.join("\n")
    }
}

fn kernel(row: &Row) -> String {
    match row.iterations {
        Some(iterations) => format!("{} ({iterations} iterations)", row.kernel),
        None => row.kernel.clone(),
    }
}

/// Reals stored per link, of what reads links.
fn reconstruct(reals: Option<usize>) -> String {
    reals.map_or_else(|| "–".to_owned(), |reals| reals.to_string())
}

fn verdict_of(row: &Row) -> String {
    match row.different {
        0 => word(true).to_owned(),
        some => format!("{} in {some}", word(false)),
    }
}
