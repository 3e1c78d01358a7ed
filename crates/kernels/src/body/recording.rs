//! Recording of bodies, on sites (`record.rs`) or on points of a map (`lanefield_maps`): they run once with numbers that note every operation. Each
//! language has statements of its own. The tape, the numbers and the loops are shared.

use std::cell::RefCell;
use std::fmt::Debug;
use std::marker::PhantomData;
use std::ops::{Add, Div, Mul, Neg, Rem, Sub};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::LocalKey;

use lanefield_reference::body::number::{Carried, Choice, Number, RealNumber};
use lanefield_reference::with_literals;

use super::BodyError;
use super::program::{Carry, Id, Kind, Language, Operation, Statement};

/// The maximum number of statements of a body.
pub const MOST_STATEMENTS: usize = 100_000;

/// A language that can be recorded.
pub trait Records: Language {
    /// What is noted in addition to statements.
    type Noted: Debug + Default;

    /// The current recording.
    fn tape() -> &'static LocalKey<RefCell<Tape<Self>>>;
}

/// The recording so far.
#[derive(Debug)]
pub struct Tape<L: Records> {
    length: usize,
    /// The statements of all open blocks, the outermost first.
    blocks: Vec<Vec<Statement<L>>>,
    /// The kinds of results.
    kinds: Vec<Kind>,
    /// What is noted in addition to statements.
    pub noted: L::Noted,
}

impl<L: Records> Default for Tape<L> {
    fn default() -> Self {
        Self { length: 0, blocks: vec![Vec::new()], kinds: Vec::new(), noted: L::Noted::default() }
    }
}

impl<L: Records> Tape<L> {
    fn id(&mut self, kind: Kind) -> Id {
        self.kinds.push(kind);
        Id(self.kinds.len() as u32 - 1)
    }

    /// Adds a statement.
    pub fn push(&mut self, statement: Statement<L>) {
        self.length += 1;
        // What is too long is refused in the end, and not kept until then.
        if self.length <= MOST_STATEMENTS
            && let Some(block) = self.blocks.last_mut()
        {
            block.push(statement);
        }
    }

    /// Whether the next statement is in a loop or another block.
    pub fn is_within(&self) -> bool {
        self.blocks.len() > 1
    }
}

/// The statements of a body, and what was noted. The body runs twice: if the two runs differ, it depends on something besides its arguments.
///
/// # Errors
/// [`BodyError`], with `name` as the name of the kernel or map.
pub fn recorded<L: Records>(name: &'static str, body: &dyn Fn()) -> Result<(Vec<Statement<L>>, L::Noted), BodyError> {
    let once = || {
        on_tape::<L, _>(|tape| *tape = Tape::default());
        // Nothing but the tape is left half-done, and that is emptied before it is used again.
        let ended = catch_unwind(AssertUnwindSafe(body));
        let tape = on_tape::<L, _>(std::mem::take);
        ended.map(|()| tape).map_err(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let why = text.or_else(|| panic.downcast_ref().copied()).unwrap_or("no message").to_owned();
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

/// Calls `work` with the current recording.
pub fn on_tape<L: Records, T>(work: impl FnOnce(&mut Tape<L>) -> T) -> T {
    L::tape().with_borrow_mut(work)
}

/// Records a statement.
pub fn push<L: Records>(statement: Statement<L>) {
    on_tape::<L, _>(|tape| tape.push(statement));
}

/// Records a statement, and returns the number of its result.
pub fn numbered<L: Records>(kind: Kind, statement: impl FnOnce(Id) -> Statement<L>) -> Id {
    on_tape::<L, _>(|tape| {
        let id = tape.id(kind);
        tape.push(statement(id));
        id
    })
}

/// Records an operation, and returns its result.
pub fn compute<L: Records>(kind: Kind, operation: Operation) -> Id {
    numbered::<L>(kind, |id| Statement::Compute { id, kind, operation })
}

/// The statements that `work` records.
pub fn within<L: Records>(work: impl FnOnce()) -> Vec<Statement<L>> {
    on_tape::<L, _>(|tape| tape.blocks.push(Vec::new()));
    work();
    on_tape::<L, _>(|tape| tape.blocks.pop().unwrap_or_default())
}

/// Records a loop; `of_turn` converts the number of a turn.
pub fn repeat<L: Records, T: Carried>(turns: L::Turns, initial: T, turn: impl FnOnce(Id, T) -> T) -> T {
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
        (tape.id(L::TURN), inside)
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
    push::<L>(Statement::Loop { turn: number, turns, carried: carried.collect(), statements });
    renamed(initial)
}

/// A type of numbers.
pub trait Numeric: Copy + Debug + 'static {
    /// Its kind.
    const KIND: Kind;
}
/// Real numbers.
pub trait Reals: Numeric {}
/// Integers.
pub trait Integers: Numeric + Into<i64> {}

macro_rules! numbers {
    ($($Traits:ident: $($T:ty = $kind:ident)+;)+) => {$($(
        impl Numeric for $T {
            const KIND: Kind = Kind::$kind;
        }
        numbers!(of $Traits $T);
    )+)+};
    (of Numeric $T:ty) => {};
    (of $Trait:ident $T:ty) => {
        impl $Trait for $T {}
    };
}
numbers! {
    Numeric: bool = Choice;
    Reals: f32 = F32 f64 = F64;
    Integers: i32 = I32 u32 = U32;
}

/// A number of a language, identified by its result.
#[derive(Clone, Copy, Debug)]
pub struct Recorded<L, T>(pub Id, PhantomData<(L, T)>);

impl<L: Records, T> Recorded<L, T> {
    /// The number with this result.
    pub fn named(id: Id) -> Self {
        Self(id, PhantomData)
    }
}

impl<L: Records, T: Numeric> Recorded<L, T> {
    /// The result of an operation.
    pub fn of(operation: Operation) -> Self {
        Self::named(compute::<L>(T::KIND, operation))
    }
}

impl<L: Records, T: Numeric> Carried for Recorded<L, T> {
    fn replaced(self, by: &mut dyn FnMut(u32) -> u32) -> Self {
        Self::named(Id(by(self.0.0)))
    }
}

macro_rules! operators {
    ($($Operator:ident $operator:ident)+) => {$(
        impl<L: Records, T: Numeric> $Operator for Recorded<L, T> {
            type Output = Self;
            fn $operator(self, other: Self) -> Self {
                Self::of(Operation::$Operator(self.0, other.0))
            }
        }
        operators!(of $Operator $operator: i32 u32);
    )+};
    (of $Operator:ident $operator:ident: $($T:ident)+) => {$(
        impl<L: Records> $Operator<$T> for Recorded<L, $T> {
            type Output = Self;
            fn $operator(self, other: $T) -> Self {
                $Operator::<Self>::$operator(self, Self::of(Operation::Integer(other.into())))
            }
        }
    )+};
}
operators!(Add add Sub sub Mul mul Div div Rem rem);

with_literals! { from [L: Records, T: Reals] Recorded<L, T> }
with_literals! { literal [L: Records, T: Reals] Recorded<L, T>: Add add; Sub sub; Mul mul; Div div; }
with_literals! {
    assign [L: Records, T: Numeric] Recorded<L, T>:
        AddAssign add_assign Add add; SubAssign sub_assign Sub sub; MulAssign mul_assign Mul mul; DivAssign div_assign Div div;
}

impl<L: Records, T: Numeric> Neg for Recorded<L, T> {
    type Output = Self;
    fn neg(self) -> Self {
        Self::of(Operation::Neg(self.0))
    }
}

impl<L: Records> Choice for Recorded<L, bool> {
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

impl<L: Records, T: Reals> Number for Recorded<L, T> {
    fn constant(value: f64) -> Self {
        Self::of(Operation::Constant(value))
    }
    fn fma(self, b: Self, c: Self) -> Self {
        Self::of(Operation::MulAdd(self.0, b.0, c.0))
    }
}

impl<L: Records, T: Reals> RealNumber for Recorded<L, T> {
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
