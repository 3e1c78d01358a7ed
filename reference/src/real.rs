//! The precisions of fields, as a trait: f32, f64, and half (f32 numbers that half storage can hold, `half.rs`).

use std::borrow::Cow;
use std::fmt;

use bytemuck::Pod;
use serde::de::{self, Deserialize, Deserializer};
use serde::ser::{Serialize, Serializer};

use crate::doubles::Doubles;
use crate::layout::Scalar;

/// The precision in which a field is stored.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Precision {
    /// 32-bit floating point.
    F32,
    /// 64-bit floating point.
    F64,
    /// Half precision: 16-bit block fixed point storage, with arithmetic in f32 ([`crate::half`]).
    Half,
}

impl Precision {
    /// The working precisions.
    pub const OF_ARITHMETIC: [Self; 2] = [Self::F32, Self::F64];

    /// Bits of a stored real. In half precision, the step is not included.
    pub const fn bits(self) -> usize {
        match self {
            Self::F32 => 32,
            Self::F64 => 64,
            Self::Half => 16,
        }
    }

    /// The complex scalar of the working precision, which determines the lanes of a lattice.
    pub const fn scalar(self) -> Scalar {
        match self {
            Self::F32 | Self::Half => Scalar::ComplexF,
            Self::F64 => Scalar::ComplexD,
        }
    }

    /// The size in a device's memory of one lane of a component with `part_words` complex words, in bytes.
    pub fn device_bytes(self, part_words: usize) -> usize {
        match self {
            Self::F32 => f32::device_bytes(part_words),
            Self::F64 => f64::device_bytes(part_words),
            Self::Half => half_device_bytes(part_words),
        }
    }
}

crate::named!(Precision, "precision": F32 = "f32", F64 = "f64", Half = "half");

impl Serialize for Precision {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Precision {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

/// As [`Self::device_bytes`], in half precision: a 4-byte word for each complex number, and one for the step.
pub(crate) const fn half_device_bytes(words_a_part: usize) -> usize {
    (words_a_part + 1) * size_of::<u32>()
}

/// A number in short form, for messages: 0.1, 1e308.
pub fn for_people(value: f64) -> String {
    // Not three hundred zeros.
    match value == 0.0 || !value.is_finite() || (1e-5..1e16).contains(&value.abs()) {
        true => value.to_string(),
        false => format!("{value:e}"),
    }
}

/// The real numbers of fields.
pub trait Real:
    Pod
    + PartialOrd
    + Default
    + fmt::Debug
    + fmt::Display
    + fmt::LowerExp
    + Send
    + Sync
    + num_traits::Num
    + std::ops::Neg<Output = Self>
    + 'static
{
    /// The precision, known at run time.
    const PRECISION: Precision;
    /// Complex numbers of this precision.
    const COMPLEX: Scalar;
    /// "f32", "f64" or "half".
    const NAME: &'static str;
    /// Size in bits in a device's memory.
    const BITS: u32;
    /// Significant hexadecimal digits of [`Self::bits`].
    const HEX_DIGITS: usize = Self::BITS as usize / 4;

    /// Rounds to this precision, to nearest even.
    fn from_f64(value: f64) -> Self;
    /// Converts to f64, exactly.
    fn to_f64(self) -> f64;
    /// Converts eight of them to doubles.
    fn to_doubles<D: Doubles>(reals: &[Self; 8]) -> D;
    /// self · b + c, rounded once. If the processor has an instruction for it, it is used even in a build for processors that may not have it.
    fn fused(self, b: Self, c: Self) -> Self;
    /// As [`Self::fused`], with the instructions that the calling function is compiled for.
    fn fused_here(self, b: Self, c: Self) -> Self;
    /// The bit pattern, zero-extended.
    fn bits(self) -> u64;
    /// Distance in units in the last place between two numbers that are not NaN. +0 and −0 are one apart.
    fn ulp_distance(self, other: Self) -> u64;

    /// Whether the two have the same bits. Any NaN is the same as any other.
    #[inline]
    fn same_bits(self, other: Self) -> bool {
        self.bits() == other.bits() || (self.is_nan() && other.is_nan())
    }

    /// Whether this is NaN.
    #[inline]
    fn is_nan(self) -> bool {
        self.partial_cmp(&self).is_none()
    }

    /// Rounds numbers to the values that the storage of this precision can hold, if it is narrower than the numbers. A component of an outer site
    /// has `a_part` reals, in `nsimd` lanes.
    fn quantize(_reals: &mut [Self], _a_part: usize, _nsimd: usize) {}
    /// The bytes of a field in a device's memory.
    fn to_device(reals: &[Self], _a_part: usize, _nsimd: usize) -> Cow<'_, [u8]> {
        Cow::Borrowed(bytemuck::cast_slice(reals))
    }
    /// The size there of one lane of a component with `words_a_part` complex words, in bytes.
    fn device_bytes(words_a_part: usize) -> usize {
        words_a_part * size_of::<[Self; 2]>()
    }
    /// Reads a field from such bytes.
    fn from_device(bytes: &[u8], reals: &mut [Self], _a_part: usize, _nsimd: usize) {
        bytemuck::cast_slice_mut(reals).copy_from_slice(bytes);
    }
}

macro_rules! real {
    ($real:ty, $precision:expr, $scalar:expr, $name:literal, $signed:ty, $to_doubles:expr) => {
        impl Real for $real {
            const PRECISION: Precision = $precision;
            const COMPLEX: Scalar = $scalar;
            const NAME: &'static str = $name;
            const BITS: u32 = <$signed>::BITS;

            #[inline(always)]
            fn from_f64(value: f64) -> Self {
                value as $real
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }
            #[inline(always)]
            fn to_doubles<D: Doubles>(reals: &[Self; 8]) -> D {
                $to_doubles(reals)
            }
            #[inline(always)]
            fn fused(self, b: Self, c: Self) -> Self {
                #[cfg(all(target_arch = "x86_64", not(target_feature = "fma")))]
                if std::arch::is_x86_feature_detected!("fma") {
                    #[target_feature(enable = "fma")]
                    fn by_instruction(a: $real, b: $real, c: $real) -> $real {
                        a.mul_add(b, c)
                    }
                    // SAFETY: the processor has the instruction.
                    return unsafe { by_instruction(self, b, c) };
                }
                self.fused_here(b, c)
            }
            #[inline(always)]
            fn fused_here(self, b: Self, c: Self) -> Self {
                <$real>::mul_add(self, b, c)
            }
            #[inline(always)]
            fn bits(self) -> u64 {
                self.to_bits() as u64
            }
            fn ulp_distance(self, other: Self) -> u64 {
                // Numbers in order of value: negative ones mirrored below zero.
                let ordered = |x: $real| {
                    let bits = x.to_bits() as $signed;
                    if bits < 0 { -1 - (bits & <$signed>::MAX) as i128 } else { bits as i128 }
                };
                ordered(self).abs_diff(ordered(other)) as u64
            }
        }
    };
}

real!(f32, Precision::F32, Scalar::ComplexF, "f32", i32, D::from_f32);
real!(f64, Precision::F64, Scalar::ComplexD, "f64", i64, D::from_f64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fused_rounds_once() {
        let a = 1.0f32 + f32::EPSILON;
        assert_eq!(a.fused(a, -(1.0 + 2.0 * f32::EPSILON)), f32::EPSILON * f32::EPSILON);
        let b = 1.0f64 + f64::EPSILON;
        assert_eq!(b.fused(b, -(1.0 + 2.0 * f64::EPSILON)), f64::EPSILON * f64::EPSILON);
    }

    #[test]
    fn ulp_distance_counts_the_numbers_between() {
        assert_eq!(1.0f32.ulp_distance(1.0), 0);
        assert_eq!(1.0f32.ulp_distance(1.0 + f32::EPSILON), 1);
        assert_eq!(0.0f64.ulp_distance(-0.0), 1);
        assert_eq!(f64::from_bits(1).ulp_distance(-f64::from_bits(1)), 3);
        assert_eq!(f32::MAX.ulp_distance(f32::INFINITY), 1);
    }

    #[test]
    fn any_nan_is_the_same_as_any_other() {
        assert!(f32::from_bits(0x7fc0_0001).same_bits(f32::from_bits(0xffc0_0000)));
        assert!(!0.0f32.same_bits(-0.0));
    }
}
