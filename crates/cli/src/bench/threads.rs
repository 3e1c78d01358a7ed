//! `lanefield bench threads`: times hop and clover for several numbers of outer sites a work-group, as in Grid's study of `acceleratorThreads`.

use crate::kernels::Known;
use crate::prelude::*;
use lanefield::backend::opencl::{GroupSize, Tuning};
use lanefield::reference::layout::AcceleratorThreads;
use lanefield_lab::study::Run;
use lanefield_lab::{BenchCase, KernelRecord};

use super::arguments::{LayoutArgs, StudiedKernels, TimingArgs, extents_or_usual};
use lanefield_lab::fastest;

use super::table::{Report, or_others};
use crate::args::{of_storage, supported};
use crate::output::table;

/// Time kernels for several work-group sizes.
///
/// Shows GFlop/s for several accelerator threads, the number of outer sites per work-group.
///
/// The size of a work-group is this number times the number of lanes. If it is too small, a wavefront is partly empty; if it is too large, kernels
/// may lack registers. If the device does not accept a number, the table has a dash, and the reason is below it. No bit of any result depends on the
/// number.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield bench threads
  lanefield bench threads --lattice 4.4.4.8 --accelerator-threads 8,16 \\
      --samples 3 --json")]
pub struct Threads {
    /// Extents of the lattice [default: 16.16.16.32; 8.8.8.8 on CPUs]
    #[arg(long, value_name = "X.Y.Z.T")]
    lattice: Option<Extents>,
    #[command(flatten)]
    kernels: StudiedKernels,
    /// Outer sites per work-group
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "2,4,8,16,32")]
    accelerator_threads: Vec<AcceleratorThreads>,
    /// Precisions of fields
    #[arg(long, value_name = "PRECISION,…", value_delimiter = ',', value_parser = of_storage(), default_value = "f32,f64")]
    precision: Vec<Precision>,
    #[command(flatten)]
    layout: LayoutArgs,
    #[command(flatten)]
    timing: TimingArgs,
}

#[derive(Serialize)]
struct Study {
    #[serde(flatten)]
    report: Report,
    /// The fastest number for each kernel and precision.
    fastest: Vec<Fastest>,
}

#[derive(Serialize)]
struct Fastest {
    kernel: String,
    precision: Precision,
    accelerator_threads: usize,
    /// Numbers whose times overlap with those of the fastest.
    as_fast: Vec<usize>,
}

impl Threads {
    pub fn run(self, list: &Known) -> anyhow::Result<Outcome> {
        self.timing.study(
            Kind::BenchThreads,
            |backend| self.runs(list, backend),
            Study::new,
            |study| study.text(&self.accelerator_threads),
        )
    }

    fn runs(&self, list: &Known, backend: &AnyBackend) -> anyhow::Result<Vec<Run>> {
        if backend.opencl().is_none() {
            bail!("the CPU reference has no accelerator threads: choose an OpenCL device with --device");
        }
        let extents = extents_or_usual(self.lattice, backend)?;
        let kernels = self.kernels.named(list)?;
        // Kernels are built for each group size separately, because a driver may refuse large groups of a kernel that is built for all sizes.
        let group_size = Some(GroupSize::Required);
        let tuning = |&threads| Tuning { accelerator_threads: Some(threads), group_size, ..Tuning::OPEN };
        let mut runs = Vec::new();
        for precision in supported(&self.precision, backend.opencl()) {
            for kernel in kernels.iter().copied().filter(|kernel| kernel.takes(precision)) {
                let case = self.layout.case(BenchCase::usual(kernel, extents), precision);
                runs.extend(self.accelerator_threads.iter().map(|threads| Run::new(case, tuning(threads))));
            }
        }
        Ok(runs)
    }
}

impl Study {
    fn new(report: Report) -> Self {
        let of_columns = columns(&report.rows).filter_map(|column| {
            let timed = column.iter();
            let timed = timed.filter_map(|row| Some((row.tuning.accelerator_threads?.get(), row.seconds?)));
            let (accelerator_threads, _, as_fast) = fastest(timed)?;
            let (kernel, precision) = (column[0].kernel.to_string(), column[0].fields.precision);
            Some(Fastest { kernel, precision, accelerator_threads, as_fast })
        });
        Self { fastest: of_columns.collect(), report }
    }

    /// GFlop/s: a line for each number of threads, and a column for each kernel and precision, with the work-items of a group.
    fn text(&self, threads: &[AcceleratorThreads]) -> String {
        let rows = &self.report.rows;
        let names = columns(rows).map(|column| format!("{} {}", column[0].kernel, column[0].fields.precision));
        let header: Vec<String> = std::iter::once("accelerator threads".to_owned()).chain(names).collect();
        let mut lines = table(header, 0..);
        for &number in threads {
            let cells = columns(rows).map(|column| {
                let row = column.iter().find(|row| row.tuning.accelerator_threads == Some(number));
                row.and_then(cell).unwrap_or_else(|| "–".to_owned())
            });
            lines.add_row(std::iter::once(number.to_string()).chain(cells));
        }
        let heading = self.report.heading(&self.report.lattices);
        let mut text = format!("{heading}\n\nGFlop/s, and in brackets the work-items per work-group\n{lines}");
        for Fastest { kernel, precision, accelerator_threads, as_fast } in &self.fastest {
            let others = or_others(as_fast);
            text += &format!("\n{kernel} in {precision} is fastest with {accelerator_threads}{others}");
        }
        for row in rows {
            if let Some(reason) = &row.failure {
                text += &format!("\n{} in {}, {}: {reason}", row.kernel, row.fields.precision, row.variant);
            }
        }
        text
    }
}

/// The rows of each kernel and precision.
fn columns(rows: &[KernelRecord]) -> impl Iterator<Item = &[KernelRecord]> {
    rows.chunk_by(|a, b| (a.kernel, a.fields.precision) == (b.kernel, b.fields.precision))
}

/// `5239.1 (64)`: the rate, and the work-items of a work-group.
fn cell(row: &KernelRecord) -> Option<String> {
    let lanes: usize = row.fields.virtual_nodes?.iter().product();
    Some(format!("{:.1} ({})", row.flops_per_second? / 1e9, lanes * row.tuning.accelerator_threads?.get()))
}
