//! The tests of the reference, one file a family or subject, as in `src`.

mod common;

mod blas;
mod clover;
mod domain_wall;
mod eight_reals;
mod fields;
mod hop;
mod laplace;
mod layout;
mod reduce;
mod scalar;
mod staggered;
mod worked_examples;
