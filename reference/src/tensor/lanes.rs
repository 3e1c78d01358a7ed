//! Vectors of complex lanes: re0 im0 re1 im1 …, as in memory. Complex products need the real parts, the imaginary parts and the swapped pairs of a
//! vector. This module has the trait of vectors, single complex numbers, and the 16-byte vectors of every processor: those of `wide`, with the
//! shuffles that it lacks. The vectors of AVX2 and AVX-512 are in `x86.rs`.

use std::marker::PhantomData;

use bytemuck::{Pod, Zeroable};
use wide::{f32x4, f64x2};

use super::portable::{Portable, WIDE_FUSES};
use super::sets::{Baseline, InstructionSet};
use crate::doubles::Doubles;
use crate::real::Real;

/// Implements operations on numbers of one type that are a single expression: `add(a, b) = a + b;`.
#[doc(hidden)]
#[macro_export]
macro_rules! operations {
    ($($name:ident($this:ident $(, $other:ident)*) = $value:expr;)+) => {$(
        #[inline(always)]
        fn $name(self $(, $other: Self)*) -> Self {
            let $this = self;
            $value
        }
    )+};
}

/// A vector of complex lanes, real part first. All operations act on each lane separately, and are exact or rounded once.
pub trait LaneVector: Pod + Send + Sync {
    /// The precision.
    type Real: Real;
    /// The instruction set for which it is made. Arithmetic and shuffles must be in a [`super::Task`] that this set runs.
    type Set: InstructionSet;
    /// Eight doubles with the same instruction set.
    type Doubles: Doubles;
    /// The number of reals in a vector: twice the number of lanes.
    const REALS: usize;
    /// Whether a word is always one vector.
    const ONE_BLOCK: bool;
    /// Positions of reals, for [`Self::permute`].
    type Permutation: Copy + Send + Sync;

    /// All reals the same.
    fn splat(value: Self::Real) -> Self;
    /// A vector with `real(k)` for each real k.
    fn from_reals(real: impl Fn(usize) -> Self::Real) -> Self;

    /// self + b, real by real.
    fn add(self, b: Self) -> Self;
    /// self − b, real by real.
    fn sub(self, b: Self) -> Self;
    /// self · b, real by real.
    fn times(self, b: Self) -> Self;
    /// −self, real by real: flips the sign bits, also of zeros.
    fn negate(self) -> Self;
    /// self · b + c, real by real, rounded once.
    fn fused(self, b: Self, c: Self) -> Self;
    /// self / b, real by real.
    fn divided_by(self, b: Self) -> Self;
    /// Magnitudes, real by real: the sign bits cleared.
    #[inline(always)]
    fn magnitude(self) -> Self {
        self.times_sign_of(self)
    }
    /// self, negated in the reals in which the sign bit of `sign` is set.
    fn times_sign_of(self, sign: Self) -> Self;
    /// The square root, real by real, rounded once.
    fn sqrt(self) -> Self;
    /// Sets the sign bit of each real in which self < b, for [`Self::blend`].
    fn less(self, b: Self) -> Self;
    /// Sets the sign bit of each real in which self ≤ b, for [`Self::blend`].
    fn at_most(self, b: Self) -> Self;

    /// (re, re) of every lane.
    fn real_parts(self) -> Self;
    /// (im, im) of every lane.
    fn imaginary_parts(self) -> Self;
    /// (re, re) of every lane of a vector in memory, for numbers that are used once: a load may be cheaper than a shuffle.
    #[inline(always)]
    fn real_parts_at(memory: &Self) -> Self {
        memory.real_parts()
    }
    /// (im, im) of every lane of a vector in memory, as [`Self::real_parts_at`].
    #[inline(always)]
    fn imaginary_parts_at(memory: &Self) -> Self {
        memory.imaginary_parts()
    }
    /// (re of self, im of `imaginary`) of every lane.
    fn with_imaginary_parts(self, imaginary: Self) -> Self;
    /// i · self: (−im, re) of every lane.
    fn times_i(self) -> Self;
    /// −i · self: (im, −re) of every lane.
    fn times_minus_i(self) -> Self;

    /// self + i·b.
    #[inline(always)]
    fn add_i(self, b: Self) -> Self {
        self.add(b.times_i())
    }
    /// self − i·b.
    #[inline(always)]
    fn sub_i(self, b: Self) -> Self {
        self.add(b.times_minus_i())
    }

    /// The permutation that puts real `positions[k]` in place `k`. `positions` has [`Self::REALS`] entries.
    fn permutation(positions: &[u32]) -> Self::Permutation;
    /// Permutes the reals of `self`. Whole lanes move: real 2k and real 2k + 1 stay together.
    fn permute(self, permutation: &Self::Permutation) -> Self;
    /// The reals of `self`, replaced by those of `b` where `mask` has a sign bit.
    fn blend(self, b: Self, mask: Self) -> Self;

    /// Writes the vector to memory that is not read soon, past the caches if there is an instruction for it. A fence must follow the last one before
    /// another thread may read.
    #[inline(always)]
    fn store_past_caches(self, memory: &mut Self) {
        *memory = self;
    }
}

/// One complex number as a vector of one lane, for lanes that are narrower than any other vector.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Pair<R, I>([R; 2], PhantomData<I>);

// SAFETY: a transparent array of two plain numbers.
unsafe impl<R: Real, I: InstructionSet> Zeroable for Pair<R, I> {}
// SAFETY: as above; no padding.
unsafe impl<R: Real, I: InstructionSet> Pod for Pair<R, I> {}

impl<R, I> Pair<R, I> {
    #[inline(always)]
    fn new(reals: [R; 2]) -> Self {
        Self(reals, PhantomData)
    }
}

/// −0 for true, +0 for false, for [`LaneVector::blend`].
#[inline(always)]
fn sign_bit<R: Real>(yes: bool) -> R {
    R::from_f64(if yes { -0.0 } else { 0.0 })
}

impl<R: Real, I: InstructionSet> LaneVector for Pair<R, I> {
    type Real = R;
    type Set = I;
    type Doubles = Portable;
    const REALS: usize = 2;
    const ONE_BLOCK: bool = false;
    type Permutation = [u32; 2];

    #[inline(always)]
    fn splat(value: R) -> Self {
        Self::new([value; 2])
    }
    #[inline(always)]
    fn from_reals(real: impl Fn(usize) -> R) -> Self {
        Self::new(std::array::from_fn(real))
    }
    operations! {
        add(a, b) = Self::new([a.0[0] + b.0[0], a.0[1] + b.0[1]]);
        sub(a, b) = Self::new([a.0[0] - b.0[0], a.0[1] - b.0[1]]);
        times(a, b) = Self::new([a.0[0] * b.0[0], a.0[1] * b.0[1]]);
        negate(a) = Self::new([-a.0[0], -a.0[1]]);
        fused(a, b, c) = Self::new([a.0[0].fused_here(b.0[0], c.0[0]), a.0[1].fused_here(b.0[1], c.0[1])]);
        divided_by(a, b) = Self::new([a.0[0] / b.0[0], a.0[1] / b.0[1]]);
        times_sign_of(a, sign) = Self::new(std::array::from_fn(|k| if sign.0[k].to_f64().is_sign_negative() { -a.0[k] } else { a.0[k] }));
        sqrt(a) = Self::new(a.0.map(|x| R::from_f64(x.to_f64().sqrt())));
        less(a, b) = Self::new(std::array::from_fn(|k| sign_bit(a.0[k] < b.0[k])));
        at_most(a, b) = Self::new(std::array::from_fn(|k| sign_bit(a.0[k] <= b.0[k])));
        real_parts(a) = Self::new([a.0[0]; 2]);
        imaginary_parts(a) = Self::new([a.0[1]; 2]);
        with_imaginary_parts(a, imaginary) = Self::new([a.0[0], imaginary.0[1]]);
        times_i(a) = Self::new([-a.0[1], a.0[0]]);
        times_minus_i(a) = Self::new([a.0[1], -a.0[0]]);
    }
    fn permutation(positions: &[u32]) -> [u32; 2] {
        std::array::from_fn(|k| positions[k])
    }
    #[inline(always)]
    fn permute(self, permutation: &[u32; 2]) -> Self {
        Self::new(permutation.map(|p| self.0[p as usize & 1]))
    }
    #[inline(always)]
    fn blend(self, b: Self, mask: Self) -> Self {
        let negative = |k: usize| mask.0[k].to_f64().is_sign_negative();
        Self::new(std::array::from_fn(|k| if negative(k) { b.0[k] } else { self.0[k] }))
    }
}

/// Shuffles as array code, for other processors.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod shuffles {
    macro_rules! of_array {
        ($module:ident, $vector:ty, $real:ty, $n:literal) => {
            pub mod $module {
                use super::super::*;
                #[inline(always)]
                pub fn real_parts(v: $vector) -> $vector {
                    let v = v.to_array();
                    std::array::from_fn::<$real, $n, _>(|k| v[k & !1]).into()
                }
                #[inline(always)]
                pub fn imaginary_parts(v: $vector) -> $vector {
                    let v = v.to_array();
                    std::array::from_fn::<$real, $n, _>(|k| v[k | 1]).into()
                }
                #[inline(always)]
                pub fn swapped(v: $vector) -> $vector {
                    let v = v.to_array();
                    std::array::from_fn::<$real, $n, _>(|k| v[k ^ 1]).into()
                }
                #[inline(always)]
                pub fn swapped_lanes(v: $vector) -> $vector {
                    let v = v.to_array();
                    std::array::from_fn::<$real, $n, _>(|k| v[(k + $n / 2) % $n]).into()
                }
            }
        };
    }
    of_array!(single, f32x4, f32, 4);
    of_array!(double, f64x2, f64, 2);
}

/// Shuffles of SSE2.
#[cfg(target_arch = "x86_64")]
mod shuffles {
    use std::arch::x86_64::{_mm_shuffle_pd, _mm_shuffle_ps};

    use bytemuck::cast;

    macro_rules! shuffle {
        ($name:ident, $vector:ty, $shuffle:ident, $places:literal) => {
            #[inline(always)]
            pub(crate) fn $name(v: $vector) -> $vector {
                let v = cast(v);
                // SAFETY: every x86-64 processor has SSE2.
                #[allow(unused_unsafe, reason = "the build has SSE2, as every one for this architecture")]
                cast(unsafe { $shuffle::<$places>(v, v) })
            }
        };
    }

    pub(super) mod single {
        use super::*;
        shuffle!(real_parts, wide::f32x4, _mm_shuffle_ps, 0b10_10_00_00);
        shuffle!(imaginary_parts, wide::f32x4, _mm_shuffle_ps, 0b11_11_01_01);
        shuffle!(swapped, wide::f32x4, _mm_shuffle_ps, 0b10_11_00_01);
        shuffle!(swapped_lanes, wide::f32x4, _mm_shuffle_ps, 0b01_00_11_10);
    }

    pub(super) mod double {
        use super::*;
        shuffle!(real_parts, wide::f64x2, _mm_shuffle_pd, 0b00);
        shuffle!(imaginary_parts, wide::f64x2, _mm_shuffle_pd, 0b11);
        shuffle!(swapped, wide::f64x2, _mm_shuffle_pd, 0b01);
    }
}

/// Shuffles of NEON.
#[cfg(target_arch = "aarch64")]
mod shuffles {
    use std::arch::aarch64::*;
    use std::mem::transmute;

    macro_rules! shuffle {
        ($name:ident, $vector:ty, $raw:ty, $v:ident => $shuffle:expr) => {
            #[inline(always)]
            pub fn $name(v: $vector) -> $vector {
                // SAFETY: both are 16 bytes of numbers, and every 64-bit Arm processor has NEON.
                #[allow(unused_unsafe, reason = "the build has NEON, as every one for this architecture")]
                unsafe {
                    let $v: $raw = transmute(v);
                    transmute::<$raw, $vector>($shuffle)
                }
            }
        };
    }

    pub mod single {
        use super::*;
        shuffle!(real_parts, wide::f32x4, float32x4_t, v => vtrn1q_f32(v, v));
        shuffle!(imaginary_parts, wide::f32x4, float32x4_t, v => vtrn2q_f32(v, v));
        shuffle!(swapped, wide::f32x4, float32x4_t, v => vrev64q_f32(v));
        shuffle!(swapped_lanes, wide::f32x4, float32x4_t, v => vextq_f32::<2>(v, v));
    }

    pub mod double {
        use super::*;
        shuffle!(real_parts, wide::f64x2, float64x2_t, v => vdupq_laneq_f64::<0>(v));
        shuffle!(imaginary_parts, wide::f64x2, float64x2_t, v => vdupq_laneq_f64::<1>(v));
        shuffle!(swapped, wide::f64x2, float64x2_t, v => vextq_f64::<1>(v, v));
    }
}

/// −0 in every second place, starting at `$first`, and +0 elsewhere: the signs that a product with ±i changes.
macro_rules! signs {
    ($real:ty, $n:literal, $first:literal) => {{
        let mut signs: [$real; $n] = [0.0; $n];
        let mut k = $first;
        while k < $n {
            signs[k] = -0.0;
            k += 2;
        }
        signs
    }};
}
#[cfg(target_arch = "x86_64")]
pub(super) use signs;

macro_rules! lane_vector {
    ($vector:ty, $real:ty, $bits:ty, $n:literal, $shuffles:ident, $Permutation:ty, $permutation:expr, $permute:expr) => {
        impl LaneVector for $vector {
            type Real = $real;
            type Set = Baseline;
            type Doubles = Portable;
            const REALS: usize = $n;
            const ONE_BLOCK: bool = false;
            type Permutation = $Permutation;

            #[inline(always)]
            fn splat(value: $real) -> Self {
                <$vector>::splat(value)
            }
            #[inline(always)]
            fn from_reals(real: impl Fn(usize) -> $real) -> Self {
                <$vector>::from(std::array::from_fn::<$real, $n, _>(real))
            }
            operations! {
                add(a, b) = a + b;
                sub(a, b) = a - b;
                times(a, b) = a * b;
                negate(a) = a ^ <$vector>::splat(-0.0);
            }
            #[inline(always)]
            fn fused(self, b: Self, c: Self) -> Self {
                if WIDE_FUSES {
                    self.mul_add(b, c)
                } else {
                    let (x, y, z) = (self.to_array(), b.to_array(), c.to_array());
                    <$vector>::from(std::array::from_fn::<$real, $n, _>(|k| x[k].fused_here(y[k], z[k])))
                }
            }
            operations! {
                divided_by(a, b) = a / b;
                times_sign_of(a, sign) = a ^ (sign & <$vector>::splat(-0.0));
                sqrt(a) = <$vector>::sqrt(a);
                less(a, b) = a.simd_lt(b);
                at_most(a, b) = a.simd_le(b);
                real_parts(a) = shuffles::$shuffles::real_parts(a);
                imaginary_parts(a) = shuffles::$shuffles::imaginary_parts(a);
            }
            #[inline(always)]
            fn with_imaginary_parts(self, imaginary: Self) -> Self {
                const IMAGINARY: [$real; $n] = signs!($real, $n, 1);
                LaneVector::blend(self, imaginary, <$vector>::from(IMAGINARY))
            }
            #[inline(always)]
            fn times_i(self) -> Self {
                const SIGNS: [$real; $n] = signs!($real, $n, 0);
                shuffles::$shuffles::swapped(self) ^ <$vector>::from(SIGNS)
            }
            #[inline(always)]
            fn times_minus_i(self) -> Self {
                const SIGNS: [$real; $n] = signs!($real, $n, 1);
                shuffles::$shuffles::swapped(self) ^ <$vector>::from(SIGNS)
            }
            fn permutation(positions: &[u32]) -> $Permutation {
                $permutation(positions)
            }
            #[inline(always)]
            fn permute(self, permutation: &$Permutation) -> Self {
                $permute(self, permutation)
            }
            #[inline(always)]
            fn blend(self, b: Self, mask: Self) -> Self {
                // All bits of a real where its sign bit is set.
                let all = bytemuck::cast::<$vector, $bits>(mask) >> (8 * size_of::<$real>() as u32 - 1);
                let all = bytemuck::cast::<$bits, $vector>(all);
                (self & !all) | (b & all)
            }
        }
    };
}

/// The source of each of the two lanes of four reals.
#[derive(Clone, Copy)]
pub enum TwoLanes {
    /// Each lane from itself.
    Kept,
    /// Each lane from the other.
    Swapped,
    /// Both from the first.
    First,
    /// Both from the second.
    Second,
}

impl TwoLanes {
    fn of(positions: &[u32]) -> Self {
        match [positions[0], positions[2]] {
            [0, 2] => Self::Kept,
            [0, _] => Self::First,
            [_, 2] => Self::Second,
            _ => Self::Swapped,
        }
    }

    #[inline(always)]
    fn move_lanes(self, v: f32x4) -> f32x4 {
        let doubles: f64x2 = bytemuck::cast(v);
        match self {
            Self::Kept => v,
            Self::Swapped => shuffles::single::swapped_lanes(v),
            Self::First => bytemuck::cast(shuffles::double::real_parts(doubles)),
            Self::Second => bytemuck::cast(shuffles::double::imaginary_parts(doubles)),
        }
    }
}

lane_vector!(f32x4, f32, wide::i32x4, 4, single, TwoLanes, TwoLanes::of, |v, lanes: &TwoLanes| lanes.move_lanes(v));
// One lane stays where it is.
lane_vector!(f64x2, f64, wide::i64x2, 2, double, (), |_| (), |v, _| v);

#[cfg(test)]
#[path = "lanes_tests.rs"]
mod tests;
