//! Gauge configurations in the NERSC archive format: an ASCII header, then the links of one site after the other, x
//! fastest. Reading verifies all that the header says about the data. The format follows the Gauge Connection's
//! description, and Grid's `parallelIO/NerscIO.h` and `MetaData.h`, so that either program reads what the other writes.

mod error;
mod header;
mod reader;
mod writer;

use lanefield_reference::gauge::SITE_WORDS;
use lanefield_reference::layout::Extents;

pub use error::NerscError;
pub use header::{MAXIMUM_HEADER, NerscHeader};
pub use reader::{NerscFile, parse, read, read_from, read_header, read_part};
pub(super) use reader::{decode, read_links};
pub(super) use writer::encode;
pub use writer::{WriteOptions, to_bytes, write, write_part};

/// Largest difference between LINK_TRACE and the link trace of the data, as in Grid. Rounding links to f32 moves the
/// average by less than 1e-8, and a header with six digits by at most 5e-7, so 32-bit files need no more.
pub const LINK_TRACE_TOLERANCE: f64 = 1e-6;

/// Largest difference between PLAQUETTE and the average plaquette of the data, as in Grid.
pub const PLAQUETTE_TOLERANCE: f64 = 1e-5;

/// Rows of each link that a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StoredRows {
    /// `4D_SU3_GAUGE`: the first two; the third is the conjugate of their cross product.
    Two,
    /// `4D_SU3_GAUGE_3x3`: all three.
    Three,
}

impl StoredRows {
    /// Value of DATATYPE.
    pub fn datatype(self) -> &'static str {
        match self {
            Self::Two => "4D_SU3_GAUGE",
            Self::Three => "4D_SU3_GAUGE_3x3",
        }
    }

    /// Real numbers that a file holds for each site.
    pub fn reals_per_site(self) -> usize {
        match self {
            Self::Two => 2 * SITE_WORDS / 3 * 2,
            Self::Three => 2 * SITE_WORDS,
        }
    }
}

/// Order of the bytes in a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// Most significant byte first.
    Big,
    /// Least significant byte first.
    Little,
}

lanefield_reference::named!(ByteOrder: Big = "big-endian", Little = "little-endian");

/// Number format of a file: FLOATING_POINT. Of names without a byte order, and of wrong ones, the first links tell it: programs differ in what IEEE32 means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FloatingPoint {
    /// `IEEE32BIG`.
    F32Big,
    /// `IEEE32`, `IEEE32LITTLE`.
    F32Little,
    /// `IEEE64BIG`: what Grid writes.
    F64Big,
    /// `IEEE64LITTLE`, `IEEE64`.
    F64Little,
}

impl FloatingPoint {
    /// The value of FLOATING_POINT to write: of the equivalent names, the one that Grid reads.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32Big => "IEEE32BIG",
            Self::F32Little => "IEEE32",
            Self::F64Big => "IEEE64BIG",
            Self::F64Little => "IEEE64LITTLE",
        }
    }

    /// Bytes of a real number: 4 or 8.
    pub fn size(self) -> usize {
        match self {
            Self::F32Big | Self::F32Little => 4,
            Self::F64Big | Self::F64Little => 8,
        }
    }

    /// Order of the bytes in a number.
    pub fn byte_order(self) -> ByteOrder {
        match self {
            Self::F32Big | Self::F64Big => ByteOrder::Big,
            Self::F32Little | Self::F64Little => ByteOrder::Little,
        }
    }

    /// The same precision in the other byte order.
    pub fn swapped(self) -> Self {
        match self {
            Self::F32Big => Self::F32Little,
            Self::F32Little => Self::F32Big,
            Self::F64Big => Self::F64Little,
            Self::F64Little => Self::F64Big,
        }
    }
}

/// Bytes of the data of a file, after its header. At most 2³¹ sites, so it cannot overflow.
fn data_length(extents: Extents, rows: StoredRows, floating_point: FloatingPoint) -> u64 {
    extents.volume() as u64 * (rows.reals_per_site() * floating_point.size()) as u64
}
