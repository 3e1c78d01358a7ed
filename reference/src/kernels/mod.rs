//! The CPU kernels, one file a family, named as in `cl/`. Each runs on the `rayon` pool that it is called in; none of their results
//! depends on the number of threads, nor on the lane width.

/// Declares the trait `Compiled` of a family: its operations as functions of each precision. They are compiled once, here, and not again in
/// every crate that calls a kernel. Stated of each is what it does in half precision: the same in f32, and a rounding to what is stored
/// (`docs/arithmetic.md` §12).
macro_rules! compiled {
    ($(fn $run:ident($width:ident, $Operation:ident $parts:tt) $(-> $Output:ty)? $in_half:block)+) => {
        #[doc(hidden)]
        pub trait Compiled: Real {
            $(fn $run(width: LaneWidth, operation: $Operation<'_, Self>) $(-> $Output)?;)+
        }

        impl Compiled for f32 {
            $(fn $run(width: LaneWidth, operation: $Operation<'_, Self>) $(-> $Output)? {
                crate::kernels::WithVectors::with_vectors(width, operation)
            })+
        }

        impl Compiled for f64 {
            $(fn $run(width: LaneWidth, operation: $Operation<'_, Self>) $(-> $Output)? {
                crate::kernels::WithVectors::with_vectors(width, operation)
            })+
        }

        impl Compiled for Half {
            $(fn $run($width: LaneWidth, operation: $Operation<'_, Self>) $(-> $Output)? {
                let $Operation $parts = operation;
                $in_half
            })+
        }
    };
}

pub mod blas;
mod blocks;
pub mod bodies;
pub mod clover;
pub mod clover_term;
pub mod domain_wall;
pub mod ghosts;
pub mod hop;
pub mod laplace;
pub mod multiply_adds;
pub mod reduce;
pub mod rhs;
pub mod staggered;

use num_complex::Complex;
use wide::{f32x4, f64x2};

use crate::field::{FieldData, FieldError, describe};
use crate::half::Half;
use crate::instructions::Instructions;
use crate::layout::{LaneWidth, Lattice, Sites};
use crate::real::Real;
use crate::tasks::items_a_task;
use crate::tensor::{LaneVector, Pair, sets::Baseline};
#[cfg(target_arch = "x86_64")]
use crate::tensor::{sets::Avx2, x86};

/// A kernel that is generic over the vector type of a lane width.
pub(crate) trait LaneOperation<R> {
    /// Its result.
    type Output;
    /// Runs with words made of `blocks` vectors `V` each. What computes is in a [`crate::tensor::Task`] that the vectors' instruction set runs.
    fn run<V: LaneVector<Real = R>>(self, blocks: usize) -> Self::Output;
}

/// A precision in which one computes, with vectors for each lane width.
trait WithVectors: Real {
    /// Runs an operation with the vectors of a lane width.
    fn with_vectors<O: LaneOperation<Self>>(width: LaneWidth, operation: O) -> O::Output;
    /// Runs an operation with native vectors; `None` where the processor has none for lanes of this width.
    fn with_native_vectors<O: LaneOperation<Self>>(width: LaneWidth, operation: O) -> Option<O::Output>;
}

/// The vectors of each set of instructions: the native ones, widest first, which take lanes as wide as they are and, in several vectors a word, wider ones;
/// then those of what is narrower.
macro_rules! with_vectors {
    ($real:ty: $($set:pat => [$($native:ty),*] $(else $other:ty $(, for 8 bytes $narrow:ty)?)?;)+) => {
        impl WithVectors for $real {
            fn with_vectors<O: LaneOperation<Self>>(width: LaneWidth, operation: O) -> O::Output {
                match Instructions::in_use() {
                    $($set => {
                        $(if takes::<$native>(width) {
                            return operation.run::<$native>(width.bytes() / size_of::<$native>());
                        })*
                        $($(if width.bytes() == size_of::<$narrow>() {
                            return operation.run::<$narrow>(1);
                        })?
                        operation.run::<$other>(width.bytes() / size_of::<$other>()))?
                    })+
                }
            }
            fn with_native_vectors<O: LaneOperation<Self>>(width: LaneWidth, operation: O) -> Option<O::Output> {
                match Instructions::in_use() {
                    $($set => {
                        $(if takes::<$native>(width) {
                            return Some(operation.run::<$native>(width.bytes() / size_of::<$native>()));
                        })*
                        None
                    })+
                }
            }
        }
    };
}

/// Whether words of lanes of this width are made of vectors `V`.
fn takes<V: LaneVector>(width: LaneWidth) -> bool {
    if V::ONE_BLOCK { width.bytes() == size_of::<V>() } else { width.bytes() >= size_of::<V>() }
}

#[cfg(target_arch = "x86_64")]
with_vectors! {
    f32:
    Instructions::Avx512 => [x86::F32x16, x86::F32x8] else Pair<f32, Avx2>;
    Instructions::Avx2 => [x86::F32x8] else Pair<f32, Avx2>;
    Instructions::Baseline => [] else f32x4, for 8 bytes Pair<f32, Baseline>;
}
#[cfg(target_arch = "x86_64")]
with_vectors! {
    f64:
    Instructions::Avx512 => [x86::F64x8, x86::F64x4] else Pair<f64, Avx2>;
    Instructions::Avx2 => [x86::F64x4] else Pair<f64, Avx2>;
    Instructions::Baseline => [] else f64x2;
}
#[cfg(not(target_arch = "x86_64"))]
with_vectors! { f32: _ => [f32x4] else Pair<f32, Baseline>; }
// No f64 lattice has 8-byte lanes.
#[cfg(not(target_arch = "x86_64"))]
with_vectors! { f64: _ => [f64x2] else f64x2; }

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

/// Reals in memory of one field, and how many of them make a part of an outer site, and a task. To vector operations and norms, a field
/// with n parts a site is one with n times as many outer sites.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    an_osite: usize,
    a_task: usize,
}

impl Shape {
    fn of<R: Real>(field: &FieldData<R>) -> Self {
        let an_osite = field.reals_a_part();
        Self { an_osite, a_task: items_a_task(field.osites() * field.object().parts()) * an_osite }
    }

    /// Rounds what a kernel of f32 wrote into a field of this shape.
    fn quantize(self, width: LaneWidth, field: &mut [Half]) {
        Half::quantize(field, self.an_osite, width.bytes() / size_of::<Complex<f32>>());
    }
}

/// Refuses fields that do not lie on `lattice` and `sites`.
pub(crate) fn check_place<R: Real>(
    what: &'static str,
    field: &FieldData<R>,
    lattice: &Lattice,
    sites: Sites,
) -> Result<(), FieldError> {
    match field.lattice() == lattice && field.sites() == sites {
        true => Ok(()),
        false => Err(FieldError::Mismatch {
            what,
            left: field.describe(),
            right: describe::<R>(lattice, sites, field.object()),
        }),
    }
}

/// Refuses fields that do not lie on the same sites of the same lattice, or hold different things there.
pub(crate) fn check_like<R: Real>(
    what: &'static str,
    field: &FieldData<R>,
    other: &FieldData<R>,
) -> Result<(), FieldError> {
    check_place(what, field, other.lattice(), other.sites())?;
    match field.object() == other.object() {
        true => Ok(()),
        false => Err(FieldError::Mismatch { what, left: field.describe(), right: other.describe() }),
    }
}
