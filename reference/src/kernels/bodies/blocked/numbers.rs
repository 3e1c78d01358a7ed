//! Numbers of kernel functions in blocked form. Each is the address of a block of lanes in the memory of the thread's [`Machine`], and each
//! operation computes another block.

use std::ops::{Add, Div, Mul, Neg, Sub};

use super::machine::Machine;
use super::operations::{Block, Operation};
use crate::body::number::{Carried, Choice, ComplexNumber, Number, RealNumber};
use crate::with_literals;

macro_rules! blocks {
    ($($(#[$meta:meta])* $name:ident;)+) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy)]
        pub struct $name(pub(super) Block);

        impl Carried for $name {}
    )+};
}

blocks! {
    /// A complex number in each lane.
    Complexes;
    /// A real number in each lane.
    Reals;
    /// A double in each lane.
    Doubles;
    /// A truth value in each lane.
    Choices;
}

fn complex<const N: usize>(operation: Operation, from: [Block; N]) -> Complexes {
    Complexes(Machine::with(|machine| machine.compute_complex(operation, from)))
}

fn real<const N: usize>(operation: Operation, from: [Block; N]) -> Reals {
    Reals(Machine::with(|machine| machine.compute_real(operation, from)))
}

fn double<const N: usize>(operation: Operation, from: [Block; N]) -> Doubles {
    Doubles(Machine::with(|machine| machine.compute_double(operation, from)))
}

fn choice<const N: usize>(operation: Operation, from: [Block; N]) -> Choices {
    Choices(Machine::with(|machine| machine.compute_real(operation, from)))
}

macro_rules! operators {
    ($name:ident, $compute:ident, $negate:ident: $($Operator:ident $operator:ident $operation:ident;)+) => {
        $(impl $Operator for $name {
            type Output = Self;
            fn $operator(self, b: Self) -> Self {
                $compute(Operation::$operation, [self.0, b.0])
            }
        })+
        impl Neg for $name {
            type Output = Self;
            fn neg(self) -> Self {
                $compute(Operation::$negate, [self.0])
            }
        }
    };
}

operators! { Complexes, complex, ComplexNegate: Add add ComplexAdd; Sub sub ComplexSub; Mul mul ComplexMul; }
operators! { Reals, real, Negate: Add add Add; Sub sub Sub; Mul mul Mul; Div div Div; }
operators! { Doubles, double, Negate: Add add Add; Sub sub Sub; Mul mul Mul; }

with_literals! { complex [] Complexes }
with_literals! { real [] Reals }
with_literals! { number [] Doubles }

impl Number for Reals {
    fn constant(value: f64) -> Self {
        Self(Machine::with(|machine| machine.real_constant(value)))
    }
    fn fma(self, b: Self, c: Self) -> Self {
        real(Operation::Fma, [self.0, b.0, c.0])
    }
}

impl Number for Doubles {
    fn constant(value: f64) -> Self {
        Self(Machine::with(|machine| machine.double_constant(value)))
    }
    fn fma(self, b: Self, c: Self) -> Self {
        double(Operation::Fma, [self.0, b.0, c.0])
    }
}

impl Choice for Choices {
    fn and(self, other: Self) -> Self {
        choice(Operation::And, [self.0, other.0])
    }
    fn or(self, other: Self) -> Self {
        choice(Operation::Or, [self.0, other.0])
    }
    fn not(self) -> Self {
        choice(Operation::Not, [self.0])
    }
}

impl RealNumber for Reals {
    type Choice = Choices;
    type Double = Doubles;

    fn sqrt(self) -> Self {
        real(Operation::Sqrt, [self.0])
    }
    fn abs(self) -> Self {
        real(Operation::Abs, [self.0])
    }
    fn less(self, other: Self) -> Choices {
        choice(Operation::Less, [self.0, other.0])
    }
    fn at_most(self, other: Self) -> Choices {
        choice(Operation::AtMost, [self.0, other.0])
    }
    fn select(choice: Choices, yes: Self, no: Self) -> Self {
        real(Operation::Select, [choice.0, yes.0, no.0])
    }
    fn promoted(self) -> Doubles {
        Doubles(Machine::with(|machine| machine.promoted(self.0)))
    }
}

impl ComplexNumber for Complexes {
    type Real = Reals;
    type Choice = Choices;
    type Double = Doubles;

    fn new(re: Reals, im: Reals) -> Self {
        complex(Operation::ComplexNew, [re.0, im.0])
    }
    fn re(self) -> Reals {
        Reals(self.0)
    }
    fn im(self) -> Reals {
        Reals(Machine::with(|machine| machine.imaginary_part(self.0)))
    }
    fn times_i(self) -> Self {
        complex(Operation::ComplexTimesI, [self.0])
    }
    fn conj(self) -> Self {
        complex(Operation::ComplexConj, [self.0])
    }
    fn scaled(self, s: impl Into<Reals>) -> Self {
        complex(Operation::ComplexScaled, [s.into().0, self.0])
    }
    fn scaled_add(self, s: impl Into<Reals>, c: Self) -> Self {
        complex(Operation::ComplexScaledAdd, [s.into().0, self.0, c.0])
    }
    fn madd(self, b: Self, c: Self) -> Self {
        complex(Operation::ComplexMadd, [self.0, b.0, c.0])
    }
    fn dot(a: [Self; 3], b: [Self; 3]) -> Self {
        complex(Operation::ComplexDot, [a[0].0, b[0].0, a[1].0, b[1].0, a[2].0, b[2].0])
    }
    fn select(choice: Choices, yes: Self, no: Self) -> Self {
        complex(Operation::ComplexSelect, [choice.0, yes.0, no.0])
    }
    fn promoted(self) -> [Doubles; 2] {
        [self.re().promoted(), self.im().promoted()]
    }
    fn add_i(self, b: Self) -> Self {
        complex(Operation::ComplexAddI, [self.0, b.0])
    }
    fn sub_i(self, b: Self) -> Self {
        complex(Operation::ComplexSubI, [self.0, b.0])
    }
}
