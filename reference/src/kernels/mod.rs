//! The CPU kernels, with one file for each family, named as in `cl/`. Each runs on the `rayon` pool in which it is called. No result depends on the
//! number of threads or on the lane width.

#[macro_use]
mod with_vectors;

pub mod blas;
mod blocks;
pub mod bodies;
mod checks;
pub mod clover;
pub mod clover_term;
pub mod colour_vectors;
pub mod domain_wall;
pub mod ghosts;
pub mod hop;
pub mod laplace;
pub mod multiply_adds;
pub mod reduce;
pub mod rhs;
pub mod staggered;
mod task_sizes;
mod vectors;

pub use vectors::Vectors;
pub(crate) use with_vectors::{LaneOperation, WithVectors};
