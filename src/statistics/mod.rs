//! Statistics of measurements: means, errors, autocorrelation, and fits of correlators. Definitions: `docs/arithmetic.md` §11.
//!
//! | file | subject |
//! |---|---|
//! | `average.rs` | means |
//! | `resampling.rs` | jackknife and bootstrap of whatever is made of means |
//! | `autocorrelation.rs` | integrated autocorrelation times, and errors that know of them |
//! | `covariance.rs` | covariances of means |
//! | `fit.rs` | fits of one or two states to correlators |

mod autocorrelation;
mod average;
#[cfg(feature = "fits")]
mod covariance;
#[cfg(feature = "fits")]
mod fit;
mod resampling;

pub use autocorrelation::Autocorrelation;
pub use average::mean;
#[cfg(feature = "fits")]
pub use covariance::{Covariance, CovarianceError};
#[cfg(feature = "fits")]
pub use fit::{Fit, FitError, Fitted, States, Window};
pub use resampling::{Estimate, Resampling};
