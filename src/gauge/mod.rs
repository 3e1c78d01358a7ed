//! Gauge fields on a backend: their evolution, and what is measured on them.
//!
//! | file | subject |
//! |---|---|
//! | `links.rs` | links on a backend |
//! | `quenched.rs` | heat bath and overrelaxation |
//! | `ensemble.rs` | ensembles in directories |

mod ensemble;
mod links;
mod quenched;

pub use ensemble::{Ensemble, EnsembleError, EnsembleParameters};
pub use links::LinkFields;
pub use quenched::{MOST_SWEEPS, Quenched, QuenchedError, QuenchedParameters};
