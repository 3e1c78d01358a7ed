//! Errors of arrays.

use std::io;

use lanefield_reference::gauge::GaugeError;
use num_complex::Complex;
use thiserror::Error;

use super::element::{Element, Precision};
use crate::io::atomic::WriteError;
use crate::io::open::OpenError;

/// Why an array was not read or written.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "the messages name the fields")]
#[non_exhaustive]
pub enum NpyError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("reading stopped in the middle: {0}")]
    Read(#[from] io::Error),
    #[error("not a NumPy array: the file does not begin with \\x93NUMPY")]
    NotNpy,
    #[error("version {major}.{minor} of the .npy format is not known; 1.0, 2.0 and 3.0 are")]
    Version { major: u8, minor: u8 },
    #[error("the .npy header {0}")]
    Header(String),
    #[error("the elements are {descr:?}{hint}; they should be '<c8' (complex64) or '<c16' (complex128)")]
    ElementType { descr: String, hint: &'static str },
    #[error("the array is in Fortran order; it should be in C order (numpy.ascontiguousarray)")]
    FortranOrder,
    #[error("the shape is {}, which is not a {field} {axes}: {reason}", show_shape(.shape))]
    Shape { shape: Vec<usize>, field: &'static str, axes: &'static str, reason: String },
    #[error("the shape is {}, which is larger than any memory", show_shape(.shape))]
    TooLarge { shape: Vec<usize> },
    #[error(
        "the file is {}: shape {} of {} needs {expected} bytes of data, and {found} are there",
        if .found < .expected { "truncated" } else { "too long" }, show_shape(.shape), .precision.dtype()
    )]
    DataLength { shape: Vec<usize>, precision: Precision, expected: u64, found: u64 },
    #[error("shape {} of {element} needs {expected} bytes of data, and {found} bytes are there", show_shape(.shape))]
    Bytes { shape: Vec<usize>, element: Element, expected: usize, found: usize },
    #[error("the elements are {descr:?}; they should be one of <c8, <c16, <f4, <f8, <i2, <i8")]
    OtherType { descr: String },
    #[error("not enough memory for an array of shape {}: {bytes} bytes", show_shape(.shape))]
    OutOfMemory { shape: Vec<usize>, bytes: u64 },
    #[error("element {} is not finite: {value}", show_shape(.index))]
    NotFinite { index: Vec<usize>, value: Complex<f64> },
    #[error(transparent)]
    Links(#[from] GaugeError),
    #[error("shape {} has {expected} elements, not {found}", show_shape(.shape))]
    Length { shape: Vec<usize>, expected: usize, found: usize },
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// A shape or an index as Python writes it: `(4, 4, 3)`, `(5,)`, `()`.
pub(in crate::io) fn show_shape<T: ToString>(shape: &[T]) -> String {
    let parts: Vec<String> = shape.iter().map(T::to_string).collect();
    if let [one] = parts.as_slice() { format!("({one},)") } else { format!("({})", parts.join(", ")) }
}
