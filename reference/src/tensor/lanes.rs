//! Vectors of complex lanes: a `wide` vector holds re0 im0 re1 im1 …, as in memory. Complex products need the real parts, the
//! imaginary parts and the swapped pairs of a vector. `wide` has no shuffles, so those are written here: with AVX-512 and
//! AVX2 instructions where the build has them, else as array code that the compiler turns into what the machine offers.

use bytemuck::{Pod, Zeroable};
use wide::{f32x4, f32x8, f32x16, f64x2, f64x4, f64x8};

use crate::real::Real;

/// A vector of complex lanes, real part first. All operations act on each lane alone, and are exact or rounded once.
pub trait LaneVector: Pod + Send + Sync {
    /// The precision.
    type Real: Real;
    /// Real numbers in a vector: twice the lanes.
    const REALS: usize;
    /// Positions of reals, for [`Self::permute`].
    type Permutation: Copy + Send + Sync;

    /// Every real the same.
    fn splat(value: Self::Real) -> Self;
    /// From the reals one by one.
    fn from_reals(real: impl Fn(usize) -> Self::Real) -> Self;

    /// self + b, real by real.
    fn add(self, b: Self) -> Self;
    /// self − b, real by real.
    fn sub(self, b: Self) -> Self;
    /// self · b, real by real.
    fn times(self, b: Self) -> Self;
    /// −self, real by real: the sign bits flipped, also of zeros.
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
    /// self, negated where the sign bit of `sign` is set, real by real.
    fn times_sign_of(self, sign: Self) -> Self;

    /// (re, re) of every lane.
    fn real_parts(self) -> Self;
    /// (im, im) of every lane.
    fn imaginary_parts(self) -> Self;
    /// (re, re) of every lane of a vector in memory, for numbers that are used once: a load may cost less than a shuffle.
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

    /// The permutation that puts real `positions[k]` in place `k`; `positions` has [`Self::REALS`] entries.
    fn permutation(positions: &[u32]) -> Self::Permutation;
    /// The reals of `self` in other places.
    fn permute(self, permutation: &Self::Permutation) -> Self;
}

/// One complex number as a vector of one lane: for lanes narrower than any `wide` vector.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Pair<R>([R; 2]);

// SAFETY: a transparent array of two plain numbers.
unsafe impl<R: Real> Zeroable for Pair<R> {}
// SAFETY: as above; no padding.
unsafe impl<R: Real> Pod for Pair<R> {}

impl<R: Real> LaneVector for Pair<R> {
    type Real = R;
    const REALS: usize = 2;
    type Permutation = [u32; 2];

    #[inline(always)]
    fn splat(value: R) -> Self {
        Self([value; 2])
    }
    #[inline(always)]
    fn from_reals(real: impl Fn(usize) -> R) -> Self {
        Self(std::array::from_fn(real))
    }
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        Self([self.0[0] + b.0[0], self.0[1] + b.0[1]])
    }
    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        Self([self.0[0] - b.0[0], self.0[1] - b.0[1]])
    }
    #[inline(always)]
    fn times(self, b: Self) -> Self {
        Self([self.0[0] * b.0[0], self.0[1] * b.0[1]])
    }
    #[inline(always)]
    fn negate(self) -> Self {
        Self([-self.0[0], -self.0[1]])
    }
    #[inline(always)]
    fn fused(self, b: Self, c: Self) -> Self {
        Self([self.0[0].fused(b.0[0], c.0[0]), self.0[1].fused(b.0[1], c.0[1])])
    }
    #[inline(always)]
    fn divided_by(self, b: Self) -> Self {
        Self([self.0[0] / b.0[0], self.0[1] / b.0[1]])
    }
    #[inline(always)]
    fn times_sign_of(self, sign: Self) -> Self {
        Self(std::array::from_fn(|k| if sign.0[k].to_f64().is_sign_negative() { -self.0[k] } else { self.0[k] }))
    }
    #[inline(always)]
    fn real_parts(self) -> Self {
        Self([self.0[0]; 2])
    }
    #[inline(always)]
    fn imaginary_parts(self) -> Self {
        Self([self.0[1]; 2])
    }
    #[inline(always)]
    fn with_imaginary_parts(self, imaginary: Self) -> Self {
        Self([self.0[0], imaginary.0[1]])
    }
    #[inline(always)]
    fn times_i(self) -> Self {
        Self([-self.0[1], self.0[0]])
    }
    #[inline(always)]
    fn times_minus_i(self) -> Self {
        Self([self.0[1], -self.0[0]])
    }
    fn permutation(positions: &[u32]) -> [u32; 2] {
        std::array::from_fn(|k| positions[k])
    }
    #[inline(always)]
    fn permute(self, permutation: &[u32; 2]) -> Self {
        Self(permutation.map(|p| self.0[p as usize & 1]))
    }
}

/// `wide::mul_add` fuses only where the build has the instruction; elsewhere each real goes through the correctly rounded
/// function of the standard library.
const WIDE_FUSES: bool = cfg!(any(
    all(target_arch = "x86_64", target_feature = "fma"),
    all(target_arch = "aarch64", target_feature = "neon")
));

/// Shuffles as array code, for vectors without a better way.
mod portable {
    #[inline(always)]
    pub fn real_parts<R: Copy, const N: usize>(v: [R; N]) -> [R; N] {
        std::array::from_fn(|k| v[k & !1])
    }
    #[inline(always)]
    pub fn imaginary_parts<R: Copy, const N: usize>(v: [R; N]) -> [R; N] {
        std::array::from_fn(|k| v[k | 1])
    }
    #[inline(always)]
    pub fn real_parts_at<R: Copy, const N: usize>(memory: &[R; N]) -> [R; N] {
        real_parts(*memory)
    }
    #[inline(always)]
    pub fn imaginary_parts_at<R: Copy, const N: usize>(memory: &[R; N]) -> [R; N] {
        imaginary_parts(*memory)
    }
    #[inline(always)]
    pub fn swapped<R: Copy, const N: usize>(v: [R; N]) -> [R; N] {
        std::array::from_fn(|k| v[k ^ 1])
    }
    #[inline(always)]
    pub fn permute<R: Copy, const N: usize>(v: [R; N], positions: &[u32; N]) -> [R; N] {
        std::array::from_fn(|k| v[positions[k] as usize % N])
    }
}

/// Shuffles of 64-byte vectors as single instructions.
#[cfg(all(target_arch = "x86_64", target_feature = "avx512f"))]
mod avx512 {
    use std::arch::x86_64::*;

    macro_rules! shuffle {
        ($name:ident, $real:ty, $n:literal, $vector:ident, $v:ident => $shuffle:expr) => {
            #[inline(always)]
            pub fn $name(v: [$real; $n]) -> [$real; $n] {
                // SAFETY: arrays and vectors are the same 64 bytes; the build has AVX-512F, as this module's cfg says.
                unsafe {
                    let $v: $vector = std::mem::transmute(v);
                    std::mem::transmute($shuffle)
                }
            }
        };
    }

    /// Loads that put each real in two places. The load ports do that for nothing; of the intrinsics a compiler makes one load and two shuffles
    /// instead, which compete with the arithmetic.
    macro_rules! spread {
        ($name:ident, $real:ty, $n:literal, $vector:ident, $instruction:literal) => {
            #[inline(always)]
            pub fn $name(memory: &[$real; $n]) -> [$real; $n] {
                // SAFETY: the instruction reads the 64 bytes of the array, which need no alignment, and writes one register; it is one of
                // AVX-512F, which the build has.
                unsafe {
                    let spread: $vector;
                    std::arch::asm!(
                        $instruction,
                        out(zmm_reg) spread,
                        in(reg) memory,
                        options(pure, readonly, nostack, preserves_flags)
                    );
                    std::mem::transmute(spread)
                }
            }
        };
    }

    pub mod single {
        use super::*;
        spread!(real_parts_at, f32, 16, __m512, "vmovsldup {}, [{}]");
        spread!(imaginary_parts_at, f32, 16, __m512, "vmovshdup {}, [{}]");
        shuffle!(real_parts, f32, 16, __m512, v => _mm512_moveldup_ps(v));
        shuffle!(imaginary_parts, f32, 16, __m512, v => _mm512_movehdup_ps(v));
        shuffle!(swapped, f32, 16, __m512, v => _mm512_permute_ps::<0b10_11_00_01>(v));
        #[inline(always)]
        pub fn permute(v: [f32; 16], positions: &[u32; 16]) -> [f32; 16] {
            // SAFETY: as for the shuffles; any position is allowed, and taken modulo 16.
            unsafe {
                std::mem::transmute(_mm512_permutexvar_ps(
                    std::mem::transmute::<[u32; 16], __m512i>(*positions),
                    std::mem::transmute::<[f32; 16], __m512>(v),
                ))
            }
        }
    }

    pub mod double {
        use super::*;
        spread!(real_parts_at, f64, 8, __m512d, "vmovddup {}, [{}]");
        spread!(imaginary_parts_at, f64, 8, __m512d, "vpermilpd {}, [{}], 255");
        shuffle!(real_parts, f64, 8, __m512d, v => _mm512_movedup_pd(v));
        shuffle!(imaginary_parts, f64, 8, __m512d, v => _mm512_permute_pd::<0b1111_1111>(v));
        shuffle!(swapped, f64, 8, __m512d, v => _mm512_permute_pd::<0b0101_0101>(v));
        #[inline(always)]
        pub fn permute(v: [f64; 8], positions: &[u32; 8]) -> [f64; 8] {
            // SAFETY: as for the shuffles; any position is allowed, and taken modulo 8.
            unsafe {
                std::mem::transmute(_mm512_permutexvar_pd(
                    _mm512_cvtepu32_epi64(std::mem::transmute::<[u32; 8], __m256i>(*positions)),
                    std::mem::transmute::<[f64; 8], __m512d>(v),
                ))
            }
        }
    }
}

/// −0 in every second place from `$first`, +0 elsewhere: the signs that a product with ±i changes.
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

macro_rules! lane_vector {
    ($vector:ty, $real:ty, $n:literal, $shuffles:path) => {
        impl LaneVector for $vector {
            type Real = $real;
            const REALS: usize = $n;
            type Permutation = [u32; $n];

            #[inline(always)]
            fn splat(value: $real) -> Self {
                <$vector>::splat(value)
            }
            #[inline(always)]
            fn from_reals(real: impl Fn(usize) -> $real) -> Self {
                <$vector>::from(std::array::from_fn::<$real, $n, _>(real))
            }
            #[inline(always)]
            fn add(self, b: Self) -> Self {
                self + b
            }
            #[inline(always)]
            fn sub(self, b: Self) -> Self {
                self - b
            }
            #[inline(always)]
            fn times(self, b: Self) -> Self {
                self * b
            }
            #[inline(always)]
            fn negate(self) -> Self {
                self ^ <$vector>::splat(-0.0)
            }
            #[inline(always)]
            fn fused(self, b: Self, c: Self) -> Self {
                if WIDE_FUSES {
                    self.mul_add(b, c)
                } else {
                    let (x, y, z) = (self.to_array(), b.to_array(), c.to_array());
                    <$vector>::from(std::array::from_fn::<$real, $n, _>(|k| x[k].fused(y[k], z[k])))
                }
            }
            #[inline(always)]
            fn divided_by(self, b: Self) -> Self {
                self / b
            }
            #[inline(always)]
            fn times_sign_of(self, sign: Self) -> Self {
                self ^ (sign & <$vector>::splat(-0.0))
            }
            #[inline(always)]
            fn real_parts(self) -> Self {
                use $shuffles as shuffles;
                <$vector>::from(shuffles::real_parts(self.to_array()))
            }
            #[inline(always)]
            fn imaginary_parts(self) -> Self {
                use $shuffles as shuffles;
                <$vector>::from(shuffles::imaginary_parts(self.to_array()))
            }
            #[inline(always)]
            fn real_parts_at(memory: &Self) -> Self {
                use $shuffles as shuffles;
                <$vector>::from(shuffles::real_parts_at(bytemuck::cast_ref(memory)))
            }
            #[inline(always)]
            fn imaginary_parts_at(memory: &Self) -> Self {
                use $shuffles as shuffles;
                <$vector>::from(shuffles::imaginary_parts_at(bytemuck::cast_ref(memory)))
            }
            #[inline(always)]
            fn with_imaginary_parts(self, imaginary: Self) -> Self {
                let (re, im) = (self.to_array(), imaginary.to_array());
                <$vector>::from(std::array::from_fn::<$real, $n, _>(|k| if k % 2 == 0 { re[k] } else { im[k] }))
            }
            #[inline(always)]
            fn times_i(self) -> Self {
                use $shuffles as shuffles;
                const SIGNS: [$real; $n] = signs!($real, $n, 0);
                <$vector>::from(shuffles::swapped(self.to_array())) ^ <$vector>::from(SIGNS)
            }
            #[inline(always)]
            fn times_minus_i(self) -> Self {
                use $shuffles as shuffles;
                const SIGNS: [$real; $n] = signs!($real, $n, 1);
                <$vector>::from(shuffles::swapped(self.to_array())) ^ <$vector>::from(SIGNS)
            }
            fn permutation(positions: &[u32]) -> [u32; $n] {
                std::array::from_fn(|k| positions[k])
            }
            #[inline(always)]
            fn permute(self, permutation: &[u32; $n]) -> Self {
                use $shuffles as shuffles;
                <$vector>::from(shuffles::permute(self.to_array(), permutation))
            }
        }
    };
}

lane_vector!(f32x4, f32, 4, portable);
lane_vector!(f32x8, f32, 8, portable);
lane_vector!(f64x2, f64, 2, portable);
lane_vector!(f64x4, f64, 4, portable);
#[cfg(all(target_arch = "x86_64", target_feature = "avx512f"))]
lane_vector!(f32x16, f32, 16, avx512::single);
#[cfg(all(target_arch = "x86_64", target_feature = "avx512f"))]
lane_vector!(f64x8, f64, 8, avx512::double);
#[cfg(not(all(target_arch = "x86_64", target_feature = "avx512f")))]
lane_vector!(f32x16, f32, 16, portable);
#[cfg(not(all(target_arch = "x86_64", target_feature = "avx512f")))]
lane_vector!(f64x8, f64, 8, portable);
