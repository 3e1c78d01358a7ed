//! Averages of correlators over sources or configurations, with jackknife errors. Sums are exact and rounded once, so that no result depends on the
//! order of the samples (`docs/arithmetic.md` §11).

use lanefield_reference::exact::ExactSum;

/// The mean of samples of a correlator, time by time: the exact sum, rounded once, over the number of samples. None where there are no samples.
pub fn mean<S: AsRef<[f64]>>(samples: &[S]) -> Option<Vec<f64>> {
    mean_without(samples, None)
}

/// The mean of all samples but one.
fn mean_without<S: AsRef<[f64]>>(samples: &[S], left_out: Option<usize>) -> Option<Vec<f64>> {
    let kept = || samples.iter().enumerate().filter(|(k, _)| Some(*k) != left_out).map(|(_, sample)| sample.as_ref());
    let (count, times) = (kept().count(), kept().map(<[f64]>::len).min()?);
    let mean = |t: usize| {
        let mut sum = ExactSum::new();
        kept().for_each(|sample| sum.add(sample[t]));
        sum.round() / count as f64
    };
    Some((0..times).map(mean).collect())
}

/// The jackknife errors of what `of` makes of the mean of samples, √((N − 1) / N · Σₖ (of(mean without sample k) − of(mean))²). None where `of` gives
/// nothing for one of these means, and where there are fewer than two samples.
pub fn jackknife_errors<S: AsRef<[f64]>>(samples: &[S], of: impl Fn(&[f64]) -> Vec<Option<f64>>) -> Vec<Option<f64>> {
    let Some(all) = mean(samples).map(|mean| of(&mean)) else { return Vec::new() };
    if samples.len() < 2 {
        return vec![None; all.len()];
    }
    let without = (0..samples.len()).filter_map(|k| mean_without(samples, Some(k)));
    let without: Vec<Vec<Option<f64>>> = without.map(|mean| of(&mean)).collect();
    let count = samples.len() as f64;
    let error = |t: usize| {
        let mut sum = ExactSum::new();
        for estimate in &without {
            let deviation = estimate[t]? - all[t]?;
            sum.add(deviation * deviation);
        }
        Some(((count - 1.0) / count * sum.round()).sqrt())
    };
    (0..all.len()).map(error).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
