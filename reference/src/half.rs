//! Half precision (`docs/arithmetic.md` §12): the reals of a component, such as a spinor, are signed 16-bit fractions of a power of two that is
//! larger than all of them. Arithmetic is in f32, and results are rounded when they are stored. Counterpart: `cl/half.clh`.
//!
//! On the host, such a field holds the f32 numbers that its fractions stand for. So it uses the f32 kernels, followed by a rounding.

use std::borrow::Cow;
use std::fmt;
use std::ops::{Add, Div, Mul, Neg, Rem, Sub};

use bytemuck::{Pod, Zeroable};
use num_traits::{Num, One, Zero};
use rayon::prelude::*;

use crate::doubles::Doubles;
use crate::layout::Scalar;
use crate::real::{Precision, Real, half_device_bytes};
use crate::tasks::for_each_chunk;

/// An f32 in a field of half precision.
#[derive(Clone, Copy, Default, PartialEq, PartialOrd, Pod, Zeroable)]
#[repr(transparent)]
pub struct Half(f32);

impl fmt::Debug for Half {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for Half {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::LowerExp for Half {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::LowerExp::fmt(&self.0, f)
    }
}

impl From<Half> for f32 {
    fn from(x: Half) -> Self {
        x.0
    }
}

/// Implements arithmetic as that of f32. Results are quantized with the field that they belong to.
macro_rules! operators {
    ($($operator:ident $method:ident),+) => {$(
        impl $operator for Half {
            type Output = Self;
            fn $method(self, other: Self) -> Self {
                Self(self.0.$method(other.0))
            }
        }
    )+};
}
operators!(Add add, Sub sub, Mul mul, Div div, Rem rem);

impl Neg for Half {
    type Output = Self;
    fn neg(self) -> Self {
        Self(-self.0)
    }
}

impl Zero for Half {
    fn zero() -> Self {
        Self(0.0)
    }
    fn is_zero(&self) -> bool {
        self.0 == 0.0
    }
}

impl One for Half {
    fn one() -> Self {
        Self(1.0)
    }
}

impl Num for Half {
    type FromStrRadixErr = <f32 as Num>::FromStrRadixErr;
    fn from_str_radix(text: &str, radix: u32) -> Result<Self, Self::FromStrRadixErr> {
        <f32 as Num>::from_str_radix(text, radix).map(Self)
    }
}

/// The bits of 2¹¹², the least magnitude that cannot be stored. Those of infinities and NaNs are larger. With this limit, a device can convert
/// fractions by a fused multiply-add of numbers up to 2²⁴ steps.
const TOO_LARGE: u32 = 0x7780_0000;
const MANTISSA_BITS: u32 = 23;
/// The number of bits of a fraction after its binary point.
const FRACTION_BITS: u32 = 15;

/// A device stores a fraction q as q + 2¹⁵, two in a word: this bit of each is flipped.
const ON_DEVICE: u32 = 0x8000_8000;

/// The limit is the same on both sides of 0, so that the scale itself is never reached.
const LARGEST_FRACTION: f32 = 32767.0;

/// The step of a component whose largest magnitude has the bits `largest`. It is 2⁻¹⁵ times the smallest power of two that is larger than this
/// magnitude, but at least the smallest normal f32. It is NaN if a real is 2¹¹² or more, or NaN. The power must not equal the largest magnitude: a
/// number that was rounded up to a power of two would be rounded again the next time.
fn step(largest: u32) -> f32 {
    if largest >= TOO_LARGE {
        return f32::NAN;
    }
    let exponent = (largest >> MANTISSA_BITS) + 1;
    f32::from_bits((exponent.max(FRACTION_BITS + 1) - FRACTION_BITS) << MANTISSA_BITS)
}

/// 1 / step, exactly.
fn inverse(step: f32) -> f32 {
    f32::from_bits((254 << MANTISSA_BITS) - step.to_bits())
}

/// The fraction of a real, in steps: rounded to nearest even, clamped; 0 if the step is NaN.
fn fraction(x: f32, step: f32) -> i16 {
    if step.is_nan() {
        return 0;
    }
    // The product is exact: the step is a power of two.
    (x * inverse(step)).round_ties_even().clamp(-LARGEST_FRACTION, LARGEST_FRACTION) as i16
}

/// The real that a fraction stands for. It is exact, or NaN if the step is NaN.
fn component(fraction: i16, step: f32) -> f32 {
    f32::from(fraction) * step
}

fn step_of_lane(part: &[f32], nsimd: usize, lane: usize) -> f32 {
    let magnitudes = part.chunks_exact(2 * nsimd).flat_map(|word| [word[2 * lane], word[2 * lane + 1]]);
    step(magnitudes.map(|x| x.to_bits() & i32::MAX as u32).max().unwrap_or(0))
}

const PARTS_A_TASK: usize = 256;

impl Half {
    /// The numbers as f32.
    pub fn as_f32(reals: &[Self]) -> &[f32] {
        bytemuck::cast_slice(reals)
    }

    /// The numbers as f32. Overwrite them, then quantize ([`Real::quantize`]).
    pub fn as_f32_mut(reals: &mut [Self]) -> &mut [f32] {
        bytemuck::cast_slice_mut(reals)
    }

    /// The step of a component with these reals, and their fractions in steps, as they are stored.
    pub fn fractions(part: &[f32]) -> (f32, Vec<i16>) {
        let largest = part.iter().map(|x| x.to_bits() & i32::MAX as u32).max().unwrap_or(0);
        let step = step(largest);
        (step, part.iter().map(|&x| fraction(x, step)).collect())
    }

    /// The number of 4-byte words of a component with this number of reals, on a device: one for each complex number, and one for the step.
    fn device_words(a_part: usize, nsimd: usize) -> usize {
        half_device_bytes(a_part / (2 * nsimd)) / size_of::<u32>() * nsimd
    }
}

impl Real for Half {
    const PRECISION: Precision = Precision::Half;
    const COMPLEX: Scalar = Scalar::ComplexF;
    const NAME: &'static str = "half";
    const BITS: u32 = 16;
    const HEX_DIGITS: usize = f32::HEX_DIGITS;

    fn from_f64(value: f64) -> Self {
        Self(f32::from_f64(value))
    }
    fn to_f64(self) -> f64 {
        self.0.to_f64()
    }
    fn to_doubles<D: Doubles>(reals: &[Self; 8]) -> D {
        f32::to_doubles(&reals.map(|x| x.0))
    }
    fn fused(self, b: Self, c: Self) -> Self {
        Self(self.0.fused(b.0, c.0))
    }
    fn fused_here(self, b: Self, c: Self) -> Self {
        Self(self.0.fused_here(b.0, c.0))
    }
    fn bits(self) -> u64 {
        self.0.bits()
    }
    fn ulp_distance(self, other: Self) -> u64 {
        self.0.ulp_distance(other.0)
    }

    fn quantize(reals: &mut [Self], a_part: usize, nsimd: usize) {
        for_each_chunk(Self::as_f32_mut(reals), a_part * PARTS_A_TASK, |_, parts| {
            for part in parts.chunks_exact_mut(a_part) {
                for lane in 0..nsimd {
                    let step = step_of_lane(part, nsimd, lane);
                    for word in part.chunks_exact_mut(2 * nsimd) {
                        for x in &mut word[2 * lane..2 * lane + 2] {
                            *x = component(fraction(*x, step), step);
                        }
                    }
                }
            }
        });
    }

    fn device_bytes(words_a_part: usize) -> usize {
        half_device_bytes(words_a_part)
    }

    fn to_device(reals: &[Self], a_part: usize, nsimd: usize) -> Cow<'_, [u8]> {
        let device_words = Self::device_words(a_part, nsimd);
        let mut stored = vec![0u32; reals.len() / a_part * device_words];
        let parts = Self::as_f32(reals).par_chunks_exact(a_part);
        stored.par_chunks_exact_mut(device_words).zip(parts).for_each(|(stored, part)| {
            let (words, steps) = stored.split_at_mut(device_words - nsimd);
            for lane in 0..nsimd {
                let step = step_of_lane(part, nsimd, lane);
                steps[lane] = step.to_bits();
                for (word, stored) in part.chunks_exact(2 * nsimd).zip(words.chunks_exact_mut(nsimd)) {
                    let [re, im] = [0, 1].map(|k| u32::from(fraction(word[2 * lane + k], step) as u16));
                    stored[lane] = (re | im << 16) ^ ON_DEVICE;
                }
            }
        });
        Cow::Owned(bytemuck::cast_slice(&stored).to_vec())
    }

    fn from_device(bytes: &[u8], reals: &mut [Self], a_part: usize, nsimd: usize) {
        let device_words = Self::device_words(a_part, nsimd);
        let parts = Self::as_f32_mut(reals).par_chunks_exact_mut(a_part);
        bytes.par_chunks_exact(device_words * size_of::<u32>()).zip(parts).for_each(|(stored, part)| {
            let word_of = |k: usize| u32::from_ne_bytes(std::array::from_fn(|byte| stored[4 * k + byte]));
            let steps = device_words - nsimd;
            for (word, numbers) in part.chunks_exact_mut(2 * nsimd).enumerate() {
                for lane in 0..nsimd {
                    let step = f32::from_bits(word_of(steps + lane));
                    let fractions = word_of(word * nsimd + lane) ^ ON_DEVICE;
                    // Memory filled with zero bytes has the step 0 and negative fractions: zeros, but not −0.
                    numbers[2 * lane] = component(fractions as u16 as i16, step) + 0.0;
                    numbers[2 * lane + 1] = component((fractions >> 16) as u16 as i16, step) + 0.0;
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The stored values of a component of one lane.
    fn quantized(part: &[f32]) -> Vec<f32> {
        let mut part: Vec<Half> = part.iter().map(|&x| Half(x)).collect();
        let reals = part.len();
        Half::quantize(&mut part, reals, 1);
        part.iter().map(|x| x.0).collect()
    }

    #[test]
    fn the_scale_is_the_smallest_power_of_two_above_the_largest() {
        for (largest, scale) in [(1.0f32, 2.0), (0.999_999_9, 1.0), (0.5, 1.0), (0.499_999_9, 0.5)] {
            assert_eq!(step(largest.to_bits()), scale / 32768.0);
        }
        assert_eq!(step(2f32.powi(112).next_down().to_bits()), 2f32.powi(97));
        for too_large in [2f32.powi(112), f32::MAX, f32::INFINITY, f32::NAN] {
            assert!(step(too_large.to_bits()).is_nan(), "{too_large}");
        }
        for tiny in [0, 1, 2f32.powi(-112).to_bits()] {
            assert_eq!(step(tiny), f32::MIN_POSITIVE);
        }
        assert_eq!(step(2f32.powi(-111).to_bits()), 2.0 * f32::MIN_POSITIVE);
    }

    #[test]
    fn components_are_rounded_to_nearest_even_and_clamped() {
        let unit = 1.0 / 32768.0;
        let found = quantized(&[0.999_999, 0.5 * unit, 1.5 * unit, -0.5 * unit, -1.5 * unit, -0.999_999, 0.25, -0.0]);
        assert_eq!(found, [1.0 - unit, 0.0, 2.0 * unit, 0.0, -2.0 * unit, unit - 1.0, 0.25, 0.0]);
        assert!(found.iter().all(|x| x.to_bits() != (-0.0f32).to_bits()));
    }

    #[test]
    fn what_is_quantized_stays_as_it_is() {
        for largest in [0.500_001, 0.999_999, 1.0, -0.999_999, -0.500_001, 0.75, 3e-34, 1e-37] {
            let once = quantized(&[0.3 * largest, -0.7 * largest, 1e-3 * largest, 5e-6 * largest, largest]);
            assert_eq!(quantized(&once), once);
        }
    }

    #[test]
    fn fractions_in_steps_are_what_is_left_of_a_part() {
        let part = [0.3, -0.7, 1e-3, 5e-6, 0.999_999, -0.0];
        let (step, fractions) = Half::fractions(&part);
        let numbers: Vec<f32> = fractions.iter().map(|&fraction| component(fraction, step)).collect();
        assert_eq!(numbers, quantized(&part));
        assert_eq!((step, fractions[4]), (1.0 / 32768.0, 32767));
        assert!(Half::fractions(&[f32::NAN]).0.is_nan());
    }

    #[test]
    fn zeros_and_subnormal_numbers_are_zeros() {
        assert_eq!(quantized(&[0.0, -0.0]), [0.0, 0.0]);
        assert_eq!(quantized(&[1e-45, -1e-40]), [0.0, 0.0]);
    }

    #[test]
    fn a_part_with_a_component_that_is_no_number_is_nan() {
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            assert!(quantized(&[1.0, bad, 0.0, 2.0]).iter().all(|x| x.is_nan()));
        }
    }

    #[test]
    fn a_device_holds_a_quantized_field_to_the_bit() {
        let (words, nsimd, parts) = (3, 4, 5);
        let a_part = 2 * words * nsimd;
        let number = |k: usize| Half(((k * 7919 % 1009) as f32 - 500.0) * 2f32.powi((k % 7) as i32 * 20 - 60));
        let mut field: Vec<Half> = (0..parts * a_part).map(number).collect();
        field[a_part + 3] = Half(f32::INFINITY);
        Half::quantize(&mut field, a_part, nsimd);
        let bytes = Half::to_device(&field, a_part, nsimd);
        assert_eq!(bytes.len(), parts * nsimd * Half::device_bytes(words));
        let mut back = vec![Half::default(); field.len()];
        Half::from_device(&bytes, &mut back, a_part, nsimd);
        assert!(field.iter().zip(&back).all(|(a, b)| a.same_bits(*b)));
    }
}
