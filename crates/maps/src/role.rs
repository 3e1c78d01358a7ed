//! The roles of a map's arguments, as data that bodies, programs and calls share.

use lanefield::body::program::Kind;
use lanefield_reference::extreme::Extreme;

/// The maximum number of dimensions of an index space and of an array.
pub const MOST_DIMENSIONS: usize = 6;

/// The memory that is read or written.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MemoryPlace {
    /// The array with this argument number.
    Argument(usize),
    /// In local memory.
    Local(usize),
    /// In registers.
    Register(usize),
}

/// How numbers of several points are combined.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Fold {
    /// The sum of integers, modulo 2³².
    Sum,
    /// The greatest or the least number, as in kernel functions.
    Extreme(Extreme),
}

impl Fold {
    /// The name of the operation on two numbers, in all languages.
    pub const fn operation(self) -> &'static str {
        match self {
            Self::Sum => "add",
            Self::Extreme(Extreme::Least) => "min",
            Self::Extreme(Extreme::Greatest) => "max",
        }
    }
}

/// What happens if an index is out of range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Beyond<Raw> {
    /// The launch fails.
    Error,
    /// A read returns this value. A write does nothing.
    Instead(Option<Raw>),
}

impl<Raw> Beyond<Raw> {
    /// The value that a read returns instead.
    pub fn instead(&mut self) -> Option<&mut Raw> {
        if let Self::Instead(value) = self { value.as_mut() } else { None }
    }
}

/// The role of an argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names say what they are")]
pub enum MapRole {
    /// An array.
    Array { kind: Kind, rank: usize, used: Use },
    /// A number that the call passes.
    Scalar(Kind),
    /// An exact sum of doubles over all points.
    ExactSum,
    /// A sum of integers or an extreme over all points.
    Fold(Kind, Fold),
}

/// How an array is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names say what they are")]
pub enum Use {
    Read,
    Write,
    /// It is read and written. One point writes each element.
    Update,
    /// Several points change an element by atomic operations.
    Accumulate,
}

/// The size of a number in memory, in bytes.
pub const fn bytes(kind: Kind) -> usize {
    if let Kind::F64 = kind { 8 } else { 4 }
}

/// The type in which devices store a fold. For a real number it is an integer with the same order: OpenCL C 1.2 has atomic operations only on
/// integers.
pub const fn of_fold(kind: Kind) -> Kind {
    if let Kind::F32 = kind { Kind::U32 } else { kind }
}

/// The bits of the number of this kind that is nearest to `number`, zero-extended.
pub fn bits_of(kind: Kind, number: f64) -> u64 {
    match kind {
        Kind::F32 => u64::from((number as f32).to_bits()),
        Kind::F64 => number.to_bits(),
        Kind::U32 => u64::from(number as u32),
        _ => u64::from(number as i32 as u32),
    }
}

/// Whether the bits are those of a NaN.
pub fn is_nan(kind: Kind, bits: u64) -> bool {
    match kind {
        Kind::F32 => f32::from_bits(bits as u32).is_nan(),
        Kind::F64 => f64::from_bits(bits).is_nan(),
        _ => false,
    }
}

/// The bits of a fold over no numbers.
pub fn identity(kind: Kind, fold: Fold) -> u32 {
    match (fold, kind) {
        (Fold::Sum, _) | (Fold::Extreme(Extreme::Greatest), Kind::U32) => 0,
        (Fold::Extreme(extreme), Kind::F32) => (extreme.of_none() as f32).to_bits(),
        (Fold::Extreme(Extreme::Least), Kind::U32) => u32::MAX,
        (Fold::Extreme(Extreme::Least), _) => i32::MAX as u32,
        (Fold::Extreme(Extreme::Greatest), _) => i32::MIN as u32,
    }
}

/// The bits of the fold of two numbers.
pub fn folded(kind: Kind, fold: Fold, a: u32, b: u32) -> u32 {
    match (fold, kind) {
        (Fold::Sum, _) => a.wrapping_add(b),
        (Fold::Extreme(extreme), Kind::F32) => {
            // Doubles hold every number of 32 bits.
            let [a, b] = [a, b].map(|bits| f64::from(f32::from_bits(bits)));
            let one = extreme.of(a, b);
            if one.is_nan() { f32::NAN.to_bits() } else { (one as f32).to_bits() }
        }
        (Fold::Extreme(extreme), Kind::U32) => extreme.by(a, b, Ord::cmp),
        (Fold::Extreme(extreme), _) => extreme.by(a as i32, b as i32, Ord::cmp) as u32,
    }
}

/// The integer in which a device stores the bits of a fold. For a real number it is that of `map_ordered` in `cl/map.clh`.
pub fn ordered(kind: Kind, bits: u32) -> u32 {
    match kind {
        Kind::F32 if bits >> 31 == 1 => !bits,
        Kind::F32 => bits | 1 << 31,
        _ => bits,
    }
}

/// The bits of a fold from the integer that a device stored. Integers beyond those of the infinities are NaN.
pub fn unordered(kind: Kind, integer: u32) -> u32 {
    match kind {
        Kind::F32
            if integer > ordered(kind, f32::INFINITY.to_bits())
                || integer < ordered(kind, f32::NEG_INFINITY.to_bits()) =>
        {
            f32::NAN.to_bits()
        }
        Kind::F32 if integer >> 31 == 1 => integer & !(1 << 31),
        Kind::F32 => !integer,
        _ => integer,
    }
}
