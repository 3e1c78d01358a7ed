//! `lanefield potential`: the static potential of Wilson loops on several configurations, the string tension and Sommer's scale r₀.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use clap::Args;
use lanefield::dynamic::AnyBackend;
use lanefield::gauge::{Cornell, GaugeField, GaugeFieldError, PotentialPoint, Smearing, potential};
use lanefield::reference::gauge::Configuration;
use lanefield::statistics::{Estimate, Window};
use lanefield_lab::Timed as _;
use serde::Serialize;

use super::Outcome;
use super::args::BackendArgs;
use super::configurations::{Configurations, files_of};
use super::csv_output::{decimal, with_bits, write_csv};
use super::files::{given, require_outputs};
use super::observe::loops;
use super::output::{Head, Kind, ruled_table, show, table};
use super::progress::progress_bar;
use super::ranks::RanksArgs;
use super::resampling::{Number, ResamplingArgs};

/// The potential of static quarks on the axes, V(r) = ln [W(r, t) / W(r, t + 1)] of Wilson loops averaged over configurations, and its fit.
///
/// The fit is V₀ - α/r + σ r, each distance weighed by its error; r₀ = √((1.65 - α) / σ) is Sommer's scale. There is one for each time t; t is late enough
/// where r₀ changes no more from it to the next. Smearing lets that come sooner, and changes V(r) at distances of a step or two.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield config generate heatbath --beta 5.7 --lattice 6.6.6.6 --seed 1 \\
      --thermalise 20 --sweeps 60 --every 5 --output nine
  lanefield potential nine --smear hyp:0.75,0.6,0.3,1 --loops 3,3
  lanefield potential nine --smear hyp:0.75,0.6,0.3,1 spatial-ape:0.5,5 \\
      --loops 3,3 --bootstrap 100 --seed 1 --csv potential.csv --json")]
pub struct Potential {
    /// The configurations: NERSC, ILDG, SciDAC or MILC files, NumPy arrays (T, Z, Y, X, 4, 3, 3) if they end in .npy, or the directory of an ensemble
    #[arg(value_name = "FILES", required = true)]
    configurations: Vec<PathBuf>,
    /// Smear the links first, by one kind after the other: stout:RHO,STEPS, ape:ALPHA,STEPS, spatial-ape:ALPHA,STEPS or hyp:ALPHA1,ALPHA2,ALPHA3,STEPS
    #[arg(long, value_name = "KIND", num_args = 1..)]
    smear: Vec<Smearing>,
    /// The longest Wilson loops, in space and in time [default: half of the lattice]
    #[arg(long, value_name = "R,T", value_parser = loops)]
    loops: Option<[usize; 2]>,
    /// Distances that are fitted, the first and the last one [default: 1 to R]
    #[arg(long, value_name = "FIRST:LAST")]
    fit: Option<Window>,
    #[command(flatten)]
    errors: ResamplingArgs,
    /// Write the potential at all times as CSV; what does not exist is empty
    #[arg(long, value_name = "FILE.csv")]
    csv: Option<PathBuf>,
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    backend: BackendArgs,
    #[command(flatten)]
    ranks: RanksArgs,
}

/// Which loops are measured.
#[derive(Clone, Copy)]
struct Longest {
    r: usize,
    t: usize,
}

impl Longest {
    /// Where W(r, t) stands in a measurement.
    fn place(self, r: usize, t: usize) -> usize {
        (r - 1) * self.t + t - 1
    }

    /// V(r) at a time.
    fn potential(self, measured: &[f64], r: usize, t: usize) -> Option<f64> {
        potential(*measured.get(self.place(r, t))?, *measured.get(self.place(r, t + 1))?)
    }
}

impl Potential {
    pub fn run(self) -> anyhow::Result<Outcome> {
        let files = files_of(&self.configurations)?;
        let inputs: Vec<(&str, &Path)> = files.iter().map(|path| ("FILES", path.as_path())).collect();
        require_outputs(&given([("--csv", &self.csv)]).collect::<Vec<_>>(), &inputs)?;
        let configurations = Configurations::begin(&files, &self.ranks)?;
        let lattice = configurations.lattice().clone();
        let extents = lattice.extents();
        let [x, y, z, t] = extents.as_array();
        let half = [x.min(y).min(z), t].map(|extent| extent / 2);
        let [r, t] = self.loops.unwrap_or(half);
        let longest = Longest { r, t };
        let window = self.wanted(longest)?;
        let backend = self.backend.open_on(&lattice, &self.ranks)?;
        let bar = progress_bar();
        bar.set_length(files.len() as u64);
        let mut measurements = Vec::new();
        for configuration in configurations {
            let (path, file) = configuration?;
            let measured = backend.install(|| self.measure(&backend, &file.configuration, longest));
            measurements.push(measured.with_context(|| format!("failed to measure on {}", path.display()))?);
            bar.inc(1);
        }
        bar.finish_and_clear();
        let found = Averaged::of(&measurements, longest, self.errors);
        let potential = |r: usize| (1..longest.t).map(|t| found.potential(r, t).map(Number::from)).collect();
        let report = Report {
            lattice: extents.as_array(),
            smearing: self.smear.iter().map(Smearing::to_string).collect(),
            configurations: measurements.len(),
            bin: self.errors.bin,
            bootstrap: self.errors.bootstrap,
            seed: self.errors.seed,
            distances: (1..=longest.r).map(|r| Distance { r, potential: potential(r) }).collect(),
            first: window.first,
            last: window.last,
            fits: (1..longest.t).filter_map(|time| found.fit(time, window)).collect(),
        };
        let header = ["r", "t", "potential", "potential_bits", "error"];
        write_csv(self.csv.as_deref(), header, rows(&report.distances))?;
        show(self.json, Head::on(Kind::Potential, backend.device()), &report, |report| {
            report.text(&self.errors.describe())
        })
    }

    /// The distances that are fitted.
    fn wanted(&self, longest: Longest) -> anyhow::Result<Window> {
        let Longest { r, t } = longest;
        ensure!(t >= 2, "a potential needs loops of two times, and --loops has {t}: expected 2 or more");
        if let Some(window) = self.fit {
            ensure!(
                window.first >= 1 && window.last <= r && window.first + 2 <= window.last,
                "--fit {window}: expected three distances or more from 1 to {r}, the first one first"
            );
        }
        Ok(self.fit.unwrap_or(Window { first: 1, last: r }))
    }

    /// W(r, t), those of a distance together.
    fn measure(
        &self,
        backend: &AnyBackend,
        configuration: &Configuration,
        longest: Longest,
    ) -> Result<Vec<f64>, GaugeFieldError> {
        let mut field = GaugeField::new(backend, configuration, self.backend.lanes)?;
        for smearing in &self.smear {
            field.smear(smearing)?;
        }
        Ok(field.wilson_loops(longest.r, longest.t)?.concat())
    }
}

/// Loops of several configurations.
struct Averaged {
    samples: Vec<Vec<f64>>,
    longest: Longest,
    errors: ResamplingArgs,
    /// V(r) at t, those of a distance together.
    potentials: Vec<Option<Estimate>>,
}

impl Averaged {
    fn of(measurements: &[Vec<f64>], longest: Longest, errors: ResamplingArgs) -> Self {
        let samples = errors.samples(measurements);
        let places = || (1..=longest.r).flat_map(|r| (1..longest.t).map(move |t| (r, t)));
        let of_mean = |mean: &[f64]| places().map(|(r, t)| longest.potential(mean, r, t)).collect();
        let potentials = errors.resampling().estimates(&samples, of_mean);
        Self { samples, longest, errors, potentials }
    }

    /// V(r) at a time; none where a loop is not positive.
    fn potential(&self, r: usize, t: usize) -> Option<Estimate> {
        self.potentials.get((r - 1) * (self.longest.t - 1) + t - 1).copied().flatten()
    }

    /// The fit at a time; none where a potential has no value or no error: of one configuration, or lost in noise.
    fn fit(&self, time: usize, window: Window) -> Option<Fit> {
        let point = |r: usize| {
            let Estimate { value, error } = self.potential(r, time)?;
            let error = error.filter(|error| *error > 0.0)?;
            Some(PotentialPoint { distance: r as f64, potential: value, error })
        };
        let points: Vec<PotentialPoint> = (window.first..=window.last).map(point).collect::<Option<_>>()?;
        let cornell = Cornell::fit(&points)?;
        // With the weights of all samples.
        let refitted = |mean: &[f64]| {
            let moved = |point: &PotentialPoint| {
                let potential = self.longest.potential(mean, point.distance as usize, time)?;
                Some(PotentialPoint { potential, ..*point })
            };
            Cornell::fit(&points.iter().map(moved).collect::<Option<Vec<_>>>()?)
        };
        let found = self.errors.resampling().estimates(&self.samples, |mean| match refitted(mean) {
            Some(fit) => vec![Some(fit.constant), Some(fit.coulomb), Some(fit.tension), fit.sommer()],
            None => vec![None; 4],
        });
        let number = |k: usize| found.get(k).copied().flatten().map(Number::from);
        let [constant, coulomb, tension, r0] = [0, 1, 2, 3].map(number);
        let (chi_squared, degrees) = (cornell.chi_squared(&points), points.len() - 3);
        Some(Fit { time, constant, coulomb, tension, r0, chi_squared, degrees })
    }
}

/// What was found. As JSON, these fields.
#[derive(Serialize)]
struct Report {
    lattice: [usize; 4],
    /// What the links were smeared by first, one after the other.
    smearing: Vec<String>,
    configurations: usize,
    /// Configurations a sample.
    bin: u32,
    /// Bootstrap samples; null where errors are those of the jackknife.
    bootstrap: Option<u32>,
    seed: Option<u64>,
    distances: Vec<Distance>,
    /// The distances that were fitted: the first one.
    first: usize,
    last: usize,
    /// At each time at which all of their potentials have an error.
    fits: Vec<Fit>,
}

#[derive(Serialize)]
struct Distance {
    r: usize,
    /// At t = 1, 2, …; null where a loop is not positive.
    potential: Vec<Option<Number>>,
}

/// V₀ − α/r + σ r.
#[derive(Serialize)]
struct Fit {
    /// t.
    time: usize,
    /// V₀.
    constant: Option<Number>,
    /// α.
    coulomb: Option<Number>,
    /// σ a².
    tension: Option<Number>,
    /// r₀ / a; null of a potential that does not confine.
    r0: Option<Number>,
    chi_squared: f64,
    /// Distances less parameters.
    degrees: usize,
}

impl Report {
    fn text(&self, errors: &str) -> String {
        let times = self.distances.first().map_or(0, |distance| distance.potential.len());
        let titles = (1..=times).map(|t| format!("t = {t}"));
        let mut potentials = ruled_table(std::iter::once("r".to_owned()).chain(titles));
        let shown = |number: &Option<Number>| number.as_ref().map_or_else(String::new, Number::digits);
        for Distance { r, potential } in &self.distances {
            potentials.add_row(std::iter::once(r.to_string()).chain(potential.iter().map(shown)));
        }
        let smeared = match self.smearing.is_empty() {
            true => String::new(),
            false => format!(", links smeared by {}", self.smearing.join(", then ")),
        };
        let mut text = format!("V(r) = ln [W(r, t) / W(r, t + 1)]{smeared}\n{potentials}");
        if !self.fits.is_empty() {
            let mut fits = table(["t", "V₀", "α", "σ a²", "r₀ / a", "χ² / degrees"], []);
            for fit in &self.fits {
                let quality = format!("{:.2} / {}", fit.chi_squared, fit.degrees);
                let numbers = [&fit.constant, &fit.coulomb, &fit.tension, &fit.r0].map(shown);
                fits.add_row(std::iter::once(fit.time.to_string()).chain(numbers).chain([quality]));
            }
            text += &format!("\n\nV₀ − α/r + σ r to r = {} to {}\n{fits}", self.first, self.last);
        }
        text + &format!("\n\n{} configurations, {errors}", self.configurations)
    }
}

/// The rows of the CSV.
fn rows(distances: &[Distance]) -> impl Iterator<Item = Vec<String>> {
    distances.iter().flat_map(|Distance { r, potential }| {
        potential.iter().enumerate().map(move |(k, number)| {
            let [value, bits] = with_bits(number.as_ref().map(|number| number.value));
            let error = decimal(number.as_ref().and_then(|number| number.error));
            vec![r.to_string(), (k + 1).to_string(), value, bits, error]
        })
    })
}
