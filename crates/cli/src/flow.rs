//! `lanefield flow`: the gradient flow of a configuration, its energy density and topological charge, and the scales t₀ and w₀.

use comfy_table::Table;
use lanefield::gauge::{
    Action, Flow as GradientFlow, FlowPoint, GaugeField, LARGEST_STEP, REFERENCE, StepChoice, flow_slope,
    reference_time, reference_width,
};
use lanefield::io::configuration::ConfigurationFile;
use lanefield_figure::physics;

use super::args::{OnLatticeArgs, finite, positive_tolerance};
use super::configuration::{ConfigArgs, FormatArgs, MadeOutput};
use super::csv_output::{columns_with_bits, with_bits, write_csv};
use super::files::{but_with, figure, given, named, write_figure};
use super::interrupt::{ends_on, keep};
use super::numbers::{bits, number, small};
use super::output::table;
use super::progress::ShareBar;
use crate::prelude::*;

/// Run the gradient flow of a configuration.
///
/// It measures the energy density and the topological charge along the flow. The bits are the same on every device.
///
/// E is the energy density of the clover field strength. t₀ is the flow time at which t²E = 0.3, and w₀² that at which t d/dt t²E = 0.3. The
/// integrator is Lüscher's third-order scheme. docs/agreement.md lists the conventions of other programs.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield config generate weak --lattice 4.4.4.8 --seed 1 --spread 0.6 \\
      --output weak.nersc
  lanefield flow --config weak.nersc --step 0.02 --time 0.4
  lanefield flow --config weak.nersc --action symanzik --adaptive 1e-6 \\
      --time 2 --output flowed.nersc --csv flow.csv --plot flow.pdf --json")]
pub struct Flow {
    #[command(flatten)]
    input: ConfigArgs,
    /// Action of the flow: wilson; or with rectangles, symanzik (c1 = -1/12) or iwasaki (c1 = -0.331)
    #[arg(long, value_name = "ACTION", default_value_t)]
    action: Action,
    /// Step size, or first step size with --adaptive: greater than 0, at most 0.2
    #[arg(long, value_name = "EPS", default_value = "0.01", value_parser = step)]
    step: f64,
    /// Flow time at the end, in units of the lattice spacing squared
    #[arg(long, value_name = "T", default_value = "2", value_parser = time)]
    time: f64,
    /// Flow time of the input configuration: set it to continue an earlier flow
    #[arg(long, value_name = "T", default_value = "0", value_parser = time)]
    begin: f64,
    /// Adapt the step size to this tolerance: the largest difference between the links of the third-order and second-order schemes
    #[arg(long, value_name = "TOL", value_parser = positive_tolerance)]
    adaptive: Option<f64>,
    /// Measure after every N steps, and at the end. t₀ and w₀ are interpolated between measured times
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    every: u32,
    /// Write the final configuration, in the format of its extension: .nersc (or none), .lime (ILDG), .milc, .npy, .h5
    #[arg(long, help_heading = "Output", value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    format: FormatArgs,
    /// Write the measurements as CSV: each number with the 16 hex digits of its double
    #[arg(long, help_heading = "Output", value_name = "FLOW.csv")]
    csv: Option<PathBuf>,
    /// Draw t²E and its slope over flow time, with t₀ and w₀: .svg, .pdf or .png
    #[arg(long, help_heading = "Output", value_name = "FILE", value_parser = named(figure))]
    plot: Option<PathBuf>,
    #[command(flatten)]
    on: OnLatticeArgs,
}

/// Steps that a flow takes at most: more end in no one's life.
const MOST_STEPS: f64 = 1e9;

fn step(text: &str) -> Result<f64, String> {
    let value = finite(text).ok().filter(|&step| step > 0.0 && step <= LARGEST_STEP);
    value.ok_or_else(|| format!("invalid step '{text}': expected a number greater than 0, at most {LARGEST_STEP}"))
}

fn time(text: &str) -> Result<f64, String> {
    let value = finite(text).ok().filter(|time| (0.0..=1e6).contains(time));
    value.ok_or_else(|| format!("invalid flow time '{text}': expected a number from 0 to 1000000"))
}

impl Flow {
    pub fn run(self) -> anyhow::Result<Outcome> {
        ensure!(
            self.begin <= self.time,
            "--begin {} lies behind the end of the flow, --time {}: give a time up to it",
            self.begin,
            self.time
        );
        let others: Vec<_> = given([("--csv", &self.csv), ("--plot", &self.plot)]).collect();
        MadeOutput::check((self.output.as_deref(), &self.format), &others, &self.input.config)?;
        let file = self.input.read(&self.on.ranks)?;
        let settings = [
            ("action", self.action.to_string().into()),
            ("time", self.time.into()),
            ("step", self.step.into()),
            ("begin", self.begin.into()),
            ("adaptive", self.adaptive.into()),
            self.input.read.setting(),
        ];
        let output = self.output.as_deref().map(|path| {
            let made_by = format!("flow:{},{}", self.action, self.time);
            MadeOutput::new((path, &self.format), "flow", (&self.input.config, &file), made_by, settings)
        });
        let output = output.transpose()?;
        let backend = self.on.open(&file.lattice, Precision::F64)?;
        let (flowed, next, steps, rows) = backend.install(|| self.flow(&backend, &file))?;
        let until = rows.last().map_or(0.0, |row| row.t);
        let stopped = until < self.time;
        let points: Vec<_> = rows.iter().map(|row| FlowPoint { time: row.t, energy: row.energy }).collect();
        let report = Report {
            lattice: file.lattice.extents().as_array(),
            action: self.action.to_string(),
            adaptive: self.adaptive,
            steps,
            t0: reference_time(&points),
            w0: reference_width(&points),
            unitarity_defect: file.lattice.largest(flowed.unitarity_defect().defect)?,
            times: rows,
        };
        let write = |output: MadeOutput<'_>| match stopped {
            true => output.write_stopped(&flowed, Some(format!("flow:{},{until}", self.action))),
            false => output.write(&flowed).map(|path| (path, "")),
        };
        // Each file, whatever becomes of the others.
        let written: anyhow::Result<Option<(PathBuf, &str)>> = output.map(write).transpose();
        let csv = write_csv(self.csv.as_deref(), columns_with_bits(&COLUMNS), report.times.iter().map(cells));
        let plotted = self.plot.as_ref().map_or(Ok(()), |path| {
            let title = format!("{} flow of {}", self.action, self.input.config.display());
            let energy = report.times.iter().map(|row| (row.t, row.t2_energy)).collect();
            let (slope, reference) = (flow_slope(&points), REFERENCE);
            let flow = physics::Flow { energy, slope, reference, t0: report.t0, w0: report.w0 };
            write_figure(path, &physics::flow(&flow, &title).draw())
        });
        if let Ok(output) = written.as_ref()
            && stopped
        {
            let continues = match output {
                Some((path, note)) => format!(
                    "the same command with --config {} --begin {until}{} continues{note}{}",
                    path.display(),
                    self.adaptive.map_or_else(String::new, |_| format!(" --step {next}")),
                    but_with(&[], given([("--csv", &self.csv), ("--plot", &self.plot)]))
                ),
                None => "it cannot be continued, since it has no --output".to_owned(),
            };
            say!("interrupted: a signal ended the flow at t = {until} of {}: {continues}", self.time);
        }
        // What cannot be kept is printed.
        show(self.on.json, Head::on(Kind::Flow, backend.device()), &report, Report::text)?;
        written?;
        csv?;
        plotted?;
        Ok(Outcome::Done)
    }

    /// The configuration at the end, the size of the step that would come next, the number of steps, and what was measured.
    fn flow(
        &self,
        backend: &AnyBackend,
        file: &ConfigurationFile,
    ) -> anyhow::Result<(Configuration, f64, usize, Vec<Row>)> {
        let choice = match self.adaptive {
            Some(tolerance) => StepChoice::Adaptive { first: self.step, tolerance },
            None => StepChoice::Fixed(self.step),
        };
        let steps = self.time / self.step;
        ensure!(
            self.adaptive.is_some() || steps <= MOST_STEPS,
            "--step {:e} takes {steps:e} steps to flow time {}: expected at most {MOST_STEPS:e}; take larger steps",
            self.step,
            self.time
        );
        let field = GaugeField::new(backend, &file.configuration, self.on.backend.lanes)?;
        let mut flow = GradientFlow::new(field, self.action, choice)?.from_time(self.begin);
        let mut rows = vec![Row::of(&flow)?];
        let mut steps = 0usize;
        // Of one size, before the links that were read.
        let before_these = (self.begin / self.step).round();
        let bar = ShareBar::new();
        while flow.time() < self.time {
            let before = flow.time();
            // Steps of one size end at multiples of it, however many there are.
            let until = match self.adaptive {
                Some(_) => self.time,
                None => ((before_these + (steps + 1) as f64) * self.step).min(self.time),
            };
            flow.advance(until)?;
            ensure!(flow.time() > before, "a step of the flow at t = {before} is lost in rounding: take larger steps");
            steps += 1;
            bar.show(flow.time() / self.time, format!("t = {:.4} of {}", flow.time(), self.time));
            let stops = ends_on(&file.lattice);
            if steps.is_multiple_of(self.every as usize) || flow.time() >= self.time || stops {
                rows.push(Row::of(&flow)?);
            }
            if stops {
                break;
            }
            keep();
        }
        bar.end();
        Ok((flow.field().configuration()?, flow.next_step(), steps, rows))
    }
}

/// What was measured at a flow time.
#[derive(Serialize)]
struct Row {
    t: f64,
    /// E, and its 16 hex digits.
    energy: f64,
    energy_bits: String,
    /// Of the planes with time, and of those in space.
    energy_temporal: f64,
    energy_spatial: f64,
    /// t²E.
    t2_energy: f64,
    plaquette: f64,
    charge: f64,
    charge_bits: String,
}

impl Row {
    fn of(flow: &GradientFlow<'_, AnyBackend>) -> anyhow::Result<Self> {
        let (t, field) = (flow.time(), flow.field());
        let (clover, plaquettes) = (field.clover()?, field.plaquettes()?);
        let energy = clover.energy();
        ensure!(energy.is_finite(), "the energy density at t = {t} is {energy}: the links are none");
        Ok(Self {
            t,
            energy,
            energy_bits: bits(energy),
            energy_temporal: clover.temporal,
            energy_spatial: clover.spatial,
            t2_energy: t * t * energy,
            plaquette: plaquettes.all,
            charge: clover.charge,
            charge_bits: bits(clover.charge),
        })
    }
}

/// What came out. As JSON, these fields.
#[derive(Serialize)]
struct Report {
    lattice: [usize; 4],
    action: String,
    /// The tolerance; null where all steps are alike.
    adaptive: Option<f64>,
    steps: usize,
    /// t₀ / a²; null where the flow has not come so far.
    t0: Option<f64>,
    /// w₀ / a; null where the flow has not come so far.
    w0: Option<f64>,
    /// The largest of |U U† − 1| and |det U − 1| of any link at the end.
    unitarity_defect: f64,
    times: Vec<Row>,
}

impl Report {
    fn text(&self) -> String {
        let Self { steps, t0, w0, unitarity_defect, .. } = self;
        format!(
            "{}\n\n{steps} steps; t₀/a² {}, w₀/a {}; largest deviation from SU(3) {}",
            rows_table(&self.times),
            number(*t0, 5),
            number(*w0, 5),
            small(*unitarity_defect, 2)
        )
    }
}

fn rows_table(rows: &[Row]) -> Table {
    let mut table = table(["t", "t²E", "E", "E temporal", "E spatial", "plaquette", "Q"], 0..7);
    for row in rows {
        table.add_row([
            format!("{:.4}", row.t),
            format!("{:.6}", row.t2_energy),
            format!("{:.6}", row.energy),
            format!("{:.6}", row.energy_temporal),
            format!("{:.6}", row.energy_spatial),
            format!("{:.8}", row.plaquette),
            format!("{:.5}", row.charge),
        ]);
    }
    table
}

/// What the CSV has of each time.
const COLUMNS: [&str; 7] = ["t", "energy", "energy_temporal", "energy_spatial", "t2_energy", "plaquette", "charge"];

fn cells(row: &Row) -> Vec<String> {
    let numbers =
        [row.t, row.energy, row.energy_temporal, row.energy_spatial, row.t2_energy, row.plaquette, row.charge];
    numbers.into_iter().flat_map(|number| with_bits(Some(number))).collect()
}
