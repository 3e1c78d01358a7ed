//! What the arguments of a map are, and what is done with them: data, which bodies, programs and calls share.

use lanefield::body::program::Kind;

/// The most dimensions of an index space, and of an array.
pub const MOST_DIMENSIONS: usize = 6;

/// Where a number lies that is read or written.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Place {
    /// In the array that is this argument.
    Argument(usize),
    /// In local memory.
    Local(usize),
    /// In registers.
    Register(usize),
}

/// What is done where several points meet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names say what they are")]
pub enum Fold {
    Sum,
    Least,
    Greatest,
}

/// What is read or written beyond the ends of an array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Beyond<Raw> {
    /// An error of the launch.
    Error,
    /// This instead; of a write nothing.
    Instead(Option<Raw>),
}

impl<Raw> Beyond<Raw> {
    /// What is read instead.
    pub fn instead(&mut self) -> Option<&mut Raw> {
        if let Self::Instead(value) = self { value.as_mut() } else { None }
    }
}

/// What an argument of a map is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names say what they are")]
pub enum Role {
    /// An array.
    Array { kind: Kind, rank: usize, used: Use },
    /// A number of the call.
    Scalar(Kind),
    /// An exact sum of doubles over all points.
    ExactSum,
    /// A number that integers of all points make.
    Fold(Kind, Fold),
}

/// What is done with an array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names say what they are")]
pub enum Use {
    Read,
    Write,
    /// It is read and written, each element by one point.
    Update,
    /// Several points change an element, by atomic operations.
    Accumulate,
}

/// Bytes of a number in memory.
pub const fn bytes(kind: Kind) -> usize {
    if let Kind::F64 = kind { 8 } else { 4 }
}

/// What is kept while the least or the greatest of all points is found: of a real number an integer that is ordered as it is.
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

/// Whether bits are those of what is not a number.
pub fn is_nan(kind: Kind, bits: u64) -> bool {
    match kind {
        Kind::F32 => f32::from_bits(bits as u32).is_nan(),
        Kind::F64 => f64::from_bits(bits).is_nan(),
        _ => false,
    }
}

/// What a fold gives where there is nothing to be folded: its bits.
pub fn identity(kind: Kind, fold: Fold) -> u32 {
    match (fold, kind) {
        (Fold::Sum, _) | (Fold::Greatest, Kind::U32) => 0,
        (Fold::Least, Kind::U32) => u32::MAX,
        (Fold::Least, Kind::F32) => ordered(f32::INFINITY.to_bits()),
        (Fold::Greatest, Kind::F32) => ordered(f32::NEG_INFINITY.to_bits()),
        (Fold::Least, _) => i32::MAX as u32,
        (Fold::Greatest, _) => i32::MIN as u32,
    }
}

/// The bits of a real number as an integer that is ordered as real numbers are.
pub fn ordered(bits: u32) -> u32 {
    if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
}

/// The bits of what a fold gave.
pub fn unfolded(kind: Kind, folded: u32) -> u64 {
    u64::from(match kind {
        Kind::F32 if folded >> 31 == 1 => folded & !(1 << 31),
        Kind::F32 => !folded,
        _ => folded,
    })
}

/// Two integers folded: their bits.
pub fn folded(kind: Kind, fold: Fold, a: u32, b: u32) -> u32 {
    match (fold, kind) {
        (Fold::Sum, _) => a.wrapping_add(b),
        (Fold::Least, Kind::U32 | Kind::F32) => a.min(b),
        (Fold::Least, _) => (a as i32).min(b as i32) as u32,
        (Fold::Greatest, Kind::U32 | Kind::F32) => a.max(b),
        (Fold::Greatest, _) => (a as i32).max(b as i32) as u32,
    }
}
