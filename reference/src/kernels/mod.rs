//! The CPU kernels, one file a family, named as in `cl/`. Each runs on the `rayon` pool that it is called in; none of their results
//! depends on the number of threads, nor on the lane width.

pub mod blas;
pub mod hop;
pub mod reduce;

use crate::field::{Field, FieldError, SiteObject, describe};
use crate::layout::{LaneWidth, Lattice, Sites};
use crate::real::Real;
use crate::tensor::LaneVector;

/// A kernel that is generic over the vector type of a lane width.
pub trait LaneOperation<R> {
    /// Its result.
    type Output;
    /// Runs with words made of `BLOCKS` vectors `V` each.
    fn run<V: LaneVector<Real = R>, const BLOCKS: usize>(self) -> Self::Output;
}

/// The vectors of each precision.
pub trait Vectors: Real {
    /// Runs `operation` with the vectors that words of `width` bytes are made of.
    fn with_vectors<O: LaneOperation<Self>>(width: LaneWidth, operation: O) -> O::Output;
}

macro_rules! vectors {
    ($real:ty, $($bytes:literal)|+ => $narrow:ty, $($more:literal => $vector:ty),+; $widest:ty) => {
        impl Vectors for $real {
            fn with_vectors<O: LaneOperation<Self>>(width: LaneWidth, operation: O) -> O::Output {
                match width.bytes() {
                    $($bytes)|+ => operation.run::<$narrow, 1>(),
                    $($more => operation.run::<$vector, 1>(),)+
                    64 => operation.run::<$widest, 1>(),
                    128 => operation.run::<$widest, 2>(),
                    _ => operation.run::<$widest, 4>(),
                }
            }
        }
    };
}
vectors!(f32, 8 => crate::tensor::Pair<f32>, 16 => wide::f32x4, 32 => wide::f32x8; wide::f32x16);
// No f64 lattice has 8-byte lanes.
vectors!(f64, 8 | 16 => wide::f64x2, 32 => wide::f64x4; wide::f64x8);

/// Refuses fields that do not lie on `lattice` and `sites`.
pub(crate) fn check_place<R: Real, K: SiteObject>(
    what: &'static str,
    field: &Field<R, K>,
    lattice: &Lattice,
    sites: Sites,
) -> Result<(), FieldError> {
    match field.lattice() == lattice && field.sites() == sites {
        true => Ok(()),
        false => Err(FieldError::Mismatch {
            what,
            left: field.describe(),
            right: describe::<R, K>(lattice, sites, field.kind()),
        }),
    }
}

/// Outer sites a task: enough tasks to balance the load, each long enough to be worth one.
pub(crate) fn osites_a_task(osites: usize) -> usize {
    osites.div_ceil(8 * rayon::current_num_threads()).max(1)
}
