//! Covariances of the mean of samples, and what whitens differences from it.

use lanefield_reference::exact::ExactSum;
use nalgebra::{Cholesky, DMatrix, DVector, Dyn};
use thiserror::Error;

use super::average::mean;

/// What of the covariance a fit takes into account.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Covariance {
    /// All of it.
    #[default]
    Full,
    /// Its diagonal: each number by itself. χ² is then no measure of how good a fit is.
    Diagonal,
}

/// Why a covariance cannot weigh a fit. Messages are fragments.
#[derive(Clone, PartialEq, Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum CovarianceError {
    /// It has no inverse.
    #[error(
        "{samples} samples do not determine the covariance of {numbers} numbers, which needs {} and more: take more samples, \
         fewer times, or the errors alone (uncorrelated)",
        numbers + 2
    )]
    Samples { samples: usize, numbers: usize },
    /// A number does not vary.
    #[error("number {place} is {value:e} in all samples: it has no error to weigh it by")]
    Constant { place: usize, value: f64 },
    /// Numbers that vary together.
    #[error(
        "the covariance of {numbers} numbers is not positive definite: take fewer times, or the errors alone (uncorrelated)"
    )]
    Singular { numbers: usize },
}

/// W with |W (f − mean)|² = χ².
pub(super) struct Whitening {
    errors: DVector<f64>,
    /// Of the correlation matrix.
    factor: Option<Cholesky<f64, Dyn>>,
}

impl Whitening {
    pub(super) fn of<S: AsRef<[f64]>>(samples: &[S], covariance: Covariance) -> Result<Self, CovarianceError> {
        let mean = mean(samples).unwrap_or_default();
        let (count, numbers) = (samples.len(), mean.len());
        let needed = if covariance == Covariance::Full { numbers + 2 } else { 2 };
        if count < needed {
            return Err(CovarianceError::Samples { samples: count, numbers });
        }
        let of_mean = |i: usize, j: usize| {
            let products =
                samples.iter().map(AsRef::as_ref).map(|sample| (sample[i] - mean[i]) * (sample[j] - mean[j]));
            let sum: ExactSum = products.collect();
            sum.round() / (count as f64 * (count as f64 - 1.0))
        };
        let errors = DVector::from_fn(numbers, |i, _| of_mean(i, i).sqrt());
        if let Some(place) = errors.iter().position(|error| !error.is_normal()) {
            return Err(CovarianceError::Constant { place, value: mean[place] });
        }
        let factor = match covariance {
            Covariance::Diagonal => None,
            Covariance::Full => {
                let correlation = DMatrix::from_fn(numbers, numbers, |i, j| of_mean(i, j) / errors[i] / errors[j]);
                let factor = Cholesky::new(correlation).filter(|factor| {
                    // Rounding of the correlations, which are near 1, is about 1e-16: less than this is none of theirs.
                    factor.l_dirty().diagonal().iter().all(|pivot| *pivot > 1e-7)
                });
                Some(factor.ok_or(CovarianceError::Singular { numbers })?)
            }
        };
        Ok(Self { errors, factor })
    }

    /// W x.
    pub(super) fn apply(&self, x: DVector<f64>) -> DVector<f64> {
        let mut x = x.component_div(&self.errors);
        if let Some(factor) = &self.factor {
            // Its diagonal is positive.
            factor.l_dirty().solve_lower_triangular_mut(&mut x);
        }
        x
    }
}
