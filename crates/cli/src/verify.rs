//! `lanefield verify`: the main job. Every kernel and whole solves on an OpenCL device and on the CPU reference, compared bit for bit, in
//! one table. Where there is no OpenCL, the CPU reference against the plain scalar implementation.

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::Context as _;
use clap::Args;
use comfy_table::{CellAlignment, TableComponent};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lanefield::backend::opencl::{DeviceInfo, DeviceKind, HOW_TO_GET_OPENCL, OpenCl, OpenClError, devices, probe};
use lanefield::backend::select::{DeviceChoice, Selected, resolve};
use lanefield::backend::{Backend as _, Cpu, Threads};
use lanefield::reference::layout::{AcceleratorThreads, LaneChoice, LegOrder};
use lanefield::verify::{Progress, Reference, Row, Scalar, Tested, VerifyOptions, VerifyReport, verify};
use serde::Serialize;

use super::Outcome;
use super::args::warn_of_tuning;
use super::files::read_configuration;
use super::output::{print, print_json, table};

/// Compares OpenCL with the CPU reference bit for bit: every kernel on random awkward lattices, then whole solves.
///
/// Each random case draws its own lattice, cut into virtual nodes, boundary phases, links, spinors (ordinary, of wide range, subnormal,
/// with infinities and NaNs), scalars, and goes through full, even and odd sites, both link formats, dagger and not. Lane widths and
/// work-groups are gone through in turn, unless they are given here.
#[derive(Args)]
pub struct Verify {
    /// The device to put to the test: auto (the first GPU, else any OpenCL device), a number from `lanefield devices`, or part of a
    /// name; cpu compares the CPU reference with the plain scalar implementation
    #[arg(long, value_name = "DEVICE", default_value = "auto", env = "LANEFIELD_DEVICE")]
    device: DeviceChoice,
    /// Random cases for each precision, on each of which every kernel runs [default: 48; with --quick 12]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    cases: Option<u32>,
    /// Random cases of sums over sites, in which six operations sum random objects in a random form [default: 2400; with --quick 240]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=100_000_000))]
    sums: Option<u32>,
    /// Key of all random choices and data
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    seed: u64,
    /// Shorter, with fewer programs to build: two lane widths for each precision, few work-group sizes, fewer cases
    #[arg(long)]
    quick: bool,
    /// Solve on this NERSC configuration too
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
    /// Outer sites a work-group [default: 8 and others in turn]
    #[arg(long, value_name = "N")]
    accelerator_threads: Option<AcceleratorThreads>,
    /// One lane width in bytes: 8, 16, 32, 64, 128 or 256; auto goes through all
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
    /// Why no device was put to the test, where one would have been.
    no_opencl: Option<String>,
    /// What the device's arithmetic does otherwise than IEEE.
    probe: Option<String>,
    host: String,
    components: u64,
    comparisons: u64,
    seconds: f64,
    /// The command that repeats the first case that failed.
    repeat: Option<String>,
    report: &'a VerifyReport,
}

/// What is put to the test.
enum Target {
    Device(Box<DeviceInfo>),
    /// The CPU reference, and why, where that was not asked for.
    Reference(Option<String>),
}

impl Verify {
    pub fn run(self) -> anyhow::Result<Outcome> {
        let start = Instant::now();
        let host = Cpu::new(self.threads).context("failed to start the CPU reference")?;
        let mut options = self.options()?;
        let target = self.target()?;
        let (device, no_opencl) = match &target {
            Target::Device(device) => (Some(&**device), None),
            Target::Reference(why) => (None, why.clone()),
        };
        let (report, why_not) = match device {
            Some(device) => {
                options.most_work_items = device.max_work_group_size.min(device.max_work_item_sizes[1]);
                options.few_cuts |= device.kind == DeviceKind::Cpu;
                let mut opened = OpenCl::open(device, self.accelerator_threads.unwrap_or_default())
                    .with_context(|| format!("failed to open the device {}", device.name))?;
                warn_of_tuning(&opened);
                eprintln!("verifying {} against the CPU reference", device);
                let verdict = probe(opened.context()).context("failed to probe the device's arithmetic")?;
                (self.verify(&mut opened, &host, &host, &options)?, verdict.why_not())
            }
            None => {
                // Plain loops are slow: no large lattices.
                options.large_lattices = false;
                if let Some(threads) = self.threads {
                    options.accelerator_threads = Some(AcceleratorThreads::new(threads.get())?);
                }
                let mut tested = Cpu::new(self.threads).context("failed to start the CPU reference")?;
                eprintln!("verifying the CPU reference against the plain scalar implementation");
                (self.verify(&mut tested, &Scalar, &host, &options)?, None)
            }
        };
        let verdict = Verdict {
            kind: "verify",
            lanefield: env!("CARGO_PKG_VERSION"),
            verdict: word(report.same_bits()),
            bitwise: report.same_bits() && why_not.is_none(),
            device,
            no_opencl,
            probe: why_not,
            host: host.describe(),
            components: report.components(),
            comparisons: report.comparisons(),
            seconds: start.elapsed().as_secs_f64(),
            repeat: self.repeat(&report),
            report: &report,
        };
        match self.json {
            true => print_json(&verdict)?,
            false => print(verdict.text())?,
        }
        Ok(if verdict.bitwise { Outcome::Done } else { Outcome::CheckFailed })
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

    fn target(&self) -> anyhow::Result<Target> {
        if self.device == DeviceChoice::Cpu {
            return Ok(Target::Reference(None));
        }
        let (devices, reason) = match devices() {
            Ok(devices) => (devices, "no OpenCL device of this machine can be used".to_owned()),
            Err(OpenClError::NoOpenCl { reason }) => (Vec::new(), reason),
            Err(error) => return Err(error).context("failed to list the OpenCL devices"),
        };
        Ok(match resolve(&self.device, &devices)? {
            Selected::OpenCl(device) => Target::Device(device),
            Selected::Cpu => Target::Reference(Some(format!("{reason}; {HOW_TO_GET_OPENCL}"))),
        })
    }

    fn verify<B: Tested, P: Reference + Sync>(
        &self,
        tested: &mut B,
        reference: &P,
        host: &Cpu,
        options: &VerifyOptions,
    ) -> anyhow::Result<VerifyReport> {
        let bar = progress_bar();
        let observe = |Progress { done, cases, components }: Progress| {
            bar.set_length(cases);
            bar.set_position(done);
            bar.set_message(format!("{} million components compared", components / 1_000_000));
        };
        let report = verify(tested, reference, host, options, observe).context("failed to verify")?;
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

fn progress_bar() -> ProgressBar {
    let bar = match std::io::stderr().is_terminal() {
        true => ProgressBar::new(0),
        false => ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden()),
    };
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} cases, {msg}, {elapsed}");
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar
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
        let mut rows = table(["kernel", "precision", "cases", "real components", "verdict", "time"]);
        // No lines between rows: there are dozens.
        rows.remove_style(TableComponent::HorizontalLines).remove_style(TableComponent::MiddleIntersections);
        for row in &self.report.rows {
            rows.add_row([
                kernel(row),
                row.precision.to_owned(),
                row.comparisons.to_string(),
                grouped(row.components),
                verdict_of(row),
                format!("{:.2} s", row.seconds),
            ]);
        }
        let columns = rows.column_iter_mut().enumerate();
        for (_, column) in columns.filter(|(k, _)| matches!(k, 2 | 3 | 5)) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        lines.push(format!("{rows}\n"));
        for row in &self.report.rows {
            if let Some(failure) = &row.failure {
                let (precision, mismatch) = (row.precision, &failure.mismatch);
                lines.push(format!("{} {precision}: {mismatch}\n    {}", row.kernel, failure.description));
            }
        }
        if let Some(command) = &self.repeat {
            lines.push(format!("to repeat the first of these alone: {command}\n"));
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
            let verdict = "the device's arithmetic is IEEE's, rounding for rounding: its results may be called bitwise";
            lines.push(format!("probe     {verdict}"));
        }
        if let Some(reason) = &self.no_opencl {
            lines.push(format!("\nNo OpenCL device was put to the test: {reason}."));
            lines.push("Instead, the CPU reference was compared with the plain scalar implementation.".to_owned());
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

fn verdict_of(row: &Row) -> String {
    match row.different {
        0 => word(true).to_owned(),
        some => format!("{} in {some}", word(false)),
    }
}
