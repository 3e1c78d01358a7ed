//! Gauge configurations in site order, and their plainest observables: average plaquette, link trace, distance from SU(3).
//! The observables are exact sums, so they depend on neither the number of threads nor the lane layout. Files of
//! configurations are read and written by the package `lanefield` (`io::nersc`, `io::npy`).

mod border;
mod colour_matrix;
mod configuration;
mod parts;
mod projection;
mod transformation;

pub use border::NearCoordinate;
pub use colour_matrix::{ColourMatrix, LINK_WORDS, SITE_WORDS, third_row};
pub use configuration::{Configuration, GaugeError, LinkPosition, SU3_TOLERANCE, UnitarityDefect};
pub use projection::Projection;
pub use transformation::GaugeTransformation;
