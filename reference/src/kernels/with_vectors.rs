//! The vectors of the CPU kernels, by lane width, precision and processor.

/// Declares the trait `Compiled` of a family: its operations as functions for each precision. They are compiled once, here, and not again in every
/// crate that calls a kernel. In half precision, an operation runs in f32 and rounds its result for storage (`docs/arithmetic.md` §12).
macro_rules! compiled {
    ($(fn $run:ident($width:ident, $Operation:ident $parts:tt) $(-> $Output:ty)? $in_half:block)+) => {
        #[doc(hidden)]
        pub trait Compiled: Real {
            $(fn $run(width: LaneWidth, operation: $Operation<'_, Self>) $(-> $Output)?;)+
        }

        impl Compiled for f32 {
            $(fn $run(width: LaneWidth, operation: $Operation<'_, Self>) $(-> $Output)? {
                crate::kernels::with_vectors::WithVectors::with_vectors(width, operation)
            })+
        }

        impl Compiled for f64 {
            $(fn $run(width: LaneWidth, operation: $Operation<'_, Self>) $(-> $Output)? {
                crate::kernels::with_vectors::WithVectors::with_vectors(width, operation)
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

use wide::{f32x4, f64x2};

use crate::instructions::Instructions;
use crate::layout::LaneWidth;
use crate::real::Real;
use crate::tensor::{LaneVector, Pair, sets::Baseline};
#[cfg(target_arch = "x86_64")]
use crate::tensor::{sets::Avx2, x86};

/// A kernel that is generic over the vector type of a lane width.
pub(crate) trait LaneOperation<R> {
    /// Its result.
    type Output;
    /// Runs with words made of `blocks` vectors `V` each. The computation must be in a [`crate::tensor::Task`] that the vectors' instruction set
    /// runs.
    fn run<V: LaneVector<Real = R>>(self, blocks: usize) -> Self::Output;
}

/// A working precision, with vectors for each lane width.
pub(crate) trait WithVectors: Real {
    /// Runs an operation with the vectors of a lane width.
    fn with_vectors<O: LaneOperation<Self>>(width: LaneWidth, operation: O) -> O::Output;
    /// Runs an operation with native vectors; `None` if the processor does not have them for lanes of this width.
    fn with_native_vectors<O: LaneOperation<Self>>(width: LaneWidth, operation: O) -> Option<O::Output>;
}

/// The vectors of each instruction set. The native ones come first, the widest before the others; they support lanes of their own width, and wider
/// lanes with several vectors for a word. Then come those for narrower lanes.
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

/// Whether words of lanes of this width consist of vectors `V`.
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
