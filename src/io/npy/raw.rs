//! Arrays as bytes, of any element type that golden data and tables have: complex, real, and integer.

use std::io::Read;
use std::path::Path;

use lanefield_reference::ensure;
use num_complex::Complex;

use super::array::ArrayReal;
use super::element::Element;
use super::error::{NpyError, show_shape};
use super::header::{self, NpyHeader};
use super::write::to_bytes;
use crate::io::open::open;

/// An array in C order, as the bytes of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawArray {
    /// The type of its elements.
    pub element: Element,
    /// Extents, the slowest axis first.
    pub shape: Vec<usize>,
    /// The elements, little-endian.
    pub bytes: Vec<u8>,
}

impl RawArray {
    /// An array of complex numbers.
    pub fn complex<R: ArrayReal>(shape: &[usize], values: &[Complex<R>]) -> Result<Self, NpyError> {
        Self::parse(&to_bytes(shape, values)?)
    }

    /// An array of f64.
    pub fn f64(shape: &[usize], values: &[f64]) -> Self {
        Self::of(Element::F64, shape, values.iter().flat_map(|x| x.to_le_bytes()))
    }

    /// An array of f32.
    pub fn f32(shape: &[usize], values: &[f32]) -> Self {
        Self::of(Element::F32, shape, values.iter().flat_map(|x| x.to_le_bytes()))
    }

    /// An array of i16.
    pub fn i16(shape: &[usize], values: &[i16]) -> Self {
        Self::of(Element::I16, shape, values.iter().flat_map(|x| x.to_le_bytes()))
    }

    /// An array of i64.
    pub fn i64(shape: &[usize], values: &[i64]) -> Self {
        Self::of(Element::I64, shape, values.iter().flat_map(|x| x.to_le_bytes()))
    }

    fn of(element: Element, shape: &[usize], bytes: impl Iterator<Item = u8>) -> Self {
        Self { element, shape: shape.to_vec(), bytes: bytes.collect() }
    }

    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, NpyError> {
        let mut bytes = Vec::new();
        open(path)?.0.read_to_end(&mut bytes)?;
        Self::parse(&bytes)
    }

    /// Reads a file that is in memory.
    pub fn parse(mut file: &[u8]) -> Result<Self, NpyError> {
        let length = file.len() as u64;
        let NpyHeader { descr, fortran_order, shape, .. } = NpyHeader::read(&mut file, length)?;
        let known = Element::ALL.into_iter().find(|element| element.descr() == descr);
        let element = known.ok_or(NpyError::OtherType { descr })?;
        ensure!(!fortran_order, NpyError::FortranOrder);
        let size = shape.iter().try_fold(element.bytes(), |n, &extent| n.checked_mul(extent));
        match size {
            Some(expected) if expected == file.len() => Ok(Self { element, shape, bytes: file.to_vec() }),
            Some(expected) => Err(NpyError::Bytes { shape, element, expected, found: file.len() }),
            None => Err(NpyError::TooLarge { shape }),
        }
    }

    /// The bytes of the file: header and elements.
    pub fn to_file(&self) -> Result<Vec<u8>, NpyError> {
        let mut file = header::to_bytes(self.element.descr(), &self.shape)?;
        file.extend_from_slice(&self.bytes);
        Ok(file)
    }

    /// Type and shape: "<c16 (4, 4, 4, 8, 4, 3)".
    pub fn describe(&self) -> String {
        format!("{} {}", self.element, show_shape(&self.shape))
    }

    /// The reals of an array of complex128 or float64; `None` for other types.
    pub fn to_f64(&self) -> Option<Vec<f64>> {
        let of = |bytes: &[u8]| f64::from_le_bytes(std::array::from_fn(|k| bytes[k]));
        matches!(self.element, Element::F64 | Element::ComplexF64).then(|| self.bytes.chunks_exact(8).map(of).collect())
    }

    /// The reals of an array of complex64 or float32; `None` for other types.
    pub fn to_f32(&self) -> Option<Vec<f32>> {
        let of = |bytes: &[u8]| f32::from_le_bytes(std::array::from_fn(|k| bytes[k]));
        matches!(self.element, Element::F32 | Element::ComplexF32).then(|| self.bytes.chunks_exact(4).map(of).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_of_each_type_is_read_as_it_was_written() {
        let complex = [Complex::new(1.0f32, -2.0), Complex::new(0.5, f32::INFINITY)];
        for array in [
            RawArray::complex(&[2, 1], &complex).unwrap(),
            RawArray::f64(&[3], &[1.0, -0.0, f64::MAX]),
            RawArray::f32(&[2], &[1.0, -0.0]),
            RawArray::i16(&[2, 2], &[1, -2, 3, i16::MIN]),
            RawArray::i64(&[], &[i64::MIN]),
        ] {
            assert_eq!(RawArray::parse(&array.to_file().unwrap()).unwrap(), array);
        }
    }

    #[test]
    fn a_file_of_another_length_or_type_is_refused() {
        let mut file = RawArray::i16(&[2], &[1, 2]).to_file().unwrap();
        file.pop();
        assert!(RawArray::parse(&file).unwrap_err().to_string().contains("3 bytes"));
        let text = String::from_utf8_lossy(&RawArray::f64(&[0], &[]).to_file().unwrap()[10..]).replace("<f8", "<f2");
        let mut file = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
        file.extend(text.bytes());
        assert!(matches!(RawArray::parse(&file), Err(NpyError::OtherType { .. })));
    }
}
