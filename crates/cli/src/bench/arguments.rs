//! Arguments of all benchmarks.

use std::time::Instant;

use lanefield::backend::opencl::Tuning;
use lanefield::comm::WholeLattice;
use lanefield::kernel::Kernel;
use lanefield::reference::layout::LayoutError;
use lanefield_lab::ahead::{KernelStep, Step};
use lanefield_lab::bandwidth::Operation;
use lanefield_lab::study::{self, Run};
use lanefield_lab::{BenchCase, KernelRecord, Sampling, Spread, kernels_to_time};

use super::table::Report;
use crate::args::PlaceArgs;
use crate::build_ahead::{Builder, JobsArgs};
use crate::kernels::Known;
use crate::prelude::*;
use crate::progress::with_bar;
use crate::tuning::TuningArgs;

/// With this number of sites or more, launches are long and do not overlap.
const MANY_SITES: usize = 1_000_000;

/// Device, timing and output of measurements of kernels.
#[derive(Args)]
pub struct TimingArgs {
    #[command(flatten)]
    place: PlaceArgs,
    /// Number of timed launches of each kernel
    #[arg(long, help_heading = "Timing", value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub samples: u32,
    /// Print JSON instead of a table
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    #[command(flatten)]
    jobs: JobsArgs,
}

impl TimingArgs {
    pub fn open(&self) -> anyhow::Result<AnyBackend> {
        self.place.open(Precision::F32, Tuning::OPEN)
    }

    /// Times what is planned for the backend, compares it with the bandwidths of memory, and prints the result.
    pub fn study<S: Serialize>(
        &self,
        kind: Kind,
        plan: impl FnOnce(&AnyBackend) -> anyhow::Result<Vec<Run>>,
        study: impl FnOnce(Report) -> S,
        text: impl FnOnce(&S) -> String,
    ) -> anyhow::Result<Outcome> {
        let mut backend = self.open()?;
        let runs = plan(&backend)?;
        let records = time(&mut backend, self.jobs, &runs, self.samples);
        let study = study(Report::new(&backend, self.samples, &runs, records)?);
        show(self.json, Head::on(kind, backend.device()), &study, text)
    }
}

/// The kernels of a study.
#[derive(Args)]
pub struct StudiedKernels {
    /// Kernels to time: all, a family or a kernel
    #[arg(
        long = "kernel",
        alias = "kernels",
        value_name = "KERNEL,…",
        value_delimiter = ',',
        default_value = "hop,eo_clover"
    )]
    kernels: Vec<String>,
}

impl StudiedKernels {
    pub fn named(&self, list: &Known) -> anyhow::Result<Vec<&'static Kernel>> {
        kernels_to_time(list, self.kernels.iter().map(String::as_str)).map_err(anyhow::Error::msg)
    }
}

/// Builds the programs of runs, and times the runs until a signal comes.
pub fn time(backend: &mut AnyBackend, jobs: JobsArgs, runs: &[Run], samples: u32) -> Vec<KernelRecord> {
    build_ahead(backend, jobs, runs.iter().cloned().map(KernelStep::from));
    with_bar(|observe| study::time(backend, runs, |extents| sampling(extents, samples), observe))
}

/// How to sample kernels on a lattice: also back to back if launches are so short that they overlap.
pub fn sampling(extents: Extents, samples: u32) -> Sampling {
    Sampling { samples: samples as usize, back_to_back: extents.volume() < MANY_SITES }
}

/// Builds the programs of cases in their tunings, if the backend builds programs.
pub fn build_ahead(backend: &mut impl Timed, jobs: JobsArgs, steps: impl IntoIterator<Item = KernelStep>) {
    let Some(device) = backend.opencl_mut() else { return };
    let mut steps: Vec<Step> = steps.into_iter().map(|step| Step::Kernel(Box::new(step))).collect();
    steps.extend([Operation::Copy, Operation::Read].into_iter().flat_map(|operation| device.memory().steps(operation)));
    Builder::new(jobs).build(device, steps);
}

/// Seconds that all ranks of a lattice take for some work. They start together, and the first time is not counted.
pub fn sampled(
    lattice: &WholeLattice,
    samples: u32,
    mut work: impl FnMut() -> anyhow::Result<()>,
) -> anyhow::Result<Spread> {
    let mut once = || -> anyhow::Result<f64> {
        lattice.communicator().barrier()?;
        let start = Instant::now();
        work()?;
        Ok(lattice.largest(start.elapsed().as_secs_f64())?)
    };
    once()?;
    let seconds: Vec<f64> = (0..samples.max(1)).map(|_| once()).collect::<anyhow::Result<_>>()?;
    Ok(Spread::of(seconds).unwrap_or_default())
}

pub fn tuning_of(chosen: TuningArgs, backend: &AnyBackend) -> anyhow::Result<Tuning> {
    let tuning = chosen.tuning();
    if backend.opencl().is_none() && tuning != Tuning::OPEN {
        bail!(
            "the CPU reference has no tuning parameters, so it cannot use {tuning}: choose an OpenCL device with --device"
        );
    }
    Ok(tuning)
}

/// The requested lattice, or a default one, which is small if kernels run on a CPU.
pub fn extents_or_usual(extents: Option<Extents>, backend: &impl Timed) -> Result<Extents, LayoutError> {
    match extents {
        Some(extents) => Ok(extents),
        None if backend.is_cpu() => Extents::new([8; 4]),
        None => Extents::new([16, 16, 16, 32]),
    }
}

/// How a study lays out the fields of a stencil kernel.
#[derive(Args, Clone, Copy)]
pub struct LayoutArgs {
    /// Gauge compression: 18, 12 or 8 reals stored per link
    #[arg(long = "reconstruct", alias = "links", value_name = "NUMBERS", default_value_t)]
    pub links: LinkFormat,
    /// Lane width in bytes, or lane layout: 8, 16, 32, 64, 128 or 256; a layout such as 2.1.4.1; or auto
    #[arg(long, value_name = "BYTES|X.Y.Z.T|auto", default_value_t)]
    pub lanes: LaneChoice,
}

impl LayoutArgs {
    pub fn case(self, case: BenchCase, precision: Precision) -> BenchCase {
        BenchCase { precision, links: self.links, lanes: self.lanes, ..case }
    }
}
