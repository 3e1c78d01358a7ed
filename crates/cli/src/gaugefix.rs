//! `lanefield gaugefix`: a configuration in Landau or Coulomb gauge.

use std::path::PathBuf;

use anyhow::ensure;
use clap::{Args, ValueEnum};
use lanefield::gauge::{Gauge, GaugeFixed, GaugeFixing, GaugePoint, GaugeStart, LARGEST_OVERRELAXATION, Stopping};
use lanefield::reference::layout::{DIMENSION_NAMES, Direction};
use lanefield_lab::Timed as _;
use serde::Serialize;

use super::Outcome;
use super::args::{BackendArgs, finite};
use super::config::write_configuration;
use super::files::{read_configuration_on, require_outputs};
use super::output::{Head, Kind, bits, facts, joined, show, with_bits};
use super::progress::ShareBar;
use super::ranks::RanksArgs;

/// Bring a gauge configuration into Landau or Coulomb gauge by overrelaxation, with the same links and as many iterations on every device.
///
/// F, which is maximised, is the average of Re tr U / 3 over the links of the directions that are fixed. θ is the average over sites of tr Δ Δ† / 3, with Δ the
/// divergence of the traceless anti-Hermitian parts of links; in Coulomb gauge it is that of the time slice where it is largest.
/// Exit code 1, and no file, if θ is not below the tolerance after all iterations.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield config generate weak --lattice 4.4.4.8 --seed 1 --output weak.nersc
  lanefield gaugefix --config weak.nersc --output landau.nersc
  lanefield gaugefix --gauge coulomb --config weak.nersc \\
      --output coulomb.nersc --tolerance 1e-14 --json
  lanefield gaugefix --config weak.nersc --output other.nersc \\
      --start random --seed 3 --overrelaxation 1.6 --device cpu")]
pub struct Gaugefix {
    /// landau: links of all directions; coulomb: of all but that of time
    #[arg(long, value_name = "GAUGE", default_value = "landau")]
    gauge: Gauge,
    /// For coulomb: the direction of time, x, y, z or t [default: t]
    #[arg(long, value_name = "DIRECTION")]
    time_direction: Option<Direction>,
    /// The configuration: a NERSC, ILDG, SciDAC or MILC file, or a NumPy array (T, Z, Y, X, 4, 3, 3) if it ends in .npy
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// The file to write: a NumPy array if it ends in .npy, an ILDG file if in .lime, a MILC file if in .milc, else a NERSC file
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
    /// θ at which to stop
    #[arg(long, value_name = "TOL", default_value = "1e-12", value_parser = tolerance)]
    tolerance: f64,
    /// How far each step goes, as a multiple of the way to the largest F: 1 to 1.99
    #[arg(long, value_name = "OMEGA", default_value = "1.7", value_parser = overrelaxation)]
    overrelaxation: f64,
    /// Give up after so many iterations
    #[arg(long, value_name = "N", default_value = "10000", value_parser = super::args::iterations)]
    max_iterations: usize,
    /// Measure θ after every so many iterations
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    every: u32,
    /// What the gauge transformation begins as
    #[arg(long, value_enum, default_value_t = Start::Identity)]
    start: Start,
    /// For --start random: seed of the gauge transformation
    #[arg(long, value_name = "N", value_parser = super::args::seed)]
    seed: Option<u64>,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    backend: BackendArgs,
    #[command(flatten)]
    ranks: RanksArgs,
}

/// What a gauge transformation begins as.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Start {
    /// 1 at every site
    Identity,
    /// Random matrices of SU(3)
    Random,
}

fn tolerance(text: &str) -> Result<f64, String> {
    let value = finite(text).ok().filter(|&tolerance| tolerance > 0.0);
    value.ok_or_else(|| format!("invalid tolerance '{text}': expected a number greater than 0"))
}

fn overrelaxation(text: &str) -> Result<f64, String> {
    let value = finite(text).ok().filter(|omega| (1.0..=LARGEST_OVERRELAXATION).contains(omega));
    value.ok_or_else(|| format!("invalid ω '{text}': expected a number from 1 to {LARGEST_OVERRELAXATION}"))
}

impl Gaugefix {
    pub fn run(self) -> anyhow::Result<Outcome> {
        let (gauge, start) = (self.gauge()?, self.start()?);
        require_outputs(&[("--output", &self.output)], &[("--config", &self.config)])?;
        let file = read_configuration_on(&self.ranks, &self.config)?;
        let backend = self.backend.open_on(&file.lattice, &self.ranks)?;
        let stopping = Stopping {
            tolerance: self.tolerance,
            overrelaxation: self.overrelaxation,
            max_iterations: self.max_iterations,
            every: self.every as usize,
        };
        let bar = ShareBar::new();
        let (fixed, links) = backend.install(|| {
            let fixing = GaugeFixing::new(&backend, &file.configuration, gauge, start, self.backend.lanes);
            fixing.map_err(anyhow::Error::from).and_then(|mut fixing| {
                let fixed = fixing.fix(&stopping, shows(&bar, self.tolerance))?;
                Ok((fixed, fixing.fixed()?))
            })
        })?;
        bar.end();
        let GaugeFixed { converged, history } = fixed;
        if converged {
            write_configuration(&self.output, &links, &file.lattice)?;
        }
        let history: Vec<_> = history.iter().map(Row::of).collect();
        let Some(Row { iteration, functional, functional_bits, theta, theta_bits }) = history.last().cloned() else {
            anyhow::bail!("nothing was measured");
        };
        let plaquette = file.lattice.plaquette(&links)?;
        let report = Report {
            file: converged.then(|| self.output.display().to_string()),
            gauge: gauge.to_string(),
            time_direction: match gauge {
                Gauge::Landau => None,
                Gauge::Coulomb { time } => Some(DIMENSION_NAMES[time.index()]),
            },
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
        show(self.json, Head::on(Kind::Gaugefix, backend.device()), &report, Report::text)?;
        if !converged {
            let Report { theta, iterations, tolerance, .. } = &report;
            say!(
                "error: θ is {theta:.3e} after {iterations} iterations, and not below {tolerance:e}: allow more with --max-iterations, or try another --overrelaxation"
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
    /// The file that was written; null where θ did not become small enough.
    file: Option<String>,
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
            ("plaquette before", self.plaquette_before.to_string()),
            ("plaquette", with_bits(self.plaquette)),
            ("worst unitarity", format!("{:.2e}", self.unitarity_defect)),
        ];
        format!("{}\n{}", self.file.as_deref().unwrap_or("not written: θ is above the tolerance"), facts(rows))
    }
}
