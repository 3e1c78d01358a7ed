//! What `solve`, `propagator`, `eigen` and `spectrum measure` share.

pub mod course;
pub mod deflation;
pub mod long_run;
pub mod residual_history;
