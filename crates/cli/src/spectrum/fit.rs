//! `lanefield spectrum fit`: effective masses and fits of measured correlators, with errors.

use std::fmt;
use std::str::FromStr;

use lanefield::observable::{Hadron, Momentum, TwistAngle};
use lanefield::statistics::{self, Covariance, Fitted, Regularised, Samples, States, Window};
use lanefield_figure::physics::{Correlator, FittedMass};

use super::data::{Data, Inputs, Measured, name_of};
use crate::correlator::plot::{Title, plot};
use crate::csv_output::{decimal, with_bits, write_csv};
use crate::far_times;
use crate::files::{figure, given, named, require_outputs, write_figure};
use crate::numbers::bits;
use crate::numbers::with_error;
use crate::output::{fitted, table};
use crate::prelude::*;
use crate::resampling::{Bins, Number, Quality, ResamplingArgs};
use crate::twist;

/// Fit masses to measured correlators.
///
/// It computes effective masses, and fits one or two states, with jackknife or bootstrap errors over configurations.
///
/// A fit is to C(t) = Σ A exp(-m t), for mesons plus the same of T - t. It uses the times of its window, by least squares with their covariance.
/// Correlators of successive configurations are not independent: --bin N averages N of them into one sample.
///
/// The p-value is the probability of a χ² at least as large, if the model of the fit is right: below 0.05 the fit is poor. It accounts for the number
/// of samples that determine the covariance (Hotelling). Ten or more samples for each time determine it well. With fewer, --shrink or --svd-cut make
/// it more reliable.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield config generate heatbath --beta 5.7 --lattice 4.4.4.8 --seed 1 \\
      --thermalise 20 --sweeps 70 --every 10 --output five
  lanefield spectrum measure --config five --operator wilson --mass 0.5 \\
      --source point:0,0,0,0 --output five.json
  lanefield spectrum fit five.json --fit pion:2:4 --plot pion.pdf
  lanefield spectrum fit five.json --uncorrelated --csv masses.csv \\
      --fit pion:1:4 rho:1:3 --bootstrap 100 --seed 1 --json")]
pub struct Fit {
    /// Files of spectrum measure: of the same quark and sources, on different configurations
    #[arg(value_name = "FILES", required = true)]
    files: Vec<PathBuf>,
    /// Fit a hadron from the first to the last time; with :2, two states
    #[arg(long = "fit", value_name = "HADRON:FIRST:LAST[:2]", num_args = 1..)]
    fits: Vec<Wanted>,
    /// Show, draw and fit correlators of this momentum
    #[arg(long, value_name = "X,Y,Z", default_value = "0,0,0", allow_hyphen_values = true)]
    momentum: Momentum,
    /// Ignore the covariance between times: each time is weighted by its own error
    #[arg(long)]
    uncorrelated: bool,
    /// Shrink the correlations between times towards zero: by the estimate of Ledoit and Wolf
    #[arg(long, conflicts_with = "uncorrelated")]
    shrink: bool,
    /// Raise small eigenvalues of the correlations (SVD cut): to X times the largest one
    #[arg(long, value_name = "X", value_parser = part, conflicts_with_all = ["uncorrelated", "shrink"])]
    svd_cut: Option<f64>,
    #[command(flatten)]
    errors: ResamplingArgs,
    /// Write correlators and effective masses with their errors as CSV. Undefined values are empty
    #[arg(long, help_heading = "Output", value_name = "FILE.csv")]
    csv: Option<PathBuf>,
    /// Draw correlators, effective masses and fits: .svg, .pdf or .png
    #[arg(long, help_heading = "Output", value_name = "FILE", value_parser = named(figure))]
    plot: Option<PathBuf>,
    /// Print JSON instead of tables
    #[arg(long, help_heading = "Output")]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Debug)]
struct Wanted {
    hadron: Hadron,
    window: Window,
    states: States,
}

/// A number above 0 and below 1.
fn part(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| *number > 0.0 && *number < 1.0);
    number.ok_or_else(|| format!("invalid part '{text}': expected a number above 0 and below 1, as in 0.01"))
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let two = if self.states == States::Two { ":2" } else { "" };
        write!(f, "--fit {}:{}{two}", self.hadron, self.window)
    }
}

impl FromStr for Wanted {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || {
            format!(
                "invalid fit '{text}': expected a hadron, the first and the last time, and 2 for two states, as in pion:5:12 or rho:3:12:2"
            )
        };
        let (hadron, rest) = text.split_once(':').ok_or_else(expected)?;
        let (window, states) = match rest.split(':').collect::<Vec<_>>()[..] {
            [_, _] => (rest, States::One),
            [first, last, "1"] => (&rest[..first.len() + 1 + last.len()], States::One),
            [first, last, "2"] => (&rest[..first.len() + 1 + last.len()], States::Two),
            _ => return Err(expected()),
        };
        Ok(Self { hadron: hadron.parse()?, window: window.parse().map_err(|_| expected())?, states })
    }
}

impl Fit {
    pub fn run(self) -> anyhow::Result<Outcome> {
        let outputs: Vec<_> = given([("--csv", &self.csv), ("--plot", &self.plot)]).collect();
        let inputs: Vec<_> = self.files.iter().map(|path| ("FILES", path.as_path())).collect();
        require_outputs(&outputs, &inputs)?;
        let data = self.read()?;
        ensure!(
            data.inputs.momenta.contains(&self.momentum),
            "there are no correlators of momentum {}: expected {}",
            self.momentum,
            data.inputs.momenta.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or ")
        );
        let extents = Extents::new(data.inputs.lattice)?;
        self.errors.require(data.configurations.len())?;
        let hadrons = data.inputs.hadrons.iter().map(|&hadron| self.series(&data, hadron));
        let hadrons = hadrons.collect::<anyhow::Result<Vec<_>>>()?;
        let fits = self.fits.iter().map(|wanted| self.fitted(&data, wanted)).collect::<anyhow::Result<Vec<_>>>()?;
        let names: Vec<String> = data.configurations.iter().map(|measured| measured.file.clone()).collect();
        let bins = self.errors.bins(&names);
        let header = HEADER.iter().chain(&Quality::COLUMNS).chain(&Bins::COLUMNS);
        write_csv(self.csv.as_deref(), header, rows(&hadrons, &fits, &bins))?;
        if let Some(path) = &self.plot {
            let of = format!("{}; {}", describe(&data.inputs), bins.describe());
            let title = Title { extents, of: Some(of), errors_from: None };
            let curves: Vec<Correlator> = hadrons.iter().map(|series| series.curve(&fits)).collect();
            write_figure(path, &plot(&curves, &title))?;
        }
        let report = Report {
            lattice: data.inputs.lattice,
            operator: data.inputs.operator.clone(),
            parameters: data.inputs.parameters.clone(),
            basis: data.inputs.twist_angle.map(TwistAngle::basis),
            twist_angle: data.inputs.twist_angle,
            relative_errors: far_times::largest(data.configurations.iter().map(|measured| &measured.relative_errors)),
            bins,
            correlated: !self.uncorrelated,
            covariance: self.covariance().to_string(),
            momentum: self.momentum,
            hadrons,
            fits,
        };
        far_times::warn(&report.relative_errors);
        for fit in &report.fits {
            fit.quality.say(&format!("--fit {}:{}:{}", fit.hadron, fit.first, fit.last));
        }
        show(self.json, Head::of(Kind::SpectrumFit), &report, Report::text)
    }

    fn read(&self) -> anyhow::Result<Data> {
        let mut data = Data::read(&self.files[0])?;
        let mut all: Vec<(&PathBuf, Measured)> = Vec::new();
        all.extend(std::mem::take(&mut data.configurations).into_iter().map(|measured| (&self.files[0], measured)));
        for path in &self.files[1..] {
            let more = Data::read(path)?;
            let names = [self.files[0].display().to_string(), path.display().to_string()];
            data.require_same(&more.inputs, [&names[0], &names[1]])?;
            all.extend(more.configurations.into_iter().map(|measured| (path, measured)));
        }
        for (k, (path, measured)) in all.iter().enumerate() {
            if let Some((file, earlier)) = all[..k].iter().find(|(_, earlier)| measured.is_copy_of(earlier)) {
                bail!(
                    "{} in {} is the same configuration as {} in {}: it would count twice; leave one of them out",
                    measured.file,
                    path.display(),
                    earlier.file,
                    file.display()
                );
            }
        }
        data.configurations = all.into_iter().map(|(_, measured)| measured).collect();
        ensure!(!data.configurations.is_empty(), "{} has no configuration", self.files[0].display());
        Ok(data)
    }

    fn covariance(&self) -> Covariance {
        match self.svd_cut {
            Some(cut) => Covariance::Cut(cut),
            None if self.shrink => Covariance::Shrunk,
            None if self.uncorrelated => Covariance::Diagonal,
            None => Covariance::Full,
        }
    }

    fn samples(&self, data: &Data, hadron: Hadron) -> anyhow::Result<Samples> {
        self.errors.samples(&data.measured(hadron, self.momentum))
    }

    /// Correlator and effective masses of a hadron.
    fn series(&self, data: &Data, hadron: Hadron) -> anyhow::Result<Series> {
        let samples = self.samples(data, hadron)?;
        let estimates = |of: &dyn Fn(&[f64]) -> Vec<Option<f64>>| self.errors.resampling().estimates(&samples, of);
        let values = estimates(&|mean| mean.iter().copied().map(Some).collect());
        let masses = estimates(&|mean| hadron.effective_mass().of(mean));
        Ok(Series {
            hadron,
            correlator: values.into_iter().flatten().map(Number::from).collect(),
            effective_masses: masses.into_iter().map(|mass| mass.map(Number::from)).collect(),
        })
    }

    fn fitted(&self, data: &Data, wanted: &Wanted) -> anyhow::Result<FitOf> {
        let &Wanted { hadron, window, states } = wanted;
        ensure!(
            data.inputs.hadrons.contains(&hadron),
            "{wanted}: the {hadron} was not measured: expected {}",
            data.inputs.hadrons.iter().map(|hadron| hadron.name()).collect::<Vec<_>>().join(", ")
        );
        let covariance = self.covariance();
        let fit = statistics::Fit { shape: hadron.effective_mass(), states, window, covariance };
        let samples = self.samples(data, hadron)?;
        let fitted = fit.of(&samples, self.errors.resampling()).with_context(|| wanted.to_string())?;
        let Fitted { amplitudes, masses, chi_squared, degrees, p_value, regularised } = fitted;
        let (count, times) = (samples.bins().len(), window.last - window.first + 1);
        // Two states have four parameters.
        let more = if states == States::One && times > 4 { ", or two states" } else { "" };
        let mut quality = Quality::of(chi_squared, degrees, p_value, &format!("take other times{more}"));
        quality.warn((covariance == Covariance::Full && count < SAMPLES_A_TIME * times).then(|| {
            let bins = if samples.size() > 1 { "smaller bins, " } else { "" };
            let fewer = if degrees > 1 { "fewer times, " } else { "" };
            format!(
                "{count} samples are few for the covariance of {times} times, which needs {} to be well known: take more configurations, \
                 {bins}{fewer}--shrink or --svd-cut",
                SAMPLES_A_TIME * times
            )
        }));
        quality.warn((regularised.is_some() && count <= times).then(|| {
            format!("{count} samples of {times} times make errors too small: take more configurations, or fewer times")
        }));
        // The covariance has warnings of its own.
        let has_few = covariance != Covariance::Full && (regularised.is_none() || count > times);
        quality.warn_of_errors(if has_few { count } else { usize::MAX }, &self.errors);
        let without = masses.iter().any(|mass| mass.error.is_none());
        quality.warn(without.then(|| "it has no errors, since a fit to a resample did not converge".to_owned()));
        let states = amplitudes.into_iter().zip(masses).map(|(amplitude, mass)| State {
            mass: mass.value,
            mass_bits: bits(mass.value),
            mass_error: mass.error,
            amplitude: amplitude.value,
            amplitude_error: amplitude.error,
        });
        let states = states.collect();
        let (shrinkage, raised) = match regularised {
            Some(Regularised::Shrunk(intensity)) => (Some(intensity), None),
            Some(Regularised::Raised(raised)) => (None, Some(raised)),
            None => (None, None),
        };
        Ok(FitOf { hadron, first: window.first, last: window.last, states, shrinkage, raised, quality })
    }
}

/// Fewer samples than this for each time leave the covariance of times uncertain (C. Michael, Phys. Rev. D 49 (1994) 2616).
const SAMPLES_A_TIME: usize = 10;

/// "wilson, mass 0.5"; of twisted mass also μ and the basis.
fn describe(inputs: &Inputs) -> String {
    let mass = inputs.parameters.get("mass").map_or_else(String::new, |mass| format!(", mass {mass}"));
    let mu = inputs.parameters.get("mu").map_or_else(String::new, |mu| format!(", mu {mu}"));
    let basis = inputs.twist_angle.map_or_else(String::new, |angle| format!("; {}", twist::describe(angle)));
    format!("{}{mass}{mu}{basis}", inputs.operator)
}

#[derive(Serialize)]
struct Report {
    lattice: [usize; 4],
    operator: String,
    parameters: serde_json::Map<String, serde_json::Value>,
    /// `physical` or `twisted`, of twisted mass; null of others, and so is the angle in degrees.
    basis: Option<&'static str>,
    twist_angle: Option<TwistAngle>,
    /// At times from the source, the largest of all configurations; empty where they are not known.
    relative_errors: Vec<f64>,
    #[serde(flatten)]
    bins: Bins,
    /// Whether fits know of the covariance between times.
    correlated: bool,
    /// `full`, `diagonal`, `shrunk` or `cut`: what of it.
    covariance: String,
    momentum: Momentum,
    hadrons: Vec<Series>,
    fits: Vec<FitOf>,
}

/// A correlator with its effective masses.
#[derive(Serialize)]
struct Series {
    hadron: Hadron,
    /// At times 0 to T − 1.
    correlator: Vec<Number>,
    /// Between t and t + 1, or null.
    effective_masses: Vec<Option<Number>>,
}

#[derive(Serialize)]
struct FitOf {
    hadron: Hadron,
    first: usize,
    last: usize,
    /// The lowest first.
    states: Vec<State>,
    /// λ of shrunk correlations.
    shrinkage: Option<f64>,
    /// How many eigenvalues a cut raised.
    raised: Option<usize>,
    #[serde(flatten)]
    quality: Quality,
}

#[derive(Serialize)]
struct State {
    mass: f64,
    mass_bits: String,
    mass_error: Option<f64>,
    amplitude: f64,
    amplitude_error: Option<f64>,
}

impl Series {
    fn curve(&self, fits: &[FitOf]) -> Correlator {
        let of_this = fits.iter().filter(|fit| fit.hadron == self.hadron);
        let band = |fit: &FitOf| {
            let mass = (fit.states[0].mass, fit.states[0].mass_error);
            let [value, quality] = [with_error(mass.0, mass.1), fit.quality.label()];
            let label = format!("{}, {} to {}: a m = {value}, {quality}", fit.hadron, fit.first, fit.last);
            FittedMass { first: fit.first, last: fit.last, mass, label }
        };
        let number = |number: &Number| (number.value, number.error);
        // Some correlators are negative in Grid's sign; on a logarithmic axis they are shown with the other one.
        let sign = if self.correlator.iter().skip(1).map(|c| c.value).sum::<f64>() < 0.0 { -1.0 } else { 1.0 };
        Correlator {
            name: self.hadron.name().to_owned(),
            correlator: self.correlator.iter().map(|c| (sign * c.value, c.error)).collect(),
            masses: self.effective_masses.iter().map(|mass| mass.as_ref().map(number)).collect(),
            fits: of_this.map(band).collect(),
        }
    }
}

impl Report {
    fn text(&self) -> String {
        let names = self.hadrons.iter().map(|series| name_of(series.hadron, self.momentum));
        let mut masses = table(std::iter::once("t".to_owned()).chain(names), 0..1);
        for t in 0..self.lattice[3].saturating_sub(1) {
            let mass = |series: &Series| series.effective_masses[t].as_ref().map_or_else(String::new, Number::digits);
            masses.add_row(std::iter::once(t.to_string()).chain(self.hadrons.iter().map(mass)));
        }
        let mut text = format!("effective masses between t and t + 1\n{masses}");
        if !self.fits.is_empty() {
            let mut fits = table(["fit", "times", "mass", "second mass"].into_iter().chain(Quality::TITLES), []);
            for fit in &self.fits {
                let mass = |k: usize| {
                    fit.states.get(k).map_or_else(String::new, |state| with_error(state.mass, state.mass_error))
                };
                let times = format!("{} to {}", fit.first, fit.last);
                let cells = [name_of(fit.hadron, self.momentum), times, mass(0), mass(1)];
                fits.add_row(cells.into_iter().chain(fit.quality.shown()));
            }
            text += &format!("\n\n{}", fitted(fits, &["χ² per degree", "second mass"]));
        }
        let weights = match self.covariance.as_str() {
            _ if self.fits.is_empty() => String::new(),
            "diagonal" => "; fits without covariance: χ² and p are as if times were independent".to_owned(),
            "shrunk" => {
                format!("; correlations shrunk by {}", self.of_fits(|fit| Some(format!("{:.3}", fit.shrinkage?))))
            }
            "cut" => format!(
                "; eigenvalues of correlations that the cut raised: {}",
                self.of_fits(|fit| Some(fit.raised?.to_string()))
            ),
            _ => String::new(),
        };
        let basis = self.twist_angle.map_or_else(String::new, |angle| format!("; {}", twist::describe(angle)));
        text + &format!("\n\n{}{weights}{basis}", self.bins.describe())
    }

    fn of_fits(&self, of: impl Fn(&FitOf) -> Option<String>) -> String {
        self.fits.iter().filter_map(of).collect::<Vec<_>>().join(", ")
    }
}

/// The columns of the CSV, before those of the quality of fits and of bins.
const HEADER: [&str; 14] = [
    "hadron",
    "t",
    "value",
    "value_bits",
    "error",
    "effective_mass",
    "effective_mass_bits",
    "effective_mass_error",
    "fit_first",
    "fit_last",
    "mass",
    "mass_error",
    "second_mass",
    "second_mass_error",
];

/// The rows of the CSV: those of a hadron's correlator, then those of its fits, which have no t.
fn rows(hadrons: &[Series], fits: &[FitOf], bins: &Bins) -> impl Iterator<Item = Vec<String>> {
    let of_hadron = move |series: &Series| {
        let Series { hadron, correlator, effective_masses } = series;
        let cells = |number: Option<&Number>| {
            let [value, bits] = with_bits(number.map(|number| number.value));
            [value, bits, decimal(number.and_then(|number| number.error))]
        };
        let mut rows: Vec<Vec<String>> = Vec::new();
        for (t, value) in correlator.iter().enumerate() {
            let mass = effective_masses.get(t).and_then(Option::as_ref);
            let mut row =
                [vec![hadron.to_string(), t.to_string()], cells(Some(value)).into(), cells(mass).into()].concat();
            row.resize(HEADER.len() + Quality::COLUMNS.len(), String::new());
            rows.push(row);
        }
        for fit in fits.iter().filter(|fit| fit.hadron == *hadron) {
            let mut row = vec![hadron.to_string()];
            row.resize(8, String::new());
            row.extend([fit.first, fit.last].map(|t| t.to_string()));
            for state in [fit.states.first(), fit.states.get(1)] {
                row.extend([state.map(|state| state.mass), state.and_then(|state| state.mass_error)].map(decimal));
            }
            row.extend(fit.quality.cells());
            rows.push(row);
        }
        rows.iter_mut().for_each(|row| row.extend(bins.cells()));
        rows
    };
    hadrons.iter().flat_map(of_hadron)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fit_is_a_hadron_and_its_times() {
        let wanted = |states| Wanted { hadron: Hadron::Rho, window: Window { first: 3, last: 12 }, states };
        assert_eq!("rho:3:12".parse(), Ok(wanted(States::One)));
        assert_eq!("rho:3:12:1".parse(), Ok(wanted(States::One)));
        assert_eq!("rho:3:12:2".parse(), Ok(wanted(States::Two)));
        for wrong in ["rho", "rho:3", "rho:3:12:3", "rho:3:x", "3:12"] {
            assert!(wrong.parse::<Wanted>().unwrap_err().contains("expected"), "{wrong}");
        }
        assert!("kaon:3:12".parse::<Wanted>().unwrap_err().contains("invalid hadron 'kaon'"));
    }
}
