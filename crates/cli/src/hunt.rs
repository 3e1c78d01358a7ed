//! `lanefield hunt`: compares random kernels on a device with the CPU. `lanefield::hunt` finds and shrinks mismatches.

use std::fmt;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use lanefield::backend::opencl::OpenCl;
use lanefield::backend::select::DeviceChoice;
use lanefield::hunt::{Find, HuntOptions, HuntReport, hunt};
use lanefield::io::atomic::write_atomically;
use serde::Deserialize;

use super::args::{opencl_device, seed};
use super::files::require_outputs;
use super::interrupt::{self, interrupted};
use super::output::Device;
use super::progress::Steps;
use super::worker_processes::{self, Workers, in_processes, usual_jobs};
use crate::prelude::*;

/// Kernel functions in a question to a worker.
const BODIES: u32 = 12;
/// A worker is replaced after this number of questions, because drivers keep what they compiled.
const QUESTIONS_OF_A_WORKER: usize = 20;
/// The argument that makes a process a worker.
const WORKER: &str = "--worker";
/// Drivers need not cache kernels that are never built again.
const NO_CACHES: [(&str, &str); 2] = [("POCL_KERNEL_CACHE", "0"), ("CUDA_CACHE_DISABLE", "1")];

/// Search for wrong bits with random kernels.
///
/// It runs random kernels on an OpenCL device and on the CPU, and reduces any difference to a few lines.
///
/// Each kernel is a random function with complex arithmetic, comparisons, loops, links and neighbours. Lattices, lanes, precisions, layouts, builds
/// and launches are random. Numbers are chosen to be hard on arithmetic.
///
/// A difference is reduced to the smallest kernel and case, then to the few operations that differ by themselves. These are written as a C program,
/// for the developers of the device's compiler. A driver that crashes also counts.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield hunt --seconds 5 --seed 1

To find what a compiler option changes (exit code 1 if any bits differ):
  hunt --seconds 60 --build-options=-cl-denorms-are-zero")]
pub struct Hunt {
    /// Device to test: auto (the first GPU, else any OpenCL device), a number from `lanefield devices`, or part of a device's name [env:
    /// LANEFIELD_DEVICE]
    #[arg(long, value_name = "DEVICE", default_value = crate::args::default_device())]
    device: DeviceChoice,
    /// Duration in seconds: a comparison or reduction that is running then is completed
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    seconds: u64,
    /// Seed of kernels and numbers: the same seed repeats the hunt [default: the time]
    #[arg(long, value_name = "N", value_parser = seed)]
    seed: Option<u64>,
    /// Number of worker processes [default: the number of cores, at most 8]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Options for the device's compiler: to test whether the bits survive them
    #[arg(long, value_name = "OPTIONS", allow_hyphen_values = true, default_value = "")]
    build_options: String,
    /// File for the C program of the operations that differ
    #[arg(long, help_heading = "Output", value_name = "FILE.c", default_value = "found.c")]
    output: PathBuf,
    /// Print JSON instead of text
    #[arg(long, help_heading = "Output")]
    json: bool,
    /// Answer questions on standard input
    #[arg(long, hide = true)]
    worker: bool,
}

#[derive(Serialize, Deserialize)]
enum Answer {
    Report(HuntReport),
    Failed(String),
}

/// The result of the hunt. As JSON, these fields.
#[derive(Default, Serialize)]
struct Hunted {
    /// "same bits", "DIFFERENT", or "FAILED" if a kernel could not be built or run.
    verdict: &'static str,
    seed: u64,
    build_options: String,
    seconds: f64,
    bodies: u64,
    components: u64,
    find: Option<Find>,
    /// Why kernels could not be run, and the seed that reproduces it.
    failure: Option<String>,
    /// The program with the few operations of a mismatch.
    program: Option<PathBuf>,
}

impl Hunt {
    pub fn run(self) -> anyhow::Result<Outcome> {
        let info = match opencl_device(&self.device)? {
            Ok(info) => info,
            Err(reason) => bail!("hunt needs an OpenCL device: {reason}"),
        };
        if self.worker {
            let mut device = OpenCl::open_without_cache(&info).context("failed to open the device")?;
            device.set_build_options(&self.build_options);
            let cpu = lanefield::backend::Cpu::new(None).context("failed to start the CPU reference")?;
            worker_processes::answer(|seed: u64| {
                let options = HuntOptions { seed, bodies: BODIES };
                match hunt(&mut device, &cpu, options, &|| true) {
                    Ok(report) => Answer::Report(report),
                    Err(error) => Answer::Failed(error.to_string()),
                }
            })?;
            return Ok(Outcome::Done);
        }
        let output: &Path = &self.output;
        require_outputs(&[("--output", output)], &[])?;
        interrupt::keep();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
        let first = self.seed.unwrap_or(now);
        let jobs = self.jobs.map_or_else(usual_jobs, NonZeroUsize::get);
        say!("hunting on {info} for {} s, seed {first}{}", self.seconds, in_processes(jobs));
        let mut hunted = self.hunt(first, jobs)?;
        if let Some(program) = hunted.find.as_ref().and_then(|find| find.program.as_deref()) {
            write_atomically(output, |out| out.write_all(program.as_bytes()))?;
            hunted.program = Some(self.output.clone());
        }
        if hunted.bodies == 0 && interrupted() {
            say!("interrupted: a signal ended the hunt before anything was compared: run it again");
            return Ok(Outcome::Done);
        }
        ensure!(hunted.bodies > 0 || hunted.failure.is_some(), "nothing was compared: use a larger --seconds");
        show(self.json, Head::on(Kind::Hunt, Device::from(&*info)), &hunted, |hunted| hunted.to_string())?;
        Ok(if hunted.verdict == "same bits" { Outcome::Done } else { Outcome::CheckFailed })
    }

    /// Asks workers until the time is over, or something is found.
    fn hunt(&self, first: u64, jobs: usize) -> anyhow::Result<Hunted> {
        let start = Instant::now();
        let mut hunted = Hunted {
            verdict: "same bits",
            seed: first,
            build_options: self.build_options.clone(),
            ..Hunted::default()
        };
        let arguments = std::env::args_os().skip(1).chain([WORKER.into()]).collect();
        let workers = Workers::new(arguments, jobs).with_environment(&NO_CACHES);
        let mut steps = Steps::new("hunt", self.seconds as usize);
        let mut next = first;
        let mut answered = 0;
        while start.elapsed() < Duration::from_secs(self.seconds) && !interrupted() {
            let questions: Vec<u64> = (next..).take(jobs).collect();
            next += jobs as u64;
            answered += 1;
            let is_last =
                |answer: &Answer| matches!(answer, Answer::Failed(_)) || answered % QUESTIONS_OF_A_WORKER == 0;
            let take = |done: Option<(usize, Answer)>| {
                match done {
                    Some((_, Answer::Report(report))) => {
                        hunted.bodies += report.bodies;
                        hunted.components += report.components;
                        hunted.find = hunted.find.take().or(report.find);
                    }
                    Some((place, Answer::Failed(reason))) => {
                        let seed = questions[place];
                        hunted.failure.get_or_insert(format!("{reason}; again with --seed {seed}"));
                    }
                    None => {}
                }
                let seconds = (start.elapsed().as_secs() as usize).min(self.seconds as usize);
                steps.done(seconds, &format!("{} kernels compared", hunted.bodies));
                true
            };
            workers.distribute(&questions, |_, words| Answer::Failed(words), is_last, take)?;
            if hunted.find.is_some() || hunted.failure.is_some() {
                break;
            }
        }
        steps.end();
        hunted.seconds = start.elapsed().as_secs_f64();
        hunted.verdict = match (&hunted.find, &hunted.failure) {
            (Some(_), _) => "DIFFERENT",
            (None, Some(_)) => "FAILED",
            (None, None) => "same bits",
        };
        Ok(hunted)
    }
}

impl fmt::Display for Hunted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { verdict, seed, bodies, components, seconds, .. } = self;
        write!(f, "{verdict}: {bodies} random kernels, {components} numbers, in {seconds:.0} s, seed {seed}")?;
        if let Some(find) = &self.find {
            write!(f, "\n{find}")?;
        }
        if let Some(program) = &self.program {
            write!(f, ": {}", program.display())?;
        }
        if let Some(failure) = &self.failure {
            write!(f, "\na kernel could not be built or run: {failure}")?;
        }
        Ok(())
    }
}
