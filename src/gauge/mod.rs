//! Gauge fields on a backend: their evolution, and the observables that are measured on them.
//!
//! | file | subject |
//! |---|---|
//! | `links.rs` | links on a backend |
//! | `field.rs` | a gauge field on all sites, in f64 |
//! | `staples.rs` | staples of an action |
//! | `observables.rs`, `improved.rs` | plaquettes, energy density, topological charge, also improved; Polyakov and Wilson loops |
//! | `flow.rs`, `scales.rs` | the gradient flow, and the scales t₀ and w₀ |
//! | `smear.rs` | stout, APE and HYP smearing |
//! | `hisq.rs` | fat and long links of HISQ fermions |
//! | `quenched.rs`, `quenched_improved.rs` | heat bath and overrelaxation, also of actions with rectangles |
//! | `fix.rs` | Landau and Coulomb gauge |
//! | `hmc.rs` | hybrid Monte Carlo |
//! | `ensemble.rs` | ensembles in directories |

mod ensemble;
mod field;
mod fix;
mod flow;
mod hisq;
mod hmc;
mod improved;
mod links;
mod observables;
#[cfg(feature = "fits")]
mod potential;
mod quenched;
mod quenched_improved;
mod scales;
mod smear;
mod staples;

use lanefield_reference::field::FieldError;
use lanefield_reference::gauge::GaugeError;
use thiserror::Error;

use crate::backend::BackendError;

pub use ensemble::{
    Ensemble, EnsembleError, EnsembleParameters, require_ensemble_of_directory, require_one_action,
    require_one_ensemble,
};
pub use field::{GaugeField, LinkField};
pub use fix::{
    Gauge, GaugeFixed, GaugeFixing, GaugeFixingError, GaugePoint, GaugeStart, LARGEST_OVERRELAXATION, Stopping,
};
pub use flow::{Flow, FlowStep, LARGEST_STEP, StepChoice};
pub use hmc::{Hmc, HmcError, HmcParameters, Integrator, Trajectory};
pub(crate) use links::HostLinks;
pub use links::LinkFields;
pub use observables::{CloverObservables, OfPlanes};
#[cfg(feature = "fits")]
pub use potential::{Cornell, PotentialPoint, potential};
pub use quenched::{Quenched, QuenchedError, QuenchedParameters};
pub use quenched_improved::QuenchedImproved;
pub use scales::{FlowPoint, REFERENCE, flow_slope, reference_time, reference_width};
pub use smear::Smearing;
pub use staples::Action;

/// Why a gauge field could not be created, evolved or measured. Messages are fragments.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum GaugeFieldError {
    #[error(transparent)]
    Backend(#[from] BackendError),
    #[error(transparent)]
    Configuration(#[from] GaugeError),
    #[error("invalid flow step {step}: expected a number above 0 and at most {LARGEST_STEP}")]
    Step { step: f64 },
    #[error(
        "no step of the adaptive flow meets the tolerance {tolerance:e} at t = {time}, where the next step would be {step:e}: expected a finite tolerance above 0"
    )]
    Tolerance { tolerance: f64, time: f64, step: f64 },
    #[error("invalid {what} {value} of {kind} smearing: expected a number from {least} to {most}")]
    Coefficient { kind: &'static str, what: &'static str, value: f64, least: f64, most: f64 },
    #[error("loops of {given} steps do not fit {extents}: expected 1 to {most}")]
    Loops { given: usize, extents: String, most: usize },
}

impl From<FieldError> for GaugeFieldError {
    fn from(error: FieldError) -> Self {
        Self::Backend(error.into())
    }
}
