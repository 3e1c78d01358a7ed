//! Records the body of a map, by running it once with numbers that note every operation. Counterpart for lattice sites:
//! `crates/kernels/src/body/record.rs`.

use std::cell::RefCell;
use std::ops::{Add, Div, Mul, Rem, Sub};
use std::thread::LocalKey;

use lanefield::body::BodyError;
use lanefield::body::program::{Id, Kind, Operation, Program, Statement};
use lanefield::body::recording::{self, Integers, Records, Tape, numbered, on_tape, within};
use lanefield_reference::body::number::Carried;

use super::check;
use super::number::{Carries, IntegerNumber};
use super::point::{Copied, Element, Local, MapBody, Point, Register};
use super::program::{BLOCK_DIMENSIONS, Needs, PointAccess, PointLanguage, Room, Scope};
use super::role::{Beyond, Fold, MOST_DIMENSIONS, MemoryPlace};

/// Records the body of a map at a point.
///
/// # Errors
/// [`BodyError`], with the name of the map.
pub fn record<B: MapBody>(name: &'static str) -> Result<Program<PointLanguage>, BodyError> {
    let (statements, Noted { refused, needs, .. }) =
        recording::recorded::<PointLanguage>(name, &|| B::run(PointRecorder))?;
    if let Some((does, expected)) = refused {
        return Err(BodyError::Unsupported { kernel: name, does, expected });
    }
    let mut program = Program { statements, needs };
    check::check(name, B::ROLES, &mut program)?;
    Ok(program.without_unused())
}

/// What is noted of a map, in addition to its statements.
#[derive(Debug, Default)]
pub struct Noted {
    /// Whether a thread-block map is open.
    in_threads: bool,
    /// The first thing that was refused, and what was expected instead.
    refused: Option<(&'static str, &'static str)>,
    needs: Needs,
}

impl Noted {
    fn refuse(&mut self, does: &'static str, expected: &'static str) {
        self.refused.get_or_insert((does, expected));
    }
}

thread_local! {
    static TAPE: RefCell<Tape<PointLanguage>> = RefCell::default();
}

impl Records for PointLanguage {
    type Noted = Noted;

    fn tape() -> &'static LocalKey<RefCell<Tape<Self>>> {
        &TAPE
    }
}

type Recorded<T> = recording::Recorded<PointLanguage, T>;

impl<T: Element> Carries<Id> for Recorded<T> {
    fn from_raw(raw: Id) -> Self {
        Self::named(raw)
    }
    fn raw(self) -> Id {
        self.0
    }
}

impl<T: Integers> IntegerNumber<T> for Recorded<T>
where
    Self: Add<T, Output = Self>
        + Sub<T, Output = Self>
        + Mul<T, Output = Self>
        + Div<T, Output = Self>
        + Rem<T, Output = Self>,
{
    type Choice = Recorded<bool>;
    fn constant(value: T) -> Self {
        Self::of(Operation::Integer(value.into()))
    }
    fn less(self, other: Self) -> Recorded<bool> {
        Recorded::of(Operation::Less(self.0, other.0))
    }
    fn at_most(self, other: Self) -> Recorded<bool> {
        Recorded::of(Operation::AtMost(self.0, other.0))
    }
    fn equals(self, other: Self) -> Recorded<bool> {
        Recorded::of(Operation::Equals(self.0, other.0))
    }
    fn select(choice: Recorded<bool>, yes: Self, no: Self) -> Self {
        Self::of(Operation::Select(choice.0, yes.0, no.0))
    }
    lanefield_reference::operations! {
        least(a, other) = Self::of(Operation::Least(a.0, other.0));
        greatest(a, other) = Self::of(Operation::Greatest(a.0, other.0));
        bit_and(a, other) = Self::of(Operation::And(a.0, other.0));
        bit_or(a, other) = Self::of(Operation::Or(a.0, other.0));
        bit_xor(a, other) = Self::of(Operation::Xor(a.0, other.0));
    }
    fn shifted_left(self, bits: u32) -> Self {
        Self::of(Operation::ShiftedLeft(self.0, bits % 32))
    }
    fn shifted_right(self, bits: u32) -> Self {
        Self::of(Operation::ShiftedRight(self.0, bits % 32))
    }
}

/// The point with which a body is recorded.
#[derive(Clone, Copy, Debug)]
pub struct PointRecorder;

fn noted<T>(work: impl FnOnce(&mut Noted) -> T) -> T {
    on_tape::<PointLanguage, _>(|tape| work(&mut tape.noted))
}

fn push(access: PointAccess) {
    recording::push::<PointLanguage>(Statement::Access(access));
}

/// Refuses an operation within another one that is open.
fn refuse_within(does: &'static str, expected: &'static str) {
    if on_tape::<PointLanguage, _>(|tape| tape.is_within()) {
        noted(|noted| noted.refuse(does, expected));
    }
}

fn index_space(noted: &mut Noted, rank: usize) {
    if !(1..=MOST_DIMENSIONS).contains(&rank) {
        noted.refuse("uses an index of no dimensions, or of more than six", "use an index space of 1 to 6 dimensions");
    }
    match noted.needs.rank {
        Some(known) if known != rank => {
            noted
                .refuse("uses indices with different numbers of dimensions", "use a single index, with all dimensions");
        }
        _ => noted.needs.rank = Some(rank),
    }
}

impl Point for PointRecorder {
    type Raw = Id;
    type F32 = Recorded<f32>;
    type F64 = Recorded<f64>;
    type I32 = Recorded<i32>;
    type U32 = Recorded<u32>;
    type Choice = Recorded<bool>;

    fn index<const D: usize>(self) -> [Recorded<i32>; D] {
        noted(|noted| index_space(noted, D));
        std::array::from_fn(|dimension| Recorded::of(Operation::Index(dimension)))
    }
    fn range(self, dimension: usize) -> Recorded<i32> {
        Recorded::of(Operation::Range(dimension))
    }
    fn threads<const D: usize>(self, extents: [usize; D], mut work: impl FnMut([Recorded<i32>; D])) {
        let map = noted(|noted| {
            if noted.in_threads {
                noted.refuse("has a thread-block map within another", "end the first one before the next one begins");
            }
            if !(1..=BLOCK_DIMENSIONS).contains(&D) || extents.contains(&0) {
                noted.refuse(
                    "has a thread-block map without threads, or with more than three dimensions",
                    "give it 1 to 3 extents of at least 1",
                );
            }
            let block = noted.needs.block.get_or_insert([1; BLOCK_DIMENSIONS]);
            for (most, &extent) in block.iter_mut().rev().zip(extents.iter().rev()) {
                *most = extent.max(*most);
            }
            noted.in_threads = true;
            noted.needs.maps += 1;
            noted.needs.maps - 1
        });
        let statements = within::<PointLanguage>(|| {
            work(std::array::from_fn(|dimension| Recorded::of(Operation::Thread(map, dimension))))
        });
        noted(|noted| noted.in_threads = false);
        recording::push::<PointLanguage>(Statement::Within {
            scope: Scope::Threads { map, extents: extents.to_vec() },
            statements,
        });
    }
    fn local<T: Element, const D: usize>(self, extents: [usize; D]) -> Local<Self, T, D> {
        refuse_within("declares local memory within a map, a loop or a condition", "declare it before");
        let number = noted(|noted| {
            if extents.contains(&0) || D == 0 {
                noted.refuse("declares local memory without elements", "give it extents of at least 1");
            }
            noted.needs.locals.push(Room { kind: T::KIND, extents: extents.to_vec() });
            noted.needs.locals.len() - 1
        });
        Local::new(self, number)
    }
    fn register<T: Element>(self, count: usize) -> Register<Self, T> {
        refuse_within("declares registers within a map, a loop or a condition", "declare them before");
        let register = noted(|noted| {
            if count == 0 {
                noted.refuse("declares 0 registers", "declare at least one");
            }
            noted.needs.registers.push(Room { kind: T::KIND, extents: vec![count] });
            noted.needs.registers.len() - 1
        });
        push(PointAccess::Clear { register });
        Register::new(self, register)
    }
    fn when(self, choice: Recorded<bool>, work: impl FnOnce()) {
        let statements = within::<PointLanguage>(work);
        recording::push::<PointLanguage>(Statement::Within { scope: Scope::When(choice.0), statements });
    }
    fn repeat<T: Carried>(self, turns: Recorded<i32>, initial: T, mut turn: impl FnMut(Recorded<i32>, T) -> T) -> T {
        recording::repeat::<PointLanguage, T>(turns.0, initial, |number, carried| {
            turn(Recorded::named(number), carried)
        })
    }
    fn grid_barrier(self) {
        noted(|noted| {
            noted.refuse(
                "asks for a barrier across all points, which OpenCL does not have: work-groups cannot wait for each other, and may run one after the other",
                "end the map there, and launch what follows as the next one",
            );
        });
    }

    fn real(self, x: Recorded<i32>) -> Recorded<f32> {
        Recorded::of(Operation::Rounded(x.0))
    }
    fn double(self, x: Recorded<i32>) -> Recorded<f64> {
        Recorded::of(Operation::Cast(x.0))
    }
    fn rounded(self, x: Recorded<f64>) -> Recorded<f32> {
        Recorded::of(Operation::Rounded(x.0))
    }
    fn truncated(self, x: Recorded<f32>) -> Recorded<i32> {
        Recorded::of(Operation::Truncated(x.0))
    }
    fn unsigned(self, x: Recorded<i32>) -> Recorded<u32> {
        Recorded::of(Operation::Cast(x.0))
    }
    fn signed(self, x: Recorded<u32>) -> Recorded<i32> {
        Recorded::of(Operation::Cast(x.0))
    }

    fn extent(self, argument: usize, dimension: usize) -> Recorded<i32> {
        Recorded::of(Operation::Extent(argument, dimension))
    }
    fn load(self, kind: Kind, place: MemoryPlace, index: &[Id], beyond: Beyond<Id>) -> Id {
        numbered::<PointLanguage>(kind, |id| {
            Statement::Access(PointAccess::Load { id, kind, place, index: index.to_vec(), beyond })
        })
    }
    fn store(self, place: MemoryPlace, index: &[Id], value: Id, beyond: Beyond<Id>) {
        push(PointAccess::Store { place, index: index.to_vec(), value, beyond });
    }
    fn fold_at(self, kind: Kind, place: MemoryPlace, fold: Fold, index: &[Id], value: Id) {
        push(PointAccess::FoldAt { kind, place, fold, index: index.to_vec(), value });
    }
    fn scalar(self, kind: Kind, argument: usize) -> Id {
        recording::compute::<PointLanguage>(kind, Operation::Scalar(argument))
    }
    fn add_exactly(self, argument: usize, term: Recorded<f64>) {
        push(PointAccess::Sum { argument, term: term.0 });
    }
    fn fold(self, argument: usize, value: Id) {
        push(PointAccess::Fold { argument, value });
    }
    fn copy(self, copy: Copied<'_, Id>) {
        let Copied { local, argument, origin, inward, asynchronous } = copy;
        push(PointAccess::Copy { local, argument, origin: origin.to_vec(), inward, asynchronous });
    }
}
