//! What the arguments of a map are, and what is done with them: data, which bodies, programs and calls share.

use lanefield::body::program::Kind;
use lanefield_reference::extreme::Extreme;

/// The most dimensions of an index space, and of an array.
pub const MOST_DIMENSIONS: usize = 6;

/// Where a number lies that is read or written.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MemoryPlace {
    /// In the array that is this argument.
    Argument(usize),
    /// In local memory.
    Local(usize),
    /// In registers.
    Register(usize),
}

/// What is made of the numbers of several points.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Fold {
    /// The sum of integers, modulo 2³².
    Sum,
    /// One of them: the same as of bodies on lattice sites.
    Extreme(Extreme),
}

impl Fold {
    /// What the operation on two numbers is called in all languages.
    pub const fn operation(self) -> &'static str {
        match self {
            Self::Sum => "add",
            Self::Extreme(Extreme::Least) => "min",
            Self::Extreme(Extreme::Greatest) => "max",
        }
    }
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
pub enum MapRole {
    /// An array.
    Array { kind: Kind, rank: usize, used: Use },
    /// A number of the call.
    Scalar(Kind),
    /// An exact sum of doubles over all points.
    ExactSum,
    /// An integer sum over all points, or an extreme.
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

/// What devices keep of a fold: of a real number an integer that is ordered as it is, since OpenCL C 1.2 has atomic operations on integers alone.
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

/// What a fold of no numbers is: its bits.
pub fn identity(kind: Kind, fold: Fold) -> u32 {
    match (fold, kind) {
        (Fold::Sum, _) | (Fold::Extreme(Extreme::Greatest), Kind::U32) => 0,
        (Fold::Extreme(extreme), Kind::F32) => (extreme.of_none() as f32).to_bits(),
        (Fold::Extreme(Extreme::Least), Kind::U32) => u32::MAX,
        (Fold::Extreme(Extreme::Least), _) => i32::MAX as u32,
        (Fold::Extreme(Extreme::Greatest), _) => i32::MIN as u32,
    }
}

/// The fold of two numbers: its bits.
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

/// What devices keep of the bits of a fold: of a real number the integer that `map_ordered` of `cl/map.clh` makes.
pub fn ordered(kind: Kind, bits: u32) -> u32 {
    match kind {
        Kind::F32 if bits >> 31 == 1 => !bits,
        Kind::F32 => bits | 1 << 31,
        _ => bits,
    }
}

/// The bits of a fold from what a device kept. Beyond the integers of both infinities there is NaN.
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
