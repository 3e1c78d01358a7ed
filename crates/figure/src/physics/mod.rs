//! Figures of lattice QCD, from plain numbers: what commands draw, and what a report shows again.

mod correlators;
mod flow;
mod history;
mod potential;

pub use correlators::{Correlator, FittedMass, correlators};
pub use flow::{Flow, flow};
pub use history::{Observable, history};
pub use potential::{FittedPotential, Potential, potential};

/// A number, and its error where one is known.
pub type Value = (f64, Option<f64>);
