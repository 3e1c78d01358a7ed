//! An interpreter of recorded kernel functions on plain numbers, one site at a time: no lanes, no layout, no compiler of a device. It keeps a list
//! of all steps with their results, which shows where a differing result comes from. It is also a reference implementation for every kernel function
//! ([`Interpreted`]).

use std::collections::HashMap;

use lanefield_reference::kernels::Vectors;
use lanefield_reference::layout::Direction;
use lanefield_reference::random::{bits_at, uniform_of_bits};
use lanefield_reference::real::Real;
use lanefield_reference::scalar::{madd, mul, real_madd, real_times};
use num_complex::Complex;

use super::plain::{PlainCall, PlainImplementation};
use crate::body::program::{Id, Kind, Operation, Program, Statement};
use crate::body::sites::{Index, SiteAccess, SiteLanguage, Where};

/// A result.
#[derive(Clone, Copy, PartialEq, Debug)]
#[allow(missing_docs, reason = "the names say what they are")]
pub enum PlainValue<R> {
    Complex(Complex<R>),
    Real(R),
    Double(f64),
    Choice(bool),
}

/// A step: an operation on results of earlier steps, which are numbered from 0, and its result. If the operation reads data of the site, it names
/// the source, and has no operands.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names say what they are")]
pub struct InterpretedStep<R> {
    pub operation: Operation,
    pub kind: Kind,
    pub value: PlainValue<R>,
}

/// What a kernel function did at a site.
#[derive(Clone, Debug)]
pub struct Evaluation<R> {
    /// Every operation, in order. A loop is unrolled.
    pub steps: Vec<InterpretedStep<R>>,
    /// For each field that was written, the steps that computed its words.
    pub written: Vec<(usize, Vec<usize>)>,
    /// The terms of sums: the argument, the number of its sum, and the step that computed the term.
    pub terms: Vec<(usize, usize, usize)>,
}

impl<R: Copy> Evaluation<R> {
    /// The words that were written to a field.
    pub fn words(&self, argument: usize) -> Vec<Complex<R>> {
        let written = self.written.iter().find(|(known, _)| *known == argument);
        let word = |&step: &usize| match self.steps[step].value {
            PlainValue::Complex(word) => Some(word),
            _ => None,
        };
        written.map_or_else(Vec::new, |(_, steps)| steps.iter().filter_map(word).collect())
    }

    /// A term of a sum.
    pub fn term(&self, step: usize) -> f64 {
        match self.steps[step].value {
            PlainValue::Double(term) => term,
            _ => f64::NAN,
        }
    }
}

/// Returns the wrong result of an operation: a fault, planted to test whether it is detected.
pub type Fault = fn(&Operation, Complex<f64>) -> Complex<f64>;

impl<R: Real> PlainValue<R> {
    /// The result as a complex number: a real number is its real part; true is 1, and false is 0.
    pub fn to_complex(self) -> Complex<f64> {
        match self {
            Self::Complex(z) => Complex::new(z.re.to_f64(), z.im.to_f64()),
            Self::Real(x) => Complex::new(x.to_f64(), 0.0),
            Self::Double(x) => Complex::new(x, 0.0),
            Self::Choice(yes) => Complex::new(f64::from(u8::from(yes)), 0.0),
        }
    }

    /// The result of this kind that a complex number represents.
    fn from_complex(kind: Kind, z: Complex<f64>) -> Self {
        match kind {
            Kind::Real => Self::Real(R::from_f64(z.re)),
            Kind::F64 => Self::Double(z.re),
            Kind::Choice => Self::Choice(z.re != 0.0),
            // Bodies have no other kind.
            _ => Self::Complex(Complex::new(R::from_f64(z.re), R::from_f64(z.im))),
        }
    }
}

/// Evaluates a program at a site, with an optional fault.
pub fn evaluate<R: Vectors>(
    program: &Program<SiteLanguage>,
    inputs: AtSite<'_, '_, R>,
    fault: Option<Fault>,
) -> Evaluation<R> {
    let done = Evaluation { steps: Vec::new(), written: Vec::new(), terms: Vec::new() };
    let (names, loads, turns) = (HashMap::new(), HashMap::new(), HashMap::new());
    let mut evaluator = Evaluator { inputs, fault, done, names, loads, turns };
    evaluator.statements(&program.statements);
    evaluator.done
}

/// The reference implementation that interprets the recording of the kernel function itself.
#[derive(Clone, Copy, Debug)]
pub struct Interpreted;

impl PlainImplementation for Interpreted {
    fn run<R: Vectors>(call: &mut PlainCall<'_, R>) {
        run_with(call, None);
    }
}

/// Evaluates the recording at every site, with an optional fault.
pub fn run_with<R: Vectors>(call: &mut PlainCall<'_, R>, fault: Option<Fault>) {
    let program = call.program();
    for site in call.sites() {
        for part in 0..call.parts() {
            let done = evaluate(&program, AtSite { call, site, part }, fault);
            for &(argument, _) in &done.written {
                call.write(call.name(argument), site, part, &done.words(argument));
            }
            for &(argument, number, step) in &done.terms {
                call.add(call.first_sum(argument) + number, site, part, done.term(step));
            }
        }
    }
}

/// A component of a site of a call.
#[derive(Clone, Copy)]
#[allow(missing_docs, reason = "the names say what they are")]
pub struct AtSite<'a, 'c, R> {
    pub call: &'a PlainCall<'c, R>,
    pub site: usize,
    pub part: usize,
}

impl<R: Vectors> AtSite<'_, '_, R> {
    /// The words of a component at the site or at a neighbour. If the field has one component at a site, it is that one.
    fn words(&self, argument: usize, place: Where) -> Vec<Complex<R>> {
        let site = match place {
            Where::Here => self.site,
            Where::At(leg) => self.call.neighbour(self.site, leg),
            Where::Displaced(displacement) => self.call.displaced(self.site, displacement),
        };
        self.call.read(self.call.name(argument), site, self.part)
    }

    /// A scalar of the call. A real scalar is the real part.
    fn scalar(&self, argument: usize) -> Complex<R> {
        self.call.complex(self.call.name(argument))
    }

    fn coordinate(&self, direction: Direction) -> usize {
        self.call.coordinate(self.site)[direction.index()]
    }
}

struct Evaluator<'a, 'c, R> {
    inputs: AtSite<'a, 'c, R>,
    fault: Option<Fault>,
    done: Evaluation<R>,
    /// The step of each result.
    names: HashMap<Id, usize>,
    /// The words of each load.
    loads: HashMap<Id, Vec<Complex<R>>>,
    /// The current turn of each loop.
    turns: HashMap<Id, usize>,
}

macro_rules! results {
    ($($result:ident: $Kind:ident($T:ty);)+) => {$(
        fn $result(&self, id: Id) -> $T {
            match self.done.steps[id.0 as usize].value {
                PlainValue::$Kind(value) => value,
                other => unreachable!("{other:?} is no {}", stringify!($result)),
            }
        }
    )+};
}

impl<R: Vectors> Evaluator<'_, '_, R> {
    results! {
        complex: Complex(Complex<R>);
        real: Real(R);
        double: Double(f64);
        choice: Choice(bool);
    }

    fn statements(&mut self, statements: &[Statement<SiteLanguage>]) {
        for statement in statements {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &Statement<SiteLanguage>) {
        match statement {
            Statement::Compute { id, kind, operation } => {
                let operation = operation.with_operands(|id| Id(self.names[&id] as u32));
                let value = self.value(*kind, &operation);
                let value = match self.fault {
                    Some(fault) if !operation.reads() => {
                        PlainValue::from_complex(*kind, fault(&operation, value.to_complex()))
                    }
                    _ => value,
                };
                self.names.insert(*id, self.done.steps.len());
                self.done.steps.push(InterpretedStep { operation, kind: *kind, value });
            }
            Statement::Access(access) => self.access(access),
            Statement::Within { scope, .. } => match *scope {},
            Statement::Loop { turn, turns, carried, statements } => {
                for carry in carried {
                    self.names.insert(carry.id, self.names[&carry.initial]);
                }
                for number in 0..self.number(*turns) {
                    self.turns.insert(*turn, number);
                    self.statements(statements);
                    // All at once: one may be what another was.
                    let last: Vec<usize> = carried.iter().map(|carry| self.names[&carry.last]).collect();
                    for (carry, step) in carried.iter().zip(last) {
                        self.names.insert(carry.id, step);
                    }
                }
            }
        }
    }

    fn access(&mut self, access: &SiteAccess) {
        match access {
            SiteAccess::Load { id, argument, words, place } => {
                let mut loaded = self.inputs.words(*argument, *place);
                loaded.truncate(*words);
                self.loads.insert(*id, loaded);
            }
            SiteAccess::LoadWord { id, argument, word } => {
                // What was written in an earlier turn is not read again, but by the word that was written.
                let loaded = self.inputs.words(*argument, Where::Here)[self.number(*word)];
                self.loads.insert(*id, vec![loaded]);
            }
            SiteAccess::Link { id, leg, .. } => {
                self.loads.insert(*id, self.inputs.call.link(self.inputs.site, *leg).concat());
            }
            SiteAccess::Draw { id, numbers } => {
                let numbers = numbers.map(|number| self.real(Id(self.names[&number] as u32)).to_f64());
                let x = Direction::ALL.map(|direction| self.inputs.coordinate(direction) as u16);
                let drawn = bits_at(x, numbers).map(|bits| Complex::new(uniform_of_bits(bits), R::from_f64(0.0)));
                self.loads.insert(*id, drawn.to_vec());
            }
            SiteAccess::Write { argument, words } => {
                let steps = words.iter().map(|id| self.names[id]).collect();
                self.done.written.retain(|(known, _)| known != argument);
                self.done.written.push((*argument, steps));
            }
            SiteAccess::WriteWord { argument, value, .. } => {
                let step = self.names[value];
                match self.done.written.iter_mut().find(|(known, _)| known == argument) {
                    Some((_, steps)) => steps.push(step),
                    None => self.done.written.push((*argument, vec![step])),
                }
            }
            SiteAccess::Sum { argument, part, term } => self.done.terms.push((*argument, *part, self.names[term])),
        }
    }

    fn number(&self, index: Index) -> usize {
        match index {
            Index::Number(number) => number,
            Index::Turn(turn) => self.turns[&turn],
            Index::WordsOf(argument) => self.inputs.words(argument, Where::Here).len(),
        }
    }

    fn value(&self, kind: Kind, operation: &Operation) -> PlainValue<R> {
        match kind {
            Kind::Real => PlainValue::Real(self.real_value(operation)),
            Kind::F64 => PlainValue::Double(self.double_value(operation)),
            Kind::Choice => PlainValue::Choice(self.choice_value(operation)),
            _ => PlainValue::Complex(self.complex_value(operation)),
        }
    }

    fn complex_value(&self, operation: &Operation) -> Complex<R> {
        use Operation as O;
        let z = |id: &Id| self.complex(*id);
        match operation {
            O::Word(load, word) => self.loads[load][*word],
            O::ComplexScalar(argument) => self.inputs.scalar(*argument),
            O::Add(a, b) => z(a) + z(b),
            O::Sub(a, b) => z(a) - z(b),
            O::Mul(a, b) => mul(z(a), z(b)),
            O::Neg(a) => -z(a),
            O::MulAdd(a, b, c) => madd(z(a), z(b), z(c)),
            O::Scaled(s, a) => real_times(self.real(*s), z(a)),
            O::ScaledAdd(s, a, c) => real_madd(self.real(*s), z(a), z(c)),
            O::New(re, im) => Complex::new(self.real(*re), self.real(*im)),
            O::TimesI(a) => Complex::new(-z(a).im, z(a).re),
            O::Conj(a) => z(a).conj(),
            O::Select(choice, yes, no) => z(if self.choice(*choice) { yes } else { no }),
            other => unreachable!("{other:?} gives no complex number"),
        }
    }

    fn real_value(&self, operation: &Operation) -> R {
        use Operation as O;
        match operation {
            O::Word(draw, word) => self.loads[draw][*word].re,
            O::Scalar(argument) => self.inputs.scalar(*argument).re,
            O::Coordinate(_, direction) => R::from_f64(self.inputs.coordinate(*direction) as f64),
            O::Re(a) => self.complex(*a).re,
            O::Im(a) => self.complex(*a).im,
            O::Select(choice, yes, no) => self.real(if self.choice(*choice) { *yes } else { *no }),
            other => arithmetic(other, &|id| self.real(*id)),
        }
    }

    fn double_value(&self, operation: &Operation) -> f64 {
        match operation {
            Operation::Promoted(a) => self.real(*a).to_f64(),
            other => arithmetic(other, &|id| self.double(*id)),
        }
    }

    fn choice_value(&self, operation: &Operation) -> bool {
        use Operation as O;
        match operation {
            O::Odd(_, set) => {
                let sum: usize = Direction::ALL
                    .into_iter()
                    .filter(|direction| set >> direction.index() & 1 == 1)
                    .map(|direction| self.inputs.coordinate(direction))
                    .sum();
                sum % 2 == 1
            }
            O::Less(a, b) => self.real(*a) < self.real(*b),
            O::AtMost(a, b) => self.real(*a) <= self.real(*b),
            O::And(a, b) => self.choice(*a) && self.choice(*b),
            O::Or(a, b) => self.choice(*a) || self.choice(*b),
            O::Not(a) => !self.choice(*a),
            other => unreachable!("{other:?} gives no choice"),
        }
    }
}

/// An operation on real numbers or doubles.
fn arithmetic<N: Real>(operation: &Operation, x: &dyn Fn(&Id) -> N) -> N {
    use Operation as O;
    match operation {
        O::Constant(value) => N::from_f64(*value),
        O::Add(a, b) => x(a) + x(b),
        O::Sub(a, b) => x(a) - x(b),
        O::Mul(a, b) => x(a) * x(b),
        O::Div(a, b) => x(a) / x(b),
        O::Neg(a) => -x(a),
        O::MulAdd(a, b, c) => x(a).fused(x(b), x(c)),
        // Of an f32 the root in f64, rounded, is the correctly rounded one.
        O::Sqrt(a) => N::from_f64(x(a).to_f64().sqrt()),
        O::Abs(a) => N::from_f64(x(a).to_f64().abs()),
        other => unreachable!("{other:?} gives no real number"),
    }
}
