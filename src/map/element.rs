//! What arrays hold: f32, f64, i32 and u32.

use bytemuck::Pod;
use lanefield_reference::body::number::Carried;

use super::number::Carries;
use super::point::Point;

/// What a number of a map is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names say what they are")]
pub enum Kind {
    F32,
    F64,
    /// A signed integer of 32 bits: also indices.
    I32,
    U32,
    /// Yes or no.
    Choice,
}

impl Kind {
    /// Bytes in memory.
    pub const fn bytes(self) -> usize {
        if let Self::F64 = self { 8 } else { 4 }
    }

    /// What is kept while the least or the greatest of all points is found: of a real number an integer that is ordered as it is.
    pub const fn of_fold(self) -> Self {
        if let Self::F32 = self { Self::U32 } else { self }
    }

    /// Its name in OpenCL C.
    pub const fn type_name(self) -> &'static str {
        match self {
            Self::F32 => "float",
            Self::F64 => "double",
            Self::I32 | Self::Choice => "int",
            Self::U32 => "uint",
        }
    }
}

/// What an array may hold.
pub trait Element: Pod + Default + PartialEq + std::fmt::Debug + Send + Sync + private::Sealed {
    /// What it is.
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

/// What has a least and a greatest, whichever comes first, in 32 bits: integers, and real numbers, of which −0 is less than +0, and what is no number is
/// left out.
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
