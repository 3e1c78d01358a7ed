//! Programs of a device: built side by side by worker processes before a measurement, and announced wherever they are built.

use std::io::IsTerminal as _;
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use clap::Args;
use lanefield::backend::opencl::{Builds, OpenCl, devices};
use lanefield_lab::ahead::{Step, ToBuild};
use serde::{Deserialize, Serialize};

use super::Outcome;
use super::progress::{QUIET, Steps, styled_bar};
use super::workers::{self, Workers, in_processes, usual_jobs};

/// The command that worker processes are.
const COMMAND: &str = "build-programs";

/// How many processes build programs.
#[derive(Args, Clone, Copy, Default)]
pub struct JobsArgs {
    /// Processes that build programs which are not in the cache, before anything is measured; 1 builds in this one [default: as many as cores, at
    /// most 8]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZero<usize>>,
}

/// Build the steps of a measurement that standard input names, as a worker process.
#[derive(Args)]
pub struct BuildPrograms {
    /// The number of the device
    #[arg(long)]
    device: usize,
}

/// What became of some steps.
#[derive(Serialize, Deserialize)]
struct Answer {
    /// Steps that were built.
    built: usize,
    /// Why the first of the others could not be.
    error: Option<String>,
}

impl BuildPrograms {
    pub fn run(self) -> anyhow::Result<Outcome> {
        let devices = devices()?;
        let info = devices.iter().find(|info| info.index == self.device);
        let info = info.with_context(|| format!("there is no OpenCL device {}", self.device))?;
        let mut device = OpenCl::open(info)?;
        workers::answer(|steps: Vec<Step>| built(&steps, &mut device))?;
        Ok(Outcome::Done)
    }
}

fn built(steps: &[Step], device: &mut OpenCl) -> Answer {
    let outcomes = steps.iter().map(|step| step.build(device));
    let (built, failed): (Vec<_>, Vec<_>) = outcomes.partition(Result::is_ok);
    let error = failed.into_iter().find_map(Result::err);
    Answer { built: built.len(), error: error.map(|error| error.to_string()) }
}

/// Whether what is built now is announced already.
static IS_ANNOUNCED: AtomicBool = AtomicBool::new(false);

/// Builds programs of a device, before they are needed.
pub struct Builder {
    jobs: usize,
    workers: Option<Workers>,
    until: Option<Instant>,
    /// Whether it says what it does, beside its bar.
    says: bool,
}

impl Builder {
    /// One that says what is to be built, and what was.
    pub fn new(JobsArgs { jobs }: JobsArgs) -> Self {
        Self { jobs: jobs.map_or_else(usual_jobs, NonZero::get), workers: None, until: None, says: true }
    }

    /// The same for many small builds, of which only the bar tells, and which end where the time does.
    pub fn within(self, time: Duration) -> Self {
        Self { until: Some(Instant::now() + time), says: false, ..self }
    }

    /// Builds those programs of some steps that are not in the cache. What cannot be built, or not in a worker process, is left to whoever
    /// needs it.
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
        IS_ANNOUNCED.store(true, Ordering::Relaxed);
        let outcome = if workers > 1 {
            let index = device.context().info().index.to_string();
            let arguments = || [COMMAND.into(), "--device".into(), index.into()].into();
            let pool = self.workers.get_or_insert_with(|| Workers::new(arguments(), self.jobs));
            let failed = |_, error| Answer { built: 0, error: Some(error) };
            pool.distribute(&groups, failed, |answer| answer.error.is_some(), take)
        } else {
            let mut build = |(place, steps): (usize, &Vec<Step>)| Some((place, built(steps, device)));
            groups.iter().enumerate().take_while(|group| take(build(*group))).for_each(drop);
            Ok(())
        };
        IS_ANNOUNCED.store(false, Ordering::Relaxed);
        bar.end();
        if self.says {
            say!("building took {:.1} s", start.elapsed().as_secs_f64());
        }
        if let Err(error) = outcome {
            // So it will be at the next time.
            self.jobs = 1;
            say!("warning: programs are built one after the other: {error:#}");
        }
    }
}

/// How often building is looked at.
const LOOK: Duration = Duration::from_millis(250);
/// Building that takes less is not told of on a terminal; and a pause that is shorter is none.
const SHORT: Duration = Duration::from_secs(1);

/// Announces on standard error what a device builds from now on, where it takes long: with a bar on a terminal, else with a line now and then.
pub fn announce(builds: &Arc<Builds>) {
    let builds = Arc::downgrade(builds);
    // Without the thread nothing is told.
    let _ = std::thread::Builder::new().name("building".to_owned()).spawn(move || watch(&builds));
}

/// Building without a pause.
struct Spell {
    start: Instant,
    last: Instant,
    told: Instant,
    before: usize,
    bar: Option<indicatif::ProgressBar>,
}

fn watch(builds: &Weak<Builds>) {
    let on_terminal = std::io::stderr().is_terminal();
    let mut spell: Option<Spell> = None;
    while let Some(builds) = builds.upgrade() {
        let now = Instant::now();
        if builds.is_running() && !IS_ANNOUNCED.load(Ordering::Relaxed) {
            let before = builds.programs();
            spell.get_or_insert(Spell { start: now, last: now, told: now, before, bar: None }).last = now;
        }
        if let Some(spell) = spell.as_mut().filter(|spell| now - spell.start >= SHORT) {
            let (built, seconds) = (builds.programs() - spell.before, (now - spell.start).as_secs());
            let words = format!("building programs that are not in the cache: {built} after {seconds} s");
            if on_terminal {
                spell.bar.get_or_insert_with(|| styled_bar("{spinner} {msg}")).set_message(words);
            } else if now - spell.told >= QUIET {
                spell.told = now;
                say!("{words}");
            }
        }
        if let Some(ended) = spell.take_if(|spell| now - spell.last >= SHORT)
            && let Some(bar) = ended.bar
        {
            bar.finish_and_clear();
        }
        drop(builds);
        std::thread::sleep(LOOK);
    }
    if let Some(bar) = spell.and_then(|spell| spell.bar) {
        bar.finish_and_clear();
    }
}
