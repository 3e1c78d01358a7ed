//! The operations on blocks of lanes: one function for each precision and instruction set. They are written from `docs/arithmetic.md` §2. Real and
//! imaginary parts are separate, so that no shuffles are needed; the compiler vectorises the loops.

use std::marker::PhantomData;
use std::ptr::NonNull;

use num_traits::Float;

use crate::instructions::Instructions;
use crate::real::Real;
use crate::tensor::Task;
use crate::tensor::sets::{self, InstructionSet};

/// The number of lanes of a block, which has at least one word of the widest lanes. With fewer lanes, calls take longer; with more, memory accesses
/// do.
pub const LANES: usize = 64;

/// The address of a block.
pub type Block = NonNull<u8>;

/// An operation. Complex operands and results are [`LANES`] real parts, then as many imaginary ones.
#[derive(Clone, Copy)]
pub enum Operation {
    Add,
    Sub,
    Mul,
    Div,
    Fma,
    Negate,
    Sqrt,
    Abs,
    Less,
    AtMost,
    Select,
    And,
    Or,
    Not,
    Promote,
    ComplexAdd,
    ComplexSub,
    ComplexMul,
    ComplexMadd,
    ComplexDot,
    ComplexNegate,
    ComplexNew,
    ComplexTimesI,
    ComplexConj,
    ComplexScaled,
    ComplexScaledAdd,
    ComplexAddI,
    ComplexSubI,
    ComplexSelect,
}

/// The maximum number of operands of an operation.
pub const MOST_OPERANDS: usize = 6;

/// An operation on blocks. `to` must not be one of `from`. Operands that the operation does not use may be anything.
#[derive(Clone, Copy)]
pub struct Step {
    pub operation: Operation,
    pub to: *mut u8,
    pub from: [*const u8; MOST_OPERANDS],
}

/// Computes a step on blocks of `R`.
struct Compute<R>(PhantomData<fn(R)>);

/// A truth value in each lane.
type Choices = [u32; LANES];
type Reals<R> = [R; LANES];
type Complexes<R> = [Reals<R>; 2];

// Loops in functions of their own: only of a function's arguments does the compiler know that what is written is none of what is read.

#[inline(always)]
fn each<T: Copy, A: Copy>(to: &mut [T; LANES], a: &[A; LANES], value: impl Fn(A) -> T) {
    for lane in 0..LANES {
        to[lane] = value(a[lane]);
    }
}

#[inline(always)]
fn each_of_two<T: Copy, A: Copy>(to: &mut [T; LANES], a: &[A; LANES], b: &[A; LANES], value: impl Fn(A, A) -> T) {
    for lane in 0..LANES {
        to[lane] = value(a[lane], b[lane]);
    }
}

#[inline(always)]
fn each_of_three<T: Copy, A: Copy, B: Copy>(
    to: &mut [T; LANES],
    a: &[A; LANES],
    b: &[B; LANES],
    c: &[B; LANES],
    value: impl Fn(A, B, B) -> T,
) {
    for lane in 0..LANES {
        to[lane] = value(a[lane], b[lane], c[lane]);
    }
}

#[inline(always)]
fn complex<R: Copy>(to: &mut Complexes<R>, a: &Complexes<R>, value: impl Fn([R; 2]) -> [R; 2]) {
    for lane in 0..LANES {
        [to[0][lane], to[1][lane]] = value([a[0][lane], a[1][lane]]);
    }
}

#[inline(always)]
fn complex_of_two<R: Copy>(
    to: &mut Complexes<R>,
    a: &Complexes<R>,
    b: &Complexes<R>,
    value: impl Fn([R; 2], [R; 2]) -> [R; 2],
) {
    for lane in 0..LANES {
        [to[0][lane], to[1][lane]] = value([a[0][lane], a[1][lane]], [b[0][lane], b[1][lane]]);
    }
}

#[inline(always)]
fn complex_of_three<R: Copy>(
    to: &mut Complexes<R>,
    a: &Complexes<R>,
    b: &Complexes<R>,
    c: &Complexes<R>,
    value: impl Fn([R; 2], [R; 2], [R; 2]) -> [R; 2],
) {
    for lane in 0..LANES {
        let [a, b, c] = [a, b, c].map(|z| [z[0][lane], z[1][lane]]);
        [to[0][lane], to[1][lane]] = value(a, b, c);
    }
}

#[inline(always)]
fn complex_dot<R: Real>(
    to: &mut Complexes<R>,
    (a0, b0): (&Complexes<R>, &Complexes<R>),
    (a1, b1): (&Complexes<R>, &Complexes<R>),
    (a2, b2): (&Complexes<R>, &Complexes<R>),
) {
    let fma = R::fused_here;
    for lane in 0..LANES {
        let part = |z: &Complexes<R>| (z[0][lane], z[1][lane]);
        let ((ar, ai), (br, bi)) = (part(a0), part(b0));
        let mut sum = [fma(-ai, bi, ar * br), fma(ai, br, ar * bi)];
        for (a, b) in [(a1, b1), (a2, b2)] {
            let ((ar, ai), (br, bi)) = (part(a), part(b));
            sum = [fma(-ai, bi, fma(ar, br, sum[0])), fma(ai, br, fma(ar, bi, sum[1]))];
        }
        [to[0][lane], to[1][lane]] = sum;
    }
}

impl<R: Real + Float> Task<Step> for Compute<R> {
    type Output = ();
    #[inline(always)]
    fn run(&self, Step { operation, to, from: [a, b, c, d, e, f] }: Step) {
        macro_rules! to {
            ($T:ty) => {
                // SAFETY: the machine made room for the result, which is none of the operands.
                unsafe { &mut *to.cast::<$T>() }
            };
        }
        macro_rules! operand {
            ($from:ident: $T:ty) => {
                // SAFETY: the operation takes a block that holds this.
                unsafe { &*$from.cast::<$T>() }
            };
        }
        macro_rules! real {
            ($value:expr, $($from:ident),+) => {
                real!(@ $value, to!(Reals<R>), $(operand!($from: Reals<R>)),+)
            };
            (@ $value:expr, $to:expr, $a:expr) => { each($to, $a, $value) };
            (@ $value:expr, $to:expr, $a:expr, $b:expr) => { each_of_two($to, $a, $b, $value) };
            (@ $value:expr, $to:expr, $a:expr, $b:expr, $c:expr) => { each_of_three($to, $a, $b, $c, $value) };
        }
        macro_rules! complex {
            ($value:expr, $($from:ident),+) => {
                complex!(@ $value, to!(Complexes<R>), $(operand!($from: Complexes<R>)),+)
            };
            (@ $value:expr, $to:expr, $a:expr) => { complex($to, $a, $value) };
            (@ $value:expr, $to:expr, $a:expr, $b:expr) => { complex_of_two($to, $a, $b, $value) };
            (@ $value:expr, $to:expr, $a:expr, $b:expr, $c:expr) => { complex_of_three($to, $a, $b, $c, $value) };
        }
        let fma = R::fused_here;
        match operation {
            Operation::Add => real!(|a, b| a + b, a, b),
            Operation::Sub => real!(|a, b| a - b, a, b),
            Operation::Mul => real!(|a, b| a * b, a, b),
            Operation::Div => real!(|a, b| a / b, a, b),
            Operation::Fma => real!(fma, a, b, c),
            Operation::Negate => real!(|a: R| -a, a),
            Operation::Sqrt => real!(Float::sqrt, a),
            Operation::Abs => real!(Float::abs, a),
            Operation::Less => {
                each_of_two(to!(Choices), operand!(a: Reals<R>), operand!(b: Reals<R>), |a, b| u32::from(a < b));
            }
            Operation::AtMost => {
                each_of_two(to!(Choices), operand!(a: Reals<R>), operand!(b: Reals<R>), |a, b| u32::from(a <= b));
            }
            Operation::And => each_of_two(to!(Choices), operand!(a: Choices), operand!(b: Choices), |a, b| a & b),
            Operation::Or => each_of_two(to!(Choices), operand!(a: Choices), operand!(b: Choices), |a, b| a | b),
            Operation::Not => each(to!(Choices), operand!(a: Choices), |a| a ^ 1),
            Operation::Select => {
                let select = |choice: u32, yes: R, no: R| if choice != 0 { yes } else { no };
                let (yes, no) = (operand!(b: Reals<R>), operand!(c: Reals<R>));
                each_of_three(to!(Reals<R>), operand!(a: Choices), yes, no, select);
            }
            Operation::Promote => each(to!([f64; LANES]), operand!(a: Reals<R>), |a| Real::to_f64(a)),
            Operation::ComplexAdd => complex!(|[ar, ai], [br, bi]| [ar + br, ai + bi], a, b),
            Operation::ComplexSub => complex!(|[ar, ai], [br, bi]| [ar - br, ai - bi], a, b),
            Operation::ComplexMul => {
                complex!(|[ar, ai], [br, bi]| [fma(-ai, bi, ar * br), fma(ai, br, ar * bi)], a, b);
            }
            Operation::ComplexMadd => complex!(
                |[ar, ai], [br, bi], [cr, ci]| [fma(-ai, bi, fma(ar, br, cr)), fma(ai, br, fma(ar, bi, ci))],
                a,
                b,
                c
            ),
            Operation::ComplexDot => {
                let first = (operand!(a: Complexes<R>), operand!(b: Complexes<R>));
                let second = (operand!(c: Complexes<R>), operand!(d: Complexes<R>));
                let third = (operand!(e: Complexes<R>), operand!(f: Complexes<R>));
                complex_dot(to!(Complexes<R>), first, second, third);
            }
            Operation::ComplexNegate => complex!(|[ar, ai]: [R; 2]| [-ar, -ai], a),
            Operation::ComplexNew => {
                *to!(Complexes<R>) = [*operand!(a: Reals<R>), *operand!(b: Reals<R>)];
            }
            Operation::ComplexTimesI => complex!(|[ar, ai]: [R; 2]| [-ai, ar], a),
            Operation::ComplexConj => complex!(|[ar, ai]: [R; 2]| [ar, -ai], a),
            Operation::ComplexAddI => complex!(|[ar, ai], [br, bi]| [ar - bi, ai + br], a, b),
            Operation::ComplexSubI => complex!(|[ar, ai], [br, bi]| [ar + bi, ai - br], a, b),
            // Real and imaginary parts each as reals.
            Operation::ComplexScaled | Operation::ComplexScaledAdd | Operation::ComplexSelect => {
                let [re, im] = to!(Complexes<R>);
                for (part, to) in [re, im].into_iter().enumerate() {
                    let b = &operand!(b: Complexes<R>)[part];
                    match operation {
                        Operation::ComplexScaled => each_of_two(to, operand!(a: Reals<R>), b, |s, b| s * b),
                        Operation::ComplexScaledAdd => {
                            each_of_three(to, operand!(a: Reals<R>), b, &operand!(c: Complexes<R>)[part], fma);
                        }
                        _ => {
                            let select = |choice: u32, yes: R, no: R| if choice != 0 { yes } else { no };
                            each_of_three(to, operand!(a: Choices), b, &operand!(c: Complexes<R>)[part], select);
                        }
                    }
                }
            }
        }
    }
}

/// A function that computes a step.
pub type Computer = fn(Step);

/// The function that computes steps of `R`, with the instructions that kernels use.
pub fn computer<R: Real + Float>() -> Computer {
    fn with<R: Real + Float, S: InstructionSet>(step: Step) {
        S::run(&Compute::<R>(PhantomData), step);
    }
    match Instructions::in_use() {
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx512 => with::<R, sets::Avx512>,
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx2 => with::<R, sets::Avx2>,
        _ => with::<R, sets::Baseline>,
    }
}
