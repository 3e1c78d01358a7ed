//! Measurements in bins: the samples, whose spread determines the error, and the mean of all measurements.

use thiserror::Error;

use super::average::mean;

/// Measurements of the same numbers, one per configuration, in bins. A sample is the mean of a bin. Measurements after the last whole bin are in no
/// sample. The central value is the mean of all measurements, and does not depend on the bins.
#[derive(Clone, PartialEq, Debug)]
pub struct Samples {
    mean: Vec<f64>,
    bins: Vec<Vec<f64>>,
    measurements: usize,
    size: usize,
}

/// Why measurements cannot be binned. Messages are fragments.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum BinError {
    #[error("bins of 0 measurements: expected 1 or more")]
    Size,
    #[error(
        "{measurements} {} {whole} whole {} of {size}, and an error needs 2: expected {}",
        if *measurements == 1 { "measurement has" } else { "measurements have" },
        if *whole == 1 { "bin" } else { "bins" },
        match measurements / 2 { 0 => "2 measurements or more".to_owned(), 1 => "bins of 1".to_owned(), most => format!("bins of 1 to {most}") }
    )]
    Few { measurements: usize, size: usize, whole: usize },
}

impl Samples {
    /// Makes each measurement a sample.
    pub fn of<S: AsRef<[f64]>>(measurements: &[S]) -> Self {
        let bins = measurements.iter().map(|one| one.as_ref().to_vec()).collect();
        Self { mean: mean(measurements).unwrap_or_default(), bins, measurements: measurements.len(), size: 1 }
    }

    /// Makes bins of `size` successive measurements. It is an error if bins of more than one measurement are fewer than two.
    pub fn in_bins<S: AsRef<[f64]>>(measurements: &[S], size: usize) -> Result<Self, BinError> {
        require_bins(measurements.len(), size)?;
        let bins = measurements.chunks_exact(size.max(1)).filter_map(mean).collect();
        Ok(Self { bins, size, ..Self::of(measurements) })
    }

    /// The mean of all measurements; empty if there are none.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// The mean of each whole bin.
    pub fn bins(&self) -> &[Vec<f64>] {
        &self.bins
    }

    /// The number of measurements per bin.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The number of measurements after the last whole bin, which are in no sample.
    pub fn dropped(&self) -> usize {
        self.measurements - self.bins.len() * self.size
    }
}

/// Checks, before anything is measured, that [`Samples::in_bins`] would accept the bins.
pub fn require_bins(measurements: usize, size: usize) -> Result<(), BinError> {
    match measurements.checked_div(size) {
        None => Err(BinError::Size),
        Some(whole) if size > 1 && whole < 2 => Err(BinError::Few { measurements, size, whole }),
        Some(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::{Estimate, Resampling};

    const SEVEN: [[f64; 1]; 7] = [[1.0], [2.0], [4.0], [8.0], [16.0], [32.0], [64.0]];

    fn estimate(samples: &Samples, resampling: Resampling) -> Estimate {
        resampling.estimates(samples, |mean| vec![Some(mean[0])])[0].unwrap()
    }

    #[test]
    fn what_is_left_over_is_in_no_bin_and_the_mean_is_that_of_all() {
        let bins: [&[f64]; 3] = [&[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0], &[1.5, 6.0, 24.0], &[7.0 / 3.0, 56.0 / 3.0]];
        for (size, bins) in (1..).zip(bins) {
            let samples = Samples::in_bins(&SEVEN, size).unwrap();
            assert_eq!(samples.bins().concat(), bins);
            assert_eq!((samples.mean(), samples.size(), samples.dropped()), (&[127.0 / 7.0][..], size, 7 % size));
            // The standard error of the whole bins, about their own mean.
            let (count, sum) = (bins.len() as f64, bins.iter().sum::<f64>());
            let squares: f64 = bins.iter().map(|bin| (bin - sum / count).powi(2)).sum();
            let Estimate { value, error } = estimate(&samples, Resampling::Jackknife);
            assert_eq!(value, 127.0 / 7.0);
            assert!((error.unwrap() / (squares / count / (count - 1.0)).sqrt() - 1.0).abs() < 1e-14);
            let bootstrap = Resampling::Bootstrap { resamples: 20, seed: 1 };
            let of_whole_bins = estimate(&Samples::of(samples.bins()), bootstrap).error;
            assert_eq!(estimate(&samples, bootstrap), Estimate { value, error: of_whole_bins });
        }
    }

    #[test]
    fn bins_of_which_there_are_not_two_are_refused_with_what_would_be_right() {
        for size in 4..=8 {
            let error = Samples::in_bins(&SEVEN, size).unwrap_err();
            assert_eq!(error, BinError::Few { measurements: 7, size, whole: 7 / size });
        }
        let of = |count: usize, size| Samples::in_bins(&SEVEN[..count], size).map_err(|error| error.to_string());
        assert_eq!(
            of(7, 6).unwrap_err(),
            "7 measurements have 1 whole bin of 6, and an error needs 2: expected bins of 1 to 3"
        );
        assert_eq!(
            of(3, 2).unwrap_err(),
            "3 measurements have 1 whole bin of 2, and an error needs 2: expected bins of 1"
        );
        assert_eq!(
            of(1, 2).unwrap_err(),
            "1 measurement has 0 whole bins of 2, and an error needs 2: expected 2 measurements or more"
        );
        assert!(of(7, 0).unwrap_err().contains("bins of 0"));
        assert_eq!(estimate(&of(1, 1).unwrap(), Resampling::Jackknife), Estimate { value: 1.0, error: None });
    }
}
