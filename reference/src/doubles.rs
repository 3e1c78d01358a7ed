//! Eight doubles at a time, in which sums over sites are taken: what a set of instructions has to offer. Those of every processor are in
//! `tensor/eight.rs`, those of AVX2 and AVX-512 in `tensor/x86.rs`.

use bytemuck::{Pod, cast};

/// Sites that are worked on together.
pub(crate) const SITES: usize = 8;

/// Eight doubles. All operations act on each alone, and are exact or rounded once.
pub trait Doubles: Pod + Send + Sync {
    /// Eight f32, exactly.
    fn from_f32(reals: &[f32; SITES]) -> Self;
    /// self + b.
    fn add(self, b: Self) -> Self;
    /// self − b.
    fn sub(self, b: Self) -> Self;
    /// −self: the sign bits flipped, also of zeros.
    fn negate(self) -> Self;
    /// self · b + c, rounded once.
    fn fused(self, b: Self, c: Self) -> Self;
    /// The bits of self, and those in which a and b differ.
    fn or_differences(self, a: Self, b: Self) -> Self;
    /// Whether a bit is set.
    fn any_bit(self) -> bool;
    /// The even places of two vectors, and the odd ones; those of `a` and `b` alternate.
    fn unzip(a: Self, b: Self) -> (Self, Self);

    /// Eight doubles of memory.
    #[inline(always)]
    fn from_f64(reals: &[f64; SITES]) -> Self {
        cast(*reals)
    }
    /// Every one the same.
    #[inline(always)]
    fn splat(value: f64) -> Self {
        cast([value; SITES])
    }
    /// One after the other.
    #[inline(always)]
    fn to_array(self) -> [f64; SITES] {
        cast(self)
    }
}
