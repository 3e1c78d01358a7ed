//! Errors of functions of the mean of samples, by jackknife or bootstrap.

use lanefield_reference::exact::ExactSum;
use lanefield_reference::random::resample;

use super::average::{mean, mean_of};
use super::samples::Samples;

/// How errors are computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Resampling {
    /// Leaves out each sample once.
    #[default]
    Jackknife,
    /// Draws as many samples as there are, with replacement, and repeats this. Draws depend only on the seed, the number of the resample and that of
    /// the sample.
    Bootstrap {
        /// The number of resamples.
        resamples: usize,
        /// The seed.
        seed: u64,
    },
}

/// A number, with its error if there is one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Estimate {
    /// The value for the mean of all measurements.
    pub value: f64,
    /// Its error.
    pub error: Option<f64>,
}

impl Resampling {
    /// Applies `of` to the mean of all measurements, and returns its values with errors. The jackknife error is √((N − 1) / N · Σ (x − x̄)²), with
    /// x̄ from the mean of the N samples; the bootstrap error is the standard deviation. A value is `None` if `of` returns `None` for the mean of
    /// all. There is no error if `of` returns `None` for a resample, or with fewer than two samples.
    pub fn estimates(self, samples: &Samples, of: impl Fn(&[f64]) -> Vec<Option<f64>>) -> Vec<Option<Estimate>> {
        let (all, samples) = (samples.mean(), samples.bins());
        let Some(centres) = mean(samples).map(|mean| of(&mean)) else { return Vec::new() };
        let all = of(all);
        let count = samples.len();
        let resampled: Vec<Vec<Option<f64>>> = match self {
            _ if count < 2 => Vec::new(),
            Self::Jackknife => {
                let without = |k: usize| mean_of(samples, (0..count).filter(move |&other| other != k));
                (0..count).filter_map(without).map(|mean| of(&mean)).collect()
            }
            Self::Bootstrap { resamples, seed } => {
                let drawn = |k: usize| mean_of(samples, resample(seed, k as u64, count).into_iter());
                (0..resamples).filter_map(drawn).map(|mean| of(&mean)).collect()
            }
        };
        let error = |k: usize| {
            let values: Option<Vec<f64>> = resampled.iter().map(|values| values.get(k).copied().flatten()).collect();
            self.error(&values?, (*centres.get(k)?)?)
        };
        all.iter().enumerate().map(|(k, &value)| Some(Estimate { value: value?, error: error(k) })).collect()
    }

    fn error(self, values: &[f64], centre: f64) -> Option<f64> {
        if values.len() < 2 {
            return None;
        }
        let count = values.len() as f64;
        let squares = |centre: f64| {
            let squares = values.iter().map(|value| (value - centre) * (value - centre));
            squares.collect::<ExactSum>().round()
        };
        match self {
            Self::Jackknife => Some(((count - 1.0) / count * squares(centre)).sqrt()),
            Self::Bootstrap { .. } => {
                let centre = values.iter().copied().collect::<ExactSum>().round() / count;
                Some((squares(centre) / (count - 1.0)).sqrt())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lanefield_reference::random::{Stream, gaussian_pair};

    fn samples(count: u64) -> Vec<[f64; 1]> {
        (0..count).map(|k| [gaussian_pair(3, Stream::TestData, k, 0).0 + 10.0]).collect()
    }

    fn errors_of_a_square(resampling: Resampling, count: u64) -> f64 {
        let estimates = resampling.estimates(&Samples::of(&samples(count)), |mean| vec![Some(mean[0] * mean[0])]);
        estimates[0].unwrap().error.unwrap()
    }

    #[test]
    fn both_give_the_error_that_propagation_gives() {
        // Of x², x = 10 with variance 1: 2 · 10 / √N.
        let expected = 20.0 / 400.0f64.sqrt();
        let bootstrap = Resampling::Bootstrap { resamples: 2000, seed: 1 };
        for resampling in [Resampling::Jackknife, bootstrap] {
            let found = errors_of_a_square(resampling, 400);
            assert!((found / expected - 1.0).abs() < 0.15, "{resampling:?}: {found}, not {expected}");
        }
    }

    #[test]
    fn a_bootstrap_is_a_function_of_its_seed() {
        let of = |seed| errors_of_a_square(Resampling::Bootstrap { resamples: 50, seed }, 30);
        assert_eq!(of(1).to_bits(), of(1).to_bits());
        assert_ne!(of(1), of(2));
    }

    #[test]
    fn what_one_resample_lacks_has_no_error_and_what_the_mean_lacks_is_nothing() {
        let positive = |mean: &[f64]| vec![(mean[0] > 0.0).then_some(mean[0]), None];
        let estimates = Resampling::Jackknife.estimates(&Samples::of(&[[5.0], [-1.0]]), positive);
        assert_eq!(estimates, [Some(Estimate { value: 2.0, error: None }), None]);
    }
}
