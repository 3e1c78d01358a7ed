//! Statistics of measurements: means, errors, autocorrelation, and fits of correlators. Definitions: `docs/arithmetic.md` §11.
//!
//! | file | subject |
//! |---|---|
//! | `average.rs` | means |
//! | `samples.rs` | measurements in bins |
//! | `resampling.rs` | jackknife and bootstrap of whatever is made of means |
//! | `autocorrelation.rs` | integrated autocorrelation times, and errors that know of them |
//! | `covariance.rs` | covariances of means, shrinkage, cuts of eigenvalues |
//! | `distribution.rs` | p-values |
//! | `fit.rs` | fits of one or two states to correlators |

mod autocorrelation;
mod average;
#[cfg(feature = "fits")]
mod covariance;
mod distribution;
#[cfg(feature = "fits")]
mod fit;
mod resampling;
mod samples;

pub use autocorrelation::Autocorrelation;
pub use average::mean;
#[cfg(feature = "fits")]
pub use covariance::{Covariance, CovarianceError, Regularised};
pub use distribution::{chi_squared_tail, hotelling_tail};
#[cfg(feature = "fits")]
pub use fit::{Fit, FitError, Fitted, States, Window};
pub use resampling::{Estimate, Resampling};
pub use samples::{BinError, Samples, require_bins};
