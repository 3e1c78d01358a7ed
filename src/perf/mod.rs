//! What is measured on a backend, beyond the kernels that `cargo bench` times: comparisons of ways to do the same, with their results.

pub mod reduce;
