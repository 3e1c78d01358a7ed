//! `lanefield gaugefix`: a configuration in Landau or Coulomb gauge.

use clap::ValueEnum;
use lanefield::gauge::{Gauge, GaugeFixed, GaugeFixing, GaugePoint, GaugeStart, LARGEST_OVERRELAXATION, Stopping};
use lanefield::reference::layout::DIMENSION_NAMES;

use super::args::{OnLatticeArgs, finite, positive_tolerance};
use super::configuration::{ConfigArgs, FormatArgs, MadeOutput};
use super::files::but_with;
use super::interrupt::{ends_on, keep};
use super::numbers::{bits, small, with_bits};
use super::output::{facts, joined};
use super::progress::ShareBar;
use crate::prelude::*;

/// Fix a configuration to Landau or Coulomb gauge.
///
/// The method is overrelaxation. The links and the number of iterations are the same on every device.
///
/// It maximises F, the average of Re tr U / 3 over the links of the directions that are fixed, and stops when θ is below the tolerance. θ is the
/// average over sites of tr Δ Δ† / 3, with Δ the divergence of the traceless anti-Hermitian parts of links. In Coulomb gauge, θ is that of the time
/// slice with the largest value.
///
/// Exit code 1 if θ is not below the tolerance after all iterations. The links are then in x.stopped.nersc for x.nersc, from which you can continue.
/// docs/agreement.md lists the conventions of other programs.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield config generate weak --lattice 4.4.4.8 --seed 1 --output weak.nersc
  lanefield gaugefix --config weak.nersc --output landau.nersc
  lanefield gaugefix --gauge coulomb --config weak.nersc \\
      --output coulomb.nersc --tolerance 1e-14 --json
  lanefield gaugefix --config weak.nersc --output other.nersc \\
      --start random --seed 3 --omega 1.6 --device cpu")]
pub struct Gaugefix {
    /// Gauge to fix: landau uses the links of all directions, coulomb of all but that of time
    #[arg(long, value_name = "GAUGE", default_value = "landau")]
    gauge: Gauge,
    /// Direction of time for --gauge coulomb: x, y, z or t [default: t]
    #[arg(long, value_name = "DIRECTION")]
    time_direction: Option<Direction>,
    #[command(flatten)]
    input: ConfigArgs,
    /// File to write, in the format of its extension: .nersc (or none), .lime (ILDG), .milc, .npy, .h5
    #[arg(long, help_heading = "Output", value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    format: FormatArgs,
    /// Stop when θ is below this tolerance
    #[arg(long, value_name = "TOL", default_value = "1e-12", value_parser = positive_tolerance)]
    tolerance: f64,
    /// Overrelaxation parameter ω, from 1 to 1.99: the length of each step, as a multiple of the step to the largest F
    #[arg(long = "omega", alias = "overrelaxation", value_name = "OMEGA", default_value = "1.7", value_parser = overrelaxation)]
    overrelaxation: f64,
    /// Maximum number of iterations
    #[arg(long, value_name = "N", default_value = "10000", value_parser = super::args::iterations)]
    max_iterations: usize,
    /// Measure θ after every N iterations
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    every: u32,
    /// Starting gauge transformation
    #[arg(long, value_enum, default_value_t = Start::Identity)]
    start: Start,
    /// Seed of the gauge transformation, for --start random
    #[arg(long, value_name = "N", value_parser = super::args::seed)]
    seed: Option<u64>,
    #[command(flatten)]
    on: OnLatticeArgs,
}

/// Starting gauge transformation.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Start {
    /// 1 at every site
    Identity,
    /// Random matrices of SU(3)
    Random,
}

/// θ, a mean of squares, of links that are in the gauge but for rounding in f64.
const ROUNDING: f64 = 1e-28;

fn overrelaxation(text: &str) -> Result<f64, String> {
    let value = finite(text).ok().filter(|omega| (1.0..=LARGEST_OVERRELAXATION).contains(omega));
    value.ok_or_else(|| format!("invalid ω '{text}': expected a number from 1 to {LARGEST_OVERRELAXATION}"))
}

impl Gaugefix {
    pub fn run(self) -> anyhow::Result<Outcome> {
        let (gauge, start) = (self.gauge()?, self.start()?);
        MadeOutput::check((Some(&self.output), &self.format), &[], &self.input.config)?;
        let file = self.input.read(&self.on.ranks)?;
        let time = match gauge {
            Gauge::Landau => None,
            Gauge::Coulomb { time } => Some(DIMENSION_NAMES[time.index()]),
        };
        let made_by = time.map_or_else(|| gauge.to_string(), |time| format!("{gauge}:{time}"));
        let settings = [
            ("gauge", gauge.to_string().into()),
            ("time_direction", time.into()),
            ("tolerance", self.tolerance.into()),
            ("overrelaxation", self.overrelaxation.into()),
            ("every", self.every.into()),
            ("start", super::args::name_of(self.start).into()),
            ("seed", self.seed.into()),
            self.input.read.setting(),
        ];
        let output = (&*self.output, &self.format);
        let output = MadeOutput::new(output, "gaugefix", (&self.input.config, &file), made_by, settings)?;
        let backend = self.on.open(&file.lattice, Precision::F64)?;
        let stopping = Stopping {
            tolerance: self.tolerance,
            overrelaxation: self.overrelaxation,
            max_iterations: self.max_iterations,
            every: self.every as usize,
        };
        let bar = ShareBar::new();
        let (fixed, links) = backend.install(|| {
            let fixing = GaugeFixing::new(&backend, &file.configuration, gauge, start, self.on.backend.lanes);
            fixing.map_err(anyhow::Error::from).and_then(|mut fixing| {
                let mut show = shows(&bar, self.tolerance);
                let fixed = fixing.fix_while(&stopping, |point| {
                    show(point);
                    let goes_on = !ends_on(&file.lattice);
                    keep();
                    goes_on
                })?;
                Ok((fixed, fixing.fixed()?))
            })
        })?;
        bar.end();
        let GaugeFixed { converged, history } = fixed;
        let stopped = !converged && file.lattice.is_stopping();
        let (written, note) =
            if converged { (output.write(&links)?, "") } else { output.write_stopped(&links, None)? };
        let history: Vec<_> = history.iter().map(Row::of).collect();
        let Some(Row { iteration, functional, functional_bits, theta, theta_bits }) = history.last().cloned() else {
            anyhow::bail!("nothing was measured");
        };
        let plaquette = file.lattice.plaquette(&links)?;
        let report = Report {
            file: written.display().to_string(),
            gauge: gauge.to_string(),
            time_direction: time,
            lattice: file.lattice.extents().as_array(),
            start: super::args::name_of(self.start),
            seed: self.seed,
            tolerance: self.tolerance,
            overrelaxation: self.overrelaxation,
            max_iterations: self.max_iterations,
            converged,
            iterations: iteration,
            functional,
            functional_bits,
            theta,
            theta_bits,
            plaquette_before: file.plaquette()?,
            plaquette,
            plaquette_bits: bits(plaquette),
            unitarity_defect: file.lattice.largest(links.unitarity_defect().defect)?,
            history,
        };
        show(self.on.json, Head::on(Kind::Gaugefix, backend.device()), &report, Report::text)?;
        let left_out: &[&str] = if self.start == Start::Random { &["--start", "--seed"] } else { &[] };
        let but = but_with(left_out, std::iter::empty());
        let continues = format!("the same command with --config {} continues{note}{but}", written.display());
        if stopped {
            say!("interrupted: a signal ended it after iteration {}: {continues}", report.iterations);
            return Ok(Outcome::Done);
        }
        if !converged {
            let Report { theta, iterations, tolerance, .. } = &report;
            let cure = match *theta < ROUNDING {
                true => "that is as far as f64 goes: use a larger --tolerance",
                false => "allow more with --max-iterations, or try another --omega",
            };
            say!(
                "error: θ is {theta:.3e} after {iterations} iterations, and not below {tolerance:e}: {cure}; {continues}"
            );
        }
        Ok(if converged { Outcome::Done } else { Outcome::CheckFailed })
    }

    fn gauge(&self) -> anyhow::Result<Gauge> {
        let Some(time) = self.time_direction else { return Ok(self.gauge) };
        ensure!(
            self.gauge != Gauge::Landau,
            "--time-direction is for --gauge coulomb; landau has links of all directions"
        );
        Ok(Gauge::Coulomb { time })
    }

    fn start(&self) -> anyhow::Result<GaugeStart> {
        match (self.start, self.seed) {
            (Start::Identity, None) => Ok(GaugeStart::Identity),
            (Start::Random, Some(seed)) => Ok(GaugeStart::Random(seed)),
            (Start::Identity, Some(_)) => anyhow::bail!("--seed is for --start random; identity has no random numbers"),
            (Start::Random, None) => anyhow::bail!("--start random needs --seed N"),
        }
    }
}

/// Shows the digits of θ that are won, of those that are wanted.
fn shows(bar: &ShareBar, tolerance: f64) -> impl FnMut(&GaugePoint) {
    // θ may rise at first.
    let mut largest = 0.0f64;
    move |&GaugePoint { iteration, functional, theta }| {
        largest = largest.max(theta);
        let share = (theta / largest).ln() / (tolerance / largest).ln();
        bar.show(share, format!("iteration {iteration}, F {functional:.8}, θ {theta:.2e}"));
    }
}

/// What was measured after some iterations. As JSON, these fields.
#[derive(Clone, Serialize)]
struct Row {
    iteration: usize,
    /// F, and its 16 hex digits.
    functional: f64,
    functional_bits: String,
    /// θ, the same.
    theta: f64,
    theta_bits: String,
}

impl Row {
    fn of(&GaugePoint { iteration, functional, theta }: &GaugePoint) -> Self {
        Self { iteration, functional, functional_bits: bits(functional), theta, theta_bits: bits(theta) }
    }
}

/// What came out. As JSON, these fields.
#[derive(Serialize)]
struct Report {
    /// The file that was written: where θ did not become small enough, one that it continues from.
    file: String,
    /// `landau` or `coulomb`.
    gauge: String,
    /// Of Coulomb gauge; null of Landau gauge.
    time_direction: Option<&'static str>,
    lattice: [usize; 4],
    /// `identity` or `random`.
    start: String,
    /// Of a random start; null of others.
    seed: Option<u64>,
    tolerance: f64,
    /// ω.
    overrelaxation: f64,
    max_iterations: usize,
    converged: bool,
    iterations: usize,
    /// F and θ at the end, and their 16 hex digits.
    functional: f64,
    functional_bits: String,
    theta: f64,
    theta_bits: String,
    plaquette_before: f64,
    plaquette: f64,
    plaquette_bits: String,
    /// The largest of |U U† − 1| and |det U − 1| of any link.
    unitarity_defect: f64,
    /// F and θ from the start on.
    history: Vec<Row>,
}

impl Report {
    fn text(&self) -> String {
        let gauge = match self.time_direction {
            Some(time) => format!("{}, time along {time}", self.gauge),
            None => self.gauge.clone(),
        };
        let rows = [
            ("lattice", joined(&self.lattice, ".")),
            ("gauge", gauge),
            ("iterations", self.iterations.to_string()),
            ("F", with_bits(self.functional)),
            ("θ", with_bits(self.theta)),
            ("plaquette before", with_bits(self.plaquette_before)),
            ("plaquette", with_bits(self.plaquette)),
            ("largest deviation", small(self.unitarity_defect, 2)),
        ];
        format!("{}\n{}", self.file, facts(rows))
    }
}
