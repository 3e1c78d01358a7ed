//! Reads and writes NumPy arrays (`.npy`) of complex numbers: little-endian complex64 and complex128, C order. If the site axes are T, Z,
//! Y, X, the order in the file is site order, x fastest.
//!
//! The format is that of NumPy's `numpy.lib.format`, versions 1 to 3. The parser is our own because a header is a Python literal: a general
//! parser recurses, and trusts the lengths in the file.

mod array;
mod element;
mod error;
mod header;
mod raw;
mod read;
mod write;

pub(crate) use array::gauge_shape;
pub use array::{
    ArrayReal, ComplexArray, ComplexValues, Fermion5Array, FieldArray, PropagatorArray, SpinorArray, propagator_shape,
};
pub use element::{Element, Precision};
pub use error::NpyError;
#[cfg(feature = "hdf5")]
pub(super) use error::show_shape;
pub use header::MAXIMUM_HEADER;
pub use raw::RawArray;
pub use read::{
    ArrayHeader, Reader, parse, read_complex, read_fermion5, read_from, read_gauge, read_gauge_part, read_header,
    read_part, read_propagator, read_spinor,
};
pub use write::{to_bytes, write_complex, write_complex_in_turn, write_fermion5, write_gauge, write_spinor};
