//! `lanefield guidelines`: measures which guidelines for GPU programs hold on a device. `lanefield_lab::guidelines` has the experiments.

use lanefield::backend::opencl::Context;
use lanefield::backend::select::{DeviceChoice, Selected, select};
use lanefield_lab::Spread;
use lanefield_lab::guidelines::{Clock, Guideline, Options, Outcome as Measured, Scale, Verdict, named, run};

use super::build_progress::announce;
use super::numbers::number;
use super::output::{Device, facts, fitted, table};
use super::progress::{goes_on, progress_bar};
use crate::prelude::*;

/// Measure which guidelines for GPU programs hold on a device.
///
/// Each guideline of AMD's HIP performance guidelines and of DaCe's best practices is a small pair of kernels or calls: one without its advice, and
/// one with it. Both must give the same result, which is checked. They are timed alternately.
///
/// The factor is the time without the advice divided by the time with it. A guideline holds if the 10th percentile of the factor is above 1 and its
/// median is at least 1.03. Times of kernels are the device's own. Times marked * are the host's, from the first call until all work is done. Exit
/// code 1 if an experiment failed.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield guidelines
  lanefield guidelines --list
  lanefield guidelines coalesced bank-conflicts --samples 30
  lanefield guidelines --quick --json")]
pub struct Guidelines {
    /// Guidelines to measure, by their names in --list [default: all]
    names: Vec<String>,
    /// List the guidelines, and measure nothing: their advice, source and two versions
    #[arg(long)]
    list: bool,
    /// Pairs of samples per guideline: a verdict needs 3 [default: 3 to 15, as time allows]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    samples: Option<u32>,
    /// Use smaller arrays: half as large on GPUs, a quarter on CPUs
    #[arg(long)]
    quick: bool,
    /// Use arrays of 16384 words: checks that both versions give the same result; the times mean nothing
    #[arg(long, hide = true, conflicts_with = "quick")]
    tiny: bool,
    /// Device to run on: auto (the first GPU, else any OpenCL device), a number from `lanefield devices`, or part of a device's name [env:
    /// LANEFIELD_DEVICE]
    #[arg(long, value_name = "DEVICE", default_value = crate::args::default_device())]
    device: DeviceChoice,
    /// Print JSON instead of a table
    #[arg(long, help_heading = "Output")]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    #[serde(skip)]
    device: String,
    #[serde(skip)]
    driver: String,
    scale: Scale,
    /// The results, in the order of the list.
    guidelines: Vec<Measured>,
}

#[derive(Serialize)]
struct List {
    list: Vec<Guideline>,
}

impl Guidelines {
    pub fn run(self) -> anyhow::Result<Outcome> {
        let wanted = named(&self.names)?;
        if self.list {
            return show(self.json, Head::of(Kind::GuidelinesList), &List { list: wanted }, |List { list }| {
                listing(list)
            });
        }
        let context = self.open()?;
        let scale = match (self.tiny, self.quick) {
            (true, _) => Scale::Tiny,
            (_, true) => Scale::Quick,
            _ => Scale::Full,
        };
        let options = Options { scale, samples: self.samples.map(|number| number as usize) };
        let bar = progress_bar();
        bar.set_length(wanted.len() as u64);
        let outcomes = run(&context, &wanted, options, |outcome| {
            bar.inc(1);
            bar.set_message(outcome.guideline.name.clone());
            goes_on(1)
        });
        bar.finish_and_clear();
        let info = context.info();
        let report = Report {
            device: format!("{} ({})", info.name, info.platform_name),
            driver: info.driver_version.clone(),
            scale,
            guidelines: outcomes,
        };
        show(self.json, Head::on(Kind::Guidelines, Device::from(info)), &report, Report::text)?;
        let failed = report.guidelines.iter().any(|outcome| outcome.verdict == Verdict::Failed);
        Ok(if failed { Outcome::CheckFailed } else { Outcome::Done })
    }

    fn open(&self) -> anyhow::Result<Context> {
        let why = || "failed to find a device for the experiments";
        let (selected, note) = select(&self.device, (0, 1)).with_context(why)?;
        let note = note.unwrap_or_else(|| "the CPU reference was chosen with --device or LANEFIELD_DEVICE".to_owned());
        match selected {
            Selected::Cpu => bail!(
                "failed to find a device for the experiments: guidelines are experiments on OpenCL devices, and {note}; choose one with --device \
                 (`lanefield devices` lists them)"
            ),
            Selected::OpenCl(device) => {
                say!("running on {device}");
                let opened = Context::open(&device);
                let opened = opened.with_context(|| format!("failed to open the device {}", device.name))?;
                announce(opened.builds());
                Ok(opened)
            }
        }
    }
}

impl Report {
    fn text(&self) -> String {
        let mut lines = table(["guideline", "without, µs", "with, µs", "factor", "10 – 90 %", "verdict"], 1..5);
        let (mut sides, mut remarks) = (String::new(), String::new());
        for outcome in &self.guidelines {
            lines.add_row(cells(outcome));
            let Guideline { name, without, with, .. } = &outcome.guideline;
            sides += &format!("\n{name}: {without} → {with}");
            if let Some(remark) = &outcome.remark {
                remarks += &format!("\n{}: {remark}", outcome.guideline.name);
            }
        }
        let heading = facts([("device", self.device.clone()), ("driver", self.driver.clone())]);
        let lines = fitted(lines, &["10 – 90 %", "with, µs", "without, µs"]);
        format!("{heading}\n{lines}\nWithout → with:{sides}{remarks}\n{}", self.summary())
    }

    /// How many guidelines hold, and how many have each of the other verdicts.
    fn summary(&self) -> String {
        let count = |verdict| self.guidelines.iter().filter(|outcome| outcome.verdict == verdict).count();
        let told = Verdict::ALL.map(|verdict| (count(verdict), verdict)).into_iter().filter(|(number, _)| *number > 0);
        told.map(|(number, verdict)| format!("{number} {verdict}")).collect::<Vec<_>>().join(", ")
    }
}

fn cells(outcome: &Measured) -> [String; 6] {
    let Measured { guideline, without_seconds, with_seconds, factor, verdict, .. } = outcome;
    let host = if guideline.timed == Clock::Host { "*" } else { "" };
    let time = |spread: &Option<Spread>| spread.map_or("–".to_owned(), |spread| micros(&spread));
    let range = factor.map_or("–".to_owned(), |factor| format!("{:.2} – {:.2}", factor.tenth, factor.ninetieth));
    [
        format!("{}{host}", guideline.name),
        time(without_seconds),
        time(with_seconds),
        number(factor.map(|factor| factor.median), 2),
        range,
        verdict.to_string(),
    ]
}

/// The median, and in the next line the range, in microseconds.
fn micros(Spread { median, tenth, ninetieth }: &Spread) -> String {
    let [median, tenth, ninetieth] = [median, tenth, ninetieth].map(|seconds| seconds * 1e6);
    format!("{median:.1}\n{tenth:.0} – {ninetieth:.0}")
}

/// Each guideline with its sentence, its sources and its sides.
fn listing(guidelines: &[Guideline]) -> String {
    let told = |guideline: &Guideline| {
        let sources = guideline.sources.iter().map(|source| format!("  [{source}]")).collect::<Vec<_>>().join("\n");
        let Guideline { name, advice, without, with, .. } = guideline;
        format!("{name}\n  {advice}\n{sources}\n  {without} → {with}")
    };
    guidelines.iter().map(told).collect::<Vec<_>>().join("\n")
}
