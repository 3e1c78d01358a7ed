//! Builds programs of a device in parallel worker processes, before a measurement.

use crate::kernels::Known;
use crate::prelude::*;
use std::num::NonZero;
use std::time::{Duration, Instant};

use lanefield::backend::opencl::{OpenCl, devices};
use lanefield_lab::ahead::{Step, ToBuild};
use serde::Deserialize;

use super::build_progress::announced;
use super::progress::Steps;
use super::worker_processes::{self, Workers, in_processes, usual_jobs};

/// The command of worker processes.
const COMMAND: &str = "build-programs";

/// Number of processes that build programs.
#[derive(Args, Clone, Copy, Default)]
pub struct JobsArgs {
    /// Number of processes that build programs before measuring: only programs that are not in the cache. With 1, this process builds them [default:
    /// the number of cores, at most 8]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZero<usize>>,
}

/// Build the steps of a measurement that standard input names, as a worker process.
#[derive(Args)]
pub struct BuildPrograms {
    /// Number of the device
    #[arg(long)]
    device: usize,
}

/// The outcome of some steps.
#[derive(Serialize, Deserialize)]
struct Answer {
    built: usize,
    /// Why the first of the failed steps failed.
    error: Option<String>,
}

impl BuildPrograms {
    pub fn run(self, list: &Known) -> anyhow::Result<Outcome> {
        let devices = devices()?;
        let info = devices.iter().find(|info| info.index == self.device);
        let info = info.with_context(|| format!("there is no OpenCL device {}", self.device))?;
        let mut device = OpenCl::open(info)?;
        worker_processes::answer(|steps: Vec<Step<String>>| {
            built(steps.into_iter().map(|step| step.resolved(list)), &mut device)
        })?;
        Ok(Outcome::Done)
    }
}

fn built(steps: impl IntoIterator<Item = Result<Step, String>>, device: &mut OpenCl) -> Answer {
    let mut answer = Answer { built: 0, error: None };
    for step in steps {
        let built = step.and_then(|step| step.build(device).map_err(|error| error.to_string()));
        match built {
            Ok(()) => answer.built += 1,
            Err(error) => answer.error = answer.error.or(Some(error)),
        }
    }
    answer
}

/// Builds programs of a device before they are needed.
pub struct Builder {
    jobs: usize,
    workers: Option<Workers>,
    until: Option<Instant>,
    /// Whether it prints lines as well as the bar.
    says: bool,
}

impl Builder {
    /// A builder that prints what will be built and what was built.
    pub fn new(JobsArgs { jobs }: JobsArgs) -> Self {
        Self { jobs: jobs.map_or_else(usual_jobs, NonZero::get), workers: None, until: None, says: true }
    }

    /// A builder for many small builds, which shows only a bar and stops when the time is over.
    pub fn within(self, time: Duration) -> Self {
        Self { until: Some(Instant::now() + time), says: false, ..self }
    }

    /// Builds the programs of some steps that are not in the cache. If a program cannot be built, or not in a worker process, it is left to the
    /// code that needs it.
    pub fn build(&mut self, device: &mut OpenCl, steps: Vec<Step>) {
        let in_time = |until: Option<Instant>| until.is_none_or(|until| Instant::now() < until);
        if !in_time(self.until) {
            return;
        }
        let planned = ToBuild::of(device, steps);
        let (programs, cached) = (planned.programs(), planned.cached);
        let (groups, numbers): (Vec<Vec<Step>>, Vec<usize>) = planned.groups.into_iter().unzip();
        let workers = self.jobs.min(groups.len());
        if groups.is_empty() {
            return;
        }
        if self.says {
            let plural = if programs == 1 { "" } else { "s" };
            say!("{programs} program{plural} to build, {cached} cached{}", in_processes(workers));
        }
        let start = Instant::now();
        let until = self.until;
        let mut bar = Steps::new("building programs", programs);
        let mut done = 0;
        let mut take = |answer: Option<(usize, Answer)>| {
            match answer {
                Some((place, _)) => {
                    done += numbers[place];
                    bar.done(done, "programs built");
                }
                None => bar.tick(),
            }
            in_time(until)
        };
        let outcome = announced(|| {
            if workers > 1 {
                let index = device.context().info().index.to_string();
                let arguments = || [COMMAND.into(), "--device".into(), index.into()].into();
                let pool = self.workers.get_or_insert_with(|| Workers::new(arguments(), self.jobs));
                let failed = |_, error| Answer { built: 0, error: Some(error) };
                pool.distribute(&groups, failed, |answer| answer.error.is_some(), take)
            } else {
                let mut build =
                    |(place, steps): (usize, &Vec<Step>)| Some((place, built(steps.iter().cloned().map(Ok), device)));
                groups.iter().enumerate().take_while(|group| take(build(*group))).for_each(drop);
                Ok(())
            }
        });
        bar.end();
        if self.says {
            say!("building took {:.1} s", start.elapsed().as_secs_f64());
        }
        if let Err(error) = outcome {
            // Worker processes would fail next time, too.
            self.jobs = 1;
            say!("warning: programs are built one after the other: {error:#}");
        }
    }
}
