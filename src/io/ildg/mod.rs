//! Gauge configurations in ILDG and SciDAC files. They consist of LIME records: XML, the links site by site with x fastest and big-endian,
//! and a checksum. Programs based on QIO, Grid and the ILDG's own tools can read the files written here.
//!
//! Sources: *ILDG Binary File Format* 1.1 (2005), and the SciDAC records of the QIO library.

mod check;
mod error;
mod header;
mod reader;
mod writer;
mod xml;

use crate::io::nersc::FloatingPoint;

pub use check::check;
pub use error::IldgError;
pub use header::{IldgHeader, Observables};
pub(super) use reader::read_links;
pub use reader::{IldgFile, parse, read, read_header, read_part};
pub use writer::{IldgOptions, to_bytes, write, write_part};

const FORMAT: &str = "ildg-format";
const DATA: [&str; 2] = ["ildg-binary-data", "scidac-binary-data"];
const LFN: &str = "ildg-data-lfn";
const CHECKSUM: &str = "scidac-checksum";
const PRIVATE_FILE: &str = "scidac-private-file-xml";
const FILE: &str = "scidac-file-xml";
const PRIVATE_RECORD: &str = "scidac-private-record-xml";
const RECORD: &str = "scidac-record-xml";

/// Reals of the links of a site.
const REALS_PER_SITE: usize = 72;

/// Bytes of the links of a site.
const fn site_bytes(floating_point: FloatingPoint) -> usize {
    REALS_PER_SITE
        * match floating_point {
            FloatingPoint::F32Big | FloatingPoint::F32Little => 4,
            FloatingPoint::F64Big | FloatingPoint::F64Little => 8,
        }
}

/// The SciDAC checksums of the sites that were added so far.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Checksums {
    /// Exclusive or of the CRC-32 of each site's bytes, rotated to the left by its number mod 29.
    pub a: u32,
    /// The same mod 31.
    pub b: u32,
}

impl Checksums {
    /// Adds the bytes of a site as they are in the file. `site` is its number, x fastest.
    pub fn add(&mut self, site: usize, bytes: &[u8]) {
        let crc = crc32fast::hash(bytes);
        self.a ^= crc.rotate_left((site % 29) as u32);
        self.b ^= crc.rotate_left((site % 31) as u32);
    }

    /// Combines the checksums of all ranks.
    fn merged(self, lattice: &crate::comm::WholeLattice) -> Result<Self, crate::comm::CommError> {
        let [a, b] = lattice.exclusive_or([self.a, self.b])?;
        Ok(Self { a, b })
    }
}
