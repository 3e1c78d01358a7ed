//! Numbers of kernel functions on the CPU: vectors of lanes, `N` of them side by side, for `N` components or outer sites. What is the same for all
//! of them, such as a link for several right-hand sides, is `N` times the same value, and the compiler computes it once.

use std::ops::{Add, Div, Mul, Neg, Sub};

use crate::body::number::{Carried, Choice, ComplexNumber, Number, RealNumber};
use crate::real::Real as _;
use crate::tensor::su3::{Factor, Left};
use crate::tensor::{Doubles, LaneVector, eight};
use crate::with_literals;

/// Complex lanes.
#[derive(Clone, Copy)]
pub struct Lanes<V, const N: usize>(pub(super) [V; N]);

/// Real lanes: each number is in both places of its lane.
#[derive(Clone, Copy)]
pub struct RealLanes<V, const N: usize>(pub(super) [V; N]);

/// The sign bit is set in both places of a lane if the choice is true.
#[derive(Clone, Copy)]
pub struct ChoiceLanes<V, const N: usize>([V; N]);

/// Doubles, eight lanes at a time. The first [`DoubleLanes::EIGHTS`] entries hold them, in the order of [`eight::lane_at`].
#[derive(Clone, Copy)]
pub struct DoubleLanes<V: LaneVector, const N: usize>(pub(super) [V::Doubles; N]);

impl<V: LaneVector, const N: usize> DoubleLanes<V, N> {
    /// The number of groups of eight.
    pub(super) const EIGHTS: usize = N.div_ceil(eight::osites::<V>());
}

impl<V: LaneVector, const N: usize> Carried for Lanes<V, N> {}
impl<V: LaneVector, const N: usize> Carried for RealLanes<V, N> {}
impl<V: LaneVector, const N: usize> Carried for ChoiceLanes<V, N> {}
impl<V: LaneVector, const N: usize> Carried for DoubleLanes<V, N> {}

/// Computes vector k of the result from vectors k of the operands. It loops over existing arrays, because `map` and `from_fn` were compiled to calls
/// that pass vectors in memory.
macro_rules! each {
    ($first:expr $(, $other:expr)*; |$a:ident $(, $b:ident)*| $value:expr) => {{
        let mut result = $first.0;
        for k in 0..N {
            let $a = result[k];
            $(let $b = $other.0[k];)*
            result[k] = $value;
        }
        result
    }};
}

macro_rules! operators {
    ($Lanes:ident: $($Operator:ident $operator:ident $method:ident;)+) => {
        $(impl<V: LaneVector, const N: usize> $Operator for $Lanes<V, N> {
            type Output = Self;
            #[inline(always)]
            fn $operator(self, other: Self) -> Self {
                Self(each!(self, other; |a, b| a.$method(b)))
            }
        })+

        impl<V: LaneVector, const N: usize> Neg for $Lanes<V, N> {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                Self(each!(self; |a| a.negate()))
            }
        }
    };
}

operators! { Lanes: Add add add; Sub sub sub; }
operators! { RealLanes: Add add add; Sub sub sub; Mul mul times; Div div divided_by; }
operators! { DoubleLanes: Add add add; Sub sub sub; }

with_literals! { complex [V: LaneVector, const N: usize] Lanes<V, N> }
with_literals! { real [V: LaneVector, const N: usize] RealLanes<V, N> }
with_literals! { number [V: LaneVector, const N: usize] DoubleLanes<V, N> }

impl<V: LaneVector, const N: usize> Mul for Lanes<V, N> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, b: Self) -> Self {
        Self(each!(self, b; |a, b| Left::new(a).mul(Factor::new(b))))
    }
}

impl<V: LaneVector, const N: usize> Mul for DoubleLanes<V, N> {
    type Output = Self;
    /// The product plus −0, rounded once, is the product, even if that is −0.
    #[inline(always)]
    fn mul(self, b: Self) -> Self {
        Self(each!(self, b; |a, b| a.fused(b, V::Doubles::splat(-0.0))))
    }
}

impl<V: LaneVector, const N: usize> Number for DoubleLanes<V, N> {
    #[inline(always)]
    fn constant(value: f64) -> Self {
        Self([V::Doubles::splat(value); N])
    }
    #[inline(always)]
    fn fma(self, b: Self, c: Self) -> Self {
        Self(each!(self, b, c; |a, b, c| a.fused(b, c)))
    }
}

impl<V: LaneVector, const N: usize> Number for RealLanes<V, N> {
    #[inline(always)]
    fn constant(value: f64) -> Self {
        Self([V::splat(V::Real::from_f64(value)); N])
    }
    #[inline(always)]
    fn fma(self, b: Self, c: Self) -> Self {
        Self(each!(self, b, c; |a, b, c| a.fused(b, c)))
    }
}

impl<V: LaneVector, const N: usize> Choice for ChoiceLanes<V, N> {
    crate::operations! {
        and(this, other) = Self(each!(this, other; |a, b| a.blend(b, a)));
        or(this, other) = Self(each!(this, other; |a, b| b.blend(a, a)));
        not(this) = Self(each!(this; |a| a.negate()));
    }
}

impl<V: LaneVector, const N: usize> ChoiceLanes<V, N> {
    /// From sign bits.
    #[inline(always)]
    pub(super) fn new(signs: [V; N]) -> Self {
        Self(signs)
    }
}

/// Real and imaginary parts as doubles.
#[inline(always)]
fn promoted<V: LaneVector, const N: usize>(vectors: &[V; N]) -> [DoubleLanes<V, N>; 2] {
    let zero = V::Doubles::splat(0.0);
    let (mut re, mut im) = ([zero; N], [zero; N]);
    for k in 0..DoubleLanes::<V, N>::EIGHTS {
        let first = k * eight::osites::<V>();
        (re[k], im[k]) = eight::parts(|osite| &vectors[(first + osite).min(N - 1)]);
    }
    [DoubleLanes(re), DoubleLanes(im)]
}

/// For place `place` of a group of eight: the number of its vector among `N`, and its lane in it; `None` if there are fewer vectors.
#[inline(always)]
pub(super) fn place_of<V: LaneVector, const N: usize>(eight_number: usize, place: usize) -> Option<(usize, usize)> {
    let (lanes, at) = (V::REALS / 2, eight::lane_at(place));
    let vector = eight_number * eight::osites::<V>() + at / lanes;
    (vector < N).then_some((vector, at % lanes))
}

impl<V: LaneVector, const N: usize> RealNumber for RealLanes<V, N> {
    type Choice = ChoiceLanes<V, N>;
    type Double = DoubleLanes<V, N>;

    crate::operations! {
        sqrt(this) = Self(each!(this; |a| a.sqrt()));
        abs(this) = Self(each!(this; |a| a.magnitude()));
    }
    #[inline(always)]
    fn less(self, other: Self) -> ChoiceLanes<V, N> {
        ChoiceLanes(each!(self, other; |a, b| a.less(b)))
    }
    #[inline(always)]
    fn at_most(self, other: Self) -> ChoiceLanes<V, N> {
        ChoiceLanes(each!(self, other; |a, b| a.at_most(b)))
    }
    #[inline(always)]
    fn select(choice: ChoiceLanes<V, N>, yes: Self, no: Self) -> Self {
        Self(each!(no, yes, choice; |no, yes, choice| no.blend(yes, choice)))
    }
    #[inline(always)]
    fn promoted(self) -> DoubleLanes<V, N> {
        let [re, _] = promoted(&self.0);
        re
    }
}

impl<V: LaneVector, const N: usize> ComplexNumber for Lanes<V, N> {
    type Real = RealLanes<V, N>;
    type Choice = ChoiceLanes<V, N>;
    type Double = DoubleLanes<V, N>;

    #[inline(always)]
    fn new(re: RealLanes<V, N>, im: RealLanes<V, N>) -> Self {
        Self(each!(re, im; |re, im| re.with_imaginary_parts(im)))
    }
    #[inline(always)]
    fn re(self) -> RealLanes<V, N> {
        RealLanes(each!(self; |a| a.real_parts()))
    }
    #[inline(always)]
    fn im(self) -> RealLanes<V, N> {
        RealLanes(each!(self; |a| a.imaginary_parts()))
    }
    crate::operations! {
        times_i(this) = Self(each!(this; |a| a.times_i()));
        conj(this) = Self(each!(this; |a| a.with_imaginary_parts(a.negate())));
    }
    #[inline(always)]
    fn scaled(self, s: impl Into<RealLanes<V, N>>) -> Self {
        let s = s.into();
        Self(each!(self, s; |a, s| s.times(a)))
    }
    #[inline(always)]
    fn scaled_add(self, s: impl Into<RealLanes<V, N>>, c: Self) -> Self {
        let s = s.into();
        Self(each!(self, s, c; |a, s, c| s.fused(a, c)))
    }
    #[inline(always)]
    fn madd(self, b: Self, c: Self) -> Self {
        Self(each!(self, b, c; |a, b, c| Left::new(a).madd(Factor::new(b), c)))
    }
    #[inline(always)]
    fn select(choice: ChoiceLanes<V, N>, yes: Self, no: Self) -> Self {
        Self(each!(no, yes, choice; |no, yes, choice| no.blend(yes, choice)))
    }
    #[inline(always)]
    fn promoted(self) -> [DoubleLanes<V, N>; 2] {
        promoted(&self.0)
    }
    #[inline(always)]
    fn empty_sum() -> Self {
        Self([V::splat(V::Real::from_f64(-0.0)); N])
    }
    #[inline(always)]
    fn zero() -> Self {
        Self([V::splat(V::Real::from_f64(0.0)); N])
    }
    crate::operations! {
        add_i(this, b) = Self(each!(this, b; |a, b| a.add_i(b)));
        sub_i(this, b) = Self(each!(this, b; |a, b| a.sub_i(b)));
    }
}
