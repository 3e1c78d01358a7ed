//! `lanefield doctor`: why a kernel is slow, and what will help. `lanefield_lab::doctor` makes the checks.

mod confirm;
mod report;

use super::maps::ExaminedMaps;
use crate::kernels::Known;
use crate::prelude::*;

use lanefield::backend::opencl::Tuning;
use lanefield_lab::ahead::KernelStep;
use lanefield_lab::bandwidth::Operation;
use lanefield_lab::ceilings::Share;
use lanefield_lab::counters::{KernelCounters, Kilobyte, Profile};
use lanefield_lab::doctor::{
    Described, Description, DeviceFacts, Examination, Observation, Remedy, diagnose, of_profile, read_trace,
};
use lanefield_lab::kernels_to_time;
use lanefield_lab::plausible;
use lanefield_lab::study::Run;

use report::{Examined, Report};

use super::args::PlaceArgs;
use super::bench::arguments::build_ahead;
use super::build_ahead::JobsArgs;
use super::files::require_outputs;
use super::kernel_args::CaseArgs;

/// Diagnose why a kernel is slow, and what will help.
///
/// It works through the checklist that people use by hand, on a device.
///
/// It checks work-groups against wavefronts (and tries 4, 8, 16 and 32 outer sites per work-group), the number of work-groups, and register spills.
/// It looks for passes that could be one, for memory transactions with bytes that nobody requested, and for transfers, allocations and gaps between
/// launches.
///
/// Findings are ranked by the share of the time that their change would save, each with its evidence and the change to make. No prediction exceeds
/// the gain that would reach the copy bandwidth of the same run. `--confirm` makes the changes, and measures.
///
/// It examines Lanefield's own kernels in the given tuning; or your own kernels, described in a TOML file; or the counters of a profiler.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield doctor --kernel hop --lattice 8.8.8.8 --samples 5
  lanefield doctor --kernel axpy --accelerator-threads 1 --lattice 8.8.8.8 \\
      --confirm
  lanefield doctor --described kernel.toml --wavefront 32 --code gfx90a
  lanefield config generate weak --lattice 4.4.4.8 --seed 1 --output weak.nersc
  lanefield solve --trace solve.trace --config weak.nersc --source gauss:7 \\
      --mass 0.1
  lanefield doctor --timeline solve.trace
  lanefield doctor --counters hop.csv

docs/doctor.md has a kernel.toml. hop.csv is the profile of a port:
  ncu --csv --page raw ./port > hop.csv")]
pub struct Doctor {
    /// Kernels to examine: all, a family or a kernel [default: hop,eo_clover,axpy]
    #[arg(long, value_name = "KERNEL,…", value_delimiter = ',')]
    kernel: Vec<String>,
    /// Examine the kernels described in this TOML file instead: see docs/doctor.md
    #[arg(long, value_name = "FILE", conflicts_with = "kernel")]
    described: Option<PathBuf>,
    /// Examine the timeline of a traced run instead: a file that --trace wrote. No device is needed
    #[arg(long, value_name = "FILE", conflicts_with_all = ["kernel", "described", "confirm", "wavefront", "samples"])]
    timeline: Option<PathBuf>,
    /// Use counters of Nsight Compute. With --kernel, they are added to what is observed of the same kernel with the same number of work-items.
    /// Alone, all kernels of the profiles are examined, and no device is needed (docs/counters.md)
    #[arg(long, value_name = "FILE.csv,…", value_delimiter = ',', conflicts_with_all = ["described", "timeline"])]
    counters: Vec<PathBuf>,
    /// Make the changes, and measure what they gain
    #[arg(long)]
    confirm: bool,
    /// Work-items per wavefront [default: that of the device; 1 on CPUs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    wavefront: Option<u16>,
    /// Compile described kernels for this AMD architecture, such as gfx90a: registers and spills are those of clang's code
    #[arg(long, value_name = "ARCH", requires = "described")]
    code: Option<String>,
    /// Number of timed runs
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    samples: u32,
    /// Print JSON instead of text
    #[arg(long, help_heading = "Output")]
    json: bool,
    #[command(flatten)]
    jobs: JobsArgs,
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    case: CaseArgs,
}

/// Compares an observation with the copy bandwidth, which is measured again if the observation was faster.
fn held(backend: &OpenCl, observation: &mut Observation) -> anyhow::Result<Share> {
    let (memory, rate) = (backend.memory(), observation.bytes as f64 / observation.kernel_seconds());
    let seen = Some(rate).filter(|_| observation.bytes > memory.cache_bytes());
    let copy = memory.ceiling(Operation::Copy, seen)?;
    observation.machine.copy_bandwidth = copy;
    let seconds = observation.kernel_seconds();
    plausible::time(seconds, memory.empty_launch(Some(seconds))?)?;
    Ok(memory.share(observation.bytes, rate, copy)?)
}

const USUAL: [&str; 3] = ["hop", "eo_clover", "axpy"];

fn in_words(kernel: &KernelCounters) -> String {
    let items = kernel.work_items.map_or_else(String::new, |items| format!(" of {items} work-items"));
    format!("{}{items}", kernel.kernel)
}

impl Doctor {
    pub fn run(self, list: &Known) -> anyhow::Result<Outcome> {
        let maps = list.maps_of(&self.kernel)?;
        if !maps.is_empty() {
            let backend = self.place.open(Precision::F32, Tuning::OPEN)?;
            let examined = ExaminedMaps::all(&maps, &backend, self.samples)?;
            let head = Head::on(Kind::Doctor, backend.device());
            return show(self.json, head, &examined, ExaminedMaps::text);
        }
        let (head, report) = match &self.timeline {
            Some(path) => {
                require_outputs(&[], &[("--timeline", path)])?;
                let observation = read_trace(path)?;
                let machine = observation.machine.clone();
                let findings = diagnose(&observation);
                let examined = Examined::new(observation, Share::Of(f64::NAN), findings);
                (Head::of(Kind::Doctor), Report { machine, kernels: vec![examined] })
            }
            None if !self.counters.is_empty() && self.kernel.is_empty() => self.profile()?,
            None => self.examine(list)?,
        };
        show(self.json, head, &report, report::text)
    }

    /// Examines kernels of profiles by their counters alone.
    fn profile(&self) -> anyhow::Result<(Head, Report)> {
        ensure!(!self.confirm, "--confirm makes changes of kernels that run here: name them by --kernel");
        let observations = of_profile(&self.counted()?);
        let Some(machine) = observations.first().map(|observation| observation.machine.clone()) else {
            bail!("no kernel of the profile has a time: count gpu__time_duration.sum, too");
        };
        let examined = observations.into_iter().map(|observation| {
            let findings = diagnose(&observation);
            Examined::new(observation, Share::Of(f64::NAN), findings)
        });
        Ok((Head::of(Kind::Doctor), Report { machine, kernels: examined.collect() }))
    }

    fn counted(&self) -> anyhow::Result<Vec<KernelCounters>> {
        let mut profile = Profile::default();
        self.counters.iter().try_for_each(|file| profile.read(file, Kilobyte::default()))?;
        Ok(profile.kernels(None))
    }

    fn examine(&self, list: &Known) -> anyhow::Result<(Head, Report)> {
        // A description that cannot be read is refused before a device is opened.
        let described = self.described.as_deref().map(|path| Ok::<_, anyhow::Error>((path, Description::read(path)?)));
        let described = described.transpose()?;
        let counted = self.counted()?;
        let mut backend = self.place.open(Precision::F32, Tuning::OPEN)?;
        let Some(backend) = backend.opencl_mut() else {
            bail!(
                "the doctor examines OpenCL devices, not the CPU reference: choose a device with --device, or install PoCL"
            );
        };
        let wavefront = self.wavefront.map(usize::from);
        let machine = DeviceFacts { compiled_for: self.code.clone(), ..DeviceFacts::of(backend.context(), wavefront)? };
        let kernels = match &described {
            Some((path, described)) => vec![self.described(backend, &machine, (path, described))?],
            None => self.kernels(list, backend, (&machine, &counted))?,
        };
        Ok((Head::on(Kind::Doctor, backend.device()), Report { machine, kernels }))
    }

    fn described(
        &self,
        backend: &OpenCl,
        machine: &DeviceFacts,
        (path, described): (&Path, &Described),
    ) -> anyhow::Result<Examined> {
        let samples = self.samples as usize;
        let mut observation = described.observe(backend.context(), machine, samples)?;
        let share = held(backend, &mut observation)?;
        let mut findings = diagnose(&observation);
        if self.confirm {
            confirm::described(backend.context(), (path, described), &mut findings, samples)?;
        }
        Ok(Examined::new(observation, share, findings))
    }

    fn kernels(
        &self,
        list: &Known,
        backend: &mut OpenCl,
        (machine, counted): (&DeviceFacts, &[KernelCounters]),
    ) -> anyhow::Result<Vec<Examined>> {
        let tuning = self.case.tuning();
        let words: Vec<&str> = match self.kernel.is_empty() {
            true if list.has_own() => vec!["all"],
            true => USUAL.to_vec(),
            false => self.kernel.iter().map(String::as_str).collect(),
        };
        let kernels = kernels_to_time(list, words).map_err(anyhow::Error::msg)?;
        let case = |kernel| self.case.case(machine.is_cpu, kernel);
        let steps = kernels
            .iter()
            .map(|&kernel| anyhow::Ok(KernelStep { with_log: true, ..Run::new(case(kernel)?, tuning).into() }));
        build_ahead(backend, self.jobs, steps.collect::<Result<Vec<_>, _>>()?);
        let mut examined = Vec::new();
        let mut with_counters = 0;
        for kernel in kernels {
            // Fields have the layout that the tuning selects.
            backend.set_tuning(tuning);
            let mut prepared = self.case.case(machine.is_cpu, kernel)?.prepare(backend)?;
            let mut observation = self.examination(machine, tuning).observe(backend, &mut prepared)?;
            with_counters += observation.add_counters(counted);
            let share = held(backend, &mut observation)?;
            let mut findings = diagnose(&observation);
            if self.confirm {
                for finding in &mut findings {
                    let Some(changed) = confirm::changed(tuning, finding.remedy) else {
                        let why = match finding.remedy {
                            Remedy::Several => "there are several changes to try, one at a time",
                            _ => "the change is one of the source",
                        };
                        finding.unconfirmed = Some(why.to_owned());
                        continue;
                    };
                    finding.confirm(self.examination(machine, tuning).compared(backend, &mut prepared, changed)?);
                }
            }
            examined.push(Examined::new(observation, share, findings));
        }
        ensure!(
            counted.is_empty() || with_counters > 0,
            "the profile has none of these kernels with as many work-items: it has {}; examine the lattice that was profiled, or leave out --kernel",
            counted.iter().map(in_words).collect::<Vec<_>>().join(", ")
        );
        Ok(examined)
    }

    fn examination<'m>(&self, machine: &'m DeviceFacts, tuning: Tuning) -> Examination<'m> {
        Examination { tuning, machine, samples: self.samples as usize, other_groups: true }
    }
}
