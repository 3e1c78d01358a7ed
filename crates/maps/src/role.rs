//! What the arguments of a map are, and what is done with them: data, which bodies, programs and calls share.

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

    /// The bits of the number of this kind that is nearest to `number`, zero-extended.
    pub(super) fn bits_of(self, number: f64) -> u64 {
        match self {
            Self::F32 => u64::from((number as f32).to_bits()),
            Self::F64 => number.to_bits(),
            Self::I32 | Self::Choice => u64::from(number as i32 as u32),
            Self::U32 => u64::from(number as u32),
        }
    }

    /// Whether bits are those of what is not a number.
    pub(super) fn is_nan(self, bits: u64) -> bool {
        match self {
            Self::F32 => f32::from_bits(bits as u32).is_nan(),
            Self::F64 => f64::from_bits(bits).is_nan(),
            _ => false,
        }
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
