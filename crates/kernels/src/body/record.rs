//! A body recorded: run once with numbers that note every operation. What comes out is a [`Program`].

use std::cell::RefCell;
use std::ops::{Add, Div, Mul, Neg, Sub};

use lanefield_reference::body::number::{Carried, Choice, ComplexNumber, Number, RealNumber};
use lanefield_reference::body::value::{HalfSpinor, Matrix, Spinor, Value};
use lanefield_reference::body::{Body, Site};
use lanefield_reference::kernels::hop::Dagger;
use lanefield_reference::layout::{Direction, Displacement, LEGS, Leg, LegOrder};

use super::BodyError;
use super::program::{Carry, Id, Index, Kind, Operation, Program, Statement, Where};

/// Statements that a body may have.
pub const MOST_STATEMENTS: usize = 100_000;

/// Records what a body does with its legs in that order, of a kernel or its Hermitian conjugate. It is run twice: a body that does not do the same both times depends on something beside its
/// arguments.
///
/// # Errors
/// [`BodyError`] of the kernel `name`.
pub fn record<B: Body>(name: &'static str, legs: LegOrder, dagger: Dagger) -> Result<Program, BodyError> {
    recorded(name, Recorder { legs, dagger }, B::run)
}

/// What is the same of all bodies, compiled once.
fn recorded(name: &'static str, recorder: Recorder, body: fn(Recorder)) -> Result<Program, BodyError> {
    let once = || {
        TAPE.with_borrow_mut(|tape| *tape = Tape::default());
        body(recorder);
        TAPE.with_borrow_mut(std::mem::take)
    };
    let (first, second) = (once(), once());
    if first.length > MOST_STATEMENTS {
        return Err(BodyError::TooLong { kernel: name, statements: first.length, most: MOST_STATEMENTS });
    }
    let [first, second] = [first, second].map(|tape| tape.blocks.into_iter().next().unwrap_or_default());
    match same(&first, &second) {
        true => Ok(Program { statements: first }.with_first_terms().without_unused()),
        false => Err(BodyError::Impure { kernel: name }),
    }
}

/// Whether two recordings are the same, constants bit by bit.
fn same(first: &[Statement], second: &[Statement]) -> bool {
    format!("{first:?}") == format!("{second:?}")
}

#[derive(Default)]
struct Tape {
    next: u32,
    length: usize,
    /// Statements of each loop that is open, the outermost first.
    blocks: Vec<Vec<Statement>>,
}

thread_local! {
    static TAPE: RefCell<Tape> = RefCell::default();
}

impl Tape {
    fn id(&mut self) -> Id {
        self.next += 1;
        Id(self.next - 1)
    }

    fn push(&mut self, statement: Statement) {
        self.length += 1;
        // What is too long is refused in the end, and not kept until then.
        if self.length <= MOST_STATEMENTS {
            if self.blocks.is_empty() {
                self.blocks.push(Vec::new());
            }
            if let Some(block) = self.blocks.last_mut() {
                block.push(statement);
            }
        }
    }
}

fn push(statement: Statement) {
    TAPE.with_borrow_mut(|tape| tape.push(statement));
}

/// A statement with a new number.
fn numbered(statement: impl FnOnce(Id) -> Statement) -> Id {
    TAPE.with_borrow_mut(|tape| {
        let id = tape.id();
        tape.push(statement(id));
        id
    })
}

fn compute(kind: Kind, operation: Operation) -> Id {
    numbered(|id| Statement::Compute { id, kind, operation })
}

macro_rules! recorded {
    ($($(#[$doc:meta])+ $name:ident: $kind:ident;)+) => {$(
        $(#[$doc])+
        #[derive(Clone, Copy, Debug)]
        pub struct $name(Id);

        impl $name {
            fn of(operation: Operation) -> Self {
                Self(compute(Kind::$kind, operation))
            }
        }

        impl Carried for $name {
            fn replaced(self, by: &mut dyn FnMut(u32) -> u32) -> Self {
                Self(Id(by(self.0.0)))
            }
        }
    )+};
}

recorded! {
    /// A complex number.
    RecordedComplex: Complex;
    /// A real number.
    RecordedReal: Real;
    /// A double.
    RecordedDouble: Double;
    /// Yes or no.
    RecordedChoice: Choice;
}

macro_rules! operators {
    ($($name:ident: $($Operator:ident $operator:ident)+;)+) => {$(
        $(impl $Operator for $name {
            type Output = Self;
            fn $operator(self, other: Self) -> Self {
                Self::of(Operation::$Operator(self.0, other.0))
            }
        })+

        impl Neg for $name {
            type Output = Self;
            fn neg(self) -> Self {
                Self::of(Operation::Neg(self.0))
            }
        }
    )+};
}

operators! {
    RecordedComplex: Add add Sub sub Mul mul;
    RecordedReal: Add add Sub sub Mul mul Div div;
    RecordedDouble: Add add Sub sub Mul mul;
}

macro_rules! numbers {
    ($($name:ident)+) => {$(
        impl Number for $name {
            fn constant(value: f64) -> Self {
                Self::of(Operation::Constant(value))
            }
            fn fma(self, b: Self, c: Self) -> Self {
                Self::of(Operation::MulAdd(self.0, b.0, c.0))
            }
        }
    )+};
}
numbers!(RecordedReal RecordedDouble);

impl Choice for RecordedChoice {
    fn and(self, other: Self) -> Self {
        Self::of(Operation::And(self.0, other.0))
    }
    fn or(self, other: Self) -> Self {
        Self::of(Operation::Or(self.0, other.0))
    }
    fn not(self) -> Self {
        Self::of(Operation::Not(self.0))
    }
}

impl RealNumber for RecordedReal {
    type Choice = RecordedChoice;
    type Double = RecordedDouble;

    fn sqrt(self) -> Self {
        Self::of(Operation::Sqrt(self.0))
    }
    fn abs(self) -> Self {
        Self::of(Operation::Abs(self.0))
    }
    fn less(self, other: Self) -> RecordedChoice {
        RecordedChoice::of(Operation::Less(self.0, other.0))
    }
    fn at_most(self, other: Self) -> RecordedChoice {
        RecordedChoice::of(Operation::AtMost(self.0, other.0))
    }
    fn select(choice: RecordedChoice, yes: Self, no: Self) -> Self {
        Self::of(Operation::Select(choice.0, yes.0, no.0))
    }
    fn promoted(self) -> RecordedDouble {
        RecordedDouble::of(Operation::Promoted(self.0))
    }
}

impl ComplexNumber for RecordedComplex {
    type Real = RecordedReal;
    type Choice = RecordedChoice;
    type Double = RecordedDouble;

    fn new(re: RecordedReal, im: RecordedReal) -> Self {
        Self::of(Operation::New(re.0, im.0))
    }
    fn re(self) -> RecordedReal {
        RecordedReal::of(Operation::Re(self.0))
    }
    fn im(self) -> RecordedReal {
        RecordedReal::of(Operation::Im(self.0))
    }
    fn times_i(self) -> Self {
        Self::of(Operation::TimesI(self.0))
    }
    fn conj(self) -> Self {
        Self::of(Operation::Conj(self.0))
    }
    fn scaled(self, s: RecordedReal) -> Self {
        Self::of(Operation::Scaled(s.0, self.0))
    }
    fn scaled_add(self, s: RecordedReal, c: Self) -> Self {
        Self::of(Operation::ScaledAdd(s.0, self.0, c.0))
    }
    fn madd(self, b: Self, c: Self) -> Self {
        Self::of(Operation::MulAdd(self.0, b.0, c.0))
    }
    fn select(choice: RecordedChoice, yes: Self, no: Self) -> Self {
        Self::of(Operation::Select(choice.0, yes.0, no.0))
    }
    fn promoted(self) -> [RecordedDouble; 2] {
        [self.re().promoted(), self.im().promoted()]
    }
}

/// The site of a recording.
#[derive(Clone, Copy, Debug)]
pub struct Recorder {
    legs: LegOrder,
    dagger: Dagger,
}

impl Recorder {
    fn words<T: Value<RecordedComplex>>(load: Id) -> T {
        let mut words = T::filled(RecordedComplex(load));
        for (k, word) in words.as_mut().iter_mut().enumerate() {
            *word = RecordedComplex::of(Operation::Word(load, k));
        }
        T::from_words(words)
    }

    fn load<T: Value<RecordedComplex>>(argument: usize, place: Where) -> T {
        let words = T::filled(RecordedComplex(Id(0))).as_ref().len();
        Self::words(numbered(|id| Statement::Load { id, argument, words, place }))
    }
}

impl Site for Recorder {
    type Real = RecordedReal;
    type Complex = RecordedComplex;
    type Double = RecordedDouble;
    type Choice = RecordedChoice;
    type Index = Index;

    fn legs(self) -> [Leg; LEGS] {
        self.legs.legs()
    }
    fn dagger(self) -> Dagger {
        self.dagger
    }
    fn read<T: Value<RecordedComplex>>(self, argument: usize) -> T {
        Self::load(argument, Where::Here)
    }
    fn read_at<T: Value<RecordedComplex>>(self, argument: usize, leg: Leg) -> T {
        Self::load(argument, Where::At(leg))
    }
    fn read_displaced<T: Value<RecordedComplex>>(self, argument: usize, displacement: Displacement) -> T {
        Self::load(argument, Where::Displaced(displacement))
    }
    fn read_projected(self, argument: usize, leg: Leg, dagger: Dagger) -> HalfSpinor<RecordedComplex> {
        self.read_at::<Spinor<_>>(argument, leg).projected(leg, dagger)
    }
    fn link(self, argument: usize, leg: Leg) -> Matrix<RecordedComplex> {
        Self::words(numbered(|id| Statement::Link { id, argument, leg }))
    }
    fn write<T: Value<RecordedComplex>>(self, argument: usize, value: T) {
        let words = value.to_words().as_ref().iter().map(|word| word.0).collect();
        push(Statement::Write { argument, words });
    }
    fn read_word(self, argument: usize, word: Index) -> RecordedComplex {
        let load = numbered(|id| Statement::LoadWord { id, argument, word });
        RecordedComplex::of(Operation::Word(load, 0))
    }
    fn read_converted(self, argument: usize, word: Index) -> RecordedComplex {
        self.read_word(argument, word)
    }
    fn write_word(self, argument: usize, word: Index, value: RecordedComplex) {
        push(Statement::WriteWord { argument, word, value: value.0 });
    }
    fn words(self, argument: usize) -> Index {
        Index::WordsOf(argument)
    }
    fn count(self, number: usize) -> Index {
        Index::Number(number)
    }
    fn repeat<T: Carried>(self, turns: Index, initial: T, mut turn: impl FnMut(Index, T) -> T) -> T {
        let mut before = Vec::new();
        initial.replaced(&mut |id| {
            before.push(Id(id));
            id
        });
        let (number, inside) = TAPE.with_borrow_mut(|tape| {
            if tape.blocks.is_empty() {
                tape.blocks.push(Vec::new());
            }
            let inside: Vec<Id> = before.iter().map(|_| tape.id()).collect();
            tape.blocks.push(Vec::new());
            (tape.id(), inside)
        });
        let mut names = inside.iter();
        // As many as were asked for before.
        let carried = initial.replaced(&mut |id| names.next().map_or(id, |id| id.0));
        let mut after = Vec::new();
        turn(Index::Turn(number), carried).replaced(&mut |id| {
            after.push(Id(id));
            id
        });
        TAPE.with_borrow_mut(|tape| {
            let statements = tape.blocks.pop().unwrap_or_default();
            let kinds = |id: &Id| tape.kind(*id);
            let carries = before.iter().zip(&inside).zip(&after);
            let carries = carries.map(|((initial, id), last)| Carry {
                id: *id,
                kind: kinds(initial),
                initial: *initial,
                last: *last,
            });
            let carried = carries.collect();
            tape.push(Statement::Loop { turn: number, turns, carried, statements });
        });
        let mut names = inside.iter();
        initial.replaced(&mut |id| names.next().map_or(id, |id| id.0))
    }
    fn scalar(self, argument: usize) -> RecordedReal {
        RecordedReal::of(Operation::Scalar(argument))
    }
    fn complex_scalar(self, argument: usize) -> RecordedComplex {
        RecordedComplex::of(Operation::ComplexScalar(argument))
    }
    fn add_to_sum(self, argument: usize, part: usize, term: RecordedDouble) {
        push(Statement::Sum { argument, part, term: term.0 });
    }
    fn coordinate(self, argument: usize, direction: Direction) -> RecordedReal {
        RecordedReal::of(Operation::Coordinate(argument, direction))
    }
    fn uniform(self, _: usize, key: [RecordedReal; 3], event: RecordedReal, draw: RecordedReal) -> [RecordedReal; 4] {
        let numbers = [key[0].0, key[1].0, key[2].0, event.0, draw.0];
        let drawn = numbered(|id| Statement::Draw { id, numbers });
        std::array::from_fn(|word| RecordedReal::of(Operation::Word(drawn, word)))
    }
    fn is_odd(self, argument: usize, directions: &[Direction]) -> RecordedChoice {
        let set = directions.iter().fold(0, |set, direction| set ^ 1 << direction.index());
        RecordedChoice::of(Operation::Odd(argument, set))
    }
}

impl Tape {
    /// What a result is that was computed, or is carried by a loop.
    fn kind(&self, id: Id) -> Kind {
        fn of(statements: &[Statement], id: Id) -> Option<Kind> {
            statements.iter().rev().find_map(|statement| match statement {
                Statement::Compute { id: known, kind, .. } if *known == id => Some(*kind),
                Statement::Loop { carried, statements, .. } => {
                    let carry = carried.iter().find(|carry| carry.id == id).map(|carry| carry.kind);
                    carry.or_else(|| of(statements, id))
                }
                _ => None,
            })
        }
        self.blocks.iter().rev().find_map(|block| of(block, id)).unwrap_or(Kind::Complex)
    }
}
