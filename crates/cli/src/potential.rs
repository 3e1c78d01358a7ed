//! `lanefield potential`: the static potential of Wilson loops on several configurations, the string tension and Sommer's scale r₀.

mod report;

use lanefield::gauge::{Cornell, GaugeField, PotentialPoint, Smearing, potential};
use lanefield::io::configuration::ConfigurationFile;
use lanefield::statistics::{Estimate, Samples, Window, chi_squared_tail};

use super::args::BackendArgs;
use super::configuration::EnsembleArgs;
use super::csv_output::write_csv;
use super::files::{figure, given, named, require_outputs, write_figure};
use super::interrupt::{ends_on, keep};
use super::observe::loops;
use super::progress::progress_bar;
use super::ranks::{RanksArgs, is_first};
use super::resampling::{Bins, Number, Quality, ResamplingArgs};
use super::smear::smear_until_a_signal;
use crate::configuration::list::{Configurations, twice};
use crate::prelude::*;
use report::{CURVE, Distance, Fit, Fitted, HEADER, Report};

/// Measure and fit the static quark potential.
///
/// V(r) = ln [W(r, t) / W(r, t + 1)] on the axes, from Wilson loops averaged over configurations.
///
/// The fit is V₀ - α/r + σ r, with each distance weighted by its error; r₀ = √((1.65 - α) / σ) is Sommer's scale. There is one fit for each time t; t
/// is large enough when r₀ no longer changes with it. With smearing, this happens at a smaller t.
///
/// Each step that smears the links in time (all kinds but spatial-ape) changes V(r) at two more distances, which the fit leaves out by default.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield config generate heatbath --beta 5.7 --lattice 6.6.6.6 --seed 1 \\
      --thermalise 20 --sweeps 60 --every 5 --output nine
  lanefield potential --config nine --smear spatial-ape:0.5,5 --loops 3,3
  lanefield potential --config nine \\
      --smear hyp:0.75,0.6,0.3,1 spatial-ape:0.5,5 --loops 3,3 \\
      --fit 1:3 --bootstrap 100 --seed 1 --plot potential.pdf")]
pub struct Potential {
    #[command(flatten)]
    input: EnsembleArgs,
    /// Smear the links first, by one kind after the other: stout:RHO,STEPS, ape:ALPHA,STEPS, spatial-ape:ALPHA,STEPS or
    /// hyp:ALPHA1,ALPHA2,ALPHA3,STEPS
    #[arg(long, aliases = ["kind", "smearing"], value_name = "KIND", num_args = 1..)]
    smear: Vec<Smearing>,
    /// Maximum extents of Wilson loops, in space and in time [default: half of the lattice]
    #[arg(long, value_name = "R,T", value_parser = loops)]
    loops: Option<[usize; 2]>,
    /// First and last distance of the fit [default: those that smearing does not change, up to R]
    #[arg(long, value_name = "FIRST:LAST")]
    fit: Option<Window>,
    #[command(flatten)]
    errors: ResamplingArgs,
    /// Write the potential at all times as CSV. Undefined values are empty
    #[arg(long, help_heading = "Output", value_name = "FILE.csv")]
    csv: Option<PathBuf>,
    /// Draw V(r) at the first times, with a fit and r₀: .svg, .pdf or .png
    #[arg(long, help_heading = "Output", value_name = "FILE", value_parser = named(figure))]
    plot: Option<PathBuf>,
    /// Print JSON instead of tables
    #[arg(long, help_heading = "Output")]
    json: bool,
    #[command(flatten)]
    backend: BackendArgs,
    #[command(flatten)]
    ranks: RanksArgs,
}

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
        let files = self.input.files()?;
        let inputs: Vec<(&str, &Path)> = files.iter().map(|path| ("FILES", path.as_path())).collect();
        require_outputs(&given([("--csv", &self.csv), ("--plot", &self.plot)]).collect::<Vec<_>>(), &inputs)?;
        let configurations = Configurations::begin(&files, self.input.read, &self.ranks)?;
        let lattice = configurations.lattice().clone();
        let extents = lattice.extents();
        let [x, y, z, t] = extents.as_array();
        let half = [x.min(y).min(z), t].map(|extent| extent / 2);
        let [r, t] = self.loops.unwrap_or(half);
        let longest = Longest { r, t };
        let window = self.wanted(longest)?;
        self.errors.require(files.len())?;
        if let Some(window) = self.fit {
            ensure!(
                files.len() > 1,
                "--fit {window}: errors, which weigh distances, need 2 configurations or more, and there is 1"
            );
        }
        let backend = self.backend.open_on(&lattice, &self.ranks, Precision::F64)?;
        let bar = progress_bar();
        bar.set_length(files.len() as u64);
        let (mut measurements, mut names) = (Vec::<Vec<f64>>::new(), Vec::new());
        for configuration in configurations {
            let (path, file) = configuration?;
            let measured = backend.install(|| self.measure(&backend, &file, longest));
            let measured = measured.with_context(|| format!("failed to measure on {}", path.display()))?;
            let Some(measured) = measured else { break };
            if let Some(k) = measurements.iter().position(|earlier| are_of_one(earlier, &measured)) {
                bail!("{}", twice(&files[k], path));
            }
            measurements.push(measured);
            names.push(path.display().to_string());
            bar.inc(1);
            keep();
            if ends_on(&lattice) {
                break;
            }
        }
        bar.finish_and_clear();
        if measurements.len() < files.len() {
            let [done, all] = [measurements.len(), files.len()];
            say!(
                "interrupted: a signal ended it after {done} of {all} configurations, whose potential follows; it cannot be continued"
            );
        }
        let mut warnings: Vec<String> = self.warning(longest).into_iter().collect();
        let errors = match self.errors.require(measurements.len()) {
            // Fewer than were given, after a signal.
            Err(why) => {
                warnings.push(format!("errors are those of the jackknife of single configurations: {why:#}"));
                ResamplingArgs::default()
            }
            Ok(()) => self.errors,
        };
        let found = Averaged::of(&measurements, longest, errors)?;
        let potential = |r: usize| (1..longest.t).map(|t| found.potential(r, t).map(Number::from)).collect();
        let mut fits = Vec::new();
        let fitted = window.filter(|_| measurements.len() > 1);
        if window.is_some() && fitted.is_none() {
            warnings.push("no fit: errors, which weigh distances, need 2 configurations or more".to_owned());
        }
        for (window, time) in fitted.iter().flat_map(|window| (1..longest.t).map(move |time| (*window, time))) {
            match found.fit(time, window) {
                Ok(fit) => fits.push(fit),
                Err(why) => warnings.push(format!("no fit at t = {time}: {why}")),
            }
        }
        let report = Report {
            lattice: extents.as_array(),
            smearing: self.smear.iter().map(Smearing::to_string).collect(),
            bins: errors.bins(&names),
            distances: (1..=longest.r).map(|r| Distance { r, potential: potential(r) }).collect(),
            first: window.map(|window| window.first),
            last: window.map(|window| window.last),
            fits,
            warnings,
        };
        report.warnings.iter().filter(|_| is_first()).for_each(|warning| say!("warning: {warning}"));
        report.fits.iter().for_each(|fit| fit.quality.say(&format!("the fit at t = {}", fit.time)));
        let header = HEADER.iter().chain(&Quality::COLUMNS).chain(&Bins::COLUMNS);
        let written = write_csv(self.csv.as_deref(), header, report.rows());
        let plotted = self.plot.as_ref().map_or(Ok(()), |path| {
            write_figure(path, &report.figure(&format!("Static potential on {extents}")).draw())
        });
        // What cannot be kept is printed.
        show(self.json, Head::on(Kind::Potential, backend.device()), &report, Report::text)?;
        written?;
        plotted?;
        Ok(Outcome::Done)
    }

    /// The distances that are fitted; none if smearing leaves too few.
    fn wanted(&self, longest: Longest) -> anyhow::Result<Option<Window>> {
        let Longest { r, t } = longest;
        ensure!(t >= 2, "a potential needs loops of two times, and --loops has {t}: expected 2 or more");
        if let Some(window) = self.fit {
            ensure!(
                window.first >= 1 && window.last <= r && window.first + 2 <= window.last,
                "--fit {window}: expected three distances or more from 1 to {r}, the first one first"
            );
        }
        let unchanged = Window { first: self.reach() + 1, last: r };
        Ok(self.fit.or_else(|| (unchanged.first + 2 <= r).then_some(unchanged)))
    }

    /// To which distance smearing changes the potential.
    fn reach(&self) -> usize {
        self.smear.iter().map(Smearing::reach).sum()
    }

    /// What there is to say of the distances.
    fn warning(&self, longest: Longest) -> Option<String> {
        let (reach, r) = (self.reach(), longest.r);
        let changed = || format!("smearing changes V(r) to r = {reach}");
        match self.fit {
            Some(window) if window.first <= reach => Some(format!("--fit {window}: {}", changed())),
            None if r < 3 => Some(format!("no fit: it takes 3 distances or more, and --loops go to r = {r}")),
            None if reach + 3 > r => Some(format!(
                "no fit: it takes 3 distances or more, {}, and loops go to r = {r}: give longer --loops, or --fit",
                changed()
            )),
            _ => None,
        }
    }

    /// W(r, t), those of a distance together; none if a signal came before they were measured.
    fn measure(
        &self,
        backend: &AnyBackend,
        file: &ConfigurationFile,
        longest: Longest,
    ) -> anyhow::Result<Option<Vec<f64>>> {
        let mut field = GaugeField::new(backend, &file.configuration, self.backend.lanes)?;
        for smearing in &self.smear {
            if smear_until_a_signal(&mut field, smearing, (backend, &file.lattice), || ())? < smearing.steps() {
                return Ok(None);
            }
        }
        let loops = field.wilson_loops_while(longest.r, longest.t, || !ends_on(&file.lattice))?;
        Ok(loops.map(|loops| loops.concat()))
    }
}

/// Whether loops are of the same configuration, but for a gauge transformation or rounding to 32 bits: configurations of an ensemble never agree in
/// all of them.
fn are_of_one(a: &[f64], b: &[f64]) -> bool {
    a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-8)
}

struct Averaged {
    samples: Samples,
    longest: Longest,
    errors: ResamplingArgs,
    /// V(r) at t, those of a distance together.
    potentials: Vec<Option<Estimate>>,
}

impl Averaged {
    fn of(measurements: &[Vec<f64>], longest: Longest, errors: ResamplingArgs) -> anyhow::Result<Self> {
        let samples = errors.samples(measurements)?;
        let places = || (1..=longest.r).flat_map(|r| (1..longest.t).map(move |t| (r, t)));
        let of_mean = |mean: &[f64]| places().map(|(r, t)| longest.potential(mean, r, t)).collect();
        let potentials = errors.resampling().estimates(&samples, of_mean);
        Ok(Self { samples, longest, errors, potentials })
    }

    /// V(r) at a time; none where a loop is not positive.
    fn potential(&self, r: usize, t: usize) -> Option<Estimate> {
        self.potentials.get((r - 1) * (self.longest.t - 1) + t - 1).copied().flatten()
    }

    /// The fit at time `t`, or the reason why it failed.
    fn fit(&self, time: usize, window: Window) -> Result<Fit, String> {
        let Window { first, last } = window;
        let point = |r: usize| {
            let Some(Estimate { value, error }) = self.potential(r, time) else {
                return Err(format!("V({r}) does not exist, since a Wilson loop is not positive"));
            };
            let error = error.filter(|error| *error > 0.0);
            let error =
                error.ok_or_else(|| format!("V({r}) has no error: a resample lacks it, or all are the same"))?;
            Ok(PotentialPoint { distance: r as f64, potential: value, error })
        };
        let points: Vec<PotentialPoint> = (first..=last).map(point).collect::<Result<_, _>>()?;
        let cornell = Cornell::fit(&points).ok_or("its least squares have no solution")?;
        // With the weights of all samples.
        let refitted = |mean: &[f64]| {
            let moved = |point: &PotentialPoint| {
                let potential = self.longest.potential(mean, point.distance as usize, time)?;
                Some(PotentialPoint { potential, ..*point })
            };
            Cornell::fit(&points.iter().map(moved).collect::<Option<Vec<_>>>()?)
        };
        // The parameters, r₀, and the curve for a figure.
        let distances = || (0..=CURVE).map(|k| first as f64 + (last - first) as f64 * k as f64 / CURVE as f64);
        let found = self.errors.resampling().estimates(&self.samples, |mean| match refitted(mean) {
            Some(fit) => {
                let parameters = [Some(fit.constant), Some(fit.coulomb), Some(fit.tension), fit.sommer()];
                parameters.into_iter().chain(distances().map(|r| Some(fit.at(r)))).collect()
            }
            None => vec![None; 4 + CURVE + 1],
        });
        let fitted = |(r, value): (f64, &Option<Estimate>)| {
            let Estimate { value, error } = (*value)?;
            Some(Fitted { r, value, error })
        };
        let curve = distances().zip(found.iter().skip(4)).filter_map(fitted).collect();
        let number = |k: usize| found.get(k).copied().flatten().map(Number::from);
        let [constant, coulomb, tension, r0] = [0, 1, 2, 3].map(number);
        let (chi_squared, degrees) = (cornell.chi_squared(&points), points.len() - 3);
        let cure = "take other distances, or a later time";
        let mut quality = Quality::of(chi_squared, degrees, chi_squared_tail(chi_squared, degrees), cure);
        quality.warn_of_errors(self.samples.bins().len(), &self.errors);
        Ok(Fit { time, constant, coulomb, tension, r0, quality, curve })
    }
}
