//! `lanefield bench sprint`: times the clover kernels after each of the changes that a study of AMD's GPUs made. `lanefield_lab::sprint` defines
//! the changes.

use lanefield::backend::opencl::Tuning;
use lanefield::kernel::blas::AXPY;
use lanefield::kernel::reduce::NORM2;
use lanefield::kernel::{Geometry, Kernel, clover};
use lanefield::reference::layout::AcceleratorThreads;
use lanefield_lab::sprint::{LATTICES, StageSetup, stages};
use lanefield_lab::study::{Run, Way};
use lanefield_lab::{BenchCase, KernelRecord};

use super::arguments::{LayoutArgs, TimingArgs};
use super::table::{Report, or_others};
use crate::args::of_storage;
use crate::prelude::*;

/// Time the clover kernels at each stage of an optimisation study.
///
/// The study was made on AMD's GPUs. The kernels are eo_clover, oe_clover and their daggers; axpy and norm2 are timed in the same run, in each order
/// of sites.
///
/// The hop is first accumulated in local memory, then in registers. Then its legs are reordered, which changes bits. With launch bounds, kernels are
/// built for one work-group size and, if the device's compiler accepts a limit (NVIDIA's), for at most 128 registers. Neighbours' spinors are stored
/// in local memory, in work-groups of 512 work-items, or as many as local memory allows. Then neighbouring work-items compute neighbouring sites.
/// Relaxed arithmetic, whose bits are not the reference's, shows what the bits cost. Then accesses bypass the caches. Sites are visited in blocks,
/// and stored in subdomains, which are given by their numbers in x, y and z. The last stage is Lanefield's defaults.
///
/// On the CPU reference, only the orders of the legs are timed.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield bench sprint --lattice 4.4.4.8 --samples 3")]
pub struct Sprint {
    /// Extents of the lattices [default: 16.16.16.32,32.32.32.64,48.48.48.64; the first on CPUs]
    #[arg(long, value_name = "X.Y.Z.T,…", value_delimiter = ',')]
    lattice: Vec<Extents>,
    /// Precision of fields
    #[arg(long, value_name = "PRECISION", default_value = "f32", value_parser = of_storage())]
    precision: Precision,
    #[command(flatten)]
    layout: LayoutArgs,
    /// Outer sites per work-group on an OpenCL device
    #[arg(long, value_name = "N", default_value_t)]
    accelerator_threads: AcceleratorThreads,
    #[command(flatten)]
    timing: TimingArgs,
}

#[derive(Serialize)]
struct Study {
    #[serde(flatten)]
    report: Report,
    /// For each kernel on each lattice, the fastest stage with the right bits.
    fastest: Vec<Fastest>,
}

#[derive(Serialize)]
struct Fastest {
    lattice: [usize; 4],
    kernel: &'static str,
    stage: String,
    /// The time of the first stage divided by that of the fastest.
    times_the_first: f64,
    /// Stages whose times overlap with those of the fastest.
    as_fast: Vec<String>,
}

impl Sprint {
    pub fn run(self) -> anyhow::Result<Outcome> {
        let plan = |backend: &AnyBackend| {
            let number = if backend.is_cpu() { 1 } else { LATTICES.len() };
            let lattices = match self.lattice.is_empty() {
                true => LATTICES.into_iter().take(number).map(Extents::new).collect::<Result<_, _>>()?,
                false => self.lattice.clone(),
            };
            let mut runs = Vec::new();
            for extents in lattices {
                runs.extend(self.runs(backend, extents)?);
            }
            Ok(runs)
        };
        self.timing.study(Kind::BenchSprint, plan, Study::new, Study::text)
    }

    fn case(&self, kernel: &'static Kernel, extents: Extents) -> BenchCase {
        self.layout.case(BenchCase::usual(kernel, extents), self.precision)
    }

    fn stages(&self, backend: &AnyBackend, extents: Extents) -> anyhow::Result<Vec<Way>> {
        let lattice = self.case(&clover::EO_CLOVER, extents).lattice(backend)?;
        let info = backend.opencl().map(|device| device.context().info());
        // Padded to whole accesses.
        let spinor = self.precision.device_bytes(Spinors::WORDS).next_multiple_of(16);
        let stage_setup = StageSetup {
            threads: self.accelerator_threads,
            outer: lattice.outer_extents(Sites::Parity(Parity::Even)),
            variants: info.is_some(),
            bounds: info.is_some_and(|info| info.limits_registers()),
            lanes: lattice.nsimd(),
            most_work_items: info
                .map_or(1, |info| info.max_work_group_size.min(info.local_memory_bytes as usize / spinor)),
        };
        Ok(stages(stage_setup)?)
    }

    /// The runs on a lattice: the clover kernels stage by stage; and axpy and norm2, which read the same memory without legs, in each site
    /// order. The last site order is the default.
    fn runs(&self, backend: &AnyBackend, extents: Extents) -> anyhow::Result<Vec<Run>> {
        let default =
            Tuning { accelerator_threads: backend.opencl().map(|_| self.accelerator_threads), ..Tuning::OPEN };
        let in_order = |site_order| {
            let tuning = Tuning { site_order, ..default };
            [&AXPY, &NORM2].map(|kernel| Run::new(self.case(kernel, extents), tuning))
        };
        let mut runs = Vec::new();
        for stage in self.stages(backend, extents)? {
            runs.extend(clover_kernels().map(|kernel| Run::new(self.case(kernel, extents), stage.clone())));
            if let Some(order) = stage.tuning.site_order {
                runs.extend(in_order(Some(order)));
            }
        }
        runs.extend(in_order(None));
        Ok(runs)
    }
}

/// The clover kernels of one spinor per site that continue from a hop.
fn clover_kernels() -> impl Iterator<Item = &'static Kernel> {
    let after_hop = |kernel: &&Kernel| matches!(kernel.geometry, Geometry::Stencil { accumulates: true, .. });
    clover::KERNELS.iter().copied().filter(after_hop).filter(|kernel| kernel.takes_parts(1) && kernel.usual_parts == 1)
}

impl Study {
    fn new(report: Report) -> Self {
        let mut fastest: Vec<Fastest> = Vec::new();
        for first in report.rows.iter().filter(|row| row.family == clover::EO_CLOVER.family) {
            let (lattice, kernel) = (first.fields.lattice, first.kernel.name);
            if fastest.iter().any(|known| (known.lattice, known.kernel) == (lattice, kernel)) {
                continue;
            }
            let stages = report.rows.iter().filter(|row| row.fields.lattice == lattice && row.kernel.name == kernel);
            // A stage with other bits is not a valid variant.
            let timed = stages.filter(|row| row.bit_true).filter_map(|row| Some((row.variant.clone(), row.seconds?)));
            if let (Some((stage, least, as_fast)), Some(seconds)) = (lanefield_lab::fastest(timed), first.seconds) {
                let times_the_first = seconds.median / least.median;
                fastest.push(Fastest { lattice, kernel, stage, times_the_first, as_fast });
            }
        }
        Self { report, fastest }
    }

    fn text(&self) -> String {
        let mut text = self.report.heading(&[]);
        for extents in &self.report.lattices {
            let lattice = extents.as_array();
            let on_lattice = |row: &KernelRecord| row.fields.lattice == lattice;
            text += &format!("\n\n{extents}\n{}", self.report.table_of(on_lattice));
            for Fastest { kernel, stage, times_the_first, as_fast, .. } in
                self.fastest.iter().filter(|one| one.lattice == lattice)
            {
                let stage = stage.trim_start_matches("+ ");
                let others = or_others(as_fast);
                text +=
                    &format!("\n{kernel} is fastest with {stage}: {times_the_first:.2} times the first stage{others}");
            }
        }
        text
    }
}
