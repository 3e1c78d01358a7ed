//! Errors of what is made of several configurations: how they are found, and how they are shown.

use clap::Args;
use lanefield::statistics::{Estimate, Resampling, mean};
use serde::Serialize;

use super::output::bits;

/// How errors are found.
#[derive(Args, Clone, Copy, Debug)]
pub struct ResamplingArgs {
    /// Configurations whose mean is one sample
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..))]
    pub bin: u32,
    /// Errors from so many bootstrap samples instead of the jackknife
    #[arg(long, value_name = "N", requires = "seed", value_parser = clap::value_parser!(u32).range(2..=1_000_000))]
    pub bootstrap: Option<u32>,
    /// Seed of the bootstrap
    #[arg(long, value_name = "N", requires = "bootstrap", value_parser = crate::args::seed)]
    pub seed: Option<u64>,
}

impl ResamplingArgs {
    pub fn resampling(&self) -> Resampling {
        match (self.bootstrap, self.seed) {
            (Some(resamples), Some(seed)) => Resampling::Bootstrap { resamples: resamples as usize, seed },
            _ => Resampling::Jackknife,
        }
    }

    /// Samples, each the mean of so many measurements in turn; what is left at the end is one that is smaller.
    pub fn samples(&self, measurements: &[Vec<f64>]) -> Vec<Vec<f64>> {
        measurements.chunks(self.bin as usize).filter_map(mean).collect()
    }

    /// "jackknife errors".
    pub fn describe(&self) -> String {
        match self.bootstrap {
            Some(resamples) => format!("bootstrap errors of {resamples} samples"),
            None => "jackknife errors".to_owned(),
        }
    }
}

/// A number with its error, in JSON.
#[derive(Clone, Serialize)]
pub struct Number {
    pub value: f64,
    bits: String,
    /// Null where there is none.
    pub error: Option<f64>,
}

impl From<Estimate> for Number {
    fn from(Estimate { value, error }: Estimate) -> Self {
        Self { value, bits: bits(value), error }
    }
}

impl Number {
    /// "0.4531 ± 0.0021".
    pub fn digits(&self) -> String {
        digits(self.value, self.error)
    }
}

/// "0.4531 ± 0.0021".
pub fn digits(value: f64, error: Option<f64>) -> String {
    match error {
        Some(error) => format!("{value:.4} ± {error:.4}"),
        None => format!("{value:.4}"),
    }
}
