//! How bodies are recorded, on sites (`record.rs`) or on the points of a map (`lanefield_maps`): run once with numbers that note every operation. A language
//! has statements of its own; its tape, its numbers and its loops are these.

use std::cell::RefCell;
use std::fmt::Debug;
use std::marker::PhantomData;
use std::ops::{Add, Div, Mul, Neg, Rem, Sub};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::LocalKey;

use lanefield_reference::body::number::{Carried, Choice, Number, RealNumber};
use lanefield_reference::with_literals;

use super::BodyError;
use super::program::{Carry, Id, Operation};

/// Statements that a body may have.
pub const MOST_STATEMENTS: usize = 100_000;

/// What bodies are recorded in.
pub trait Language: Copy + Debug + 'static {
    /// What a result may be.
    type Kind: Copy + Debug;
    /// How often a loop turns.
    type Turns;
    /// One thing that a body does.
    type Statement: Debug;
    /// What is noted beside statements.
    type Noted: Debug + Default;

    /// The kind of choices.
    const CHOICE: Self::Kind;
    /// The kind of doubles.
    const DOUBLE: Self::Kind;

    /// The statement that computes a number.
    fn compute(id: Id, kind: Self::Kind, operation: Operation) -> Self::Statement;
    /// The statement that takes turns.
    fn repeat(
        turn: Id,
        turns: Self::Turns,
        carried: Vec<Carry<Self::Kind>>,
        statements: Vec<Self::Statement>,
    ) -> Self::Statement;
    /// What is being recorded.
    fn tape() -> &'static LocalKey<RefCell<Tape<Self>>>;
}

/// What was recorded so far.
#[derive(Debug)]
pub struct Tape<L: Language> {
    length: usize,
    /// Statements of everything that is open, the outermost first.
    blocks: Vec<Vec<L::Statement>>,
    /// What results are.
    kinds: Vec<L::Kind>,
    /// What is noted beside statements.
    pub noted: L::Noted,
}

impl<L: Language> Default for Tape<L> {
    fn default() -> Self {
        Self { length: 0, blocks: vec![Vec::new()], kinds: Vec::new(), noted: L::Noted::default() }
    }
}

impl<L: Language> Tape<L> {
    fn id(&mut self, kind: L::Kind) -> Id {
        self.kinds.push(kind);
        Id(self.kinds.len() as u32 - 1)
    }

    /// Adds a statement.
    pub fn push(&mut self, statement: L::Statement) {
        self.length += 1;
        // What is too long is refused in the end, and not kept until then.
        if self.length <= MOST_STATEMENTS
            && let Some(block) = self.blocks.last_mut()
        {
            block.push(statement);
        }
    }

    /// Whether what comes next stands in a loop, or in something else that is open.
    pub fn is_within(&self) -> bool {
        self.blocks.len() > 1
    }
}

/// What a body does, and what was noted. It is run twice: a body that does not do the same both times depends on something beside its arguments.
///
/// # Errors
/// [`BodyError`] of the kernel or map `name`.
pub fn recorded<L: Language>(name: &'static str, body: &dyn Fn()) -> Result<(Vec<L::Statement>, L::Noted), BodyError> {
    let once = || {
        on_tape::<L, _>(|tape| *tape = Tape::default());
        // Nothing but the tape is left half-done, and that is emptied before it is used again.
        let ended = catch_unwind(AssertUnwindSafe(body));
        let tape = on_tape::<L, _>(std::mem::take);
        ended.map(|()| tape).map_err(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let why = text.or_else(|| panic.downcast_ref().copied()).unwrap_or("it says not why").to_owned();
            BodyError::Panicked { kernel: name, why }
        })
    };
    let (first, second) = (once()?, once()?);
    if first.length > MOST_STATEMENTS {
        return Err(BodyError::TooLong { kernel: name, statements: first.length, most: MOST_STATEMENTS });
    }
    let [first, second] = [first, second].map(|mut tape| (tape.blocks.pop().unwrap_or_default(), tape.noted));
    // Constants bit by bit.
    match format!("{first:?}") == format!("{second:?}") {
        true => Ok(first),
        false => Err(BodyError::Impure { kernel: name }),
    }
}

/// Does something with what is being recorded.
pub fn on_tape<L: Language, T>(work: impl FnOnce(&mut Tape<L>) -> T) -> T {
    L::tape().with_borrow_mut(work)
}

/// Records a statement.
pub fn push<L: Language>(statement: L::Statement) {
    on_tape::<L, _>(|tape| tape.push(statement));
}

/// Records a statement with a new number, and returns that.
pub fn numbered<L: Language>(kind: L::Kind, statement: impl FnOnce(Id) -> L::Statement) -> Id {
    on_tape::<L, _>(|tape| {
        let id = tape.id(kind);
        tape.push(statement(id));
        id
    })
}

/// Records an operation, and returns its result.
pub fn compute<L: Language>(kind: L::Kind, operation: Operation) -> Id {
    numbered::<L>(kind, |id| L::compute(id, kind, operation))
}

/// The statements of what is done within something else.
pub fn within<L: Language>(work: impl FnOnce()) -> Vec<L::Statement> {
    on_tape::<L, _>(|tape| tape.blocks.push(Vec::new()));
    work();
    on_tape::<L, _>(|tape| tape.blocks.pop().unwrap_or_default())
}

/// Records a loop; `of_turn` is what the number of a turn is.
pub fn repeat<L: Language, T: Carried>(
    of_turn: L::Kind,
    turns: L::Turns,
    initial: T,
    turn: impl FnOnce(Id, T) -> T,
) -> T {
    let ids_of = |value: T| {
        let mut ids = Vec::new();
        value.replaced(&mut |id| {
            ids.push(Id(id));
            id
        });
        ids
    };
    let before = ids_of(initial);
    let (number, inside) = on_tape::<L, _>(|tape| {
        let mut inside = |initial: &Id| {
            let kind = tape.kinds[initial.0 as usize];
            (tape.id(kind), kind)
        };
        let inside: Vec<_> = before.iter().map(&mut inside).collect();
        (tape.id(of_turn), inside)
    });
    let renamed = |value: T| {
        let mut names = inside.iter();
        // As many as were asked for before.
        value.replaced(&mut |id| names.next().map_or(id, |(id, _)| id.0))
    };
    let mut after = Vec::new();
    let statements = within::<L>(|| after = ids_of(turn(number, renamed(initial))));
    let carries = before.iter().zip(&inside).zip(&after);
    let carried = carries.map(|((&initial, &(id, kind)), &last)| Carry { id, kind, initial, last });
    push::<L>(L::repeat(number, turns, carried.collect(), statements));
    renamed(initial)
}

/// What a number of a language may be.
pub trait Numeric<L: Language>: Copy + Debug + 'static {
    /// Its kind.
    const KIND: L::Kind;
}
/// Real numbers.
pub trait Reals<L: Language>: Numeric<L> {}
/// Integers.
pub trait Integers<L: Language>: Numeric<L> + Into<i64> {}

impl<L: Language> Numeric<L> for bool {
    const KIND: L::Kind = L::CHOICE;
}
impl<L: Language> Numeric<L> for f64 {
    const KIND: L::Kind = L::DOUBLE;
}
impl<L: Language> Reals<L> for f64 {}

/// A number of a language, by the name of its result.
#[derive(Clone, Copy, Debug)]
pub struct Recorded<L, T>(pub Id, PhantomData<(L, T)>);

impl<L: Language, T> Recorded<L, T> {
    /// The result of this name.
    pub fn named(id: Id) -> Self {
        Self(id, PhantomData)
    }
}

impl<L: Language, T: Numeric<L>> Recorded<L, T> {
    /// The result of an operation.
    pub fn of(operation: Operation) -> Self {
        Self::named(compute::<L>(T::KIND, operation))
    }
}

impl<L: Language, T: Numeric<L>> Carried for Recorded<L, T> {
    fn replaced(self, by: &mut dyn FnMut(u32) -> u32) -> Self {
        Self::named(Id(by(self.0.0)))
    }
}

macro_rules! operators {
    ($($Operator:ident $operator:ident)+) => {$(
        impl<L: Language, T: Numeric<L>> $Operator for Recorded<L, T> {
            type Output = Self;
            fn $operator(self, other: Self) -> Self {
                Self::of(Operation::$Operator(self.0, other.0))
            }
        }
        operators!(of $Operator $operator: i32 u32);
    )+};
    (of $Operator:ident $operator:ident: $($T:ident)+) => {$(
        impl<L: Language> $Operator<$T> for Recorded<L, $T>
        where
            $T: Integers<L>,
        {
            type Output = Self;
            fn $operator(self, other: $T) -> Self {
                $Operator::<Self>::$operator(self, Self::of(Operation::Integer(other.into())))
            }
        }
    )+};
}
operators!(Add add Sub sub Mul mul Div div Rem rem);

with_literals! { from [L: Language, T: Reals<L>] Recorded<L, T> }
with_literals! { literal [L: Language, T: Reals<L>] Recorded<L, T>: Add add; Sub sub; Mul mul; Div div; }
with_literals! {
    assign [L: Language, T: Numeric<L>] Recorded<L, T>:
        AddAssign add_assign Add add; SubAssign sub_assign Sub sub; MulAssign mul_assign Mul mul; DivAssign div_assign Div div;
}

impl<L: Language, T: Numeric<L>> Neg for Recorded<L, T> {
    type Output = Self;
    fn neg(self) -> Self {
        Self::of(Operation::Neg(self.0))
    }
}

impl<L: Language> Choice for Recorded<L, bool> {
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

impl<L: Language, T: Reals<L>> Number for Recorded<L, T> {
    fn constant(value: f64) -> Self {
        Self::of(Operation::Constant(value))
    }
    fn fma(self, b: Self, c: Self) -> Self {
        Self::of(Operation::MulAdd(self.0, b.0, c.0))
    }
}

impl<L: Language, T: Reals<L>> RealNumber for Recorded<L, T> {
    type Choice = Recorded<L, bool>;
    type Double = Recorded<L, f64>;

    fn sqrt(self) -> Self {
        Self::of(Operation::Sqrt(self.0))
    }
    fn abs(self) -> Self {
        Self::of(Operation::Abs(self.0))
    }
    fn less(self, other: Self) -> Self::Choice {
        Recorded::of(Operation::Less(self.0, other.0))
    }
    fn at_most(self, other: Self) -> Self::Choice {
        Recorded::of(Operation::AtMost(self.0, other.0))
    }
    fn select(choice: Self::Choice, yes: Self, no: Self) -> Self {
        Self::of(Operation::Select(choice.0, yes.0, no.0))
    }
    fn promoted(self) -> Self::Double {
        Recorded::of(Operation::Promoted(self.0))
    }
}
