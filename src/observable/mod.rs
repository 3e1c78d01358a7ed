//! Observables: quark propagators, and correlators of mesons made of them. Definitions: `docs/arithmetic.md` §11.
//!
//! | file | subject |
//! |---|---|
//! | `quark.rs` | operators of quarks, and their physical spinors |
//! | `propagator.rs` | the propagator from a point |
//! | `gamma.rs` | the gamma matrices, Grid's basis |
//! | `correlator.rs` | correlators of mesons, time slice by time slice |
//! | `effective_mass.rs` | effective masses of a correlator |
//! | `average.rs` | averages over sources and configurations, with jackknife errors |

mod average;
mod correlator;
mod effective_mass;
mod gamma;
mod propagator;
mod quark;

pub use average::{jackknife_errors, mean};
pub use correlator::{CorrelatorError, MesonCorrelators, meson_correlator, meson_correlators};
pub use effective_mass::effective_masses;
pub use gamma::Gamma;
pub use propagator::{COLUMNS, OutsidePoint, PropagatorError, propagator, require_inside, solve_columns, sources};
pub use quark::Quark;
