//! The numbers of a map. Real numbers and choices are those of kernel functions (`reference::body::number`). This module adds integers, and plain
//! numbers for running maps on the CPU. Counterparts: `record.rs`, `cl/map.clh`.

use std::ops::{Add, Div, Mul, Neg, Rem, Sub};

use lanefield_reference::body::number::{Carried, Choice, Number, RealNumber};
use lanefield_reference::real::Real;
use lanefield_reference::with_literals;

/// A 32-bit integer. Sums, differences and products keep the low 32 bits. `x / 0` is 0 and `x % 0` is x; `/` rounds towards zero, and `%` has the
/// sign of x. `L` is the type of its literals, `i32` or `u32`: `i * 2 + 1`.
pub trait IntegerNumber<L>:
    Carried
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Rem<Output = Self>
    + Add<L, Output = Self>
    + Sub<L, Output = Self>
    + Mul<L, Output = Self>
    + Div<L, Output = Self>
    + Rem<L, Output = Self>
{
    /// The type of comparisons.
    type Choice: Choice;

    /// A constant.
    fn constant(value: L) -> Self;
    /// self < other.
    fn less(self, other: Self) -> Self::Choice;
    /// self ≤ other.
    fn at_most(self, other: Self) -> Self::Choice;
    /// self = other.
    fn equals(self, other: Self) -> Self::Choice;
    /// `yes` if `choice` is true, else `no`.
    fn select(choice: Self::Choice, yes: Self, no: Self) -> Self;
    /// The lesser of the two.
    fn least(self, other: Self) -> Self;
    /// The greater of the two.
    fn greatest(self, other: Self) -> Self;
    /// Bitwise and.
    fn bit_and(self, other: Self) -> Self;
    /// Bitwise or.
    fn bit_or(self, other: Self) -> Self;
    /// Bitwise exclusive or.
    fn bit_xor(self, other: Self) -> Self;
    /// Shifts left by `bits` mod 32.
    fn shifted_left(self, bits: u32) -> Self;
    /// Shifts right by `bits` mod 32. A signed integer keeps its sign.
    fn shifted_right(self, bits: u32) -> Self;

    /// self mod n, from 0 to n − 1, if n > 0 and self ≥ −n. A neighbour on a torus is `(i - 1).wrapped(n)`.
    #[inline(always)]
    fn wrapped(self, n: Self) -> Self {
        (self % n + n) % n
    }
}

/// A number as a point stores it: bits on the CPU, the name of a result in a recording.
pub trait Carries<Raw> {
    /// The number with this stored form.
    fn from_raw(raw: Raw) -> Self;
    /// Its stored form.
    fn raw(self) -> Raw;
}

/// A number on the CPU.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Plain<T>(pub T);

/// A choice on the CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlainChoice(pub bool);

impl<T: Copy> Carried for Plain<T> {}
impl Carried for PlainChoice {}

impl Choice for PlainChoice {
    lanefield_reference::operations! {
        and(a, other) = Self(a.0 & other.0);
        or(a, other) = Self(a.0 | other.0);
        not(a) = Self(!a.0);
    }
}

macro_rules! bits {
    ($($T:ident: $to:expr, $from:expr;)+) => {$(
        impl Carries<u64> for Plain<$T> {
            #[inline(always)]
            fn from_raw(raw: u64) -> Self {
                Self($from(raw))
            }
            #[inline(always)]
            fn raw(self) -> u64 {
                $to(self.0)
            }
        }
    )+};
}

bits! {
    f32: |x: f32| u64::from(x.to_bits()), |raw: u64| f32::from_bits(raw as u32);
    f64: f64::to_bits, f64::from_bits;
    i32: |x: i32| u64::from(x as u32), |raw: u64| raw as u32 as i32;
    u32: u64::from, |raw: u64| raw as u32;
}

macro_rules! operators_of_reals {
    ($T:ident: $($Operator:ident $operator:ident)+) => {$(
        impl $Operator for Plain<$T> {
            type Output = Self;
            #[inline(always)]
            fn $operator(self, other: Self) -> Self {
                Self(self.0.$operator(other.0))
            }
        }
    )+};
}

macro_rules! reals {
    ($($T:ident)+) => {$(
        operators_of_reals! { $T: Add add Sub sub Mul mul Div div }

        impl Neg for Plain<$T> {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                Self(-self.0)
            }
        }
        with_literals! { real [] Plain<$T> }

        impl Number for Plain<$T> {
            #[inline(always)]
            fn constant(value: f64) -> Self {
                Self(value as $T)
            }
            #[inline(always)]
            fn fma(self, b: Self, c: Self) -> Self {
                Self(self.0.fused(b.0, c.0))
            }
        }
        impl RealNumber for Plain<$T> {
            type Choice = PlainChoice;
            type Double = Plain<f64>;
            lanefield_reference::operations! {
                sqrt(a) = Self(a.0.sqrt());
                abs(a) = Self(a.0.abs());
            }
            #[inline(always)]
            fn less(self, other: Self) -> PlainChoice {
                PlainChoice(self.0 < other.0)
            }
            #[inline(always)]
            fn at_most(self, other: Self) -> PlainChoice {
                PlainChoice(self.0 <= other.0)
            }
            #[inline(always)]
            fn select(choice: PlainChoice, yes: Self, no: Self) -> Self {
                if choice.0 { yes } else { no }
            }
            #[inline(always)]
            fn promoted(self) -> Plain<f64> {
                Plain(f64::from(self.0))
            }
        }
    )+};
}
reals!(f32 f64);

macro_rules! operators_of_integers {
    ($T:ident: $($Operator:ident $operator:ident $with:expr;)+) => {$(
        impl $Operator for Plain<$T> {
            type Output = Self;
            #[inline(always)]
            fn $operator(self, other: Self) -> Self {
                let with: fn($T, $T) -> $T = $with;
                Self(with(self.0, other.0))
            }
        }
        impl $Operator<$T> for Plain<$T> {
            type Output = Self;
            #[inline(always)]
            fn $operator(self, other: $T) -> Self {
                $Operator::$operator(self, Self(other))
            }
        }
    )+};
}

macro_rules! integers {
    ($($T:ident)+) => {$(
        operators_of_integers! { $T:
            Add add $T::wrapping_add;
            Sub sub $T::wrapping_sub;
            Mul mul $T::wrapping_mul;
            Div div |a, b| if b == 0 { 0 } else { a.wrapping_div(b) };
            Rem rem |a, b| if b == 0 { a } else { a.wrapping_rem(b) };
        }

        impl IntegerNumber<$T> for Plain<$T> {
            type Choice = PlainChoice;
            #[inline(always)]
            fn constant(value: $T) -> Self {
                Self(value)
            }
            #[inline(always)]
            fn less(self, other: Self) -> PlainChoice {
                PlainChoice(self.0 < other.0)
            }
            #[inline(always)]
            fn at_most(self, other: Self) -> PlainChoice {
                PlainChoice(self.0 <= other.0)
            }
            #[inline(always)]
            fn equals(self, other: Self) -> PlainChoice {
                PlainChoice(self.0 == other.0)
            }
            #[inline(always)]
            fn select(choice: PlainChoice, yes: Self, no: Self) -> Self {
                if choice.0 { yes } else { no }
            }
            lanefield_reference::operations! {
                least(a, other) = Self(a.0.min(other.0));
                greatest(a, other) = Self(a.0.max(other.0));
                bit_and(a, other) = Self(a.0 & other.0);
                bit_or(a, other) = Self(a.0 | other.0);
                bit_xor(a, other) = Self(a.0 ^ other.0);
            }
            #[inline(always)]
            fn shifted_left(self, bits: u32) -> Self {
                Self(self.0.wrapping_shl(bits))
            }
            #[inline(always)]
            fn shifted_right(self, bits: u32) -> Self {
                Self(self.0.wrapping_shr(bits))
            }
        }
    )+};
}
integers!(i32 u32);
