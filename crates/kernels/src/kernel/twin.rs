//! Everything that is needed to write a reference implementation: `use super::twin::*` here, `use lanefield::twin::*` elsewhere.

pub use lanefield_reference::kernels::Vectors;
pub use lanefield_reference::scalar::functions::{cos_sin, exp, log, sqrt};
pub use lanefield_reference::scalar::{
    Link, madd, matrix_adjoint, matrix_times_matrix, matrix_times_vector, mul, real_madd, real_times,
    site_inner_product, site_norm2,
};
pub use num_complex::Complex;

pub use super::plain::PlainCall;
