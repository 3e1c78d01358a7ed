//! Random kernel functions. An expression is a list of steps, each of which computes a complex number from earlier ones. The hunted kernels
//! compute the expression that was [`set`]: the recorded kernel on a device, and the same on vectors of lanes on the CPU.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use proptest::prelude::*;
use proptest::sample::select;

use crate::body::prelude::*;
use crate::kernel::{Kernel, KernelSource};

macro_rules! steps {
    ($($what:ident)+) => {
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        enum StepKind {
            $($what,)+
        }

        const ALL: &[StepKind] = &[$(StepKind::$what,)+];
    };
}

// The simplest first, since shrinking goes in that direction.
steps! {
    Word Constant Scalar ComplexScalar Coordinate
    Neg Conj TimesI Magnitude Add Sub Scaled ScaledAdd Fma Mul Madd Quotient Root
    Less AtMost Odd
    Neighbour Link Product
    Turns
}

/// Constants: exact and inexact ones, signed zeros, infinity, and the limits of subnormal numbers and overflow.
const CONSTANTS: [f64; 16] = [
    1.0,
    0.5,
    -0.0,
    0.0,
    0.1,
    -3.0,
    1.0 / 3.0,
    1e-30,
    1e30,
    f32::MIN_POSITIVE as f64,
    1e-45,
    f32::MAX as f64,
    16_777_217.0,
    f64::INFINITY,
    f64::MIN_POSITIVE,
    5e-324,
];

/// A step. An operand is the number of an earlier step, counted back from the last one; other operands say what a step reads, or how often
/// it repeats.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExpressionStep {
    what: StepKind,
    operands: [u8; 4],
}

/// A list of steps.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Expression {
    /// The steps; the last two numbers are the results.
    pub steps: Vec<ExpressionStep>,
}

/// The maximum number of steps of an expression.
const MOST_STEPS: usize = 24;

impl ExpressionStep {
    /// The operands that are numbers of earlier steps.
    fn numbers(&self) -> &'static [usize] {
        match self.what {
            StepKind::Constant
            | StepKind::Word
            | StepKind::ComplexScalar
            | StepKind::Coordinate
            | StepKind::Neighbour
            | StepKind::Link
            | StepKind::Product => &[],
            StepKind::Scalar
            | StepKind::Neg
            | StepKind::TimesI
            | StepKind::Conj
            | StepKind::Root
            | StepKind::Magnitude => &[0],
            StepKind::Add | StepKind::Sub | StepKind::Mul | StepKind::Scaled | StepKind::Quotient => &[0, 1],
            StepKind::Madd | StepKind::ScaledAdd | StepKind::Fma | StepKind::Turns => &[0, 1, 2],
            StepKind::Less | StepKind::AtMost => &[0, 1, 2, 3],
            StepKind::Odd => &[2, 3],
        }
    }
}

impl Expression {
    /// The expression without the steps that its last number does not need.
    pub(crate) fn without_unused(&self) -> Self {
        // Number 0 exists from the start; step k computes number k + 1 from earlier ones.
        let mut needed = vec![false; self.steps.len() + 1];
        needed[self.steps.len()] = true;
        let place = |number: usize, operand: u8| number - 1 - usize::from(operand) % number;
        for (number, step) in (1..).zip(&self.steps).collect::<Vec<_>>().into_iter().rev() {
            if needed[number] {
                step.numbers().iter().for_each(|&k| needed[place(number, step.operands[k])] = true);
            }
        }
        let (mut places, mut steps) = (vec![0], Vec::new());
        for (number, step) in (1..).zip(&self.steps) {
            places.push(steps.len() + 1);
            if needed[number] {
                let mut step = *step;
                for &k in step.numbers() {
                    // Not farther back than before.
                    step.operands[k] = (steps.len() - places[place(number, step.operands[k])]) as u8;
                }
                steps.push(step);
            }
        }
        Self { steps }
    }

    /// A strategy for any expression.
    pub fn any() -> impl Strategy<Value = Self> {
        let step = (select(ALL.to_vec()), prop::array::uniform4(0..16u8));
        let step = step.prop_map(|(what, operands)| ExpressionStep { what, operands });
        prop::collection::vec(step, 1..MOST_STEPS).prop_map(|steps| Self { steps })
    }
}

/// The expression that the hunted kernels compute.
static EXPRESSION: RwLock<Option<Arc<Expression>>> = RwLock::new(None);
/// Allows one hunt at a time.
static HUNTING: Mutex<()> = Mutex::new(());

/// Waits until no other hunt runs in this process, and blocks others until the guard is dropped.
pub fn alone() -> MutexGuard<'static, ()> {
    HUNTING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sets the expression that the hunted kernels compute.
pub fn set(expression: &Expression) {
    *EXPRESSION.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(expression.clone()));
    for kernel in KERNELS {
        if let KernelSource::Body(body) = kernel.source {
            body.forget();
        }
    }
}

/// The hunted kernels.
pub static KERNELS: [&Kernel; 2] = [&HUNTED, &HUNTED_SUM];

struct ExpressionInputs<S> {
    psi: Read<S, Spinors>,
    a: Scalar<S>,
    c: ComplexScalar<S>,
    x: Coordinates<S>,
    legs: Option<(Links<S>, Neighbours<S, ColourVectors>)>,
}

/// The last two numbers of the expression.
#[inline(always)]
fn evaluated<S: Site>(site: S, inputs: ExpressionInputs<S>) -> [S::Complex; 2] {
    let expression = EXPRESSION.read().unwrap_or_else(PoisonError::into_inner).clone().unwrap_or_default();
    let mut numbers: Vec<S::Complex> = vec![inputs.psi.here().0[0]];
    for ExpressionStep { what, operands } in &expression.steps {
        let [k, l, m, n] = operands.map(usize::from);
        let at = |k: usize| numbers[numbers.len() - 1 - k % numbers.len()];
        let leg = Leg::all().nth(k % 8).unwrap_or_else(|| unreachable!("there are eight legs"));
        let next = match (what, &inputs.legs) {
            (StepKind::Neighbour, Some((_, phi))) => phi.at(leg).0[l % 3],
            (StepKind::Link, Some((links, _))) => links.at(leg).0[l % 9],
            (StepKind::Product, Some((links, phi))) => links.times(leg, phi.at(leg)).0[l % 3],
            (StepKind::Word | StepKind::Neighbour | StepKind::Link | StepKind::Product, _) => {
                inputs.psi.here().0[k % 12]
            }
            (StepKind::Constant, _) => S::Complex::constant(CONSTANTS[k], CONSTANTS[l]),
            (StepKind::Scalar, _) => at(k).scaled(inputs.a.get()),
            (StepKind::ComplexScalar, _) => inputs.c.get(),
            (StepKind::Coordinate, _) => {
                let [first, second] = [k, l].map(|d| inputs.x.get(Direction::ALL[d % 4]));
                S::Complex::new(first, second)
            }
            (StepKind::Add, _) => at(k) + at(l),
            (StepKind::Sub, _) => at(k) - at(l),
            (StepKind::Neg, _) => -at(k),
            (StepKind::TimesI, _) => at(k).times_i(),
            (StepKind::Conj, _) => at(k).conj(),
            (StepKind::Mul, _) => at(k) * at(l),
            (StepKind::Madd, _) => at(k).madd(at(l), at(m)),
            (StepKind::Scaled, _) => at(k).scaled(at(l).re()),
            (StepKind::ScaledAdd, _) => at(k).scaled_add(at(l).im(), at(m)),
            (StepKind::Fma, _) => {
                S::Complex::new(at(k).re().fma(at(l).re(), at(m).re()), at(k).im() * at(l).im() + at(m).im())
            }
            (StepKind::Quotient, _) => S::Complex::new(at(k).re() / at(l).re(), at(k).im() / at(l).im()),
            (StepKind::Root, _) => S::Complex::new(at(k).re().abs().sqrt(), at(k).im().abs().sqrt()),
            (StepKind::Magnitude, _) => S::Complex::new(at(k).re().abs(), at(k).im().abs()),
            (StepKind::Less, _) => S::Complex::select(at(k).re().less(at(l).re()), at(m), at(n)),
            (StepKind::AtMost, _) => S::Complex::select(at(k).im().at_most(at(l).re()).not(), at(m), at(n)),
            (StepKind::Odd, _) => {
                let directions = [Direction::ALL[k % 4], Direction::ALL[(k + 1 + l % 3) % 4]];
                S::Complex::select(inputs.x.is_odd(&directions), at(m), at(n))
            }
            (StepKind::Turns, _) => {
                let (factor, term) = (at(l), at(m));
                site.repeat(site.count(1 + n % 5), at(k), |_, z| z.scaled_add(factor.re(), term))
            }
        };
        numbers.push(next);
    }
    let last = numbers.len() - 1;
    [numbers[last], numbers[last.saturating_sub(1)]]
}

/// The value of an expression.
#[lane_kernel]
fn hunted<S: Site>(
    site: S,
    out: Write<S, WordList<2>>,
    links: Links<S>,
    phi: Neighbours<S, ColourVectors>,
    psi: Read<S, Spinors>,
    a: Scalar<S>,
    c: ComplexScalar<S>,
    x: Coordinates<S>,
) {
    out.write(List(evaluated(site, ExpressionInputs { psi, a, c, x, legs: Some((links, phi)) })));
}

/// The value of an expression that reads no neighbours, and its square summed over all sites.
#[lane_kernel]
fn hunted_sum<S: Site>(
    site: S,
    out: Write<S, WordList<2>>,
    psi: Read<S, Spinors>,
    a: Scalar<S>,
    c: ComplexScalar<S>,
    x: Coordinates<S>,
    square: ComplexSum<S>,
) {
    let result = List(evaluated(site, ExpressionInputs { psi, a, c, x, legs: None }));
    out.write(result);
    let List([first, second]) = result;
    square.add([first.norm2_onto(S::Double::constant(0.0)), second.im().promoted()]);
}

/// Prints the expression as lines of a kernel function.
impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "let z0 = psi.here().0[0];")?;
        for (number, ExpressionStep { what, operands }) in (1..).zip(&self.steps) {
            let [k, l, m, n] = operands.map(usize::from);
            let [a, b, c, d] = [k, l, m, n].map(|k| format!("z{}", number - 1 - k % number));
            let leg = Leg::all().nth(k % 8).map(|leg| leg.to_string()).unwrap_or_default();
            let [first, second] = [k, l].map(|d| Direction::ALL[d % 4]);
            let line = match what {
                StepKind::Constant => format!("S::Complex::constant({:e}, {:e})", CONSTANTS[k], CONSTANTS[l]),
                StepKind::Word => format!("psi.here().0[{}]", k % 12),
                StepKind::Scalar => format!("{a}.scaled(a.get())"),
                StepKind::ComplexScalar => "c.get()".into(),
                StepKind::Coordinate => format!("S::Complex::new(x.get({first}), x.get({second}))"),
                StepKind::Neighbour => format!("phi.at({leg}).0[{}]", l % 3),
                StepKind::Link => format!("links.at({leg}).0[{}]", l % 9),
                StepKind::Product => format!("links.times({leg}, phi.at({leg})).0[{}]", l % 3),
                StepKind::Add => format!("{a} + {b}"),
                StepKind::Sub => format!("{a} - {b}"),
                StepKind::Neg => format!("-{a}"),
                StepKind::TimesI => format!("{a}.times_i()"),
                StepKind::Conj => format!("{a}.conj()"),
                StepKind::Mul => format!("{a} * {b}"),
                StepKind::Madd => format!("{a}.madd({b}, {c})"),
                StepKind::Scaled => format!("{a}.scaled({b}.re())"),
                StepKind::ScaledAdd => format!("{a}.scaled_add({b}.im(), {c})"),
                StepKind::Fma => {
                    format!("S::Complex::new({a}.re().fma({b}.re(), {c}.re()), {a}.im() * {b}.im() + {c}.im())")
                }
                StepKind::Quotient => format!("S::Complex::new({a}.re() / {b}.re(), {a}.im() / {b}.im())"),
                StepKind::Root => format!("S::Complex::new({a}.re().abs().sqrt(), {a}.im().abs().sqrt())"),
                StepKind::Magnitude => format!("S::Complex::new({a}.re().abs(), {a}.im().abs())"),
                StepKind::Less => format!("S::Complex::select({a}.re().less({b}.re()), {c}, {d})"),
                StepKind::AtMost => format!("S::Complex::select({a}.im().at_most({b}.re()).not(), {c}, {d})"),
                StepKind::Odd => {
                    let other = Direction::ALL[(k + 1 + l % 3) % 4];
                    format!("S::Complex::select(x.is_odd(&[{first}, {other}]), {c}, {d})")
                }
                StepKind::Turns => {
                    format!("site.repeat(site.count({}), {a}, |_, z| z.scaled_add({b}.re(), {c}))", 1 + n % 5)
                }
            };
            writeln!(f, "let z{number} = {line};")?;
        }
        let last = self.steps.len();
        write!(f, "out.write(List([z{last}, z{}]));", last.saturating_sub(1))
    }
}
