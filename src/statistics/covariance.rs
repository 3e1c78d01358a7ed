//! Covariances of the mean of samples, and the whitening of differences from it.

use std::fmt;

use lanefield_reference::ensure;
use lanefield_reference::exact::ExactSum;
use nalgebra::{Cholesky, DMatrix, DVector, Dyn, SymmetricEigen};
use thiserror::Error;

use super::average::mean;
use super::samples::Samples;

/// How a fit uses the covariance.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum Covariance {
    /// Uses all of it.
    #[default]
    Full,
    /// Uses its diagonal only: each number counts by itself. If numbers are correlated, χ² is then less than the number of degrees of freedom,
    /// however good the fit is.
    Diagonal,
    /// Uses all of it, with the correlations R shrunk to (1 − λ) R + λ 1. λ is optimal in the sense of Ledoit and Wolf (J. Multivariate Anal. 88
    /// (2004) 365, §3.3), applied to numbers in units of their standard deviations: λ = min(b², d²) / d², d² = |R − 1|², b² = Σ |z zᵀ − R|² / N²,
    /// summed over the N samples z.
    Shrunk,
    /// Uses all of it, with an SVD cut (Dowdall et al., Phys. Rev. D 100 (2019) 094508, appendix D): eigenvalues of the correlation matrix below
    /// this fraction of the largest one are raised to it, which enlarges errors. Above 0 and below 1.
    Cut(f64),
}

impl fmt::Display for Covariance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "full",
            Self::Diagonal => "diagonal",
            Self::Shrunk => "shrunk",
            Self::Cut(_) => "cut",
        })
    }
}

/// The regularisation of the correlation matrix.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Regularised {
    /// λ.
    Shrunk(f64),
    /// The number of eigenvalues that were raised.
    Raised(usize),
}

/// Why a covariance cannot weight a fit. Messages are fragments.
#[derive(Clone, PartialEq, Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum CovarianceError {
    #[error("the errors that weight a fit need {needed} samples or more, and there {}", match samples { 1 => "is 1".to_owned(), _ => format!("are {samples}") })]
    Spread { samples: usize, needed: usize },
    #[error(
        "{samples} samples do not determine the covariance of {numbers} times, which needs {}: take more samples{}, a shrunk or cut covariance, \
         or the errors alone (uncorrelated)",
        numbers + 2,
        if samples.saturating_sub(2) < *fewest { String::new() } else { format!(", at most {} times", samples - 2) }
    )]
    Samples { samples: usize, numbers: usize, fewest: usize },
    #[error("the number at t = {time} is {value:e} in all samples, so it has no error and no weight")]
    Constant { time: usize, value: f64 },
    #[error(
        "the covariance of {numbers} times is not positive definite: take {}a {}cut covariance, or the errors alone (uncorrelated)",
        if numbers > fewest { "fewer times, " } else { "" },
        if *shrunk { "" } else { "shrunk or " }
    )]
    Singular { numbers: usize, fewest: usize, shrunk: bool },
    #[error("invalid SVD cut {cut}: expected a number above 0 and below 1")]
    Cut { cut: f64 },
}

/// W with |W (f − mean)|² = χ².
pub(super) struct Whitening {
    errors: DVector<f64>,
    factor: CovarianceFactor,
    pub(super) regularised: Option<Regularised>,
}

/// A factor of the correlation matrix.
enum CovarianceFactor {
    One,
    Lower(Cholesky<f64, Dyn>),
    /// λ^(−1/2) Vᵀ.
    Eigen(DMatrix<f64>),
}

impl Whitening {
    /// For numbers at times `first` and later, of which a fit uses at least `fewest`.
    pub(super) fn of(
        samples: &Samples,
        times: std::ops::RangeInclusive<usize>,
        fewest: usize,
        covariance: Covariance,
    ) -> Result<Self, CovarianceError> {
        let first = *times.start();
        let samples: Vec<&[f64]> = samples.bins().iter().map(|sample| &sample[times.clone()]).collect();
        let mean = mean(&samples).unwrap_or_default();
        let (count, numbers) = (samples.len(), times.count());
        // With two samples, R and each z zᵀ are the same, so nothing is shrunk.
        let needed = if covariance == Covariance::Shrunk { 3 } else { 2 };
        ensure!(count >= needed, CovarianceError::Spread { samples: count, needed });
        if covariance == Covariance::Full && count < numbers + 2 {
            return Err(CovarianceError::Samples { samples: count, numbers, fewest });
        }
        let of_mean = |i: usize, j: usize| {
            let products = samples.iter().map(|sample| (sample[i] - mean[i]) * (sample[j] - mean[j]));
            let sum: ExactSum = products.collect();
            sum.round() / (count as f64 * (count as f64 - 1.0))
        };
        let errors = DVector::from_fn(numbers, |i, _| of_mean(i, i).sqrt());
        if let Some(place) = errors.iter().position(|error| !error.is_normal()) {
            return Err(CovarianceError::Constant { time: first + place, value: mean[place] });
        }
        let correlation = || DMatrix::from_fn(numbers, numbers, |i, j| of_mean(i, j) / errors[i] / errors[j]);
        let lower = |correlation: DMatrix<f64>, shrunk| {
            let factor = Cholesky::new(correlation).filter(|factor| {
                // Correlations are near 1, with a rounding error of about 1e-16: smaller eigenvalues are rounding.
                factor.l_dirty().diagonal().iter().all(|pivot| *pivot > 1e-7)
            });
            factor.map(CovarianceFactor::Lower).ok_or(CovarianceError::Singular { numbers, fewest, shrunk })
        };
        let (factor, regularised) = match covariance {
            Covariance::Diagonal => (CovarianceFactor::One, None),
            Covariance::Full => (lower(correlation(), false)?, None),
            Covariance::Shrunk => {
                // In units of the standard deviation, with 1 / N as in R.
                let unit = (count as f64 - 1.0).sqrt();
                let z = |sample: &[f64]| DVector::from_fn(numbers, |i, _| (sample[i] - mean[i]) / (errors[i] * unit));
                let (shrunk, intensity) = shrunk(correlation(), samples.iter().map(|sample| z(sample)));
                (lower(shrunk, true)?, Some(Regularised::Shrunk(intensity)))
            }
            Covariance::Cut(cut) => {
                ensure!(cut > 0.0 && cut < 1.0, CovarianceError::Cut { cut });
                let (rows, raised) = raised(correlation(), cut);
                (CovarianceFactor::Eigen(rows), Some(Regularised::Raised(raised)))
            }
        };
        Ok(Self { errors, factor, regularised })
    }

    /// W x.
    pub(super) fn apply(&self, x: DVector<f64>) -> DVector<f64> {
        let mut x = x.component_div(&self.errors);
        match &self.factor {
            CovarianceFactor::One => x,
            CovarianceFactor::Lower(factor) => {
                // The diagonal is positive.
                factor.l_dirty().solve_lower_triangular_mut(&mut x);
                x
            }
            CovarianceFactor::Eigen(rows) => rows * x,
        }
    }
}

/// (1 − λ) R + λ 1, and λ.
fn shrunk(correlation: DMatrix<f64>, samples: impl ExactSizeIterator<Item = DVector<f64>>) -> (DMatrix<f64>, f64) {
    let (count, one) = (samples.len() as f64, DMatrix::identity(correlation.nrows(), correlation.ncols()));
    let distance = (&correlation - &one).norm_squared();
    let spread = samples.map(|z| (&z * z.transpose() - &correlation).norm_squared());
    let spread = spread.collect::<ExactSum>().round() / (count * count);
    let intensity = if distance > 0.0 { spread.min(distance) / distance } else { 0.0 };
    (correlation * (1.0 - intensity) + one * intensity, intensity)
}

/// λ^(−1/2) Vᵀ with eigenvalues that are at least `cut` of the largest one, and the number that were raised.
fn raised(correlation: DMatrix<f64>, cut: f64) -> (DMatrix<f64>, usize) {
    let SymmetricEigen { eigenvectors, eigenvalues } = SymmetricEigen::new(correlation);
    let least = cut * eigenvalues.max();
    let mut rows = eigenvectors.transpose();
    for (mut row, value) in rows.row_iter_mut().zip(&eigenvalues) {
        row /= value.max(least).sqrt();
    }
    (rows, eigenvalues.iter().filter(|value| **value < least).count())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Five samples of three numbers.
    const SAMPLES: [[f64; 3]; 5] =
        [[1.0, 0.9, 0.5], [2.0, 1.5, 1.1], [0.5, 0.6, 0.7], [1.5, 1.4, 0.9], [3.0, 2.2, 1.3]];

    /// R, and the samples in units of standard deviations.
    fn correlation() -> (DMatrix<f64>, Vec<DVector<f64>>) {
        let mean = mean(&SAMPLES).unwrap();
        let sigma = |i: usize| (SAMPLES.iter().map(|sample| (sample[i] - mean[i]).powi(2)).sum::<f64>() / 5.0).sqrt();
        let z = SAMPLES.map(|sample| DVector::from_fn(3, |i, _| (sample[i] - mean[i]) / sigma(i)));
        let sum = z.iter().fold(DMatrix::zeros(3, 3), |sum, z| sum + z * z.transpose());
        (sum / 5.0, z.to_vec())
    }

    fn whitened(covariance: Covariance) -> (DMatrix<f64>, Option<Regularised>) {
        let whitening = Whitening::of(&Samples::of(&SAMPLES), 0..=2, 2, covariance).unwrap();
        let columns: Vec<_> = (0..3)
            .map(|k| whitening.apply(DVector::from_fn(3, |i, _| f64::from(u8::from(i == k)) * whitening.errors[i])))
            .collect();
        let w = DMatrix::from_columns(&columns);
        (w.transpose() * w, whitening.regularised)
    }

    #[test]
    fn shrinkage_is_that_of_scikit_learn() {
        // sklearn.covariance.ledoit_wolf of the samples in units of their standard deviations.
        let (inverse, regularised) = whitened(Covariance::Shrunk);
        let Some(Regularised::Shrunk(intensity)) = regularised else { panic!("{regularised:?}") };
        assert!((intensity - 0.2751783660607628).abs() < 1e-13, "{intensity:e}");
        let (r, _) = correlation();
        let expected = r * (1.0 - intensity) + DMatrix::identity(3, 3) * intensity;
        assert!((inverse * expected - DMatrix::identity(3, 3)).norm() < 1e-12);
    }

    #[test]
    fn a_cut_raises_the_eigenvalues_below_it_and_no_others() {
        let (r, _) = correlation();
        let mut values = r.symmetric_eigenvalues().as_slice().to_vec();
        values.sort_by(f64::total_cmp);
        let between = (values[0] + values[1]) / (2.0 * values[2]);
        let (inverse, regularised) = whitened(Covariance::Cut(between));
        assert_eq!(regularised, Some(Regularised::Raised(1)));
        let mut found = inverse.symmetric_eigenvalues().map(f64::recip).as_slice().to_vec();
        found.sort_by(f64::total_cmp);
        for (found, expected) in found.iter().zip([between * values[2], values[1], values[2]]) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
        let (none, regularised) = whitened(Covariance::Cut(1e-9));
        assert_eq!(regularised, Some(Regularised::Raised(0)));
        assert!((none - whitened(Covariance::Full).0).norm() < 1e-9);
        for cut in [0.0, 1.0, f64::NAN] {
            let error = Whitening::of(&Samples::of(&SAMPLES), 0..=2, 2, Covariance::Cut(cut)).err().unwrap();
            assert!(error.to_string().contains("above 0 and below 1"), "{error}");
        }
    }

    #[test]
    fn no_cure_is_offered_that_was_given_or_cannot_work() {
        let of = |count: usize, covariance| {
            let error = Whitening::of(&Samples::of(&SAMPLES[..count]), 0..=2, 3, covariance).err().unwrap();
            error.to_string()
        };
        for covariance in [Covariance::Full, Covariance::Diagonal, Covariance::Shrunk, Covariance::Cut(0.1)] {
            let error = of(1, covariance);
            assert!(error.ends_with("samples or more, and there is 1"), "{error}");
        }
        assert!(of(2, Covariance::Shrunk).contains("need 3 samples or more, and there are 2"));
        let error = of(4, Covariance::Full);
        assert!(error.contains("which needs 5: take more samples, a shrunk") && !error.contains("at most"), "{error}");
        let copies = [SAMPLES[0], SAMPLES[0], SAMPLES[0]];
        let error = Whitening::of(&Samples::of(&copies), 1..=2, 3, Covariance::Diagonal).err().unwrap();
        assert_eq!(error, CovarianceError::Constant { time: 1, value: 0.9 });
    }
}
