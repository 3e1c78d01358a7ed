//! Vectors of AVX2 and AVX-512. Their operations are single instructions, which a program may execute only if the processor has them. So they are
//! used in tasks that their instruction set runs (`sets.rs`), and are inlined there.
//!
//! `LaneVector::add_i` and `sub_i` for AVX2 are one shuffle and one instruction that adds in half of the places and subtracts in the others. If that
//! is a multiply-add, its factor is 1, which is exact. With AVX-512, changing signs and adding was measured to be faster.

use std::arch::x86_64::*;
use std::mem::transmute;

use bytemuck::{Pod, Zeroable, cast, cast_ref};

use super::lanes::{LaneVector, signs};
use super::sets::{Avx2, Avx512};
use crate::doubles::{Doubles, SITES};

/// Functions that are inlined into tasks.
macro_rules! functions {
    ($features:literal: $(fn $name:ident($($argument:ident: $Type:ty),*) -> $Output:ty { $body:expr })+) => {
        $(#[inline]
        #[target_feature(enable = $features)]
        pub(super) fn $name($($argument: $Type),*) -> $Output {
            $body
        })+
    };
}

/// Loads that put each real in two places. The load ports do that for free. For the intrinsics, a compiler emits one load and two shuffles instead,
/// which compete with the arithmetic.
macro_rules! duplicating_loads {
    ($features:literal, $register:ident, $Raw:ident: $real_parts:literal, $imaginary_parts:literal) => {
        duplicating_loads!(@ $features, $register, $Raw, real_parts_at, $real_parts);
        duplicating_loads!(@ $features, $register, $Raw, imaginary_parts_at, $imaginary_parts);
    };
    (@ $features:literal, $register:ident, $Raw:ident, $name:ident, $instruction:literal) => {
        #[inline]
        #[target_feature(enable = $features)]
        pub(super) fn $name(memory: &$Raw) -> $Raw {
            let parts: $Raw;
            // SAFETY: the instruction reads the vector, and writes one register.
            unsafe {
                std::arch::asm!(
                    $instruction,
                    out($register) parts,
                    in(reg) memory,
                    options(pure, readonly, nostack, preserves_flags)
                );
            }
            parts
        }
    };
}

mod single8 {
    use super::*;
    pub(super) use std::arch::x86_64::{
        __m256 as Raw, __m256i as Places, _mm256_add_ps as add, _mm256_and_ps as and, _mm256_blendv_ps as blend,
        _mm256_div_ps as div, _mm256_fmadd_ps as fused, _mm256_movehdup_ps as imaginary_parts,
        _mm256_moveldup_ps as real_parts, _mm256_mul_ps as mul, _mm256_permutevar8x32_ps as permute,
        _mm256_sqrt_ps as sqrt, _mm256_stream_ps as store_past_caches, _mm256_sub_ps as sub, _mm256_xor_ps as xor,
    };
    pub(super) type PlaceArray = [u32; 8];
    pub(super) const fn place(position: u32) -> u32 {
        position
    }
    functions! { "avx2,fma":
        fn swapped(v: Raw) -> Raw { _mm256_permute_ps::<0b10_11_00_01>(v) }
        fn with_imaginary_parts(re: Raw, im: Raw) -> Raw { _mm256_blend_ps::<0b1010_1010>(re, im) }
        fn less(a: Raw, b: Raw) -> Raw { _mm256_cmp_ps::<_CMP_LT_OQ>(a, b) }
        fn at_most(a: Raw, b: Raw) -> Raw { _mm256_cmp_ps::<_CMP_LE_OQ>(a, b) }
        fn sub_i(a: Raw, b: Raw) -> Raw { _mm256_fmsubadd_ps(a, _mm256_set1_ps(1.0), swapped(b)) }
        fn add_i(a: Raw, b: Raw) -> Raw { _mm256_addsub_ps(a, swapped(b)) }
    }
    duplicating_loads!("avx2,fma", ymm_reg, Raw: "vmovsldup {}, [{}]", "vmovshdup {}, [{}]");
}

mod double4 {
    use super::*;
    pub(super) use std::arch::x86_64::{
        __m256d as Raw, __m256i as Places, _mm256_add_pd as add, _mm256_and_pd as and, _mm256_blendv_pd as blend,
        _mm256_div_pd as div, _mm256_fmadd_pd as fused, _mm256_movedup_pd as real_parts, _mm256_mul_pd as mul,
        _mm256_sqrt_pd as sqrt, _mm256_stream_pd as store_past_caches, _mm256_sub_pd as sub, _mm256_xor_pd as xor,
    };
    /// Both halves of each double, since no instruction permutes doubles by a vector of places.
    pub(super) type PlaceArray = [[u32; 2]; 4];
    pub(super) const fn place(position: u32) -> [u32; 2] {
        [2 * position, 2 * position + 1]
    }
    functions! { "avx2,fma":
        fn imaginary_parts(v: Raw) -> Raw { _mm256_permute_pd::<0b1111>(v) }
        fn swapped(v: Raw) -> Raw { _mm256_permute_pd::<0b0101>(v) }
        fn with_imaginary_parts(re: Raw, im: Raw) -> Raw { _mm256_blend_pd::<0b1010>(re, im) }
        fn less(a: Raw, b: Raw) -> Raw { _mm256_cmp_pd::<_CMP_LT_OQ>(a, b) }
        fn at_most(a: Raw, b: Raw) -> Raw { _mm256_cmp_pd::<_CMP_LE_OQ>(a, b) }
        fn sub_i(a: Raw, b: Raw) -> Raw { _mm256_fmsubadd_pd(a, _mm256_set1_pd(1.0), swapped(b)) }
        fn add_i(a: Raw, b: Raw) -> Raw { _mm256_addsub_pd(a, swapped(b)) }
        fn permute(v: Raw, places: Places) -> Raw {
            _mm256_castsi256_pd(_mm256_permutevar8x32_epi32(_mm256_castpd_si256(v), places))
        }
    }
    duplicating_loads!("avx2,fma", ymm_reg, Raw: "vmovddup {}, [{}]", "vpermilpd {}, [{}], 15");
}

mod single16 {
    use super::*;
    pub(super) use std::arch::x86_64::{
        __m512 as Raw, __m512i as Places, _mm512_add_ps as add, _mm512_and_ps as and, _mm512_div_ps as div,
        _mm512_fmadd_ps as fused, _mm512_movehdup_ps as imaginary_parts, _mm512_moveldup_ps as real_parts,
        _mm512_mul_ps as mul, _mm512_sqrt_ps as sqrt, _mm512_stream_ps as store_past_caches, _mm512_sub_ps as sub,
        _mm512_xor_ps as xor,
    };
    pub(super) type PlaceArray = [u32; 16];
    pub(super) const fn place(position: u32) -> u32 {
        position
    }
    functions! { "avx512f,avx512dq":
        fn swapped(v: Raw) -> Raw { _mm512_permute_ps::<0b10_11_00_01>(v) }
        fn with_imaginary_parts(re: Raw, im: Raw) -> Raw { _mm512_mask_blend_ps(0xaaaa, re, im) }
        fn less(a: Raw, b: Raw) -> Raw { _mm512_castsi512_ps(_mm512_movm_epi32(_mm512_cmp_ps_mask::<_CMP_LT_OQ>(a, b))) }
        fn at_most(a: Raw, b: Raw) -> Raw { _mm512_castsi512_ps(_mm512_movm_epi32(_mm512_cmp_ps_mask::<_CMP_LE_OQ>(a, b))) }
        fn sub_i(a: Raw, b: Raw) -> Raw { add(a, xor(swapped(b), F32x16::raw(F32x16::SIGNS_OF_IMAGINARY_PARTS))) }
        fn add_i(a: Raw, b: Raw) -> Raw { add(a, xor(swapped(b), F32x16::raw(F32x16::SIGNS_OF_REAL_PARTS))) }
        fn permute(v: Raw, places: Places) -> Raw { _mm512_permutexvar_ps(places, v) }
        fn blend(a: Raw, b: Raw, mask: Raw) -> Raw { _mm512_mask_blend_ps(_mm512_movepi32_mask(_mm512_castps_si512(mask)), a, b) }
    }
    duplicating_loads!("avx512f", zmm_reg, Raw: "vmovsldup {}, [{}]", "vmovshdup {}, [{}]");
}

mod double8 {
    use super::*;
    pub(super) use std::arch::x86_64::{
        __m512d as Raw, __m512i as Places, _mm512_add_pd as add, _mm512_and_pd as and, _mm512_div_pd as div,
        _mm512_fmadd_pd as fused, _mm512_movedup_pd as real_parts, _mm512_mul_pd as mul, _mm512_sqrt_pd as sqrt,
        _mm512_stream_pd as store_past_caches, _mm512_sub_pd as sub, _mm512_xor_pd as xor,
    };
    pub(super) type PlaceArray = [u64; 8];
    pub(super) const fn place(position: u32) -> u64 {
        position as u64
    }
    functions! { "avx512f,avx512dq":
        fn imaginary_parts(v: Raw) -> Raw { _mm512_permute_pd::<0b1111_1111>(v) }
        fn swapped(v: Raw) -> Raw { _mm512_permute_pd::<0b0101_0101>(v) }
        fn with_imaginary_parts(re: Raw, im: Raw) -> Raw { _mm512_mask_blend_pd(0b1010_1010, re, im) }
        fn less(a: Raw, b: Raw) -> Raw { _mm512_castsi512_pd(_mm512_movm_epi64(_mm512_cmp_pd_mask::<_CMP_LT_OQ>(a, b))) }
        fn at_most(a: Raw, b: Raw) -> Raw { _mm512_castsi512_pd(_mm512_movm_epi64(_mm512_cmp_pd_mask::<_CMP_LE_OQ>(a, b))) }
        fn sub_i(a: Raw, b: Raw) -> Raw { add(a, xor(swapped(b), F64x8::raw(F64x8::SIGNS_OF_IMAGINARY_PARTS))) }
        fn add_i(a: Raw, b: Raw) -> Raw { add(a, xor(swapped(b), F64x8::raw(F64x8::SIGNS_OF_REAL_PARTS))) }
        fn permute(v: Raw, places: Places) -> Raw { _mm512_permutexvar_pd(places, v) }
        fn blend(a: Raw, b: Raw, mask: Raw) -> Raw { _mm512_mask_blend_pd(_mm512_movepi64_mask(_mm512_castpd_si512(mask)), a, b) }
    }
    duplicating_loads!("avx512f", zmm_reg, Raw: "vmovddup {}, [{}]", "vpermilpd {}, [{}], 255");
}

/// Implements operations of a vector that are single functions of the processor.
macro_rules! by_instructions {
    ($operations:ident: $($name:ident($($other:ident),*) = $function:ident;)+) => {$(
        #[inline(always)]
        fn $name(self $(, $other: Self)*) -> Self {
            // SAFETY: see `lane_vector`.
            Self(unsafe { $operations::$function(self.0 $(, $other.0)*) })
        }
    )+};
}

macro_rules! lane_vector {
    ($(#[$meta:meta])* $Vector:ident, $real:ty, $n:literal, $operations:ident, $Set:ident, $Doubles:ident, $one_block:literal) => {
        $(#[$meta])*
        #[derive(Clone, Copy)]
        #[repr(transparent)]
        pub(crate) struct $Vector($operations::Raw);

        // SAFETY: numbers side by side, of which every bit pattern is one.
        unsafe impl Zeroable for $Vector {}
        // SAFETY: as above; no padding.
        unsafe impl Pod for $Vector {}

        impl $Vector {
            const SIGNS: [$real; $n] = [-0.0; $n];
            const SIGNS_OF_REAL_PARTS: [$real; $n] = signs!($real, $n, 0);
            const SIGNS_OF_IMAGINARY_PARTS: [$real; $n] = signs!($real, $n, 1);

            #[inline(always)]
            fn raw(reals: [$real; $n]) -> $operations::Raw {
                cast::<_, Self>(reals).0
            }
        }

        // Of all operations here: SAFETY: the processor has the vector's instructions, since the vector is used in tasks of its set alone.
        impl LaneVector for $Vector {
            type Real = $real;
            type Set = $Set;
            type Doubles = $Doubles;
            const REALS: usize = $n;
            const ONE_BLOCK: bool = $one_block;
            type Permutation = $operations::PlaceArray;

            #[inline(always)]
            fn splat(value: $real) -> Self {
                cast([value; $n])
            }
            #[inline(always)]
            fn from_reals(real: impl Fn(usize) -> $real) -> Self {
                cast(std::array::from_fn::<$real, $n, _>(real))
            }
            #[inline(always)]
            fn negate(self) -> Self {
                // SAFETY: see above.
                Self(unsafe { $operations::xor(self.0, Self::raw(Self::SIGNS)) })
            }
            #[inline(always)]
            fn times_sign_of(self, sign: Self) -> Self {
                // SAFETY: see above.
                Self(unsafe { $operations::xor(self.0, $operations::and(sign.0, Self::raw(Self::SIGNS))) })
            }
            #[inline(always)]
            fn real_parts_at(memory: &Self) -> Self {
                // SAFETY: see above.
                Self(unsafe { $operations::real_parts_at(&memory.0) })
            }
            #[inline(always)]
            fn imaginary_parts_at(memory: &Self) -> Self {
                // SAFETY: see above.
                Self(unsafe { $operations::imaginary_parts_at(&memory.0) })
            }
            #[inline(always)]
            fn times_i(self) -> Self {
                let signs = Self::raw(Self::SIGNS_OF_REAL_PARTS);
                // SAFETY: see above.
                Self(unsafe { $operations::xor($operations::swapped(self.0), signs) })
            }
            #[inline(always)]
            fn times_minus_i(self) -> Self {
                let signs = Self::raw(Self::SIGNS_OF_IMAGINARY_PARTS);
                // SAFETY: see above.
                Self(unsafe { $operations::xor($operations::swapped(self.0), signs) })
            }
            by_instructions! { $operations:
                add(b) = add;
                sub(b) = sub;
                times(b) = mul;
                fused(b, c) = fused;
                divided_by(b) = div;
                sqrt() = sqrt;
                less(b) = less;
                at_most(b) = at_most;
                real_parts() = real_parts;
                imaginary_parts() = imaginary_parts;
                with_imaginary_parts(imaginary) = with_imaginary_parts;
                blend(b, mask) = blend;
                add_i(b) = add_i;
                sub_i(b) = sub_i;
            }
            fn permutation(positions: &[u32]) -> Self::Permutation {
                std::array::from_fn(|k| $operations::place(positions[k]))
            }
            #[inline(always)]
            fn permute(self, places: &Self::Permutation) -> Self {
                // SAFETY: see above; both types are as many bytes, of numbers.
                Self(unsafe { $operations::permute(self.0, transmute::<Self::Permutation, $operations::Places>(*places)) })
            }
            #[inline(always)]
            fn store_past_caches(self, memory: &mut Self) {
                // SAFETY: see above; the vector is aligned, and borrowed exclusively.
                unsafe { $operations::store_past_caches((&raw mut *memory).cast(), self.0) }
            }
        }
    };
}

lane_vector! {
    /// 8 f32, of AVX.
    F32x8, f32, 8, single8, Avx2, TwiceFourDoubles, true
}
lane_vector! {
    /// 4 f64, of AVX.
    F64x4, f64, 4, double4, Avx2, TwiceFourDoubles, true
}
lane_vector! {
    /// 16 f32, of AVX-512.
    F32x16, f32, 16, single16, Avx512, EightDoubles, true
}
lane_vector! {
    /// 8 f64, of AVX-512.
    F64x8, f64, 8, double8, Avx512, EightDoubles, true
}

/// Eight doubles of AVX2.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct TwiceFourDoubles([__m256d; 2]);

// SAFETY: numbers side by side, of which every bit pattern is one.
unsafe impl Zeroable for TwiceFourDoubles {}
// SAFETY: as above; no padding.
unsafe impl Pod for TwiceFourDoubles {}

impl TwiceFourDoubles {
    #[inline(always)]
    fn each(half: impl Fn(usize) -> __m256d) -> Self {
        Self([half(0), half(1)])
    }
}

// Of all operations here: SAFETY: as of the vectors above.
impl Doubles for TwiceFourDoubles {
    #[inline(always)]
    fn from_f32(reals: &[f32; SITES]) -> Self {
        let [low, high]: &[[f32; 4]; 2] = cast_ref(reals);
        // SAFETY: see above; each half is four f32.
        Self(unsafe { [_mm256_cvtps_pd(_mm_loadu_ps(low.as_ptr())), _mm256_cvtps_pd(_mm_loadu_ps(high.as_ptr()))] })
    }
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        // SAFETY: see above.
        Self(unsafe { [_mm256_add_pd(self.0[0], b.0[0]), _mm256_add_pd(self.0[1], b.0[1])] })
    }
    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        // SAFETY: see above.
        Self(unsafe { [_mm256_sub_pd(self.0[0], b.0[0]), _mm256_sub_pd(self.0[1], b.0[1])] })
    }
    #[inline(always)]
    fn negate(self) -> Self {
        let signs = Self::splat(-0.0);
        // SAFETY: see above.
        Self(unsafe { [_mm256_xor_pd(self.0[0], signs.0[0]), _mm256_xor_pd(self.0[1], signs.0[1])] })
    }
    #[inline(always)]
    fn fused(self, b: Self, c: Self) -> Self {
        // SAFETY: see above.
        Self(unsafe { [_mm256_fmadd_pd(self.0[0], b.0[0], c.0[0]), _mm256_fmadd_pd(self.0[1], b.0[1], c.0[1])] })
    }
    #[inline(always)]
    fn or_differences(self, a: Self, b: Self) -> Self {
        // SAFETY: see above.
        Self::each(|half| unsafe { _mm256_or_pd(self.0[half], _mm256_xor_pd(a.0[half], b.0[half])) })
    }
    #[inline(always)]
    fn any_bit(self) -> bool {
        // SAFETY: see above.
        unsafe {
            let bits = _mm256_castpd_si256(_mm256_or_pd(self.0[0], self.0[1]));
            _mm256_testz_si256(bits, bits) == 0
        }
    }
    #[inline(always)]
    fn unzip(a: Self, b: Self) -> (Self, Self) {
        // SAFETY: see above.
        unsafe {
            (
                Self([_mm256_unpacklo_pd(a.0[0], b.0[0]), _mm256_unpacklo_pd(a.0[1], b.0[1])]),
                Self([_mm256_unpackhi_pd(a.0[0], b.0[0]), _mm256_unpackhi_pd(a.0[1], b.0[1])]),
            )
        }
    }
}

/// Eight doubles of AVX-512.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct EightDoubles(__m512d);

// SAFETY: numbers side by side, of which every bit pattern is one.
unsafe impl Zeroable for EightDoubles {}
// SAFETY: as above; no padding.
unsafe impl Pod for EightDoubles {}

// Of all operations here: SAFETY: as of the vectors above.
impl Doubles for EightDoubles {
    #[inline(always)]
    fn from_f32(reals: &[f32; SITES]) -> Self {
        // SAFETY: see above; eight f32 are read.
        Self(unsafe { _mm512_cvtps_pd(_mm256_loadu_ps(reals.as_ptr())) })
    }
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        // SAFETY: see above.
        Self(unsafe { _mm512_add_pd(self.0, b.0) })
    }
    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        // SAFETY: see above.
        Self(unsafe { _mm512_sub_pd(self.0, b.0) })
    }
    #[inline(always)]
    fn negate(self) -> Self {
        // SAFETY: see above.
        Self(unsafe { _mm512_xor_pd(self.0, Self::splat(-0.0).0) })
    }
    #[inline(always)]
    fn fused(self, b: Self, c: Self) -> Self {
        // SAFETY: see above.
        Self(unsafe { _mm512_fmadd_pd(self.0, b.0, c.0) })
    }
    #[inline(always)]
    fn or_differences(self, a: Self, b: Self) -> Self {
        // SAFETY: see above.
        Self(unsafe { _mm512_or_pd(self.0, _mm512_xor_pd(a.0, b.0)) })
    }
    #[inline(always)]
    fn any_bit(self) -> bool {
        // SAFETY: see above.
        unsafe {
            let bits = _mm512_castpd_si512(self.0);
            _mm512_test_epi64_mask(bits, bits) != 0
        }
    }
    #[inline(always)]
    fn unzip(a: Self, b: Self) -> (Self, Self) {
        // SAFETY: see above.
        unsafe { (Self(_mm512_unpacklo_pd(a.0, b.0)), Self(_mm512_unpackhi_pd(a.0, b.0))) }
    }
}
