//! Statistics of measurements: means, errors, autocorrelation, and fits of correlators. `docs/arithmetic.md` §11 defines them.
//!
//! | file | subject |
//! |---|---|
//! | `average.rs` | means |
//! | `samples.rs` | measurements in bins |
//! | `resampling.rs` | jackknife and bootstrap for functions of means |
//! | `autocorrelation.rs` | integrated autocorrelation times, and errors that account for them |
//! | `covariance.rs` | covariances of means, shrinkage, SVD cuts |
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
