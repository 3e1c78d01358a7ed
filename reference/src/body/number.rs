//! The numbers of kernel functions, as traits. They are lane vectors on the CPU, recorded operations for OpenCL C and other languages, or plain
//! numbers. Each operation is exact or defined by `docs/arithmetic.md` §2. Nothing is fused, contracted or reordered unless the kernel function does
//! so.

use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

/// What a loop of [`super::Site::repeat`] carries from one turn to the next: numbers, and arrays and structures of them.
pub trait Carried: Copy {
    /// The same value with each of its numbers replaced. Only recorders replace numbers, since theirs stand for results of operations.
    #[inline(always)]
    fn replaced(self, _by: &mut dyn FnMut(u32) -> u32) -> Self {
        self
    }
}

impl Carried for () {}

impl<T: Carried, const N: usize> Carried for [T; N] {
    fn replaced(mut self, by: &mut dyn FnMut(u32) -> u32) -> Self {
        for value in &mut self {
            *value = value.replaced(by);
        }
        self
    }
}

impl<A: Carried, B: Carried> Carried for (A, B) {
    fn replaced(self, by: &mut dyn FnMut(u32) -> u32) -> Self {
        (self.0.replaced(by), self.1.replaced(by))
    }
}

/// A real number in each lane. `a + b`, `a − b` and `a · b` are each rounded once. A literal stands for its [`Self::constant`]: `2.0` in `a * 2.0`.
pub trait Number:
    Carried
    + From<f64>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Neg<Output = Self>
    + Add<f64, Output = Self>
    + Sub<f64, Output = Self>
    + Mul<f64, Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
{
    /// A constant, rounded to the working precision.
    fn constant(value: f64) -> Self;
    /// self · b + c, rounded once.
    fn fma(self, b: Self, c: Self) -> Self;
}

/// Implements assigning operators such as `+=`, and operators with literals, for a type of numbers.
#[doc(hidden)]
#[macro_export]
macro_rules! with_literals {
    (number $generics:tt $Number:ty) => {
        $crate::with_literals! { from $generics $Number }
        $crate::with_literals! { literal $generics $Number: Add add; Sub sub; Mul mul; }
        $crate::with_literals! { assign $generics $Number: AddAssign add_assign Add add; SubAssign sub_assign Sub sub; MulAssign mul_assign Mul mul; }
    };
    (real $generics:tt $Number:ty) => {
        $crate::with_literals! { number $generics $Number }
        $crate::with_literals! { literal $generics $Number: Div div; }
        $crate::with_literals! { assign $generics $Number: DivAssign div_assign Div div; }
    };
    (complex $generics:tt $Number:ty) => {
        $crate::with_literals! { times $generics $Number }
        $crate::with_literals! { assign $generics $Number: AddAssign add_assign Add add; SubAssign sub_assign Sub sub; MulAssign mul_assign Mul mul; }
    };
    (from [$($generics:tt)*] $Number:ty) => {
        impl<$($generics)*> From<f64> for $Number {
            #[inline(always)]
            fn from(value: f64) -> Self {
                <Self as $crate::body::number::Number>::constant(value)
            }
        }
    };
    (times [$($generics:tt)*] $Number:ty) => {
        impl<$($generics)*> ::std::ops::Mul<f64> for $Number {
            type Output = Self;
            #[inline(always)]
            fn mul(self, factor: f64) -> Self {
                $crate::body::number::ComplexNumber::scaled(self, factor)
            }
        }
    };
    (literal $generics:tt $Number:ty:) => {};
    (literal [$($generics:tt)*] $Number:ty: $Operator:ident $operator:ident; $($rest:tt)*) => {
        impl<$($generics)*> ::std::ops::$Operator<f64> for $Number {
            type Output = Self;
            #[inline(always)]
            fn $operator(self, literal: f64) -> Self {
                ::std::ops::$Operator::<Self>::$operator(self, Self::from(literal))
            }
        }
        $crate::with_literals! { literal [$($generics)*] $Number: $($rest)* }
    };
    (assign $generics:tt $Number:ty:) => {};
    (assign [$($generics:tt)*] $Number:ty: $Assign:ident $assign:ident $Operator:ident $operator:ident; $($rest:tt)*) => {
        impl<$($generics)*> ::std::ops::$Assign for $Number {
            #[inline(always)]
            fn $assign(&mut self, other: Self) {
                *self = ::std::ops::$Operator::<Self>::$operator(*self, other);
            }
        }
        $crate::with_literals! { assign [$($generics)*] $Number: $($rest)* }
    };
}

/// A truth value in each lane.
pub trait Choice: Carried {
    /// Whether both are true.
    fn and(self, other: Self) -> Self;
    /// Whether at least one is true.
    fn or(self, other: Self) -> Self;
    /// The negation.
    fn not(self) -> Self;
}

/// A real number in each lane, in the working precision. `a / b` is correctly rounded.
pub trait RealNumber: Number + Div<Output = Self> + Div<f64, Output = Self> + DivAssign {
    /// The type of comparisons.
    type Choice: Choice;
    /// A double in each lane.
    type Double: Number;

    /// The square root, correctly rounded.
    fn sqrt(self) -> Self;
    /// The magnitude: the sign bit cleared.
    fn abs(self) -> Self;
    /// Whether self < other; false if one of them is NaN.
    fn less(self, other: Self) -> Self::Choice;
    /// Whether self ≤ other; false if one of them is NaN.
    fn at_most(self, other: Self) -> Self::Choice;
    /// `yes` if `choice` is true, else `no`.
    fn select(choice: Self::Choice, yes: Self, no: Self) -> Self;
    /// The greater of the two; `self` if one of them is NaN or they are equal.
    #[inline(always)]
    fn greater(self, other: Self) -> Self {
        Self::select(self.less(other), other, self)
    }
    /// The lesser of the two; `self` if one of them is NaN or they are equal.
    #[inline(always)]
    fn smaller(self, other: Self) -> Self {
        Self::select(other.less(self), other, self)
    }
    /// The same number as a double, exactly.
    fn promoted(self) -> Self::Double;
}

/// A complex number in each lane. `a + b` and `a − b` round each part once; `a · b` is `mul` of `docs/arithmetic.md` §2, and `a · 2.0` is
/// `a.scaled(2.0)`.
pub trait ComplexNumber:
    Carried
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Neg<Output = Self>
    + Mul<f64, Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
{
    /// The type of its real and imaginary part.
    type Real: RealNumber<Choice = Self::Choice, Double = Self::Double>;
    /// The type of comparisons.
    type Choice: Choice;
    /// A double in each lane.
    type Double: Number;

    /// re + i·im.
    fn new(re: Self::Real, im: Self::Real) -> Self;
    /// The real part.
    fn re(self) -> Self::Real;
    /// The imaginary part.
    fn im(self) -> Self::Real;
    /// i · self, exactly.
    fn times_i(self) -> Self;
    /// The complex conjugate, exactly.
    fn conj(self) -> Self;
    /// s · self: each part rounded once.
    fn scaled(self, s: impl Into<Self::Real>) -> Self;
    /// s · self + c: each part rounded once.
    fn scaled_add(self, s: impl Into<Self::Real>, c: Self) -> Self;
    /// self · b + c, `madd` of `docs/arithmetic.md` §2.
    fn madd(self, b: Self, c: Self) -> Self;
    /// a · b, summed over three colours: `mul` for the first, then `madd` for the others, in order.
    #[inline(always)]
    fn dot(a: [Self; 3], b: [Self; 3]) -> Self {
        a[2].madd(b[2], a[1].madd(b[1], a[0] * b[0]))
    }
    /// `yes` if `choice` is true, else `no`.
    fn select(choice: Self::Choice, yes: Self, no: Self) -> Self;
    /// Real and imaginary part as doubles, exactly.
    fn promoted(self) -> [Self::Double; 2];

    /// A constant, rounded to the working precision.
    #[inline(always)]
    fn constant(re: f64, im: f64) -> Self {
        Self::new(Self::Real::constant(re), Self::Real::constant(im))
    }
    /// +0.
    #[inline(always)]
    fn zero() -> Self {
        Self::constant(0.0, 0.0)
    }
    /// −0 in both parts. A sum starts with it, since −0 + x is x for every x.
    #[inline(always)]
    fn empty_sum() -> Self {
        Self::constant(-0.0, -0.0)
    }
    /// self + i·b.
    #[inline(always)]
    fn add_i(self, b: Self) -> Self {
        self + b.times_i()
    }
    /// self − i·b.
    #[inline(always)]
    fn sub_i(self, b: Self) -> Self {
        self + -b.times_i()
    }
    /// sum + |self|² in doubles: fma of the real part, then of the imaginary part (`docs/arithmetic.md` §8).
    #[inline(always)]
    fn norm2_onto(self, sum: Self::Double) -> Self::Double {
        let [re, im] = self.promoted();
        im.fma(im, re.fma(re, sum))
    }
    /// sum + conj(self) · b in doubles, as `docs/arithmetic.md` §8 defines inner products.
    #[inline(always)]
    fn inner_product_onto(self, b: Self, [s, t]: [Self::Double; 2]) -> [Self::Double; 2] {
        let ([x_re, x_im], [y_re, y_im]) = (self.promoted(), b.promoted());
        [x_im.fma(y_im, x_re.fma(y_re, s)), (-x_im).fma(y_re, x_re.fma(y_im, t))]
    }
}
