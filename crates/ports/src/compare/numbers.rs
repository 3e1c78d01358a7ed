//! The numbers that are compared: arrays of complex or real numbers, widened to f64 without changing a relevant bit.

use lanefield::io::npy::{ComplexArray, ComplexValues, Element, RawArray};
use lanefield::reference::real::Real as _;

use crate::order::show_shape;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    F32,
    F64,
    /// Integers of up to 2^53, which are compared by value.
    Whole,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::Whole => "whole",
        }
    }
}

/// An array of numbers: complex or real ones in f32 or f64, or integers. All are stored as the f64 of the same value. The conversion there and back
/// keeps their bits, except those of NaN, and any NaN equals any other.
#[derive(Clone, Debug)]
pub struct Numbers {
    /// Extents, the slowest axis first.
    pub(super) shape: Vec<usize>,
    /// Reals per number: 2 for complex numbers.
    pub(super) parts: usize,
    pub(super) kind: Kind,
    pub(super) values: Vec<f64>,
}

impl Numbers {
    pub fn of_f64(shape: Vec<usize>, values: Vec<f64>) -> Self {
        Self { shape, parts: 1, kind: Kind::F64, values }
    }

    pub fn of_f32(shape: Vec<usize>, values: &[f32]) -> Self {
        Self { shape, parts: 1, kind: Kind::F32, values: values.iter().map(|&x| f64::from(x)).collect() }
    }

    /// The numbers of any array; `None` if an integer is above 2^53.
    pub fn of_raw(array: &RawArray) -> Option<Self> {
        let RawArray { element, shape, bytes } = array;
        let parts = if matches!(element, Element::ComplexF32 | Element::ComplexF64) { 2 } else { 1 };
        let whole = |x: i64| (x.unsigned_abs() <= 1 << 53).then_some(x as f64);
        let values = match element {
            Element::F64 | Element::ComplexF64 => array.to_f64()?,
            Element::F32 | Element::ComplexF32 => array.to_f32()?.into_iter().map(f64::from).collect(),
            Element::I16 => bytes.as_chunks().0.iter().map(|&bytes| f64::from(i16::from_le_bytes(bytes))).collect(),
            Element::I64 => {
                bytes.as_chunks().0.iter().map(|&bytes| whole(i64::from_le_bytes(bytes))).collect::<Option<_>>()?
            }
        };
        let kind = match element {
            Element::F32 | Element::ComplexF32 => Kind::F32,
            Element::F64 | Element::ComplexF64 => Kind::F64,
            Element::I16 | Element::I64 => Kind::Whole,
        };
        Some(Self { shape: shape.clone(), parts, kind, values })
    }

    /// "complex128 (8, 4, 4, 4, 4, 3)"
    pub fn describe(&self) -> String {
        let element = match (self.parts, self.kind) {
            (_, Kind::Whole) => "whole numbers",
            (2, Kind::F32) => "complex64",
            (2, Kind::F64) => "complex128",
            (_, Kind::F32) => "float32",
            (_, Kind::F64) => "float64",
        };
        format!("{element} {}", show_shape(&self.shape))
    }
}

impl From<&ComplexArray> for Numbers {
    fn from(ComplexArray { shape, values }: &ComplexArray) -> Self {
        let (kind, values) = match values {
            ComplexValues::F32(values) => (Kind::F32, values.iter().flat_map(|z| [z.re.into(), z.im.into()]).collect()),
            ComplexValues::F64(values) => (Kind::F64, values.iter().flat_map(|z| [z.re, z.im]).collect()),
        };
        Self { shape: shape.clone(), parts: 2, kind, values }
    }
}

pub(super) fn bits(x: f64, kind: Kind) -> u64 {
    match kind {
        Kind::F32 => u64::from((x as f32).to_bits()),
        Kind::F64 => x.to_bits(),
        Kind::Whole => x as i64 as u64,
    }
}

/// Whether two numbers have the same bits, or are both NaN.
#[inline]
pub(super) fn same(a: f64, b: f64) -> bool {
    a.same_bits(b)
}

/// Distance in units in the last place; `None` if one is NaN, and for integers.
pub(super) fn ulps_between(a: f64, b: f64, kind: Kind) -> Option<u64> {
    let numbers = !a.is_nan() && !b.is_nan();
    match kind {
        Kind::F32 => numbers.then(|| (a as f32).ulp_distance(b as f32)),
        Kind::F64 => numbers.then(|| a.ulp_distance(b)),
        Kind::Whole => None,
    }
}

/// The bits of a number as 16 hexadecimal digits; those of f32 are padded with zeros. All NaNs have the same.
pub(super) fn hex(x: f64, kind: Kind) -> String {
    let x = if x.is_nan() { f64::NAN } else { x };
    format!("{:016x}", bits(x, kind))
}
