//! A point of an index space, and the arguments of a map at this point. Counterpart for lattice sites: `reference/src/body/site.rs`.

use std::marker::PhantomData;

use bytemuck::Pod;
use lanefield::body::program::Kind;
use lanefield_reference::body::number::{Carried, Choice, RealNumber};
use lanefield_reference::extreme::Extreme;

use super::number::{Carries, IntegerNumber};
use super::role::{Beyond, Fold, MapRole, MemoryPlace, Use};

/// A point of an index space of 1 to 6 dimensions. If its body uses [`Self::threads`], a point is a block of threads: a work-group.
pub trait Point: Copy {
    /// How numbers are stored.
    type Raw: Copy;
    /// 32-bit real numbers.
    type F32: RealNumber<Choice = Self::Choice, Double = Self::F64> + Carries<Self::Raw>;
    /// 64-bit real numbers.
    type F64: RealNumber<Choice = Self::Choice, Double = Self::F64> + Carries<Self::Raw>;
    /// 32-bit signed integers, for example indices.
    type I32: IntegerNumber<i32, Choice = Self::Choice> + Carries<Self::Raw>;
    /// 32-bit unsigned integers.
    type U32: IntegerNumber<u32, Choice = Self::Choice> + Carries<Self::Raw>;
    /// The type of comparisons.
    type Choice: Choice;

    /// The index of the point. Its last component changes fastest.
    fn index<const D: usize>(self) -> [Self::I32; D];
    /// The extent of the index space in a dimension.
    fn range(self, dimension: usize) -> Self::I32;

    /// A thread-block map: the threads of a block run `work` at once, one for each index. If another thread-block map of the body has larger
    /// extents, only the threads that are needed work, and the others wait. All of them finish before the code after the call begins.
    fn threads<const D: usize>(self, extents: [usize; D], work: impl FnMut([Self::I32; D]));
    /// Local memory of a block, shared by its threads. It is not initialised.
    fn local<T: Element, const D: usize>(self, extents: [usize; D]) -> Local<Self, T, D>;
    /// `count` registers of each thread. They are initialised to 0, and keep their values from one thread-block map to the next.
    fn register<T: Element>(self, count: usize) -> Register<Self, T>;
    /// Does `work` if `choice` is true.
    fn when(self, choice: Self::Choice, work: impl FnOnce());
    /// Calls `turn` `turns` times, or never if that is not positive. Each turn receives the value that the last one returned, the first `initial`.
    fn repeat<T: Carried>(self, turns: Self::I32, initial: T, turn: impl FnMut(Self::I32, T) -> T) -> T;
    /// A barrier across all points does not exist. A launch of a body that calls this is refused with an error that says what to do instead.
    fn grid_barrier(self);

    /// Converts an integer to f32, rounding to nearest even.
    fn real(self, x: Self::I32) -> Self::F32;
    /// Converts an integer to f64, exactly.
    fn double(self, x: Self::I32) -> Self::F64;
    /// Rounds a double to f32, to nearest even.
    fn rounded(self, x: Self::F64) -> Self::F32;
    /// The integer part. NaN becomes 0, and numbers that are too large become the nearest 32-bit integer.
    fn truncated(self, x: Self::F32) -> Self::I32;
    /// The same 32 bits as an unsigned integer.
    fn unsigned(self, x: Self::I32) -> Self::U32;
    /// The same 32 bits as a signed integer.
    fn signed(self, x: Self::U32) -> Self::I32;

    /// The extent of an array in a dimension.
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

/// A copy between device memory and local memory by all threads of a block.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Copied<'a, Raw> {
    /// The number of the local array.
    pub local: usize,
    /// The array in device memory.
    pub argument: usize,
    /// The first index of the copy in the array.
    pub origin: &'a [Raw],
    /// Whether the copy is to local memory.
    pub inward: bool,
    /// Whether to use `async_work_group_copy`.
    pub asynchronous: bool,
}

/// An argument of a map, identified by its number.
pub trait Argument<P> {
    /// The role of the argument.
    const ROLE: MapRole;
    /// The argument with this number, at this point.
    fn at_point(point: P, number: usize) -> Self;
}

/// Arguments of a map, and memory that its body declares: each is a number and a point.
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
    /// An array that is written. At most one point writes each element.
    Write<P, T, const D: usize>;
    /// An array that is read and written. At most one point writes each element.
    Update<P, T, const D: usize>;
    /// An array of integers whose elements several points may change.
    Accumulate<P, T, const D: usize>;
    /// A number that the call passes.
    Scalar<P, T>;
    /// The exact sum of a double of all points, rounded once.
    ExactSum<P>;
    /// The sum of an integer of all points, modulo 2³².
    IntegerSum<P, T>;
    /// The least number of all points, in the order −∞ … −0, +0 … +∞; NaN if one of them is NaN. Over no points it is +∞, or the greatest integer.
    Least<P, T>;
    /// The greatest number of all points, as for [`Least`]. Over no points it is −∞, or the least integer.
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
            /// The extent in a dimension.
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
            /// The element at an index. If the index is out of range, the launch fails: before it begins if that is known, otherwise at its end.
            /// Only memory of the array is touched.
            #[inline(always)]
            pub fn at(self, index: [P::I32; D]) -> T::Number<P> {
                self.load(index, Beyond::Error)
            }
            /// The element at an index, or `value` if it is out of range.
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
            /// Writes the element at an index. An index out of range is an error, as in [`Read::at`].
            #[inline(always)]
            pub fn write(self, index: [P::I32; D], value: T::Number<P>) {
                self.point.store(MemoryPlace::Argument(self.number), &raws::<P, D>(index), value.raw(), Beyond::Error);
            }
            /// Writes the element at an index. If it is out of range, nothing is written.
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
    /// Adds `value` to an element.
    #[inline(always)]
    pub fn add(self, index: [P::I32; D], value: T::Number<P>) {
        self.fold(Fold::Sum, index, value);
    }
    /// Replaces an element by `value` if that is less.
    #[inline(always)]
    pub fn least(self, index: [P::I32; D], value: T::Number<P>) {
        self.fold(Fold::Extreme(Extreme::Least), index, value);
    }
    /// Replaces an element by `value` if that is greater.
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
    /// The value of the number.
    #[inline(always)]
    pub fn get(self) -> T::Number<P> {
        Carries::from_raw(self.point.scalar(T::KIND, self.number))
    }
}

impl<P: Point> ExactSum<P> {
    /// Adds a term to the sum.
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
    /// Adds a term to the sum.
    add;
    Least: OrderedElement,
    /// Includes a number.
    take;
    Greatest: OrderedElement,
    /// Includes a number.
    take;
}

impl<P: Point, T: Element, const D: usize> Local<P, T, D> {
    /// The element at an index.
    #[inline(always)]
    pub fn at(self, index: [P::I32; D]) -> T::Number<P> {
        let place = MemoryPlace::Local(self.number);
        Carries::from_raw(self.point.load(T::KIND, place, &raws::<P, D>(index), Beyond::Error))
    }

    /// Writes the element at an index.
    #[inline(always)]
    pub fn write(self, index: [P::I32; D], value: T::Number<P>) {
        self.point.store(MemoryPlace::Local(self.number), &raws::<P, D>(index), value.raw(), Beyond::Error);
    }

    /// Fills the local memory from an array, starting at index `origin` of the array. Elements out of range become 0. All threads of the block copy
    /// together: call it outside of thread-block maps. It is done before the next thread-block map begins.
    #[inline(always)]
    pub fn copy_from(self, array: Read<P, T, D>, origin: [P::I32; D]) {
        self.copied(array.number, origin, true, false);
    }

    /// As [`Self::copy_from`], with `async_work_group_copy` if the copy is entirely within the array: the device may copy in the background, while
    /// the block does what comes before the next thread-block map.
    #[inline(always)]
    pub fn copy_from_asynchronously(self, array: Read<P, T, D>, origin: [P::I32; D]) {
        self.copied(array.number, origin, true, true);
    }

    /// Copies the local memory to an array, starting at index `origin` of the array. Elements out of range are not written.
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
    /// Adds `value` to an element. Several threads may do so at once.
    #[inline(always)]
    pub fn add(self, index: [P::I32; D], value: T::Number<P>) {
        self.point.fold_at(T::KIND, MemoryPlace::Local(self.number), Fold::Sum, &raws::<P, D>(index), value.raw());
    }
}

impl<P: Point, T: Element> Register<P, T> {
    /// The value of a register of this thread.
    #[inline(always)]
    pub fn get(self, index: P::I32) -> T::Number<P> {
        Carries::from_raw(self.point.load(T::KIND, MemoryPlace::Register(self.number), &[index.raw()], Beyond::Error))
    }

    /// Sets a register of this thread to `value`.
    #[inline(always)]
    pub fn set(self, index: P::I32, value: T::Number<P>) {
        self.point.store(MemoryPlace::Register(self.number), &[index.raw()], value.raw(), Beyond::Error);
    }
}

/// A type of array elements.
pub trait Element: Pod + Default + PartialEq + std::fmt::Debug + Send + Sync + private::Sealed {
    /// The kind of number.
    const KIND: Kind;
    /// The type of such a number in a body.
    type Number<P: Point>: Carried + Carries<P::Raw>;

    /// The bits, zero-extended.
    fn bits(self) -> u64;
    /// The number with these bits.
    fn from_bits(bits: u64) -> Self;
}

/// A number that several points may change at once, in any order. Only integers can: sums of real numbers would depend on the order.
#[diagnostic::on_unimplemented(
    message = "a sum of `{Self}` by atomic operations has no order, and its bits would change from run to run",
    label = "expected i32 or u32",
    note = "sum real numbers with `ExactSum<P>`, whose result does not depend on the order"
)]
pub trait IntegerElement: Element {}

/// A 32-bit number whose least and greatest value do not depend on the order of points.
#[diagnostic::on_unimplemented(
    message = "the least or greatest `{Self}` over all points is not supported: OpenCL C 1.2 has only 32-bit atomic operations",
    label = "expected i32, u32 or f32",
    note = "round a double to f32, which keeps the order: `p.rounded(x)`"
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

/// The body of a map, generic over the type of point.
pub trait MapBody {
    /// The roles of its arguments.
    const ROLES: &'static [MapRole];

    /// Computes one point.
    fn run<P: Point>(point: P);
}
