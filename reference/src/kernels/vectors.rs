//! The precisions for which all CPU kernels are compiled.

use super::{blas, clover, domain_wall, hop, multiply_adds, reduce, rhs};
use crate::half::Half;

/// A precision with the kernels of all families.
pub trait Vectors:
    hop::Compiled
    + clover::Compiled
    + domain_wall::Compiled
    + blas::Compiled
    + rhs::Compiled
    + reduce::Compiled
    + multiply_adds::Compiled
{
}
impl Vectors for f32 {}
impl Vectors for f64 {}
impl Vectors for Half {}
