//! `lanefield spectrum fit`: effective masses and fits of measured correlators, with errors.

use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Context as _, ensure};
use clap::Args;
use lanefield::io::atomic::write_atomically;
use lanefield::observable::{Hadron, Momentum};
use lanefield::reference::layout::Extents;
use lanefield::statistics::{self, Covariance, Fitted, States, Window};
use serde::Serialize;

use super::data::{Data, Inputs, name_of};
use crate::Outcome;
use crate::correlator_plot::{Band, Curve, Title, plot};
use crate::csv_output::{decimal, with_bits, write_csv};
use crate::files::{given, require_outputs, svg};
use crate::output::{Head, Kind, bits, ruled_table, show, table};
use crate::resampling::{Number, ResamplingArgs, digits};

/// Effective masses of measured correlators, and fits of one or two states, with jackknife or bootstrap errors over configurations.
///
/// A fit is of C(t) = Σ A exp(-m t), for mesons plus the same of T - t, to the times of its window by least squares with their covariance. Correlators of
/// successive configurations are not independent: --bin takes means of so many as one sample.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield config generate heatbath --beta 5.7 --lattice 4.4.4.8 --seed 1 \\
      --thermalise 20 --sweeps 70 --every 10 --output five
  lanefield spectrum measure five --operator wilson --mass 0.5 \\
      --source point:0,0,0,0 --output five.json
  lanefield spectrum fit five.json --fit pion:2:4 --plot pion.svg
  lanefield spectrum fit five.json --uncorrelated --csv masses.csv \\
      --fit pion:1:4 rho:1:3 --bootstrap 100 --seed 1 --json")]
pub struct Fit {
    /// Files of spectrum measure, of the same quark and sources on different configurations
    #[arg(value_name = "FILES", required = true)]
    files: Vec<PathBuf>,
    /// Fit a hadron, from the first to the last time; with :2 after them two states
    #[arg(long = "fit", value_name = "HADRON:FIRST:LAST[:2]", num_args = 1..)]
    fits: Vec<Wanted>,
    /// Show, draw and fit correlators of this momentum
    #[arg(long, value_name = "X,Y,Z", default_value = "0,0,0", allow_hyphen_values = true)]
    momentum: Momentum,
    /// Weigh each time by its own error, without the covariance between times
    #[arg(long)]
    uncorrelated: bool,
    #[command(flatten)]
    errors: ResamplingArgs,
    /// Write correlators and effective masses with their errors as CSV; what does not exist is empty
    #[arg(long, value_name = "FILE.csv")]
    csv: Option<PathBuf>,
    /// Draw correlators, effective masses and fits as SVG
    #[arg(long, value_name = "FILE.svg", value_parser = svg)]
    plot: Option<PathBuf>,
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
}

/// A fit that is wanted.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Wanted {
    hadron: Hadron,
    window: Window,
    states: States,
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
        let hadrons: Vec<Series> = data.inputs.hadrons.iter().map(|&hadron| self.series(&data, hadron)).collect();
        let fits = self.fits.iter().map(|wanted| self.fitted(&data, wanted)).collect::<anyhow::Result<Vec<_>>>()?;
        write_csv(self.csv.as_deref(), HEADER, rows(&hadrons))?;
        let errors = self.errors.describe();
        if let Some(path) = &self.plot {
            let of = format!("{}; {} configurations; {errors}", describe(&data.inputs), data.configurations.len());
            let title = Title { extents, of: Some(of), errors_from: None };
            let curves: Vec<Curve> = hadrons.iter().map(|series| series.curve(&fits)).collect();
            let svg = plot(&curves, &title)?;
            write_atomically(path, |writer| writer.write_all(svg.as_bytes()))?;
        }
        let report = Report {
            lattice: data.inputs.lattice,
            operator: data.inputs.operator.clone(),
            parameters: data.inputs.parameters.clone(),
            configurations: data.configurations.len(),
            bin: self.errors.bin,
            bootstrap: self.errors.bootstrap,
            seed: self.errors.seed,
            correlated: !self.uncorrelated,
            momentum: self.momentum,
            hadrons,
            fits,
        };
        show(self.json, Head::of(Kind::SpectrumFit), &report, |report| report.text(&errors))
    }

    /// All files together.
    fn read(&self) -> anyhow::Result<Data> {
        let mut data = Data::read(&self.files[0])?;
        for path in &self.files[1..] {
            let more = Data::read(path)?;
            let names = [self.files[0].display().to_string(), path.display().to_string()];
            data.require_same(&more.inputs, [&names[0], &names[1]])?;
            for measured in more.configurations {
                ensure!(
                    !data.has(&measured.sha256_of_links),
                    "{} and a file before it have the same configuration, {}: it would count twice",
                    path.display(),
                    measured.file
                );
                data.configurations.push(measured);
            }
        }
        ensure!(!data.configurations.is_empty(), "{} has no configuration", self.files[0].display());
        Ok(data)
    }

    fn samples(&self, data: &Data, hadron: Hadron) -> Vec<Vec<f64>> {
        self.errors.samples(&data.measured(hadron, self.momentum))
    }

    /// Correlator and effective masses of a hadron.
    fn series(&self, data: &Data, hadron: Hadron) -> Series {
        let samples = self.samples(data, hadron);
        let estimates = |of: &dyn Fn(&[f64]) -> Vec<Option<f64>>| self.errors.resampling().estimates(&samples, of);
        let values = estimates(&|mean| mean.iter().copied().map(Some).collect());
        let masses = estimates(&|mean| hadron.effective_mass().of(mean));
        Series {
            hadron,
            correlator: values.into_iter().flatten().map(Number::from).collect(),
            effective_masses: masses.into_iter().map(|mass| mass.map(Number::from)).collect(),
        }
    }

    fn fitted(&self, data: &Data, wanted: &Wanted) -> anyhow::Result<FitOf> {
        let &Wanted { hadron, window, states } = wanted;
        ensure!(
            data.inputs.hadrons.contains(&hadron),
            "--fit {hadron}:{window}: the {hadron} was not measured: expected {}",
            data.inputs.hadrons.iter().map(|hadron| hadron.name()).collect::<Vec<_>>().join(", ")
        );
        let covariance = if self.uncorrelated { Covariance::Diagonal } else { Covariance::Full };
        let fit = statistics::Fit { shape: hadron.effective_mass(), states, window, covariance };
        let fitted = fit.of(&self.samples(data, hadron), self.errors.resampling());
        let Fitted { amplitudes, masses, chi_squared, degrees } =
            fitted.with_context(|| format!("--fit {hadron}:{window}"))?;
        let states = amplitudes.into_iter().zip(masses).map(|(amplitude, mass)| State {
            mass: mass.value,
            mass_bits: bits(mass.value),
            mass_error: mass.error,
            amplitude: amplitude.value,
            amplitude_error: amplitude.error,
        });
        let states = states.collect();
        Ok(FitOf { hadron, first: window.first, last: window.last, states, chi_squared, degrees })
    }
}

/// "wilson, mass 0.5".
fn describe(inputs: &Inputs) -> String {
    let mass = inputs.parameters.get("mass").map_or_else(String::new, |mass| format!(", mass {mass}"));
    format!("{}{mass}", inputs.operator)
}

/// What was found. As JSON, these fields.
#[derive(Serialize)]
struct Report {
    lattice: [usize; 4],
    operator: String,
    parameters: serde_json::Map<String, serde_json::Value>,
    configurations: usize,
    /// Configurations a sample.
    bin: u32,
    /// Bootstrap samples; null where errors are those of the jackknife.
    bootstrap: Option<u32>,
    seed: Option<u64>,
    /// Whether fits know of the covariance between times.
    correlated: bool,
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
    /// Between t and t + 1; null where there is none.
    effective_masses: Vec<Option<Number>>,
}

/// A fit.
#[derive(Serialize)]
struct FitOf {
    hadron: Hadron,
    first: usize,
    last: usize,
    /// The lowest first.
    states: Vec<State>,
    chi_squared: f64,
    /// Times less parameters.
    degrees: usize,
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
    fn curve(&self, fits: &[FitOf]) -> Curve {
        let of_this = fits.iter().filter(|fit| fit.hadron == self.hadron);
        let band = |fit: &FitOf| Band {
            first: fit.first,
            last: fit.last,
            mass: (fit.states[0].mass, fit.states[0].mass_error),
        };
        let number = |number: &Number| (number.value, number.error);
        // Some correlators are negative in Grid's sign; on a logarithmic axis they are shown with the other one.
        let sign = if self.correlator.iter().skip(1).map(|c| c.value).sum::<f64>() < 0.0 { -1.0 } else { 1.0 };
        Curve {
            name: self.hadron.name(),
            correlator: self.correlator.iter().map(|c| (sign * c.value, c.error)).collect(),
            masses: self.effective_masses.iter().map(|mass| mass.as_ref().map(number)).collect(),
            fits: of_this.map(band).collect(),
        }
    }
}

impl Report {
    fn text(&self, errors: &str) -> String {
        let names = self.hadrons.iter().map(|series| name_of(series.hadron, self.momentum));
        let mut masses = ruled_table(std::iter::once("t".to_owned()).chain(names));
        for t in 0..self.lattice[3].saturating_sub(1) {
            let mass = |series: &Series| series.effective_masses[t].as_ref().map_or_else(String::new, Number::digits);
            masses.add_row(std::iter::once(t.to_string()).chain(self.hadrons.iter().map(mass)));
        }
        let mut text = format!("effective masses between t and t + 1\n{masses}");
        if !self.fits.is_empty() {
            let mut fits = table(["fit", "times", "mass", "second mass", "χ² / degrees"], []);
            for fit in &self.fits {
                let mass =
                    |k: usize| fit.states.get(k).map_or_else(String::new, |state| digits(state.mass, state.mass_error));
                let quality = format!("{:.2} / {}", fit.chi_squared, fit.degrees);
                let times = format!("{} to {}", fit.first, fit.last);
                fits.add_row([name_of(fit.hadron, self.momentum), times, mass(0), mass(1), quality]);
            }
            text += &format!("\n\n{fits}");
        }
        let weights = if self.correlated { "" } else { "; fits without covariance" };
        text + &format!("\n\n{} configurations, {errors}{weights}", self.configurations)
    }
}

/// The columns of the CSV.
const HEADER: [&str; 8] =
    ["hadron", "t", "value", "value_bits", "error", "effective_mass", "effective_mass_bits", "effective_mass_error"];

/// The rows of the CSV.
fn rows(hadrons: &[Series]) -> impl Iterator<Item = Vec<String>> {
    hadrons.iter().flat_map(|Series { hadron, correlator, effective_masses }| {
        correlator.iter().enumerate().map(move |(t, value)| {
            let mass = effective_masses.get(t).and_then(Option::as_ref);
            let cells = |number: Option<&Number>| {
                let [value, bits] = with_bits(number.map(|number| number.value));
                [value, bits, decimal(number.and_then(|number| number.error))]
            };
            [vec![hadron.to_string(), t.to_string()], cells(Some(value)).into(), cells(mass).into()].concat()
        })
    })
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
        assert!("kaon:3:12".parse::<Wanted>().unwrap_err().contains("unknown hadron 'kaon'"));
    }
}
