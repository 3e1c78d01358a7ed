//! `lanefield observe`: plaquettes, rectangles, energy density, topological charge, Polyakov and Wilson loops of a configuration.

use std::fmt;
use std::str::FromStr;

use clap::ValueEnum;
use lanefield::gauge::{
    Action, CloverObservables, Flow, GaugeField, GaugeFieldError, LARGEST_STEP, OfPlanes, Smearing, StepChoice,
};
use lanefield::io::configuration::ConfigurationFile;
use lanefield::reference::layout::DIMENSION_NAMES;

use super::args::OnLatticeArgs;
use super::configuration::ConfigArgs;
use super::interrupt::{advise, ends_on, keep};
use super::output::{bits, joined, table, with_bits};
use crate::prelude::*;

/// Measure gauge observables of a configuration.
///
/// The configuration can be smeared or flowed first. Sums over sites are exact: the bits are the same on every device.
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
      --observables wilson --loops 2,4")]
pub struct Observe {
    #[command(flatten)]
    input: ConfigArgs,
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
        let file = self.input.read(&self.on.ranks)?;
        let backend = self.on.open(&file.lattice, Precision::F64)?;
        let values = backend.install(|| self.measure(&backend, &file))?;
        let lattice = file.lattice.extents().as_array();
        let smearing = self.smear.map(|smearing| smearing.to_string());
        let report = Report { lattice, flow: self.flow.map(|flow| flow.to_string()), smearing, values };
        show(self.on.json, Head::on(Kind::Observe, backend.device()), &report, Report::text)
    }

    fn measure(&self, backend: &AnyBackend, file: &ConfigurationFile) -> Result<Vec<Value>, GaugeFieldError> {
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
        let mut add = |name: String, value: f64| values.push(Value { name, value, bits: bits(value) });
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

/// What was measured. As JSON, these fields.
#[derive(Serialize)]
struct Report {
    lattice: [usize; 4],
    /// Time and step of the Wilson flow that was taken first; null if there was none.
    flow: Option<String>,
    /// What the links were smeared by first; null if they were not.
    smearing: Option<String>,
    values: Vec<Value>,
}

#[derive(Serialize)]
struct Value {
    name: String,
    value: f64,
    bits: String,
}

impl Report {
    fn text(&self) -> String {
        let smeared = self.smearing.as_ref().map_or_else(String::new, |smearing| format!(", smeared by {smearing}"));
        let flowed = self.flow.as_ref().map_or_else(String::new, |flow| format!(", after the Wilson flow {flow}"));
        let mut table = table(["observable", "value"], 1..2);
        for Value { name, value, .. } in &self.values {
            table.add_row([name.clone(), with_bits(*value)]);
        }
        format!("{}{flowed}{smeared}\n{table}", joined(&self.lattice, "."))
    }
}
