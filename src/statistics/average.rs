//! Means of samples, for example of correlators over sources or configurations. Sums are exact and rounded once, so that no result depends on the
//! order of the samples (`docs/arithmetic.md` §11).

use lanefield_reference::exact::ExactSum;

/// The mean of samples of a correlator, for each time: the exact sum, rounded once, divided by the number of samples. `None` without samples.
pub fn mean<S: AsRef<[f64]>>(samples: &[S]) -> Option<Vec<f64>> {
    mean_of(samples, 0..samples.len())
}

/// The mean of the samples with these indices.
pub(super) fn mean_of<S: AsRef<[f64]>>(samples: &[S], places: impl Iterator<Item = usize> + Clone) -> Option<Vec<f64>> {
    let kept = || places.clone().map(|place| samples[place].as_ref());
    let (count, times) = (kept().count(), kept().map(<[f64]>::len).min()?);
    let mean = |t: usize| kept().map(|sample| sample[t]).collect::<ExactSum>().round() / count as f64;
    Some((0..times).map(mean).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::{Resampling, Samples};

    fn jackknife_errors<S: AsRef<[f64]>>(samples: &[S], of: impl Fn(&[f64]) -> Vec<Option<f64>>) -> Vec<Option<f64>> {
        let estimates = Resampling::Jackknife.estimates(&Samples::of(samples), of);
        estimates.into_iter().map(|estimate| estimate.and_then(|estimate| estimate.error)).collect()
    }

    fn same(mean: &[f64]) -> Vec<Option<f64>> {
        mean.iter().copied().map(Some).collect()
    }

    #[test]
    fn the_error_of_a_mean_is_the_standard_error() {
        // Mean 4; deviations −3, −1, 4; their squares add up to 26; 26 / (3 · 2).
        let samples = [[1.0, 5.0], [3.0, 5.0], [8.0, 5.0]];
        assert_eq!(mean(&samples), Some(vec![4.0, 5.0]));
        let errors = jackknife_errors(&samples, same);
        assert!((errors[0].unwrap() - (26.0f64 / 6.0).sqrt()).abs() < 1e-15);
        assert_eq!(errors[1], Some(0.0));
    }

    #[test]
    fn the_order_of_the_samples_changes_no_bit() {
        let samples = [[1e16, 0.1], [1.0, 0.2], [-1e16, 0.3], [3.0, 0.7]];
        let mut reversed = samples;
        reversed.reverse();
        assert_eq!(mean(&samples), Some(vec![1.0, mean(&reversed).unwrap()[1]]));
        assert_eq!(jackknife_errors(&samples, same), jackknife_errors(&reversed, same));
    }

    #[test]
    fn one_sample_is_its_mean_and_has_no_error() {
        assert_eq!(mean(&[[0.1, 0.2]]), Some(vec![0.1, 0.2]));
        assert_eq!(jackknife_errors(&[[0.1, 0.2]], same), [None; 2]);
        assert_eq!(mean::<[f64; 1]>(&[]), None);
    }

    #[test]
    fn an_estimate_that_does_not_exist_for_one_mean_has_no_error() {
        let positive = |mean: &[f64]| mean.iter().map(|&x| (x > 0.0).then_some(x)).collect::<Vec<_>>();
        assert_eq!(jackknife_errors(&[[5.0], [-1.0]], positive), [None]);
    }
}
