//! `lanefield verify`: the main job. Every kernel and whole solves on an OpenCL device and on the CPU reference, compared bit for bit, in
//! one table. Where there is no OpenCL, the CPU reference against the plain scalar implementation.

mod ranks;
mod table;
mod verdict;

use super::maps::ComparedMap;
use crate::kernels::Known;
use crate::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use lanefield::backend::Threads;
use lanefield::backend::opencl::{DeviceInfo, DeviceKind, OpenCl, probe};
use lanefield::backend::select::DeviceChoice;
use lanefield::backend::timeline::Timeline;
use lanefield::reference::layout::AcceleratorThreads;
use lanefield::verify::{Against, Tested as _, UnitReport, Verification, VerifyOptions, VerifyReport, rows};

use table::{Shown, header, line_of, reconstruct};
use verdict::Verdict;

use super::args::{PlaceArgs, opencl_device, warn_of_tuning};
use super::build_progress::announce;
use super::configuration::ReadArgs;
use super::interrupt::{self, interrupted};
use super::kernels::wanted;
use super::output::{Device, print, print_json, table};
use super::progress::Steps;
use super::ranks::RanksArgs;
use super::ranks::are_several;
use super::terminal::of_this_program;
use super::worker_processes::{self, Workers, cores, in_processes, usual_jobs};

/// A worker is replaced after this number of units, on average: a process keeps the programs that it built, on PoCL 190 MiB more after 75 units of
/// `--full`.
const UNITS_OF_A_WORKER: usize = 50;
/// The argument by which a worker knows that it is one.
const WORKER: &str = "--worker";
/// Decompositions on the ranks of mpirun, where nobody says how many.
const USUAL_DECOMPOSITIONS: u32 = 100;
/// Compare every kernel of a device with the CPU, bit for bit.
///
/// Each kernel runs on random awkward lattices; whole solves follow.
///
/// Each random case draws its own lattice, lane layout, boundary phases, links, fields and scalars. Fields have ordinary numbers, wide ranges,
/// subnormal numbers, infinities and NaNs. Cases cover full, even and odd sites, and gauge compression 18, 12 and 8. Lane widths and work-group sizes
/// vary from case to case, unless they are given.
///
/// --smoke runs every kernel once, in its default build. --full covers all lane widths, large lattices, and some 10⁹ components. Without OpenCL, the
/// CPU reference is compared with the scalar reference (the plain implementation) instead; with --require-device, that is an error.
///
/// Most of a first run is the device's compiler. Worker processes compile and compare in parallel, and later runs take the programs from the cache.
/// Ctrl-C ends a run with the table so far, and exit code 130.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield verify --list
  lanefield verify --smoke
  lanefield verify --kernel hop,clover --smoke
  lanefield verify --decompositions 20 --device cpu
  lanefield verify --case 0 --device cpu --json")]
pub struct Verify {
    /// Device to test: auto (the first GPU, else any OpenCL device), a number from `lanefield devices`, or part of a device's name. cpu compares the
    /// CPU reference with the scalar reference [env: LANEFIELD_DEVICE]
    #[arg(long, value_name = "DEVICE", default_value = crate::args::default_device())]
    device: DeviceChoice,
    /// List the rows of the table, and run nothing: every kernel and every solve
    #[arg(long)]
    list: bool,
    /// Fail if no OpenCL device is found: without it, the CPU reference is tested instead
    #[arg(long)]
    require_device: bool,
    /// Number of random cases per precision: every kernel runs on each [default: 6; with --smoke 1, with --full 48]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    cases: Option<u32>,
    /// Number of random cases of sums over sites: each has six operations on random objects in a random form [default: 120; with --smoke 16, with
    /// --full 2400]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=100_000_000))]
    sums: Option<u32>,
    /// Compare only these kernels, without sums and solves: a family or a kernel [default: all]
    #[arg(
        long = "kernel",
        alias = "kernels",
        value_name = "KERNEL,…",
        value_delimiter = ',',
        conflicts_with = "decompositions"
    )]
    kernels: Vec<String>,
    /// Seed of all random choices and data
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    seed: u64,
    /// Run every kernel once, in its default build, and the usual solve
    #[arg(long, conflicts_with = "full")]
    smoke: bool,
    /// Run many more cases, with all lane widths and builds: also all work-group sizes, and large lattices. It takes more than an hour if programs
    /// must be built
    #[arg(long)]
    full: bool,
    /// Number of worker processes: 1 runs everything in this process, as --case, --trace and --stats do [default: the number of cores, at most 8]
    #[arg(long, value_name = "N")]
    jobs: Option<std::num::NonZero<usize>>,
    /// Answer units on standard input
    #[arg(long, hide = true)]
    worker: bool,
    /// Also solve on this configuration: a NERSC, ILDG, SciDAC, MILC, openQCD, DD-αAMG or HiRep file, or a NumPy or HDF5 array (T, Z, Y, X, 4, 3, 3)
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    read: ReadArgs,
    /// Repeat only the case with this number
    #[arg(long, value_name = "NUMBER")]
    case: Option<u64>,
    /// Solve on N random decompositions of lattices instead: every operator by every method, each compared with one rank. The ranks are those that
    /// mpirun started, else threads [default: 100 under mpirun]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    decompositions: Option<u32>,
    /// Print the report as JSON
    #[arg(long, help_heading = "Output")]
    json: bool,
    /// Number of CPU threads [default: RAYON_NUM_THREADS, else all cores]
    #[arg(long, value_name = "N")]
    threads: Option<Threads>,
    /// Outer sites per work-group [default: 8 and others alternately]
    #[arg(long, value_name = "N")]
    accelerator_threads: Option<AcceleratorThreads>,
    /// Single lane width in bytes: 8, 16, 32, 64, 128 or 256; auto covers all of them
    #[arg(long, value_name = "BYTES|auto", default_value_t)]
    lanes: LaneChoice,
    /// Single leg order [default: the default one, and a few others]
    #[arg(long, value_name = "ORDER", allow_hyphen_values = true)]
    legs: Option<LegOrder>,
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
    rows: Vec<Listed>,
}

impl Verify {
    pub fn run(self, list: &Known) -> anyhow::Result<Outcome> {
        if self.list {
            return self.print_list(list);
        }
        if let Some(cases) = self.decompositions.or(are_several().then_some(USUAL_DECOMPOSITIONS)) {
            let place = PlaceArgs { device: self.device.clone(), threads: self.threads };
            let decompositions = ranks::OnDecompositions { place, cases, only: self.case, seed: self.seed };
            return decompositions.run(self.json);
        }
        let start = Instant::now();
        if !self.worker {
            interrupt::keep();
        }
        let mut options = self.options(list)?;
        let (device, no_opencl) = self.target()?;
        let maps = if self.kernels.is_empty() { list.maps.clone() } else { list.maps_of(&self.kernels)? };
        let (host, outcome, maps, why_not) = match device.as_deref() {
            Some(device) => {
                options.most_work_items = device.max_work_group_size.min(device.max_work_item_sizes[1]);
                options.local_memory_bytes = device.local_memory_bytes;
                if device.kind == DeviceKind::Cpu {
                    (options.few_cuts, options.largest_group) = (true, options.most_work_items);
                }
                let opened = OpenCl::open(device);
                let opened = opened.with_context(|| format!("failed to open the device {}", device.name))?;
                // What a kernel does not write must not look right because of what was there.
                opened.context().overwrite_new_memory(true);
                if self.worker {
                    let host = self.host()?;
                    let mut tested = AnyBackend::from(opened);
                    let verification = Verification::new(&options, tested.can_retire()).context("failed to verify")?;
                    worker_processes::answer(|unit| verification.run(unit, &mut tested, Against::Cpu, &host))?;
                    return Ok(Outcome::Done);
                }
                announce(opened.context().builds());
                warn_of_tuning(&opened);
                let verdict = probe(opened.context()).context("failed to probe the device's arithmetic")?;
                let host = self.host()?;
                let jobs = self.jobs(options.only.is_some());
                say!("verifying {device} against the CPU reference{}", in_processes(jobs));
                let mut tested = AnyBackend::from(opened);
                let outcome = self.verify(&mut tested, (Against::Cpu, &host), &options, jobs)?;
                let maps = ComparedMap::all(&maps, self.seed, &host, &tested);
                (host, outcome, maps, verdict.why_not())
            }
            None => {
                // Plain loops are slow: no large lattices.
                options.large_lattices = false;
                if let Some(threads) = self.threads {
                    options.accelerator_threads = Some(AcceleratorThreads::new(threads.get())?);
                }
                let (host, mut tested) = (self.host()?, AnyBackend::from(self.host()?));
                say!("verifying the CPU reference against the {}", Against::PlainLoops.name());
                let outcome = self.verify(&mut tested, (Against::PlainLoops, &host), &options, 1)?;
                let maps = ComparedMap::all(&maps, self.seed, &host, &tested);
                (host, outcome, maps, None)
            }
        };
        let (report, whole) = outcome;
        let tested = device.as_deref().map_or_else(|| Device::from(&host), Device::from);
        let maps_are_same = maps.iter().all(ComparedMap::same_bits);
        let of_kernels =
            report.same_bits() || (options.kernels.is_empty() && maps.iter().any(ComparedMap::is_compared));
        let same_bits = of_kernels && maps_are_same;
        let verdict = Verdict {
            verdict: match (same_bits, whole) {
                (true, true) => "same bits",
                (true, false) => "same bits so far",
                (false, _) if report.differs() || maps.iter().any(ComparedMap::differs) => "DIFFERENT",
                (false, _) if report.errors.is_empty() && maps_are_same => "nothing compared",
                (false, _) => "FAILED",
            },
            bitwise: whole && same_bits && why_not.is_none(),
            device: device.as_deref(),
            no_opencl,
            probe: why_not,
            host: host.describe(),
            components: report.components(),
            comparisons: report.comparisons(),
            seconds: start.elapsed().as_secs_f64(),
            repeat: self.repeat(&report),
            report: &report,
            maps: &maps,
        };
        if self.json {
            print_json(Head::on(Kind::Verify, tested), &verdict)?
        } else {
            print(verdict.text())?
        }
        Ok(match (whole, verdict.bitwise) {
            (false, _) if same_bits || (report.comparisons() == 0 && maps_are_same) => Outcome::Done,
            (false, _) => Outcome::CheckFailed,
            (true, true) => Outcome::Done,
            (true, false) => Outcome::CheckFailed,
        })
    }

    /// The CPU reference; worker processes share the cores where nobody chose a number of threads.
    fn host(&self) -> anyhow::Result<Cpu> {
        let share = cores().div_ceil(self.jobs(false));
        let threads = if self.worker { self.threads.or(Threads::new(share)) } else { self.threads };
        Cpu::new(threads).context("failed to start the CPU reference")
    }

    /// How many processes run: one where a single case does, or where what devices do is recorded.
    fn jobs(&self, one_case: bool) -> usize {
        if one_case || Timeline::of_process().is_some() {
            return 1;
        }
        self.jobs.map_or(usual_jobs(), std::num::NonZero::get)
    }

    fn print_list(&self, list: &Known) -> anyhow::Result<Outcome> {
        let listed = rows(&self.options(list)?)?.into_iter().map(|row| Listed {
            kernel: row.kernel,
            precision: row.precision,
            reconstruct: row.reconstruct,
        });
        let list = List { rows: listed.collect() };
        show(self.json, Head::of(Kind::VerifyList), &list, |list| {
            let mut lines = table(["kernel", "precision", "reconstruct"], []);
            for Listed { kernel, precision, reconstruct: links } in &list.rows {
                lines.add_row([kernel.clone(), precision.to_string(), reconstruct(*links)]);
            }
            lines
        })
    }

    fn options(&self, list: &Known) -> anyhow::Result<VerifyOptions> {
        let mut options = match (self.smoke, self.full) {
            (true, _) => VerifyOptions::smoke(self.seed),
            (_, true) => VerifyOptions::full(self.seed),
            _ => VerifyOptions::standard(self.seed),
        };
        if let Some(path) = &self.config {
            options.configuration = Some(self.read.read(&RanksArgs::default(), path)?.configuration);
        }
        let names_maps = !list.maps_of(&self.kernels)?.is_empty();
        options.kernels = match self.kernels.is_empty() {
            true if list.has_own() || list.maps.is_empty() => list.all().collect(),
            true => Vec::new(),
            false if names_maps => Vec::new(),
            false => wanted(list, &self.kernels, |kernel| kernel.is_launched(), "is not launched by itself")?,
        };
        options.sums_and_solves = self.kernels.is_empty() && !list.has_own() && list.maps.is_empty();
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
        Ok(match opencl_device(&self.device)? {
            Ok(device) => (Some(device), None),
            Err(reason) if self.require_device => bail!("--require-device: no OpenCL device was found: {reason}"),
            Err(reason) => (None, Some(reason)),
        })
    }

    /// The report, and whether it is whole: a signal ends a run early. Rows are printed as they are done.
    fn verify(
        &self,
        tested: &mut AnyBackend,
        (against, host): (Against, &Cpu),
        options: &VerifyOptions,
        jobs: usize,
    ) -> anyhow::Result<(VerifyReport, bool)> {
        let verification = Verification::new(options, tested.can_retire()).context("failed to verify")?;
        let units = verification.units();
        let mut findings = verification.findings(tested.describe(), against, options.seed);
        let mut shown = Shown { json: self.json, steps: Steps::new("verify", units), result: Ok(()) };
        shown.line(header())?;
        if jobs > 1 {
            let take = |done: Option<(usize, UnitReport)>| {
                match done {
                    Some((unit, report)) => shown.take(&mut findings, unit, report),
                    None => shown.steps.tick(),
                }
                shown.result.is_ok()
            };
            let arguments = std::env::args_os().skip(1).chain([WORKER.into()]).collect();
            // After an error a driver may answer all that follows with one. And programs stay in memory as long as a process that built them.
            let answered = AtomicUsize::new(0);
            let is_last = |report: &UnitReport| {
                let number = answered.fetch_add(1, Ordering::Relaxed) + 1;
                report.error.is_some() || number.is_multiple_of(UNITS_OF_A_WORKER)
            };
            let units: Vec<usize> = (0..units).collect();
            let failed = |unit, error| verification.failed(unit, error);
            Workers::new(arguments, jobs).distribute(&units, failed, is_last, take)?;
        } else {
            for unit in (0..units).take_while(|_| !interrupted()) {
                let report = verification.run(unit, tested, against, host);
                shown.take(&mut findings, unit, report);
                if shown.result.is_err() {
                    break;
                }
            }
        }
        let whole = !interrupted() || shown.steps.is_done();
        shown.steps.end();
        shown.result?;
        let (mut report, unfinished) = findings.end();
        if !self.json {
            for row in &unfinished {
                print(line_of(row))?;
            }
        }
        report.rows.extend(unfinished);
        Ok((report, whole))
    }

    /// The command that repeats the first case that failed.
    fn repeat(&self, report: &VerifyReport) -> Option<String> {
        let failed = report.rows.iter().find_map(|row| row.failure.as_ref()).map(|failure| failure.case);
        let case = failed.or(report.errors.first().map(|error| error.case))?;
        let mut command = format!("lanefield verify --seed {} --case {case}", self.seed);
        let mut add = |argument: Option<String>| command += &argument.unwrap_or_default();
        add((!self.kernels.is_empty()).then(|| format!(" --kernel {}", self.kernels.join(","))));
        add(self.smoke.then(|| " --smoke".to_owned()));
        add(self.full.then(|| " --full".to_owned()));
        add(self.cases.map(|cases| format!(" --cases {cases}")));
        add(self.sums.map(|sums| format!(" --sums {sums}")));
        add((self.device != DeviceChoice::Auto).then(|| format!(" --device '{}'", self.device)));
        add((self.lanes != LaneChoice::Auto).then(|| format!(" --lanes {}", self.lanes)));
        add(self.legs.map(|legs| format!(" --legs {legs}")));
        add(self.accelerator_threads.map(|threads| format!(" --accelerator-threads {threads}")));
        add(self.config.as_ref().map(|path| format!(" --config '{}'{}", path.display(), self.read.text())));
        Some(of_this_program(&command).into_owned())
    }
}
