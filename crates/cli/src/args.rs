//! Arguments that several commands share: where to run, and what operator.

use std::sync::atomic::{AtomicBool, Ordering};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, ArgMatches, FromArgMatches, ValueEnum};
use lanefield::backend::Threads;
use lanefield::backend::opencl::{DeviceError, DeviceInfo, OpenCl, Tuning, probe};
use lanefield::backend::select::{DeviceChoice, Selected, select};
use lanefield::comm::WholeLattice;
use lanefield::in_precision;
use lanefield::reference::layout::{ReductionDevice, TreePlan, get_num_blocks_and_threads};
use lanefield::reference::real::Real as _;
use lanefield_lab::trace::{Group, span};

use super::build_progress::announce;
use super::ranks::{self, RanksArgs};
use super::tuning::TuningArgs;
use crate::prelude::*;

/// What `--device` is where it is not given. Were the variable clap's, usage lines would show `--device` as required wherever it is set.
pub fn default_device() -> String {
    let named = std::env::var("LANEFIELD_DEVICE").ok().filter(|name| !name.trim().is_empty());
    named.unwrap_or_else(|| DeviceChoice::Auto.to_string())
}

/// Device and threads.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Device")]
pub struct PlaceArgs {
    /// Device to run on: cpu; auto (the first GPU, else any OpenCL device, else the CPU reference); a number from `lanefield devices`; or part of a
    /// device's name [env: LANEFIELD_DEVICE]
    #[arg(long, value_name = "DEVICE", default_value = default_device())]
    pub device: DeviceChoice,
    /// Number of CPU threads [default: RAYON_NUM_THREADS, else all cores]
    #[arg(long, value_name = "N")]
    pub threads: Option<Threads>,
}

/// Device and data layout. They change no bit of any result, except that a tree sum depends on the lane width.
#[derive(Args, Clone, Debug)]
pub struct BackendArgs {
    #[command(flatten)]
    pub place: PlaceArgs,
    /// Lane width in bytes, or lane layout: 8, 16, 32, 64, 128 or 256; a layout such as 2.1.4.1; or auto, the largest width that fits the lattice.
    /// With auto, the width is at most 128 on GPUs, that of the processor's vectors on the CPU reference, and 64 on other devices
    #[arg(long, value_name = "LANES", default_value_t)]
    pub lanes: LaneChoice,
    #[command(flatten)]
    pub tuning: TuningArgs,
}

/// The same, on the CPU reference where nothing else is said: for what comes out the same, and needs no kernels to be built there.
pub struct CpuUnlessGiven(pub BackendArgs);

impl FromArgMatches for CpuUnlessGiven {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        BackendArgs::from_arg_matches(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0.update_from_arg_matches(matches)
    }
}

impl Args for CpuUnlessGiven {
    fn augment_args(command: clap::Command) -> clap::Command {
        const HELP: &str = "Device to run on: cpu, auto (the first GPU, else any OpenCL device, else the CPU reference), a number \
                            from `lanefield devices`, or part of a device's name";
        let on_cpu = |device: Arg| device.default_value(DeviceChoice::Cpu.to_string()).help(HELP);
        BackendArgs::augment_args(command).mut_arg("device", on_cpu)
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        BackendArgs::augment_args_for_update(command)
    }
}

impl BackendArgs {
    /// Opens the backend that was asked for, to compute in a precision ([`PlaceArgs::open`]).
    pub fn open(&self, precision: Precision) -> anyhow::Result<AnyBackend> {
        self.place.open(precision, self.tuning.tuning())
    }

    /// The same, on the part of this rank.
    pub fn open_on(
        &self,
        lattice: &WholeLattice,
        ranks: &RanksArgs,
        precision: Precision,
    ) -> anyhow::Result<AnyBackend> {
        Ok(self.open(precision)?.on_ranks(lattice, ranks.options()))
    }
}

/// Output, device and ranks of a command on a lattice.
#[derive(Args, Clone, Debug)]
pub struct OnLatticeArgs {
    /// Print JSON instead of a table
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    #[command(flatten)]
    pub backend: BackendArgs,
    #[command(flatten)]
    pub ranks: RanksArgs,
}

impl OnLatticeArgs {
    /// The backend, on the part of this rank, to compute in a precision.
    pub fn open(&self, lattice: &WholeLattice, precision: Precision) -> anyhow::Result<AnyBackend> {
        self.backend.open_on(lattice, &self.ranks, precision)
    }
}

impl PlaceArgs {
    /// Opens the backend that was asked for, to compute in a precision: where no device was named, and the one that would be taken has no f64, the
    /// CPU reference is. Says on standard error which one was taken, and which files of the tuner are not used.
    pub fn open(&self, precision: Precision, tuning: Tuning) -> anyhow::Result<AnyBackend> {
        let backend = self.open_to_tune(precision, tuning)?;
        if let Some(device) = backend.opencl() {
            warn_of_tuning(device);
        }
        Ok(backend)
    }

    /// The same, and says nothing of the tuner's files, which the caller writes anew.
    pub fn open_to_tune(&self, precision: Precision, tuning: Tuning) -> anyhow::Result<AnyBackend> {
        let (selected, note) = {
            let _span = span(Group::Host, || "list devices");
            select(&self.device, ranks::communicator().local())?
        };
        if let Some(note) = note {
            say!("{note}");
        }
        let backend = match selected {
            Selected::Cpu => AnyBackend::from(self.open_cpu()?),
            Selected::OpenCl(device) if precision == Precision::F64 && !device.fp64 => {
                let lack = DeviceError::NoDoubles { device: device.with_driver() };
                ensure!(self.device == DeviceChoice::Auto, lack);
                say!("{device} has no f64: taking the CPU reference");
                AnyBackend::from(self.open_cpu()?)
            }
            Selected::OpenCl(device) => AnyBackend::from(open_device(&device, tuning)?),
        };
        say!("running on {}", backend.describe());
        Ok(backend)
    }

    /// The CPU reference with the threads asked for.
    pub fn open_cpu(&self) -> anyhow::Result<Cpu> {
        Cpu::new(self.threads).context("failed to start the CPU reference")
    }
}

/// The OpenCL device that a choice means, or why it means the CPU reference.
pub fn opencl_device(choice: &DeviceChoice) -> anyhow::Result<Result<Box<DeviceInfo>, String>> {
    Ok(match select(choice, (0, 1))? {
        (Selected::OpenCl(device), note) => {
            if let Some(note) = note {
                say!("{note}");
            }
            Ok(device)
        }
        (Selected::Cpu, note) => {
            Err(note.unwrap_or_else(|| "the CPU reference was chosen with --device or LANEFIELD_DEVICE".to_owned()))
        }
    })
}

fn open_device(device: &DeviceInfo, tuning: Tuning) -> anyhow::Result<OpenCl> {
    let _span = span(Group::Host, || "open and probe the device");
    let opened = OpenCl::open(device);
    let mut opened = opened.with_context(|| format!("failed to open the device {}", device.name))?;
    opened.set_tuning(tuning);
    announce(opened.context().builds());
    let said = AtomicBool::new(false);
    opened.context().tell_of_fallbacks(move |fallback| {
        // One of them says enough: those that follow do not fit either.
        if !said.swap(true, Ordering::Relaxed) {
            say!("warning: {fallback}; so may others");
        }
    });
    let verdict = probe(opened.context()).context("failed to probe the device's arithmetic")?;
    if let Some(reason) = verdict.why_not() {
        say!("warning: results of this device are not bitwise: {reason}");
    }
    Ok(opened)
}

/// Those of some precisions that a backend computes in; says what is left out.
pub fn supported(precisions: &[Precision], backend: Option<&OpenCl>) -> Vec<Precision> {
    let without_f64 = backend.map(|device| device.context().info()).filter(|info| !info.fp64);
    if let (Some(info), true) = (without_f64, precisions.contains(&Precision::F64)) {
        say!("{} has no f64: f64 is left out", info.with_driver());
    }
    let is_supported = |precision: &Precision| without_f64.is_none() || *precision != Precision::F64;
    precisions.iter().copied().filter(is_supported).collect()
}

/// Says on standard error which files of the tuner are not used, and how to renew them.
pub fn warn_of_tuning(device: &OpenCl) {
    for warning in device.tuned().warnings() {
        say!("warning: {warning}");
    }
}

/// How sums over sites are computed.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Sums")]
pub struct SumArgs {
    /// Kind of sum over sites: exact or tree. exact is the exact sum, rounded once, the same everywhere; tree is Grid's block sum, which depends on
    /// the plan and the lane width
    #[arg(long, value_name = "KIND", default_value = "exact")]
    pub sum: SumKind,
    /// Threads per block [default: as in Grid on --plan-device]
    #[arg(long, help_heading = "Tree sums", value_name = "N")]
    plan_threads: Option<usize>,
    /// Number of blocks [default: as in Grid on --plan-device]
    #[arg(long, help_heading = "Tree sums", value_name = "N")]
    plan_blocks: Option<usize>,
    /// Threads per warp, which are summed in halves [default: the warp of --plan-device, or all threads if there are fewer]
    #[arg(long, help_heading = "Tree sums", value_name = "N")]
    plan_warp: Option<usize>,
    /// Device whose plan is used, wherever the sum runs: v100, a100, h100, h200, mi250x, or WARP,THREADS,BYTES,UNITS. These are the threads per warp,
    /// the maximum threads per block, its local memory, and the number of compute units [default: h200]
    #[arg(long, help_heading = "Tree sums", value_name = "DEVICE")]
    plan_device: Option<ReductionDevice>,
}

/// A kind of sum.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum SumKind {
    /// The exact sum, rounded once
    Exact,
    /// Grid's block sum
    Tree,
}

impl SumArgs {
    /// The sum that was asked for, of objects of `object_bytes` in the local memory of a block.
    pub fn sum(&self, object_bytes: usize) -> anyhow::Result<Sum> {
        let Self { sum, plan_threads, plan_blocks, plan_warp, plan_device } = self;
        if *sum == SumKind::Exact {
            let planned =
                plan_threads.is_some() || plan_blocks.is_some() || plan_warp.is_some() || plan_device.is_some();
            anyhow::ensure!(!planned, "--plan-… is for --sum tree; exact sums have no plan");
            return Ok(Sum::Exact);
        }
        let device = plan_device.unwrap_or(ReductionDevice::H200);
        let usual = get_num_blocks_and_threads(object_bytes, &device)?;
        let threads = plan_threads.unwrap_or(usual.threads());
        let warp = plan_warp.unwrap_or(device.warp.min(threads.max(1)));
        Ok(Sum::Tree(TreePlan::with_warp(threads, plan_blocks.unwrap_or(usual.blocks()), warp)?))
    }
}

/// What defines the hop, in addition to the configuration.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Operator")]
pub struct HopArgs {
    /// Boundary phases in x,y,z,t: 1 periodic, -1 antiperiodic, 0 fixed (no hop across the boundary), or an angle θ in units of π, such as 0.25pi or
    /// pi/3. An angle means ψ(x + L) = e^{iθ} ψ(x), and requires --reconstruct 18
    #[arg(long, value_name = "PHASES", default_value = "1,1,1,-1", allow_hyphen_values = true)]
    pub boundary: BoundaryPhases,
    /// Gauge compression: 18, 12 (the kernel rebuilds the third row) or 8 (it rebuilds the whole matrix) reals stored per link. It is part of the
    /// operator, and changes the last bits
    #[arg(long = "reconstruct", alias = "links", value_name = "NUMBERS", default_value_t)]
    pub links: LinkFormat,
    /// Order in which the hop adds its legs: it is part of the operator, and changes the last bits
    #[arg(long, value_name = "ORDER", default_value_t, allow_hyphen_values = true)]
    pub legs: LegOrder,
}

impl HopArgs {
    pub fn parameters(&self) -> HopParameters {
        HopParameters { boundary: self.boundary, links: self.links, legs: self.legs }
    }
}

/// The name of a value on the command line.
pub fn name_of(value: impl ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

/// Reads one of some values by its name. The help lists each with its description.
pub fn one_of<T: Copy + Send + Sync>(
    values: &'static [(&'static str, T, &'static str)],
) -> impl TypedValueParser<Value = T> {
    let known = values.iter().map(|(name, _, about)| PossibleValue::new(name).help(about));
    PossibleValuesParser::new(known).try_map(|text| {
        let named = values.iter().find(|(name, ..)| *name == text);
        named.map(|(_, value, _)| *value).ok_or("it is not known")
    })
}

/// Reads one of some methods of solves.
pub fn of_methods(methods: &'static [Method]) -> impl TypedValueParser<Value = Method> {
    let known = methods.iter().map(|method| PossibleValue::new(method.name()).help(method.about()));
    PossibleValuesParser::new(known).try_map(|text| text.parse::<Method>())
}

fn precision_of(precisions: &'static [Precision]) -> impl TypedValueParser<Value = Precision> {
    let names = precisions.iter().map(|&precision| in_precision!(precision, R => R::NAME));
    PossibleValuesParser::new(names).try_map(|text| text.parse::<Precision>())
}

/// Reads a working precision.
pub fn of_arithmetic() -> impl TypedValueParser<Value = Precision> {
    precision_of(&Precision::OF_ARITHMETIC)
}

/// Reads any precision in which fields are stored.
pub fn of_storage() -> impl TypedValueParser<Value = Precision> {
    precision_of(&Precision::ALL)
}

pub fn iterations(text: &str) -> Result<usize, String> {
    let value = text.parse().ok().filter(|&value| value > 0);
    value.ok_or_else(|| {
        format!("invalid number of iterations '{text}': expected a whole number from 1 to {}", usize::MAX)
    })
}

pub fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("invalid seed '{text}': expected a whole number from 0 to {}", u64::MAX))
}

pub fn finite(text: &str) -> Result<f64, String> {
    let value = text.parse().ok().filter(|value: &f64| value.is_finite());
    value.ok_or_else(|| format!("invalid number '{text}': expected a finite number"))
}

/// Reads a tolerance of any size.
pub fn positive_tolerance(text: &str) -> Result<f64, String> {
    let value = finite(text).ok().filter(|&tolerance| tolerance > 0.0);
    value.ok_or_else(|| format!("invalid tolerance '{text}': expected a number greater than 0"))
}
