//! Errors of ILDG and SciDAC files. Messages name the record and both values.

use std::io;

use lanefield_reference::gauge::GaugeError;
use lanefield_reference::layout::Extents;
use thiserror::Error;

use crate::io::atomic::WriteError;
use crate::io::lime::LimeError;
use crate::io::open::OpenError;

/// Why an ILDG or SciDAC file was not read or written. Messages are fragments.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum IldgError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("reading stopped in the middle: {0}")]
    Read(#[from] io::Error),
    #[error(transparent)]
    Lime(#[from] LimeError),
    #[error("no record ildg-binary-data or scidac-binary-data: the records are {0}")]
    NoData(String),
    #[error("the record {record} has {length} bytes: at most {most} are expected")]
    TooLong { record: &'static str, length: u64, most: u64 },
    #[error("the record {record} cannot be understood: {problem}")]
    Malformed { record: &'static str, problem: String },
    #[error("{problems}no record says how large the lattice is: give its extents, as in --lattice 8.8.8.16")]
    NoExtents { problems: String },
    #[error("the lattice is {found}, not {expected}")]
    OtherExtents { found: String, expected: String },
    #[error("the record {record} has {found} bytes: {extents} in {bits}-bit numbers needs {expected}{hint}")]
    Length { record: String, extents: String, bits: usize, expected: u64, found: u64, hint: String },
    #[error("not enough memory for a configuration on {extents}: {bytes} bytes")]
    OutOfMemory { extents: Extents, bytes: usize },
    #[error(
        "scidac-checksum has {header:08x} {header_b:08x}, but the data have {data:08x} {data_b:08x}: the file is damaged"
    )]
    Checksum { header: u32, header_b: u32, data: u32, data_b: u32 },
    #[error(transparent)]
    Links(#[from] GaugeError),
    #[error("the file says that {what} is {said}, and it is {found}: they may differ by {tolerance:e}")]
    Observable { what: &'static str, said: f64, found: f64, tolerance: f64 },
    #[error("{field} cannot be {value:?}: it must be at most 1000 printable ASCII characters")]
    BadText { field: &'static str, value: String },
    #[error(transparent)]
    Write(#[from] WriteError),
}
