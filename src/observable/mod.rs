//! Observables: quark propagators, and hadron correlators computed from them. `docs/arithmetic.md` §11 defines them. Errors and fits are in
//! [`crate::statistics`].
//!
//! | file | subject |
//! |---|---|
//! | `quark.rs` | operators of quarks, and their physical spinors |
//! | `source.rs` | sources by name, smeared or not |
//! | `wuppertal.rs` | Gaussian (Wuppertal) smearing |
//! | `propagator.rs` | the propagator from a source |
//! | `gamma.rs` | products of gamma matrices, Grid's basis |
//! | `correlator.rs` | correlators of mesons, time slice by time slice |
//! | `nucleon.rs` | the contraction of the nucleon |
//! | `hadron.rs` | correlators of hadrons by name |
//! | `momentum.rs` | momenta |
//! | `twist.rs` | from the twisted to the physical basis |
//! | `effective_mass.rs` | effective masses of a correlator |

mod columns;
mod correlator;
mod effective_mass;
mod gamma;
mod hadron;
mod momentum;
mod nucleon;
mod propagator;
mod quark;
mod source;
mod twist;
mod wuppertal;

pub use columns::{COLUMNS, word_of_column};
pub use correlator::{CorrelatorError, CorrelatorProjection, MesonCorrelators, meson_correlator, meson_correlators};
pub use effective_mass::EffectiveMass;
pub use gamma::Gamma;
pub use hadron::Hadron;
pub use momentum::Momentum;
pub use propagator::{PropagatorError, propagator, solve_columns, sources};
pub use quark::{NoQuark, Quark, require_quark};
pub use source::{
    Component, Noise, OutsidePoint, QuarkSource, Source, columns_of_propagator, require_inside, times_of_columns,
};
pub use twist::TwistAngle;
pub use wuppertal::Wuppertal;
