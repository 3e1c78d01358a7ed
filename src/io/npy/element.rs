//! Element types of arrays.

use std::fmt;

/// The precision of the numbers in an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Precision {
    /// complex64: two f32.
    F32,
    /// complex128: two f64.
    F64,
}

impl Precision {
    /// The size of a complex number, in bytes.
    pub fn complex_size(self) -> usize {
        match self {
            Self::F32 => 8,
            Self::F64 => 16,
        }
    }

    /// NumPy's name: `complex64`, `complex128`.
    pub fn dtype(self) -> &'static str {
        match self {
            Self::F32 => "complex64",
            Self::F64 => "complex128",
        }
    }

    pub(super) fn descr(self) -> &'static str {
        match self {
            Self::F32 => "<c8",
            Self::F64 => "<c16",
        }
    }
}

/// The type of an element, little-endian.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Element {
    /// complex64.
    ComplexF32,
    /// complex128.
    ComplexF64,
    /// float32.
    F32,
    /// float64.
    F64,
    /// int16.
    I16,
    /// int64.
    I64,
}

impl Element {
    pub(crate) const ALL: [Self; 6] = [Self::ComplexF32, Self::ComplexF64, Self::F32, Self::F64, Self::I16, Self::I64];

    /// The type in NumPy's notation: `<c16`.
    pub fn descr(self) -> &'static str {
        match self {
            Self::ComplexF32 => "<c8",
            Self::ComplexF64 => "<c16",
            Self::F32 => "<f4",
            Self::F64 => "<f8",
            Self::I16 => "<i2",
            Self::I64 => "<i8",
        }
    }

    /// The size of an element, in bytes.
    pub fn bytes(self) -> usize {
        match self {
            Self::I16 => 2,
            Self::F32 => 4,
            Self::F64 | Self::I64 | Self::ComplexF32 => 8,
            Self::ComplexF64 => 16,
        }
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.descr())
    }
}
