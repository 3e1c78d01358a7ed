//! `lanefield bench sprint`: the clover kernels through the changes that a study on AMD's GPUs made one after the other. What the changes are:
//! `lanefield::perf::sprint`.

use clap::Args;
use lanefield::perf::kernels::{BlasKernel, BlasKernels, CloverKernel, CloverKernels, StencilSetup};
use lanefield::perf::sprint::{LATTICES, StageSetup, stages};
use lanefield::perf::{Family, FieldFacts, KernelRecord, Timed, Variant};
use lanefield::reference::kernels::Vectors;
use lanefield::reference::layout::{
    AcceleratorThreads, Extents, LaneChoice, Lattice, LatticeOptions, LegOrder, Parity, Sites,
};
use lanefield::reference::links::LinkFormat;
use serde::Serialize;

use super::arguments::{PlaceArgs, StoredPrecision, TimedTask, TimingArgs, in_precision, run_on};
use super::runner::Runner;
use super::table::{Report, Row};
use crate::cli::Outcome;
use crate::cli::output::{print, print_json};

/// EOClover, EOCloverDag, OEClover and OECloverDag through the changes of a study on AMD's GPUs, and the vector operations beside them.
///
/// The stages: the hop added up in local memory, then in registers; its legs reordered, which changes bits; launch bounds, where the device's
/// compiler has them (at most 128 registers on NVIDIA's); accesses past the caches; sites visited in subdomains, by their numbers in x, y and z;
/// and what Lanefield does where nobody chooses. The CPU reference has the orders of the legs alone.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield bench sprint --lattice 4.4.4.8 --samples 3")]
pub struct Sprint {
    /// Lattices X.Y.Z.T [default: 16.16.16.32,32.32.32.64,48.48.48.64; the first on CPUs]
    #[arg(long, value_name = "X.Y.Z.T,…", value_delimiter = ',')]
    lattice: Vec<Extents>,
    /// Precision of fields
    #[arg(long, value_name = "PRECISION", default_value = "f32")]
    precision: StoredPrecision,
    /// Reals stored a link
    #[arg(long, value_name = "REALS", default_value_t)]
    links: LinkFormat,
    /// Lane width in bytes: 8, 16, 32, 64, 128, 256, or auto
    #[arg(long, value_name = "BYTES|auto", default_value_t)]
    lanes: LaneChoice,
    /// Outer sites a work-group on an OpenCL device
    #[arg(long, value_name = "N", default_value_t)]
    accelerator_threads: AcceleratorThreads,
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    timing: TimingArgs,
}

/// What was measured. As JSON, these fields.
#[derive(Serialize)]
struct Study {
    #[serde(flatten)]
    report: Report,
    /// Of each kernel on each lattice, the fastest stage.
    fastest: Vec<Fastest>,
}

/// The fastest stage of a kernel on a lattice.
#[derive(Serialize)]
struct Fastest {
    lattice: [usize; 4],
    kernel: String,
    /// Its name.
    stage: String,
    /// How much faster it is than the first stage.
    times_the_first: f64,
}

impl Sprint {
    pub fn run(self) -> anyhow::Result<Outcome> {
        run_on(&mut self.place.open()?, self)
    }

    fn lattices<B: Timed>(&self, backend: &B) -> anyhow::Result<Vec<Extents>> {
        if !self.lattice.is_empty() {
            return Ok(self.lattice.clone());
        }
        let number = if backend.is_cpu() { 1 } else { LATTICES.len() };
        Ok(LATTICES.into_iter().take(number).map(Extents::new).collect::<Result<_, _>>()?)
    }

    /// Times all on one lattice. Clover kernels go through all stages on the same fields.
    fn lattice<R: Vectors, B: Timed>(&self, runner: &mut Runner<'_, B>, extents: Extents) -> anyhow::Result<()> {
        let options = LatticeOptions { lanes: self.lanes, ..LatticeOptions::default() };
        let lattice = Lattice::new(extents, R::COMPLEX, options)?;
        let setup = StencilSetup { lattice, links: self.links, legs: LegOrder::DEFAULT, spinors: 1 };
        let default = Variant { threads: self.accelerator_threads, ..Variant::default() };
        let unmade = FieldFacts::unmade::<R>(extents, 1).with_links(self.links, setup.legs);
        let clover =
            runner.prepare(Family::Clover, unmade, &default, |backend| CloverKernels::<B, R>::new(backend, setup));
        if let Some(mut clover) = clover {
            let stage_setup = StageSetup {
                threads: self.accelerator_threads,
                outer: lattice.outer_extents(Sites::Parity(Parity::Even)),
                variants: B::HAS_VARIANTS,
                bounds: runner.backend.limits_registers(),
            };
            for stage in stages(stage_setup)? {
                clover.set_legs(stage.legs);
                for kernel in CloverKernel::AFTER_HOP {
                    let record = runner.time(&mut clover, kernel, &stage.variant);
                    runner.push(KernelRecord { variant: stage.name.clone(), ..record });
                }
            }
        }
        let unmade = FieldFacts::unmade::<R>(extents, 1);
        let blas =
            runner.prepare(Family::Blas, unmade, &default, |backend| BlasKernels::<B, R>::new(backend, lattice, 1));
        if let Some(mut blas) = blas {
            for kernel in [BlasKernel::Axpy, BlasKernel::Norm2] {
                runner.keep(&mut blas, kernel, &default);
            }
        }
        Ok(())
    }
}

impl TimedTask for Sprint {
    type Output = anyhow::Result<Outcome>;

    fn run<B: Timed>(self, backend: &mut B) -> anyhow::Result<Outcome> {
        let lattices = self.lattices(backend)?;
        let mut records = Vec::new();
        for &extents in &lattices {
            let mut runner = Runner::new(backend, self.timing.sampling(extents));
            in_precision!(self.precision, R => self.lattice::<R, B>(&mut runner, extents))?;
            records.extend(runner.finish());
        }
        let study = Study::new(Report::new(backend, self.timing.samples, records)?);
        match self.timing.json {
            true => print_json(&study)?,
            false => print(study.text(&lattices))?,
        }
        Ok(Outcome::Done)
    }
}

impl Study {
    fn new(report: Report) -> Self {
        let mut fastest: Vec<Fastest> = Vec::new();
        for first in report.rows.iter().filter(|row| row.record.family == Family::Clover) {
            let (lattice, kernel) = (first.record.fields.lattice, &first.record.kernel);
            if fastest.iter().any(|known| (known.lattice, &known.kernel) == (lattice, kernel)) {
                continue;
            }
            let stages =
                report.rows.iter().filter(|row| row.record.fields.lattice == lattice && row.record.kernel == *kernel);
            let timed = stages.filter_map(|row| Some((row.record.seconds?.median, &row.record.variant)));
            let best = timed.min_by(|(a, _), (b, _)| a.total_cmp(b));
            if let (Some((least, stage)), Some(seconds)) = (best, first.record.seconds) {
                let (stage, times_the_first) = (stage.clone(), seconds.median / least);
                fastest.push(Fastest { lattice, kernel: kernel.clone(), stage, times_the_first });
            }
        }
        Self { report, fastest }
    }

    /// A table for each lattice.
    fn text(&self, lattices: &[Extents]) -> String {
        let mut text = self.report.heading(None);
        for extents in lattices {
            let lattice = extents.as_array();
            let on_lattice = |row: &Row| row.record.fields.lattice == lattice;
            text += &format!("\n\n{extents}\n{}", self.report.table_of(on_lattice));
            for Fastest { kernel, stage, times_the_first, .. } in
                self.fastest.iter().filter(|one| one.lattice == lattice)
            {
                let stage = stage.trim_start_matches("+ ");
                text += &format!("\n{kernel} is fastest with {stage}: {times_the_first:.2} times the first stage");
            }
        }
        text
    }
}
