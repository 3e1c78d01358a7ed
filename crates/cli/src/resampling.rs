//! Errors of results from several configurations, the quality of fits to them, and how both are shown.

use lanefield::statistics::{Estimate, Resampling, Samples, require_bins};

use super::csv_output::decimal;
use super::numbers::bits;
use super::numbers::with_error;
use crate::prelude::*;

/// How errors are computed.
#[derive(Args, Clone, Copy, Debug)]
pub struct ResamplingArgs {
    /// Average N successive configurations into one sample: those left over at the end count in means, not in errors
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..))]
    pub bin: u32,
    /// Compute errors from N bootstrap samples instead of the jackknife
    #[arg(long, value_name = "N", requires = "seed", value_parser = clap::value_parser!(u32).range(2..=1_000_000))]
    pub bootstrap: Option<u32>,
    /// Seed of the bootstrap
    #[arg(long, value_name = "N", requires = "bootstrap", value_parser = crate::args::seed)]
    pub seed: Option<u64>,
}

impl Default for ResamplingArgs {
    /// The jackknife of single configurations.
    fn default() -> Self {
        Self { bin: 1, bootstrap: None, seed: None }
    }
}

impl ResamplingArgs {
    pub fn resampling(&self) -> Resampling {
        match (self.bootstrap, self.seed) {
            (Some(resamples), Some(seed)) => Resampling::Bootstrap { resamples: resamples as usize, seed },
            _ => Resampling::Jackknife,
        }
    }

    /// Fails if errors cannot be computed from this number of configurations. This is checked before anything is measured.
    pub fn require(&self, configurations: usize) -> anyhow::Result<()> {
        require_bins(configurations, self.bin as usize).with_context(|| format!("--bin {}", self.bin))?;
        if let Some(resamples) = self.bootstrap {
            ensure!(
                configurations >= 2,
                "--bootstrap {resamples}: errors need 2 configurations or more, and there is 1"
            );
        }
        Ok(())
    }

    pub fn samples(&self, measurements: &[Vec<f64>]) -> anyhow::Result<Samples> {
        self.require(measurements.len())?;
        Ok(Samples::in_bins(measurements, self.bin as usize)?)
    }

    /// How configurations with these names are divided into bins.
    pub fn bins(&self, names: &[String]) -> Bins {
        let (configurations, bins) = (names.len(), names.len() / self.bin as usize);
        let left_over = names[bins * self.bin as usize..].to_vec();
        let &Self { bin, bootstrap, seed } = self;
        Bins { configurations, bin, bins, dropped: left_over.len(), left_over, bootstrap, seed }
    }
}

/// Configurations in bins, and the kind of the errors. As JSON, these fields.
#[derive(Serialize)]
pub struct Bins {
    pub configurations: usize,
    /// Configurations in each bin.
    bin: u32,
    /// Whole bins, which are the samples.
    pub bins: usize,
    /// The last configurations, which fill no bin. They count in means but not in errors.
    dropped: usize,
    left_over: Vec<String>,
    /// Number of bootstrap samples; null for jackknife errors.
    bootstrap: Option<u32>,
    seed: Option<u64>,
}

impl Bins {
    /// "7 configurations, jackknife errors of 3 bins of 2; 1 is left over …".
    pub fn describe(&self) -> String {
        let &Self { configurations, bin, bins, dropped, ref left_over, bootstrap, .. } = self;
        if configurations == 1 {
            return "1 configuration: errors need 2 or more".to_owned();
        }
        let of = if bin > 1 { format!("{bins} bins of {bin} configurations") } else { String::new() };
        let errors = match bootstrap {
            Some(resamples) if bin > 1 => format!("bootstrap errors of {resamples} samples from {of}"),
            Some(resamples) => format!("bootstrap errors of {resamples} samples"),
            None if bin > 1 => format!("jackknife errors of {of}"),
            None => "jackknife errors".to_owned(),
        };
        let rest = match dropped {
            0 => String::new(),
            1 => format!("; 1 left over, which counts in means and not in errors: {}", left_over[0]),
            _ => format!(
                "; {dropped} left over, which count in means and not in errors: {} to {}",
                left_over[0],
                left_over[dropped - 1]
            ),
        };
        format!("{configurations} configurations, {errors}{rest}")
    }

    pub const COLUMNS: [&'static str; 3] = ["bin", "bins", "dropped"];

    pub fn cells(&self) -> [String; 3] {
        [self.bin as usize, self.bins, self.dropped].map(|number| number.to_string())
    }
}

/// A fit with a smaller p-value is called poor.
const POOR: f64 = 0.05;

/// With fewer samples, errors are uncertain by a quarter or more.
const FEW: usize = 10;

/// The quality of a fit. As JSON, these fields.
#[derive(Serialize)]
pub struct Quality {
    chi_squared: f64,
    /// Degrees of freedom: numbers minus parameters.
    degrees: usize,
    /// The probability of a χ² at least as large if the model is right; null without degrees of freedom.
    p_value: Option<f64>,
    /// Reasons to doubt the fit.
    warnings: Vec<String>,
}

impl Quality {
    /// The quality of a fit. `cure` is the advice for a poor one.
    pub fn of(chi_squared: f64, degrees: usize, p_value: Option<f64>, cure: &str) -> Self {
        let poor = p_value.filter(|p| *p < POOR).map(|p| {
            let freedom = if degrees == 1 { "degree" } else { "degrees" };
            let [chi_squared, p] = [shown(chi_squared), probability(p)];
            format!("a poor fit: χ² is {chi_squared} with {degrees} {freedom} of freedom, p is {p}: {cure}")
        });
        let none = (degrees == 0).then(|| "it has as many parameters as numbers, so there is no p-value".to_owned());
        Self { chi_squared, degrees, p_value, warnings: poor.into_iter().chain(none).collect() }
    }

    pub fn warn(&mut self, warning: Option<String>) {
        self.warnings.extend(warning);
    }

    /// Warns if errors come from few samples: with N samples, an error is uncertain by 1/√(2 (N − 1)).
    pub fn warn_of_errors(&mut self, samples: usize, errors: &ResamplingArgs) {
        let few = |count: usize, what: &str, cure: &str| {
            (2..FEW).contains(&count).then(|| {
                let part = 100.0 / (2.0 * (count - 1) as f64).sqrt();
                format!("errors of {count} {what} are themselves uncertain by {part:.0}%, and so are weights, χ² and p: take {cure}")
            })
        };
        self.warn(few(
            samples,
            "samples",
            if errors.bin > 1 { "more configurations, or smaller bins" } else { "more configurations" },
        ));
        self.warn(errors.bootstrap.and_then(|count| few(count as usize, "bootstrap samples", "a larger --bootstrap")));
    }

    /// Prints the warnings about the fit with this name.
    pub fn say(&self, name: &str) {
        self.warnings.iter().for_each(|warning| say!("warning: {name}: {warning}"));
    }

    pub const TITLES: [&'static str; 3] = ["χ² / degrees", "χ² per degree", "p"];

    /// χ² with degrees of freedom, χ² per degree, and the p-value.
    pub fn shown(&self) -> [String; 3] {
        let per_degree = (self.degrees > 0).then(|| shown(self.chi_squared / self.degrees as f64));
        let p = self.p_value.map_or_else(|| "none".to_owned(), probability);
        let quality = format!("{} / {}", shown(self.chi_squared), self.degrees);
        [quality, per_degree.unwrap_or_else(|| "none".to_owned()), p]
    }

    /// "χ²/dof = 7.31/4, p = 0.12", for a figure.
    pub fn label(&self) -> String {
        let p = self.p_value.map_or_else(String::new, |p| format!(", p = {}", probability(p)));
        let poor = if self.p_value.is_some_and(|p| p < POOR) { ": poor fit" } else { "" };
        format!("χ²/dof = {}/{}{p}{poor}", shown(self.chi_squared), self.degrees)
    }

    pub const COLUMNS: [&'static str; 3] = ["chi_squared", "degrees", "p_value"];

    pub fn cells(&self) -> [String; 3] {
        [decimal(Some(self.chi_squared)), self.degrees.to_string(), decimal(self.p_value)]
    }
}

/// "7.31", or "1.2e-9" for small numbers.
fn shown(number: f64) -> String {
    match number {
        0.0 => "0".to_owned(),
        0.005..1e5 => format!("{number:.2}"),
        _ => format!("{number:.1e}"),
    }
}

/// "0.12", "0.004", "1.4e-10" or "< 1e-300".
fn probability(p: f64) -> String {
    match p {
        p if p < 1e-300 => "< 1e-300".to_owned(),
        p if p < 1e-3 => format!("{p:.1e}"),
        p if p < 0.1 => format!("{p:.3}"),
        p => format!("{p:.2}"),
    }
}

/// A number with its error, in JSON.
#[derive(Clone, Serialize)]
pub struct Number {
    pub value: f64,
    bits: String,
    /// Null if there is none.
    pub error: Option<f64>,
}

impl From<Estimate> for Number {
    fn from(Estimate { value, error }: Estimate) -> Self {
        Self { value, bits: bits(value), error }
    }
}

impl Number {
    /// "0.4531(21)".
    pub fn digits(&self) -> String {
        with_error(self.value, self.error)
    }
}
