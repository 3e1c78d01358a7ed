//! What can be wrong with an array, and how it is said.

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
    /// The file was not opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The data could not be read, though the file is long enough.
    #[error("reading stopped in the middle: {0}")]
    Read(#[from] io::Error),
    /// The file does not begin as a NumPy array does.
    #[error("not a NumPy array: the file does not begin with \\x93NUMPY")]
    NotNpy,
    /// A version of the format that does not exist yet.
    #[error("version {major}.{minor} of the .npy format is not known; 1.0, 2.0 and 3.0 are")]
    Version { major: u8, minor: u8 },
    /// The header is cut off, too long, or not the dictionary that it should be.
    #[error("the .npy header {0}")]
    Header(String),
    /// The elements are not little-endian complex numbers.
    #[error("the elements are {descr:?}{hint}; they should be '<c8' (complex64) or '<c16' (complex128)")]
    ElementType { descr: String, hint: &'static str },
    /// The array is in Fortran order.
    #[error("the array is in Fortran order; it should be in C order (numpy.ascontiguousarray)")]
    FortranOrder,
    /// The shape is not that of the field.
    #[error("the shape is {}, which is not a {field} {axes}: {reason}", show_shape(.shape))]
    Shape { shape: Vec<usize>, field: &'static str, axes: &'static str, reason: String },
    /// The array has more bytes than can be counted.
    #[error("the shape is {}, which is larger than any memory", show_shape(.shape))]
    TooLarge { shape: Vec<usize> },
    /// The file ends before its data, or there is something after them.
    #[error(
        "the file is {}: shape {} of {} needs {expected} bytes of data, and {found} are there",
        if .found < .expected { "truncated" } else { "too long" }, show_shape(.shape), .precision.dtype()
    )]
    DataLength { shape: Vec<usize>, precision: Precision, expected: u64, found: u64 },
    /// The same, of an array of any type.
    #[error("shape {} of {element} needs {expected} bytes of data, and {found} bytes are there", show_shape(.shape))]
    Bytes { shape: Vec<usize>, element: Element, expected: usize, found: usize },
    /// The elements are of a type that is not read.
    #[error("the elements are {descr:?}; they should be one of <c8, <c16, <f4, <f8, <i2, <i8")]
    OtherType { descr: String },
    /// There is not enough memory for the elements.
    #[error("not enough memory for an array of shape {}: {bytes} bytes", show_shape(.shape))]
    OutOfMemory { shape: Vec<usize>, bytes: u64 },
    /// An element is infinite or not a number.
    #[error("element {} is not finite: {value}", show_shape(.index))]
    NotFinite { index: Vec<usize>, value: Complex<f64> },
    /// A link cannot be used.
    #[error(transparent)]
    Links(#[from] GaugeError),
    /// The values to write are not as many as the shape says.
    #[error("shape {} has {expected} elements, not {found}", show_shape(.shape))]
    Length { shape: Vec<usize>, expected: usize, found: usize },
    /// The file was not written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// A shape or an index as Python writes it: `(4, 4, 3)`, `(5,)`, `()`.
pub(in crate::io) fn show_shape<T: ToString>(shape: &[T]) -> String {
    let parts: Vec<String> = shape.iter().map(T::to_string).collect();
    if let [one] = parts.as_slice() { format!("({one},)") } else { format!("({})", parts.join(", ")) }
}
