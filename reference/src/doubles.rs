//! Eight doubles at a time, with which sums over sites are computed. An instruction set implements this trait: `tensor/eight.rs` for every
//! processor, `tensor/x86.rs` for AVX2 and AVX-512.

use bytemuck::{Pod, cast};

/// The number of sites that are computed together.
pub(crate) const SITES: usize = 8;

/// Eight doubles. All operations act on each separately, and are exact or rounded once.
pub trait Doubles: Pod + Send + Sync {
    /// Converts eight f32, exactly.
    fn from_f32(reals: &[f32; SITES]) -> Self;
    /// self + b.
    fn add(self, b: Self) -> Self;
    /// self − b.
    fn sub(self, b: Self) -> Self;
    /// −self: flips the sign bits, also of zeros.
    fn negate(self) -> Self;
    /// self · b + c, rounded once.
    fn fused(self, b: Self, c: Self) -> Self;
    /// The bits of self, or'ed with the bits in which a and b differ.
    fn or_differences(self, a: Self, b: Self) -> Self;
    /// Whether a bit is set.
    fn any_bit(self) -> bool;
    /// The even places of two vectors, and the odd ones. The places of `a` and `b` alternate.
    fn unzip(a: Self, b: Self) -> (Self, Self);

    /// Loads eight doubles from memory.
    #[inline(always)]
    fn from_f64(reals: &[f64; SITES]) -> Self {
        cast(*reals)
    }
    /// Eight times the same value.
    #[inline(always)]
    fn splat(value: f64) -> Self {
        cast([value; SITES])
    }
    /// The eight doubles as an array.
    #[inline(always)]
    fn to_array(self) -> [f64; SITES] {
        cast(self)
    }
}
