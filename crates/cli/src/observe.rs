//! `lanefield observe`: plaquettes, rectangles, energy density, topological charge, Polyakov and Wilson loops of configurations.

mod report;

use std::fmt;
use std::str::FromStr;

use clap::ValueEnum;
use lanefield::gauge::{
    Action, CloverObservables, Flow, GaugeField, GaugeFieldError, LARGEST_STEP, OfPlanes, Smearing, StepChoice,
};
use lanefield::io::configuration::ConfigurationFile;
use lanefield::reference::layout::DIMENSION_NAMES;
use lanefield::statistics::Estimate;

use super::args::OnLatticeArgs;
use super::configuration::EnsembleArgs;
use super::configuration::list::Configurations;
use super::files::{figure, given, named, require_outputs, write_figure};
use super::interrupt::{advise, ends_on, keep};
use super::numbers::bits;
use super::progress::progress_bar;
use super::resampling::ResamplingArgs;
use crate::prelude::*;
use report::{Measured, Report, Value};

/// Measure gauge observables of configurations.
///
/// Links can be smeared or flowed first. Sums over sites are exact: the bits are the same on every device. On several configurations it prints means with
/// errors; --plot draws the history of each observable.
///
/// docs/agreement.md lists the conventions of other programs.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield config generate weak --lattice 4.4.4.8 --seed 1 --output weak.nersc
  lanefield observe --config weak.nersc
  lanefield observe --config weak.nersc --observables clover,polyakov --json
  lanefield observe --config weak.nersc --flow 0.5 \\
      --observables clover,improved
  lanefield observe --config weak.nersc --smear hyp:0.75,0.6,0.3,1 \\
      --observables wilson --loops 2,4
  lanefield config generate heatbath --beta 5.7 --lattice 4.4.4.4 --seed 1 \\
      --thermalise 20 --sweeps 60 --every 5 --output small
  lanefield observe --config small --observables plaquette,clover \\
      --plot history.pdf")]
pub struct Observe {
    #[command(flatten)]
    input: EnsembleArgs,
    /// Observables to measure
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        default_values = ["plaquette", "rectangle", "clover", "polyakov"]
    )]
    observables: Vec<Observable>,
    /// Run the Wilson flow to TIME first, in steps of at most STEP [default: 0.02]
    #[arg(long, value_name = "TIME[,STEP]", conflicts_with = "smear")]
    flow: Option<FlowFirst>,
    /// Smear the links first: stout:RHO,STEPS, ape:ALPHA,STEPS, spatial-ape:ALPHA,STEPS or hyp:ALPHA1,ALPHA2,ALPHA3,STEPS
    #[arg(long, aliases = ["kind", "smearing"], value_name = "KIND")]
    smear: Option<Smearing>,
    /// Maximum extents of Wilson loops, in space and in time [default: half of the lattice]
    #[arg(long, value_name = "R,T", value_parser = loops)]
    loops: Option<[usize; 2]>,
    #[command(flatten)]
    errors: ResamplingArgs,
    /// Draw the history of each observable of several configurations: .svg, .pdf or .png
    #[arg(long, help_heading = "Output", value_name = "FILE", value_parser = named(figure))]
    plot: Option<PathBuf>,
    #[command(flatten)]
    on: OnLatticeArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Observable {
    /// Average plaquettes: of all planes, of those in space, and of those with time
    Plaquette,
    /// Average 1×2 rectangles
    Rectangle,
    /// Energy density and topological charge of the clover field strength
    Clover,
    /// The same with a field strength improved by squares of two steps
    Improved,
    /// Polyakov loops in each direction
    Polyakov,
    /// Wilson loops on the axes
    Wilson,
}

/// How far links flow before they are measured.
#[derive(Clone, Copy, PartialEq, Debug)]
struct FlowFirst {
    time: f64,
    step: f64,
}

/// Of the size of a step: a time is a number of them that ends.
const LEAST_STEP: f64 = 1e-4;

impl FromStr for FlowFirst {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (time, step) = text.split_once(',').unwrap_or((text, "0.02"));
        let positive = |text: &str| text.trim().parse().ok().filter(|x: &f64| *x > 0.0 && x.is_finite());
        let read = || {
            Some(Self {
                time: positive(time).filter(|time| *time <= 1e4)?,
                step: positive(step).filter(|step| (LEAST_STEP..=LARGEST_STEP).contains(step))?,
            })
        };
        read().ok_or_else(|| {
            format!(
                "invalid flow '{text}': expected its time, and the size of a step from {LEAST_STEP} to {LARGEST_STEP}, as in 1.5,0.05"
            )
        })
    }
}

impl fmt::Display for FlowFirst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{}", self.time, self.step)
    }
}

pub fn loops(text: &str) -> Result<[usize; 2], String> {
    let numbers: Option<Vec<usize>> =
        text.split(',').map(|number| number.parse().ok().filter(|&steps| steps > 0)).collect();
    let pair = numbers.and_then(|numbers| <[usize; 2]>::try_from(numbers).ok());
    pair.ok_or_else(|| format!("invalid loops '{text}': expected two whole numbers from 1 on, R,T"))
}

impl Observe {
    pub fn run(self) -> anyhow::Result<Outcome> {
        let files = self.input.files()?;
        let inputs: Vec<(&str, &Path)> = files.iter().map(|path| ("--config", path.as_path())).collect();
        require_outputs(&given([("--plot", &self.plot)]).collect::<Vec<_>>(), &inputs)?;
        ensure!(
            files.len() > 1 || self.plot.is_none(),
            "--plot draws a history, which takes 2 configurations or more, and there is 1"
        );
        self.errors.require(files.len())?;
        let configurations = Configurations::begin(&files, self.input.read, &self.on.ranks)?;
        let whole = configurations.lattice().clone();
        let backend = self.on.open(&whole, Precision::F64)?;
        let bar = progress_bar();
        bar.set_length(files.len() as u64);
        let mut measured: Vec<(String, Vec<(String, f64)>)> = Vec::new();
        for configuration in configurations {
            let (path, file) = configuration?;
            let values = backend.install(|| self.measure(&backend, &file));
            let values = values.with_context(|| format!("failed to measure on {}", path.display()))?;
            // One that a signal ended has no place among several.
            let is_whole = measured.first().is_none_or(|(_, first)| first.len() == values.len());
            if is_whole {
                measured.push((path.display().to_string(), values));
            }
            bar.inc(1);
            if files.len() > 1 {
                keep();
                if ends_on(&whole) {
                    break;
                }
            }
        }
        bar.finish_and_clear();
        if measured.len() < files.len() {
            let [done, all] = [measured.len(), files.len()];
            say!("interrupted: a signal ended it after {done} of {all} configurations, whose observables follow");
        }
        let lattice = whole.extents().as_array();
        let report = self.report(lattice, measured, files.len() > 1)?;
        let plotted = match &self.plot {
            Some(path) => {
                let before = [&report.flow, &report.smearing].into_iter().flatten().next();
                let before = before.map_or_else(String::new, |what| format!(", after {what}"));
                write_figure(path, &report.figure(&format!("Observables on {}{before}", whole.extents())).draw())
            }
            None => Ok(()),
        };
        // What cannot be kept is printed.
        show(self.on.json, Head::on(Kind::Observe, backend.device()), &report, Report::text)?;
        plotted?;
        Ok(Outcome::Done)
    }

    /// Of one configuration its values; of several their means with errors, and the values of each.
    fn report(
        &self,
        lattice: [usize; 4],
        measured: Vec<(String, Vec<(String, f64)>)>,
        several: bool,
    ) -> anyhow::Result<Report> {
        let names: Vec<String> =
            measured.first().iter().flat_map(|(_, first)| first.iter()).map(|(name, _)| name.clone()).collect();
        let (files, values): (Vec<String>, Vec<Vec<f64>>) = measured
            .into_iter()
            .map(|(file, values)| (file, values.into_iter().map(|(_, value)| value).collect::<Vec<f64>>()))
            .unzip();
        let smearing = self.smear.as_ref().map(Smearing::to_string);
        let flow = self.flow.map(|flow| flow.to_string());
        let value = |name: String, value: f64, error| Value { name, value, bits: bits(value), error };
        if !several {
            let values =
                names.into_iter().zip(values.into_iter().flatten()).map(|(name, x)| value(name, x, None)).collect();
            return Ok(Report { lattice, flow, smearing, values, history: Vec::new(), bins: None });
        }
        // After a signal there may be fewer than were given.
        let errors = if self.errors.require(values.len()).is_ok() { self.errors } else { ResamplingArgs::default() };
        let samples = errors.samples(&values)?;
        let means = errors.resampling().estimates(&samples, |mean| mean.iter().copied().map(Some).collect());
        let of_mean = |(name, mean): (String, Option<Estimate>)| mean.map(|mean| value(name, mean.value, mean.error));
        let means = names.into_iter().zip(means).filter_map(of_mean).collect();
        let bins = Some(errors.bins(&files));
        let history = files.into_iter().zip(values).map(|(file, values)| Measured { file, values }).collect();
        Ok(Report { lattice, flow, smearing, values: means, history, bins })
    }

    fn measure(&self, backend: &AnyBackend, file: &ConfigurationFile) -> Result<Vec<(String, f64)>, GaugeFieldError> {
        let configuration = &file.configuration;
        let mut field = GaugeField::new(backend, configuration, self.on.backend.lanes)?;
        if self.flow.is_some() {
            advise(
                "lanefield flow --output FILE keeps the links that it has reached, and continues; observe --config FILE measures them",
            );
        } else if self.smear.is_some() {
            advise(
                "lanefield smear --output FILE keeps the links that it has reached, and continues; observe --config FILE measures them",
            );
        }
        if let Some(FlowFirst { time, step }) = self.flow {
            let mut flow = Flow::new(field, Action::Wilson, StepChoice::Fixed(step))?;
            // As `flow` goes: steps end at multiples of their size.
            let mut steps = 0.0;
            while flow.time() < time {
                steps += 1.0;
                flow.advance((steps * step).min(time))?;
            }
            field = flow.into_field();
        }
        if let Some(smearing) = &self.smear {
            field.smear(smearing)?;
        }
        let mut values = Vec::new();
        let mut add = |name: String, value: f64| values.push((name, value));
        let of_planes =
            |name: &str, OfPlanes { all, spatial, temporal }: OfPlanes, add: &mut dyn FnMut(String, f64)| {
                add(name.to_owned(), all);
                add(format!("{name} spatial"), spatial);
                add(format!("{name} temporal"), temporal);
            };
        let of_strength = |name: &str, clover: CloverObservables, add: &mut dyn FnMut(String, f64)| {
            add(format!("{name}energy density"), clover.energy());
            add(format!("{name}energy density spatial"), clover.spatial);
            add(format!("{name}energy density temporal"), clover.temporal);
            add(format!("{name}topological charge"), clover.charge);
        };
        for (done, observable) in self.observables.iter().enumerate() {
            if done > 0 {
                keep();
                if ends_on(&file.lattice) {
                    let all = self.observables.len();
                    say!("interrupted: a signal ended it after {done} of {all} observables, which follow");
                    break;
                }
            }
            match observable {
                Observable::Plaquette => of_planes("plaquette", field.plaquettes()?, &mut add),
                Observable::Rectangle => of_planes("rectangle", field.rectangles()?, &mut add),
                Observable::Clover => of_strength("", field.clover()?, &mut add),
                Observable::Improved => of_strength("improved ", field.improved_clover()?, &mut add),
                Observable::Polyakov => {
                    for (direction, name) in Direction::ALL.into_iter().zip(DIMENSION_NAMES) {
                        let trace = field.polyakov_loop(direction)?;
                        add(format!("Polyakov loop {name} re"), trace.re);
                        add(format!("Polyakov loop {name} im"), trace.im);
                    }
                }
                Observable::Wilson => {
                    let [x, y, z, t] = configuration.extents().global().as_array();
                    let half = [x.min(y).min(z), t].map(|extent| (extent / 2).max(1));
                    let [most_r, most_t] = self.loops.unwrap_or(half);
                    for (r, row) in (1..).zip(field.wilson_loops(most_r, most_t)?) {
                        for (t, value) in (1..).zip(row) {
                            add(format!("Wilson loop {r},{t}"), value);
                        }
                    }
                }
            }
        }
        Ok(values)
    }
}
