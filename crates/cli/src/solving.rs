//! What `solve`, `propagator`, `eigen` and `spectrum measure` have in common.

pub mod course;
pub mod deflation;
pub mod long_run;
pub mod residual_history;
