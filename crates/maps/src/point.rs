//! A point of an index space, and what the arguments of a map give at it. Counterpart for lattice sites: `reference/src/body/site.rs`.

use std::marker::PhantomData;

use bytemuck::Pod;
use lanefield::body::program::Kind;
use lanefield_reference::body::number::{Carried, Choice, RealNumber};
use lanefield_reference::extreme::Extreme;

use super::number::{Carries, IntegerNumber};
use super::role::{Beyond, Fold, MapRole, MemoryPlace, Use};

/// A point of an index space of 1 to 6 dimensions. With [`Self::threads`] in its body it is a block of points: a work-group.
pub trait Point: Copy {
    /// How numbers are kept.
    type Raw: Copy;
    /// Real numbers of 32 bits.
    type F32: RealNumber<Choice = Self::Choice, Double = Self::F64> + Carries<Self::Raw>;
    /// Real numbers of 64 bits.
    type F64: RealNumber<Choice = Self::Choice, Double = Self::F64> + Carries<Self::Raw>;
    /// Signed integers, and indices.
    type I32: IntegerNumber<i32, Choice = Self::Choice> + Carries<Self::Raw>;
    /// Unsigned integers.
    type U32: IntegerNumber<u32, Choice = Self::Choice> + Carries<Self::Raw>;
    /// Yes or no.
    type Choice: Choice;

    /// Its index, the last component of which changes fastest.
    fn index<const D: usize>(self) -> [Self::I32; D];
    /// The extent of the index space in a dimension.
    fn range(self, dimension: usize) -> Self::I32;

    /// A thread-block map: does this for each index of a block of threads, at once. Where the extents are less than those of another such map in the
    /// body, as many threads as are needed work and the others wait. All of them are done before what follows begins.
    fn threads<const D: usize>(self, extents: [usize; D], work: impl FnMut([Self::I32; D]));
    /// Local memory of a block, which its threads share. What it holds at first is not said.
    fn local<T: Element, const D: usize>(self, extents: [usize; D]) -> Local<Self, T, D>;
    /// So many registers of each thread, which hold 0 at first, and keep what they hold from one thread-block map to the next.
    fn register<T: Element>(self, count: usize) -> Register<Self, T>;
    /// Does this where `choice`.
    fn when(self, choice: Self::Choice, work: impl FnOnce());
    /// Makes `turns` turns, none if it is not positive, and hands from one to the next what each returns.
    fn repeat<T: Carried>(self, turns: Self::I32, initial: T, turn: impl FnMut(Self::I32, T) -> T) -> T;
    /// A barrier across all points does not exist: a launch of this body is refused, and says what to do.
    fn grid_barrier(self);

    /// An integer as a real number, rounded to nearest even.
    fn real(self, x: Self::I32) -> Self::F32;
    /// An integer as a double, exactly.
    fn double(self, x: Self::I32) -> Self::F64;
    /// A double, rounded to nearest even.
    fn rounded(self, x: Self::F64) -> Self::F32;
    /// The integer part; 0 of what is no number, the nearest integer of 32 bits of what is too large.
    fn truncated(self, x: Self::F32) -> Self::I32;
    /// The same bits, unsigned.
    fn unsigned(self, x: Self::I32) -> Self::U32;
    /// The same bits, signed.
    fn signed(self, x: Self::U32) -> Self::I32;

    /// The extent of an array.
    #[doc(hidden)]
    fn extent(self, argument: usize, dimension: usize) -> Self::I32;
    #[doc(hidden)]
    fn load(self, kind: Kind, place: MemoryPlace, index: &[Self::Raw], beyond: Beyond<Self::Raw>) -> Self::Raw;
    #[doc(hidden)]
    fn store(self, place: MemoryPlace, index: &[Self::Raw], value: Self::Raw, beyond: Beyond<Self::Raw>);
    #[doc(hidden)]
    fn fold_at(self, kind: Kind, place: MemoryPlace, fold: Fold, index: &[Self::Raw], value: Self::Raw);
    #[doc(hidden)]
    fn scalar(self, kind: Kind, argument: usize) -> Self::Raw;
    #[doc(hidden)]
    fn add_exactly(self, argument: usize, term: Self::F64);
    #[doc(hidden)]
    fn fold(self, argument: usize, value: Self::Raw);
    #[doc(hidden)]
    fn copy(self, copy: Copied<'_, Self::Raw>);
}

/// A copy between global and local memory by all threads of a block.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Copied<'a, Raw> {
    /// The local array.
    pub local: usize,
    /// The array in global memory.
    pub argument: usize,
    /// The first index there.
    pub origin: &'a [Raw],
    /// Whether it goes to local memory.
    pub inward: bool,
    /// Whether the device is asked to copy by itself.
    pub asynchronous: bool,
}

/// An argument of a map, by its number.
pub trait Argument<P> {
    /// Its role.
    const ROLE: MapRole;
    /// The argument of this number, at this point.
    fn at_point(point: P, number: usize) -> Self;
}

/// Arguments of a map, and memory that its body asks for: each is its number, at a point.
macro_rules! handles {
    ($($(#[$doc:meta])+ $name:ident<P $(, $T:ident $(, const $D:ident: usize)?)?>;)+) => {$(
        $(#[$doc])+
        #[derive(Clone, Copy, Debug)]
        pub struct $name<P $(, $T $(, const $D: usize)?)?> {
            point: P,
            number: usize,
            holds: PhantomData<($($T,)?)>,
        }

        impl<P $(, $T $(, const $D: usize)?)?> $name<P $(, $T $(, $D)?)?> {
            #[inline(always)]
            pub(super) fn new(point: P, number: usize) -> Self {
                Self { point, number, holds: PhantomData }
            }
        }
    )+};
}

handles! {
    /// An array that is read.
    Read<P, T, const D: usize>;
    /// An array that is written, each element by at most one point.
    Write<P, T, const D: usize>;
    /// An array that is read and written, each element by at most one point.
    Update<P, T, const D: usize>;
    /// An array of integers, an element of which several points may change.
    Accumulate<P, T, const D: usize>;
    /// A number of the call.
    Scalar<P, T>;
    /// The exact sum of doubles of all points, rounded once.
    ExactSum<P>;
    /// The sum of integers of all points, modulo 2³².
    IntegerSum<P, T>;
    /// The least of numbers of all points, in the order −∞ … −0, +0 … +∞, and NaN if one of them is NaN. Of none it is +∞, or the greatest integer.
    Least<P, T>;
    /// The greatest of numbers of all points, as [`Least`]. Of none it is −∞, or the least integer.
    Greatest<P, T>;
    /// Local memory of a block.
    Local<P, T, const D: usize>;
    /// Registers of a thread.
    Register<P, T>;
}

macro_rules! arguments {
    ($([$($generics:tt)*] $Argument:ty: $role:expr;)+) => {$(
        impl<P: Point, $($generics)*> Argument<P> for $Argument {
            const ROLE: MapRole = $role;
            #[inline(always)]
            fn at_point(point: P, number: usize) -> Self {
                Self::new(point, number)
            }
        }
    )+};
}

arguments! {
    [T: Element, const D: usize] Read<P, T, D>: MapRole::Array { kind: T::KIND, rank: D, used: Use::Read };
    [T: Element, const D: usize] Write<P, T, D>: MapRole::Array { kind: T::KIND, rank: D, used: Use::Write };
    [T: Element, const D: usize] Update<P, T, D>: MapRole::Array { kind: T::KIND, rank: D, used: Use::Update };
    [T: IntegerElement, const D: usize] Accumulate<P, T, D>: MapRole::Array { kind: T::KIND, rank: D, used: Use::Accumulate };
    [T: Element] Scalar<P, T>: MapRole::Scalar(T::KIND);
    [] ExactSum<P>: MapRole::ExactSum;
    [T: IntegerElement] IntegerSum<P, T>: MapRole::Fold(T::KIND, Fold::Sum);
    [T: OrderedElement] Least<P, T>: MapRole::Fold(T::KIND, Fold::Extreme(Extreme::Least));
    [T: OrderedElement] Greatest<P, T>: MapRole::Fold(T::KIND, Fold::Extreme(Extreme::Greatest));
}

macro_rules! with_extents {
    ($($name:ident: $Bound:ident;)+) => {$(
        impl<P: Point, T: $Bound, const D: usize> $name<P, T, D> {
            /// Its extent in a dimension.
            #[inline(always)]
            pub fn extent(self, dimension: usize) -> P::I32 {
                self.point.extent(self.number, dimension)
            }
        }
    )+};
}
with_extents! { Read: Element; Write: Element; Update: Element; Accumulate: IntegerElement; }

#[inline(always)]
fn raws<P: Point, const D: usize>(index: [P::I32; D]) -> [P::Raw; D] {
    index.map(Carries::raw)
}

macro_rules! readable {
    ($($name:ident)+) => {$(
        impl<P: Point, T: Element, const D: usize> $name<P, T, D> {
            /// The element of an index. One beyond the ends of the array makes the launch fail: before it begins where that can be seen then,
            /// else afterwards; no memory but the array's is touched.
            #[inline(always)]
            pub fn at(self, index: [P::I32; D]) -> T::Number<P> {
                self.load(index, Beyond::Error)
            }
            /// The element of an index, or `value` where there is none.
            #[inline(always)]
            pub fn at_or(self, index: [P::I32; D], value: T::Number<P>) -> T::Number<P> {
                self.load(index, Beyond::Instead(Some(value.raw())))
            }
            #[inline(always)]
            fn load(self, index: [P::I32; D], beyond: Beyond<P::Raw>) -> T::Number<P> {
                Carries::from_raw(self.point.load(T::KIND, MemoryPlace::Argument(self.number), &raws::<P, D>(index), beyond))
            }
        }
    )+};
}
readable!(Read Update);

macro_rules! writable {
    ($($name:ident)+) => {$(
        impl<P: Point, T: Element, const D: usize> $name<P, T, D> {
            /// Writes the element of an index. One beyond the ends of the array is as for reading.
            #[inline(always)]
            pub fn write(self, index: [P::I32; D], value: T::Number<P>) {
                self.point.store(MemoryPlace::Argument(self.number), &raws::<P, D>(index), value.raw(), Beyond::Error);
            }
            /// The same, and nothing where there is no such element.
            #[inline(always)]
            pub fn write_inside(self, index: [P::I32; D], value: T::Number<P>) {
                let beyond = Beyond::Instead(None);
                self.point.store(MemoryPlace::Argument(self.number), &raws::<P, D>(index), value.raw(), beyond);
            }
        }
    )+};
}
writable!(Write Update);

impl<P: Point, T: IntegerElement, const D: usize> Accumulate<P, T, D> {
    /// Adds to an element.
    #[inline(always)]
    pub fn add(self, index: [P::I32; D], value: T::Number<P>) {
        self.fold(Fold::Sum, index, value);
    }
    /// Makes an element the lesser one of itself and `value`.
    #[inline(always)]
    pub fn least(self, index: [P::I32; D], value: T::Number<P>) {
        self.fold(Fold::Extreme(Extreme::Least), index, value);
    }
    /// Makes an element the greater one of itself and `value`.
    #[inline(always)]
    pub fn greatest(self, index: [P::I32; D], value: T::Number<P>) {
        self.fold(Fold::Extreme(Extreme::Greatest), index, value);
    }
    #[inline(always)]
    fn fold(self, fold: Fold, index: [P::I32; D], value: T::Number<P>) {
        self.point.fold_at(T::KIND, MemoryPlace::Argument(self.number), fold, &raws::<P, D>(index), value.raw());
    }
}

impl<P: Point, T: Element> Scalar<P, T> {
    /// The number.
    #[inline(always)]
    pub fn get(self) -> T::Number<P> {
        Carries::from_raw(self.point.scalar(T::KIND, self.number))
    }
}

impl<P: Point> ExactSum<P> {
    /// Adds a term.
    #[inline(always)]
    pub fn add(self, term: P::F64) {
        self.point.add_exactly(self.number, term);
    }
}

macro_rules! folds {
    ($($name:ident: $Bound:ident, $(#[$doc:meta])+ $add:ident;)+) => {$(
        impl<P: Point, T: $Bound> $name<P, T> {
            $(#[$doc])+
            #[inline(always)]
            pub fn $add(self, value: T::Number<P>) {
                self.point.fold(self.number, value.raw());
            }
        }
    )+};
}

folds! {
    IntegerSum: IntegerElement,
    /// Adds a term.
    add;
    Least: OrderedElement,
    /// Takes a number in.
    take;
    Greatest: OrderedElement,
    /// Takes a number in.
    take;
}

impl<P: Point, T: Element, const D: usize> Local<P, T, D> {
    /// An element.
    #[inline(always)]
    pub fn at(self, index: [P::I32; D]) -> T::Number<P> {
        let place = MemoryPlace::Local(self.number);
        Carries::from_raw(self.point.load(T::KIND, place, &raws::<P, D>(index), Beyond::Error))
    }

    /// Writes an element.
    #[inline(always)]
    pub fn write(self, index: [P::I32; D], value: T::Number<P>) {
        self.point.store(MemoryPlace::Local(self.number), &raws::<P, D>(index), value.raw(), Beyond::Error);
    }

    /// Fills it from an array, from `origin` on, with 0 where that has no elements. All threads of the block copy together: it stands outside of
    /// thread-block maps, and is done before the next one begins.
    #[inline(always)]
    pub fn copy_from(self, array: Read<P, T, D>, origin: [P::I32; D]) {
        self.copied(array.number, origin, true, false);
    }

    /// The same, by `async_work_group_copy` where all of it lies in the array: the device may copy by itself, and what stands up to the next
    /// thread-block map is done meanwhile.
    #[inline(always)]
    pub fn copy_from_asynchronously(self, array: Read<P, T, D>, origin: [P::I32; D]) {
        self.copied(array.number, origin, true, true);
    }

    /// Writes it to an array, from `origin` on, as far as that has elements.
    #[inline(always)]
    pub fn copy_to(self, array: Write<P, T, D>, origin: [P::I32; D]) {
        self.copied(array.number, origin, false, false);
    }

    #[inline(always)]
    fn copied(self, argument: usize, origin: [P::I32; D], inward: bool, asynchronous: bool) {
        let origin = raws::<P, D>(origin);
        self.point.copy(Copied { local: self.number, argument, origin: &origin, inward, asynchronous });
    }
}

impl<P: Point, T: IntegerElement, const D: usize> Local<P, T, D> {
    /// Adds to an element, which several threads may do at once.
    #[inline(always)]
    pub fn add(self, index: [P::I32; D], value: T::Number<P>) {
        self.point.fold_at(T::KIND, MemoryPlace::Local(self.number), Fold::Sum, &raws::<P, D>(index), value.raw());
    }
}

impl<P: Point, T: Element> Register<P, T> {
    /// What a register of this thread holds.
    #[inline(always)]
    pub fn get(self, index: P::I32) -> T::Number<P> {
        Carries::from_raw(self.point.load(T::KIND, MemoryPlace::Register(self.number), &[index.raw()], Beyond::Error))
    }

    /// Has a register of this thread hold `value`.
    #[inline(always)]
    pub fn set(self, index: P::I32, value: T::Number<P>) {
        self.point.store(MemoryPlace::Register(self.number), &[index.raw()], value.raw(), Beyond::Error);
    }
}

/// What an array may hold.
pub trait Element: Pod + Default + PartialEq + std::fmt::Debug + Send + Sync + private::Sealed {
    /// Its kind.
    const KIND: Kind;
    /// The number of a body that stands for it.
    type Number<P: Point>: Carried + Carries<P::Raw>;

    /// The bits, zero-extended.
    fn bits(self) -> u64;
    /// The number of these bits.
    fn from_bits(bits: u64) -> Self;
}

/// What several points may change at once, in no order: integers, since sums of real numbers would depend on the order in which they are taken.
#[diagnostic::on_unimplemented(
    message = "a sum of `{Self}` by atomic operations has no order, and its bits would change from run to run",
    label = "expected i32 or u32",
    note = "sum real numbers with `ExactSum<P>`, whose result no order changes"
)]
pub trait IntegerElement: Element {}

/// What has a least and a greatest, whichever comes first, in 32 bits.
#[diagnostic::on_unimplemented(
    message = "the least of `{Self}` of all points is not taken: OpenCL C 1.2 has atomic operations of 32 bits alone",
    label = "expected i32, u32 or f32",
    note = "a double that is rounded to f32 keeps its place: `p.rounded(x)`"
)]
pub trait OrderedElement: Element {}

impl OrderedElement for i32 {}
impl OrderedElement for u32 {}
impl OrderedElement for f32 {}

impl IntegerElement for i32 {}
impl IntegerElement for u32 {}

mod private {
    pub trait Sealed {}
}

macro_rules! elements {
    ($($T:ident $Kind:ident;)+) => {$(
        impl private::Sealed for $T {}
        impl Element for $T {
            const KIND: Kind = Kind::$Kind;
            type Number<P: Point> = P::$Kind;
            fn bits(self) -> u64 {
                Carries::raw(super::number::Plain(self))
            }
            fn from_bits(bits: u64) -> Self {
                <super::number::Plain<Self> as Carries<u64>>::from_raw(bits).0
            }
        }
    )+};
}
elements! { f32 F32; f64 F64; i32 I32; u32 U32; }

/// The body of a map, generic in the point that it is done at.
pub trait MapBody {
    /// What its arguments are.
    const ROLES: &'static [MapRole];

    /// What is done at a point.
    fn run<P: Point>(point: P);
}
