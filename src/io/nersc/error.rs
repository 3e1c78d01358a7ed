//! Errors of NERSC files. Messages name the header field and both values.

use std::io;

use lanefield_reference::gauge::GaugeError;
use lanefield_reference::layout::Extents;
use thiserror::Error;

use crate::io::atomic::WriteError;
use crate::io::open::OpenError;

/// Why a NERSC file was not read or written.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "the messages name the fields")]
#[non_exhaustive]
pub enum NerscError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("reading stopped in the middle: {0}")]
    Read(#[from] io::Error),
    #[error("not a NERSC file: it begins with {found}, not with the line BEGIN_HEADER")]
    NotNersc { found: String },
    #[error("the header has no line END_HEADER in the first {searched} bytes")]
    NoEndOfHeader { searched: usize },
    #[error("the header has no field {field}")]
    MissingField { field: &'static str },
    #[error("header field {field} is given twice: {first:?} and {second:?}")]
    DuplicateField { field: &'static str, first: String, second: String },
    #[error("header field {field} is {value:?}; it should be {expected}")]
    BadField { field: &'static str, value: String, expected: &'static str },
    #[error(
        "header fields DIMENSION_1 to DIMENSION_4 are {}: each must be at least 1, and the number of sites at most {}",
        .dimensions.map(|d| d.to_string()).join(", "), Extents::MAX_VOLUME
    )]
    BadDimensions { dimensions: [usize; 4] },
    #[error(
        "the file is {}: {header_says} needs {expected} bytes of data after the header, and {found} are there{hint}",
        if .found < .expected { "truncated" } else { "too long" }
    )]
    DataLength { header_says: String, expected: u64, found: u64, hint: String },
    #[error("the lattice is now {found}, and was {expected}: the file was changed while it was read")]
    OtherExtents { found: String, expected: String },
    #[error("not enough memory for a configuration on {extents}: {bytes} bytes")]
    OutOfMemory { extents: Extents, bytes: usize },
    #[error("header field CHECKSUM is {header:08x}, but the data sums to {data:08x}: the file is damaged")]
    Checksum { header: u32, data: u32 },
    #[error("{source}{}", .checksum.map_or(String::new(), |[header, data]|
        format!(" (header field CHECKSUM is {header:08x}, but the data sums to {data:08x}: the file is damaged)")))]
    Links { source: GaugeError, checksum: Option<[u32; 2]> },
    #[error("header field LINK_TRACE is {header}, but the link trace of the data is {data}; they may differ by 1e-6")]
    LinkTrace { header: f64, data: f64 },
    #[error(
        "header field PLAQUETTE is {header}, but the average plaquette of the data is {data}; they may differ by 1e-5"
    )]
    Plaquette { header: f64, data: f64 },
    #[error("{field} cannot be {value:?}: it must be at most 200 printable ASCII characters, without END_HEADER")]
    BadText { field: &'static str, value: String },
    #[error(transparent)]
    Write(#[from] WriteError),
}
