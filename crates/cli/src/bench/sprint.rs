//! `lanefield bench sprint`: the clover kernels through the changes that a study on AMD's GPUs made one after the other. What the changes are:
//! `lanefield_lab::sprint`.

use clap::Args;
use lanefield::reference::field::Spinors;
use lanefield::reference::kernels::Vectors;
use lanefield::reference::layout::{AcceleratorThreads, Extents, Lattice, LegOrder, Parity, Sites};
use lanefield::verify::KernelBuild;
use lanefield_lab::kernels::{BlasKernel, BlasKernels, CloverKernel, CloverKernels, StencilSetup};
use lanefield_lab::sprint::{LATTICES, Stage, StageSetup, stages};
use lanefield_lab::{Family, FieldFacts, Timed, Variant};
use serde::Serialize;

use super::arguments::{LayoutArgs, PlaceArgs, StoredPrecision, TimedTask, TimingArgs, in_precision, run_on};
use super::runner::Runner;
use super::table::{Report, Row};
use crate::Outcome;
use crate::output::{print, print_json};

/// EOClover, EOCloverDag, OEClover and OECloverDag through the changes of a study on AMD's GPUs, and the vector operations beside them.
///
/// The stages: the hop added up in local memory, then in registers; its legs reordered, which changes bits; launch bounds: kernels built for
/// groups of one size, and, where the device's compiler can be told, at most 128 registers (NVIDIA's); neighbours' spinors in local memory, in groups
/// of 512 work-items, or as many as that holds; neighbouring sites in neighbouring work-items; relaxed arithmetic, whose bits are no one's, to see what
/// the bits cost; accesses past the caches; sites visited in blocks, and sites stored in subdomains, by their numbers in x, y and z; and what
/// Lanefield does where nobody chooses. The vector operations are timed in each order of sites. The CPU reference has the orders of the legs alone.
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
    #[command(flatten)]
    layout: LayoutArgs,
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
    /// Of each kernel on each lattice, the fastest stage with true bits.
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

    /// Times all on one lattice. Clover kernels go through the stages of one order of sites on the same fields.
    fn lattice<R: Vectors, B: Timed>(&self, runner: &mut Runner<'_, B>, extents: Extents) -> anyhow::Result<()> {
        let lattice = self.layout.lattice::<R, B>(runner.backend, extents)?;
        let setup = StencilSetup { lattice, links: self.layout.links, legs: LegOrder::DEFAULT, spinors: 1 };
        let default = Variant { threads: B::HAS_VARIANTS.then_some(self.accelerator_threads), ..Variant::default() };
        let unmade = FieldFacts::unmade::<R>(extents, 1).with_links(self.layout.links, setup.legs);
        let stage_setup = StageSetup {
            threads: self.accelerator_threads,
            outer: lattice.outer_extents(Sites::Parity(Parity::Even)),
            variants: B::HAS_VARIANTS,
            bounds: runner.backend.limits_registers(),
            lanes: lattice.nsimd(),
            // In whole accesses.
            most_work_items: runner.backend.most_work_items_with(R::device_bytes(Spinors::WORDS).next_multiple_of(16)),
        };
        let stages = stages(stage_setup)?;
        let order_of = |stage: &Stage| stage.variant.build.site_order;
        for stages in stages.chunk_by(|a, b| order_of(a) == order_of(b)) {
            let order = stages.first().and_then(order_of);
            let laid_out = Variant { build: KernelBuild { site_order: order, ..KernelBuild::default() }, ..default };
            let make = |backend: &B| CloverKernels::<B, R>::new(backend, setup);
            if let Some(mut clover) = runner.prepare(Family::Clover, unmade.clone(), &laid_out, make) {
                for stage in stages {
                    clover.set_legs(stage.legs);
                    for kernel in CloverKernel::AFTER_HOP {
                        runner.keep_stage(&mut clover, kernel, stage);
                    }
                }
            }
            if order.is_some() {
                self.vector_operations::<R, B>(runner, lattice, &laid_out);
            }
        }
        self.vector_operations::<R, B>(runner, lattice, &default);
        Ok(())
    }

    /// Times axpy and norm2, which know no subdomains but read the same memory.
    fn vector_operations<R: Vectors, B: Timed>(&self, runner: &mut Runner<'_, B>, lattice: Lattice, variant: &Variant) {
        let unmade = FieldFacts::unmade::<R>(lattice.extents(), 1);
        let make = |backend: &B| BlasKernels::<B, R>::new(backend, lattice, 1);
        let wanted = |kernel| matches!(kernel, BlasKernel::Axpy | BlasKernel::Norm2);
        runner.some(Family::Blas, unmade, variant, make, wanted);
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
        let study = Study::new(Report::new(backend, self.timing.samples, records)?.of_kind("bench sprint"));
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
            // What has other bits is no way to run it.
            let timed = stages
                .filter(|row| row.record.bit_true)
                .filter_map(|row| Some((row.record.seconds?.median, &row.record.variant)));
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
