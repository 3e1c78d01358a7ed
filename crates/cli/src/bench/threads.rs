//! `lanefield bench threads`: hop and clover over the number of outer sites a work-group, as in Grid's study of `acceleratorThreads`.

use anyhow::bail;
use clap::Args;
use comfy_table::{CellAlignment, TableComponent};
use lanefield::backend::opencl::{GroupSize, Tuning};
use lanefield::reference::kernels::Vectors;
use lanefield::reference::kernels::hop::Dagger;
use lanefield::reference::layout::{AcceleratorThreads, Extents, LegOrder, Parity, Sites};
use lanefield::verify::KernelBuild;
use lanefield_lab::kernels::{CloverKernel, CloverKernels, HopKernels, KernelSet, StencilSetup};
use lanefield_lab::{Family, FieldFacts, KernelRecord, Timed, Variant};
use serde::Serialize;

use super::arguments::{
    LayoutArgs, PlaceArgs, StoredPrecision, TimedTask, TimingArgs, extents_or_usual, in_precision, run_on,
};
use super::runner::Runner;
use super::table::{Report, Row};
use crate::Outcome;
use crate::output::{print, print_json, table};

/// GFlop/s of hop and clover over the accelerator threads, the outer sites of a work-group.
///
/// A group has so many outer sites times the lanes of a vector work-items. Too few leave a warp or a wavefront empty; too many take registers from
/// kernels that need them. What a device does not take has a dash, and the reason below the table. No bit of any result depends on it.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield bench threads
  lanefield bench threads --lattice 4.4.4.8 --accelerator-threads 8,16 \\
      --samples 3 --json")]
pub struct Threads {
    /// Extents X.Y.Z.T [default: 16.16.16.32; 8.8.8.8 on CPUs]
    #[arg(long, value_name = "X.Y.Z.T")]
    lattice: Option<Extents>,
    /// Outer sites a work-group
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "2,4,8,16,32")]
    accelerator_threads: Vec<AcceleratorThreads>,
    /// Precisions of fields
    #[arg(long, value_name = "PRECISION,…", value_delimiter = ',', default_value = "f32,f64")]
    precision: Vec<StoredPrecision>,
    #[command(flatten)]
    layout: LayoutArgs,
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
    /// The fastest number of each kernel and precision.
    fastest: Vec<Fastest>,
}

/// The fastest number of accelerator threads.
#[derive(Serialize)]
struct Fastest {
    kernel: String,
    precision: &'static str,
    accelerator_threads: usize,
}

impl Threads {
    pub fn run(self) -> anyhow::Result<Outcome> {
        run_on(&mut self.place.open()?, self)
    }

    /// Times hop and clover in one precision: all numbers of threads on the same fields.
    fn precision<R: Vectors, B: Timed>(&self, runner: &mut Runner<'_, B>, extents: Extents) {
        let default = Variant::default();
        let lattice = match self.layout.lattice::<R, B>(runner.backend, extents) {
            Ok(lattice) => lattice,
            Err(error) => {
                for family in [Family::Hop, Family::Clover] {
                    let unmade = FieldFacts::unmade::<R>(extents, 1);
                    runner.push(KernelRecord::unprepared(family, unmade, default, error.to_string()));
                }
                return;
            }
        };
        let setup = StencilSetup { lattice, links: self.layout.links, legs: LegOrder::DEFAULT, spinors: 1 };
        let unmade = || FieldFacts::unmade::<R>(extents, 1).with_links(self.layout.links, setup.legs);
        let even = Sites::Parity(Parity::Even);
        let hop = runner.prepare(Family::Hop, unmade(), &default, |backend| {
            HopKernels::<B, R>::new(backend, setup, even, Family::Hop)
        });
        self.go_through(runner, hop, Dagger::No);
        let clover =
            runner.prepare(Family::Clover, unmade(), &default, |backend| CloverKernels::<B, R>::new(backend, setup));
        self.go_through(runner, clover, CloverKernel::EvenFromOdd(Dagger::No));
    }

    fn go_through<B: Timed, S: KernelSet<B>>(&self, runner: &mut Runner<'_, B>, set: Option<S>, kernel: S::Kernel) {
        let Some(mut set) = set else { return };
        // Built for these groups alone, since a driver may refuse large ones of a kernel that is built for all.
        let tuning = Tuning { group_size: Some(GroupSize::Required), ..Tuning::default() };
        let build = KernelBuild { tuning, ..KernelBuild::default() };
        for &threads in &self.accelerator_threads {
            runner.keep(&mut set, kernel, &Variant { threads: Some(threads), build });
        }
    }
}

impl TimedTask for Threads {
    type Output = anyhow::Result<Outcome>;

    fn run<B: Timed>(self, backend: &mut B) -> anyhow::Result<Outcome> {
        if !B::HAS_VARIANTS {
            bail!("the CPU reference has no accelerator threads; choose an OpenCL device by --device");
        }
        let extents = extents_or_usual(self.lattice, backend)?;
        let mut runner = Runner::new(backend, self.timing.sampling(extents));
        for &precision in &self.precision {
            in_precision!(precision, R => self.precision::<R, B>(&mut runner, extents));
        }
        let records = runner.finish();
        let study = Study::new(Report::new(backend, self.timing.samples, records)?.of_kind("bench threads"));
        match self.timing.json {
            true => print_json(&study)?,
            false => print(study.text(extents, &self.accelerator_threads))?,
        }
        Ok(Outcome::Done)
    }
}

impl Study {
    fn new(report: Report) -> Self {
        let fastest = columns(&report.rows).into_iter().filter_map(|(kernel, precision)| {
            let timed = of_column(&report.rows, kernel, precision)
                .filter_map(|row| Some((row.record.seconds?.median, row.record.choices.threads?.get())));
            let (_, accelerator_threads) = timed.min_by(|(a, _), (b, _)| a.total_cmp(b))?;
            Some(Fastest { kernel: kernel.to_owned(), precision, accelerator_threads })
        });
        Self { fastest: fastest.collect(), report }
    }

    /// GFlop/s: a line for each number of threads, and a column for each kernel and precision, with the work-items of a group.
    fn text(&self, extents: Extents, threads: &[AcceleratorThreads]) -> String {
        let rows = &self.report.rows;
        let columns = columns(rows);
        let names = columns.iter().map(|(kernel, precision)| format!("{kernel} {precision}"));
        let mut lines = table(["accelerator threads"]);
        lines.set_header(std::iter::once("accelerator threads".to_owned()).chain(names));
        lines.remove_style(TableComponent::HorizontalLines).remove_style(TableComponent::MiddleIntersections);
        for &number in threads {
            let cell = |&(kernel, precision): &(&str, &'static str)| {
                let row = of_column(rows, kernel, precision).find(|row| row.record.choices.threads == Some(number));
                row.and_then(cell).unwrap_or_else(|| "–".to_owned())
            };
            lines.add_row(std::iter::once(number.to_string()).chain(columns.iter().map(cell)));
        }
        for column in lines.column_iter_mut() {
            column.set_cell_alignment(CellAlignment::Right);
        }
        let heading = self.report.heading(Some(extents));
        let mut text = format!("{heading}\n\nGFlop/s, and in brackets the work-items of a group\n{lines}");
        for Fastest { kernel, precision, accelerator_threads } in &self.fastest {
            text += &format!("\n{kernel} in {precision} is fastest with {accelerator_threads}");
        }
        for row in rows {
            if let Some(reason) = &row.record.failure {
                text += &format!(
                    "\n{} in {}, {}: {reason}",
                    row.record.kernel, row.record.fields.precision, row.record.variant
                );
            }
        }
        text
    }
}

/// Kernels and precisions, each once, in the order of the rows.
fn columns(rows: &[Row]) -> Vec<(&str, &'static str)> {
    let mut columns = Vec::new();
    for row in rows {
        let column = (row.record.kernel.as_str(), row.record.fields.precision);
        if !columns.contains(&column) {
            columns.push(column);
        }
    }
    columns
}

fn of_column<'r>(rows: &'r [Row], kernel: &str, precision: &'static str) -> impl Iterator<Item = &'r Row> {
    rows.iter().filter(move |row| row.record.kernel == kernel && row.record.fields.precision == precision)
}

/// `5239.1 (64)`: the rate, and the work-items of a group.
fn cell(row: &Row) -> Option<String> {
    let lanes: usize = row.record.fields.virtual_nodes?.iter().product();
    Some(format!("{:.1} ({})", row.gflop_per_second?, lanes * row.record.choices.threads?.get()))
}
