//! Gauge configurations in the NERSC archive format: an ASCII header, then the links site by site, x fastest. Reading verifies everything
//! that the header says about the data.
//!
//! The format follows the Gauge Connection's description, and Grid's `parallelIO/NerscIO.h` and `MetaData.h`. Each program reads the files
//! of the other.

mod error;
mod header;
mod reader;
mod writer;

use lanefield_reference::layout::Extents;

pub use super::stored_links::{ByteOrder, FloatingPoint, StoredRows};
pub use error::NerscError;
pub use header::{MAXIMUM_HEADER, NerscHeader};
pub(super) use reader::read_links;
pub use reader::{NerscFile, parse, read, read_from, read_header, read_part};
pub use writer::{NerscOptions, to_bytes, write, write_part};

/// The largest allowed difference between LINK_TRACE and the link trace of the data, as in Grid. Rounding links to f32 moves the average by
/// less than 1e-8, and rounding it to six digits by at most 5e-7, so 32-bit files need no more.
pub(crate) const LINK_TRACE_TOLERANCE: f64 = 1e-6;

/// The largest allowed difference between PLAQUETTE and the average plaquette of the data, as in Grid.
pub const PLAQUETTE_TOLERANCE: f64 = 1e-5;

/// The size of the data after the header, in bytes. There are at most 2³¹ sites, so it cannot overflow.
fn data_length(extents: Extents, rows: StoredRows, floating_point: FloatingPoint) -> u64 {
    extents.volume() as u64 * (rows.reals_per_site() * floating_point.size()) as u64
}
