//! Gauge configurations in site order, and simple observables: average plaquette, link trace, deviation from SU(3). The observables are exact sums,
//! so they depend neither on the number of threads nor on the lane layout. The package `lanefield` reads and writes files of configurations
//! (`io::nersc`, `io::npy`).

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
