//! The body of a map recorded: run once with numbers that note every operation. Counterpart for lattice sites: `crates/kernels/src/body/record.rs`.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::ops::{Add, Div, Mul, Neg, Rem, Sub};

use lanefield_reference::body::number::{Carried, Choice, Number, RealNumber};

use super::element::{Element, Kind};
use super::number::{Carries, IntegerNumber};
use super::point::{Beyond, Copied, Fold, Local, MOST_DIMENSIONS, Place, Point, Register};
use super::program::{BLOCK_DIMENSIONS, Carry, Id, IntegerOperation, Operation, Program, Room, Statement, Step};
use super::{MapBody, check};
use crate::body::BodyError;
use crate::body::record::MOST_STATEMENTS;

/// Records what a body does at a point. It is run twice: a body that does not do the same both times depends on something beside its arguments.
///
/// # Errors
/// [`BodyError`] of the map `name`.
pub fn record<B: MapBody>(name: &'static str) -> Result<Program, BodyError> {
    let once = || {
        TAPE.with_borrow_mut(|tape| *tape = Tape { blocks: vec![Vec::new()], ..Tape::default() });
        B::run(Recorder);
        TAPE.with_borrow_mut(std::mem::take)
    };
    let (first, second) = (once(), once());
    if first.length > MOST_STATEMENTS {
        return Err(BodyError::TooLong { kernel: name, statements: first.length, most: MOST_STATEMENTS });
    }
    let refused = first.refused;
    let [mut first, second] =
        [first, second].map(|mut tape| Program { statements: tape.blocks.pop().unwrap_or_default(), ..tape.program });
    if format!("{first:?}") != format!("{second:?}") {
        return Err(BodyError::Impure { kernel: name });
    }
    if let Some((does, expected)) = refused {
        return Err(BodyError::Unsupported { kernel: name, does, expected });
    }
    check::check(name, B::ROLES, &mut first)?;
    Ok(first)
}

#[derive(Default)]
struct Tape {
    next: u32,
    length: usize,
    /// Statements of everything that is open, the outermost first.
    blocks: Vec<Vec<Statement>>,
    /// What results are.
    kinds: Vec<Kind>,
    /// Whether a thread-block map is open.
    in_threads: bool,
    refused: Option<(&'static str, &'static str)>,
    program: Program,
}

thread_local! {
    static TAPE: RefCell<Tape> = RefCell::default();
}

impl Tape {
    fn id(&mut self, kind: Kind) -> Id {
        self.kinds.push(kind);
        self.next += 1;
        Id(self.next - 1)
    }

    fn push(&mut self, statement: Statement) {
        self.length += 1;
        // What is too long is refused in the end, and not kept until then.
        if self.length <= MOST_STATEMENTS
            && let Some(block) = self.blocks.last_mut()
        {
            block.push(statement);
        }
    }

    /// The first thing that cannot be done is told.
    fn refuse(&mut self, does: &'static str, expected: &'static str) {
        self.refused.get_or_insert((does, expected));
    }

    fn kind(&self, id: u32) -> Kind {
        self.kinds.get(id as usize).copied().unwrap_or(Kind::I32)
    }
}

fn tape<T>(work: impl FnOnce(&mut Tape) -> T) -> T {
    TAPE.with_borrow_mut(work)
}

fn push(statement: Statement) {
    tape(|tape| tape.push(statement));
}

fn compute(kind: Kind, step: Step) -> Id {
    tape(|tape| {
        let id = tape.id(kind);
        tape.push(Statement::Compute { id, kind, step });
        id
    })
}

/// Statements of what is done within something else.
fn within(work: impl FnOnce()) -> Vec<Statement> {
    tape(|tape| tape.blocks.push(Vec::new()));
    work();
    tape(|tape| tape.blocks.pop().unwrap_or_default())
}

/// A recorded number.
#[derive(Clone, Copy, Debug)]
pub struct Recorded<T>(Id, PhantomData<T>);

/// A recorded choice.
#[derive(Clone, Copy, Debug)]
pub struct RecordedChoice(Id);

impl<T: Element> Recorded<T> {
    fn of(step: Step) -> Self {
        Self::from_raw(compute(T::KIND, step))
    }
}

impl<T: Element> Carries<Id> for Recorded<T> {
    fn from_raw(raw: Id) -> Self {
        Self(raw, PhantomData)
    }
    fn raw(self) -> Id {
        self.0
    }
}

impl<T: Element> Carried for Recorded<T> {
    fn replaced(self, by: &mut dyn FnMut(u32) -> u32) -> Self {
        Self::from_raw(Id(by(self.0.0)))
    }
}

impl Carried for RecordedChoice {
    fn replaced(self, by: &mut dyn FnMut(u32) -> u32) -> Self {
        Self(Id(by(self.0.0)))
    }
}

fn chosen(step: Step) -> RecordedChoice {
    RecordedChoice(compute(Kind::Choice, step))
}

impl Choice for RecordedChoice {
    fn and(self, other: Self) -> Self {
        chosen(Step::Real(Operation::And(self.0, other.0)))
    }
    fn or(self, other: Self) -> Self {
        chosen(Step::Real(Operation::Or(self.0, other.0)))
    }
    fn not(self) -> Self {
        chosen(Step::Real(Operation::Not(self.0)))
    }
}

macro_rules! real_operators {
    ($T:ident: $($Operator:ident $operator:ident)+) => {$(
        impl $Operator for Recorded<$T> {
            type Output = Self;
            fn $operator(self, other: Self) -> Self {
                Self::of(Step::Real(Operation::$Operator(self.0, other.0)))
            }
        }
    )+};
}

macro_rules! reals {
    ($($T:ident)+) => {$(
        real_operators! { $T: Add add Sub sub Mul mul Div div }

        impl Neg for Recorded<$T> {
            type Output = Self;
            fn neg(self) -> Self {
                Self::of(Step::Real(Operation::Neg(self.0)))
            }
        }
        impl Number for Recorded<$T> {
            fn constant(value: f64) -> Self {
                Self::of(Step::Real(Operation::Constant(value)))
            }
            fn fma(self, b: Self, c: Self) -> Self {
                Self::of(Step::Real(Operation::MulAdd(self.0, b.0, c.0)))
            }
        }
        impl RealNumber for Recorded<$T> {
            type Choice = RecordedChoice;
            type Double = Recorded<f64>;
            fn sqrt(self) -> Self {
                Self::of(Step::Real(Operation::Sqrt(self.0)))
            }
            fn abs(self) -> Self {
                Self::of(Step::Real(Operation::Abs(self.0)))
            }
            fn less(self, other: Self) -> RecordedChoice {
                chosen(Step::Real(Operation::Less(self.0, other.0)))
            }
            fn at_most(self, other: Self) -> RecordedChoice {
                chosen(Step::Real(Operation::AtMost(self.0, other.0)))
            }
            fn select(choice: RecordedChoice, yes: Self, no: Self) -> Self {
                Self::of(Step::Real(Operation::Select(choice.0, yes.0, no.0)))
            }
            fn promoted(self) -> Recorded<f64> {
                Recorded::of(Step::Real(Operation::Promoted(self.0)))
            }
        }
    )+};
}
reals!(f32 f64);

macro_rules! integer_operators {
    ($T:ident: $($Operator:ident $operator:ident)+) => {$(
        impl $Operator for Recorded<$T> {
            type Output = Self;
            fn $operator(self, other: Self) -> Self {
                Self::of(Step::Integer($T::KIND, IntegerOperation::$Operator(self.0, other.0)))
            }
        }
        impl $Operator<$T> for Recorded<$T> {
            type Output = Self;
            fn $operator(self, other: $T) -> Self {
                let other = <Self as IntegerNumber<$T>>::constant(other);
                $Operator::<Self>::$operator(self, other)
            }
        }
    )+};
}

macro_rules! integers {
    ($($T:ident)+) => {$(
        integer_operators! { $T: Add add Sub sub Mul mul Div div Rem rem }

        impl IntegerNumber<$T> for Recorded<$T> {
            type Choice = RecordedChoice;
            fn constant(value: $T) -> Self {
                Self::of(Step::Integer($T::KIND, IntegerOperation::Constant(i64::from(value))))
            }
            fn less(self, other: Self) -> RecordedChoice {
                chosen(Step::Integer($T::KIND, IntegerOperation::Less(self.0, other.0)))
            }
            fn at_most(self, other: Self) -> RecordedChoice {
                chosen(Step::Integer($T::KIND, IntegerOperation::AtMost(self.0, other.0)))
            }
            fn equals(self, other: Self) -> RecordedChoice {
                chosen(Step::Integer($T::KIND, IntegerOperation::Equals(self.0, other.0)))
            }
            fn select(choice: RecordedChoice, yes: Self, no: Self) -> Self {
                Self::of(Step::Integer($T::KIND, IntegerOperation::Select(choice.0, yes.0, no.0)))
            }
            fn least(self, other: Self) -> Self {
                Self::of(Step::Integer($T::KIND, IntegerOperation::Least(self.0, other.0)))
            }
            fn greatest(self, other: Self) -> Self {
                Self::of(Step::Integer($T::KIND, IntegerOperation::Greatest(self.0, other.0)))
            }
            fn bit_and(self, other: Self) -> Self {
                Self::of(Step::Integer($T::KIND, IntegerOperation::And(self.0, other.0)))
            }
            fn bit_or(self, other: Self) -> Self {
                Self::of(Step::Integer($T::KIND, IntegerOperation::Or(self.0, other.0)))
            }
            fn bit_xor(self, other: Self) -> Self {
                Self::of(Step::Integer($T::KIND, IntegerOperation::Xor(self.0, other.0)))
            }
            fn shifted_left(self, bits: u32) -> Self {
                Self::of(Step::Integer($T::KIND, IntegerOperation::ShiftedLeft(self.0, bits % 32)))
            }
            fn shifted_right(self, bits: u32) -> Self {
                Self::of(Step::Integer($T::KIND, IntegerOperation::ShiftedRight(self.0, bits % 32)))
            }
        }
    )+};
}
integers!(i32 u32);

/// The point of a recording.
#[derive(Clone, Copy, Debug)]
pub struct Recorder;

fn index_space(tape: &mut Tape, rank: usize) {
    if !(1..=MOST_DIMENSIONS).contains(&rank) {
        tape.refuse(
            "asks for an index of no dimensions, or of more than six",
            "take an index space of 1 to 6 dimensions",
        );
    }
    match tape.program.rank {
        Some(known) if known != rank => {
            tape.refuse("asks for indices of different numbers of dimensions", "ask for one, of all dimensions");
        }
        _ => tape.program.rank = Some(rank),
    }
}

impl Point for Recorder {
    type Raw = Id;
    type F32 = Recorded<f32>;
    type F64 = Recorded<f64>;
    type I32 = Recorded<i32>;
    type U32 = Recorded<u32>;
    type Choice = RecordedChoice;

    fn index<const D: usize>(self) -> [Recorded<i32>; D] {
        tape(|tape| index_space(tape, D));
        std::array::from_fn(|dimension| Recorded::of(Step::Index(dimension)))
    }
    fn range(self, dimension: usize) -> Recorded<i32> {
        Recorded::of(Step::Range(dimension))
    }
    fn threads<const D: usize>(self, extents: [usize; D], mut work: impl FnMut([Recorded<i32>; D])) {
        let map = tape(|tape| {
            if tape.in_threads {
                tape.refuse("has a thread-block map within another", "end the first one before the next one begins");
            }
            if !(1..=BLOCK_DIMENSIONS).contains(&D) || extents.contains(&0) {
                tape.refuse(
                    "has a thread-block map of no threads, or of more than three dimensions",
                    "give it 1 to 3 extents of at least 1",
                );
            }
            let block = tape.program.block.get_or_insert([1; BLOCK_DIMENSIONS]);
            for (most, &extent) in block.iter_mut().rev().zip(extents.iter().rev()) {
                *most = extent.max(*most);
            }
            tape.in_threads = true;
            tape.program.maps += 1;
            tape.program.maps - 1
        });
        let statements = within(|| work(std::array::from_fn(|dimension| Recorded::of(Step::Thread(map, dimension)))));
        tape(|tape| {
            tape.in_threads = false;
            tape.push(Statement::Threads { map, extents: extents.to_vec(), statements });
        });
    }
    fn local<T: Element, const D: usize>(self, extents: [usize; D]) -> Local<Self, T, D> {
        let number = tape(|tape| {
            if tape.blocks.len() > 1 {
                tape.refuse("takes local memory within a map, a loop or a condition", "take it before");
            }
            if extents.contains(&0) || D == 0 {
                tape.refuse("takes local memory of no elements", "give it extents of at least 1");
            }
            tape.program.locals.push(Room { kind: T::KIND, extents: extents.to_vec() });
            tape.program.locals.len() - 1
        });
        Local::new(self, number)
    }
    fn register<T: Element>(self, count: usize) -> Register<Self, T> {
        let register = tape(|tape| {
            if tape.blocks.len() > 1 {
                tape.refuse("takes registers within a map, a loop or a condition", "take them before");
            }
            if count == 0 {
                tape.refuse("takes no registers", "take at least one");
            }
            tape.program.registers.push(Room { kind: T::KIND, extents: vec![count] });
            let register = tape.program.registers.len() - 1;
            tape.push(Statement::Clear { register });
            register
        });
        Register::new(self, register)
    }
    fn when(self, choice: RecordedChoice, work: impl FnOnce()) {
        let statements = within(work);
        push(Statement::When { choice: choice.0, statements });
    }
    fn repeat<T: Carried>(self, turns: Recorded<i32>, initial: T, mut turn: impl FnMut(Recorded<i32>, T) -> T) -> T {
        let mut before = Vec::new();
        initial.replaced(&mut |id| {
            before.push(id);
            id
        });
        let (number, inside) = tape(|tape| {
            let inside: Vec<(Id, Kind)> = before
                .iter()
                .map(|&id| {
                    let kind = tape.kind(id);
                    (tape.id(kind), kind)
                })
                .collect();
            (tape.id(Kind::I32), inside)
        });
        let renamed = |value: T| {
            let mut names = inside.iter();
            // As many as were asked for before.
            value.replaced(&mut |id| names.next().map_or(id, |(id, _)| id.0))
        };
        let mut after = Vec::new();
        let statements = within(|| {
            turn(Recorded::from_raw(number), renamed(initial)).replaced(&mut |id| {
                after.push(Id(id));
                id
            });
        });
        let carries = before.iter().zip(&inside).zip(&after);
        let carried = carries.map(|((&initial, &(id, kind)), &last)| Carry { id, kind, initial: Id(initial), last });
        push(Statement::Loop { turn: number, turns: turns.0, carried: carried.collect(), statements });
        renamed(initial)
    }
    fn grid_barrier(self) {
        tape(|tape| {
            tape.refuse(
                "asks for a barrier across all points, which OpenCL does not have: work-groups wait for nobody, and may run one after the other",
                "end the map there, and launch what follows as the next one",
            );
        });
    }

    fn real(self, x: Recorded<i32>) -> Recorded<f32> {
        Recorded::of(Step::Converted(Kind::I32, x.0))
    }
    fn double(self, x: Recorded<i32>) -> Recorded<f64> {
        Recorded::of(Step::Converted(Kind::I32, x.0))
    }
    fn rounded(self, x: Recorded<f64>) -> Recorded<f32> {
        Recorded::of(Step::Converted(Kind::F64, x.0))
    }
    fn truncated(self, x: Recorded<f32>) -> Recorded<i32> {
        Recorded::of(Step::Converted(Kind::F32, x.0))
    }
    fn unsigned(self, x: Recorded<i32>) -> Recorded<u32> {
        Recorded::of(Step::Converted(Kind::I32, x.0))
    }
    fn signed(self, x: Recorded<u32>) -> Recorded<i32> {
        Recorded::of(Step::Converted(Kind::U32, x.0))
    }

    fn extent(self, argument: usize, dimension: usize) -> Recorded<i32> {
        Recorded::of(Step::Extent(argument, dimension))
    }
    fn load(self, kind: Kind, place: Place, index: &[Id], beyond: Beyond<Id>) -> Id {
        tape(|tape| {
            let id = tape.id(kind);
            tape.push(Statement::Load { id, kind, place, index: index.to_vec(), beyond });
            id
        })
    }
    fn store(self, place: Place, index: &[Id], value: Id, beyond: Beyond<Id>) {
        push(Statement::Store { place, index: index.to_vec(), value, beyond });
    }
    fn fold_at(self, kind: Kind, place: Place, fold: Fold, index: &[Id], value: Id) {
        push(Statement::FoldAt { kind, place, fold, index: index.to_vec(), value });
    }
    fn scalar(self, kind: Kind, argument: usize) -> Id {
        compute(kind, Step::Scalar(argument))
    }
    fn add_exactly(self, argument: usize, term: Recorded<f64>) {
        push(Statement::Sum { argument, term: term.0 });
    }
    fn fold(self, argument: usize, value: Id) {
        push(Statement::Fold { argument, value });
    }
    fn copy(self, copy: Copied<'_, Id>) {
        let Copied { local, argument, origin, inward, asynchronous } = copy;
        push(Statement::Copy { local, argument, origin: origin.to_vec(), inward, asynchronous });
    }
}
