//! Reads gauge configurations in plain formats: a few integers with the extents, the average plaquette as a double, and the links as
//! doubles.
//!
//! - openQCD: t, x, y, z and the average of Re tr P; for each odd point its eight links, forwards and backwards in t, x, y, z. Points have
//!   z fastest; all numbers are little-endian. Source: `modules/archive/archive.c`.
//! - DD-αAMG: t, z, y, x and the average of Re tr P; for each point its links in t, z, y, x. Points have x fastest; either byte order.
//!   Sources: `io.c`, `lime_io.c`.
//! - HiRep: the number of colours, t, x, y, z and the average plaquette; for each point its links in t, x, y, z. Points have z fastest; all
//!   numbers are big-endian. Source: `LibHR/IO/archive.c`.
//!
//! Files of openQCD and of DD-αAMG can have the same length: the plaquette decides which it is.

use std::io::{self, BufReader, Read, Seek as _, SeekFrom};
use std::path::Path;

use lanefield_reference::gauge::{Configuration, GaugeError, LINK_WORDS, SITE_WORDS};
use lanefield_reference::layout::{DIMENSIONS, Extents, Leg};
use num_complex::Complex;
use thiserror::Error;

use super::format::Format;
use super::open::{OpenError, open};
use super::rows::{Demand, require_room};
use super::stored_links::{FloatingPoint, StoredRows, decode};

const LINK_BYTES: usize = 16 * LINK_WORDS;
/// The maximum extent of a lattice. It helps to recognise these files, which have no magic number.
const MOST_EXTENT: usize = 4096;
/// The allowed difference between the plaquette of the links and that in the header, which all three store as a double.
const TOLERANCE: f64 = 1e-8;

/// Why a plain file was not read. Messages are fragments.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum PlainError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("reading stopped in the middle: {0}")]
    Read(#[from] io::Error),
    #[error("its length does not agree with its extents")]
    Header,
    #[error("not enough memory for a configuration on {extents}: {bytes} bytes")]
    OutOfMemory { extents: Extents, bytes: usize },
    #[error("{0}; links of open or Schrödinger-functional boundaries are not read")]
    Links(#[from] GaugeError),
    #[error("the header says that the average plaquette is {header}; the links have {data}: the file is damaged")]
    Plaquette { header: f64, data: String },
}

/// The content of a file's header.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PlainHeader {
    /// The program that writes this format.
    pub format: Format,
    /// The lattice.
    pub extents: Extents,
    /// The number format of the whole file.
    pub floating_point: FloatingPoint,
    /// The average of Re tr P / 3; 1 for the free field.
    pub plaquette: f64,
}

/// A plain file: the content of its header, and its links, which agree with it.
#[derive(Clone, PartialEq, Debug)]
pub struct PlainFile {
    /// The header.
    pub header: PlainHeader,
    /// The links.
    pub configuration: Configuration,
}

impl PlainHeader {
    /// All headers that a file with this beginning may have.
    pub(super) fn all_of(start: &[u8]) -> impl Iterator<Item = Self> + '_ {
        use FloatingPoint::{F64Big, F64Little};
        let candidates = [
            (Format::HiRep, F64Big),
            (Format::OpenQcd, F64Little),
            (Format::DdAlphaAmg, F64Little),
            (Format::DdAlphaAmg, F64Big),
        ];
        candidates.into_iter().filter_map(|(format, numbers)| Self::of(start, format, numbers))
    }

    fn of(start: &[u8], format: Format, floating_point: FloatingPoint) -> Option<Self> {
        let is_little = floating_point == FloatingPoint::F64Little;
        let word = |bytes: &[u8; 4]| if is_little { u32::from_le_bytes(*bytes) } else { u32::from_be_bytes(*bytes) };
        let real = |bytes: &[u8; 8]| if is_little { f64::from_le_bytes(*bytes) } else { f64::from_be_bytes(*bytes) };
        let (start, scale) = match (format, start.split_first_chunk()) {
            (Format::HiRep, Some((colours, rest))) => (rest, (word(colours) == 3).then_some(1.0)?),
            _ => (start, 3.0),
        };
        let [t, a, b, c] = [0, 1, 2, 3].map(|k| start.as_chunks().0.get(k).map_or(0, word) as usize);
        let extents = if format == Format::DdAlphaAmg { [c, b, a, t] } else { [a, b, c, t] };
        let is_possible =
            |extent: &usize| *extent <= MOST_EXTENT && (format != Format::OpenQcd || extent.is_multiple_of(2));
        // A file that ends before the plaquette may be recognised by its extents.
        let plaquette = start.get(16..).and_then(|rest| rest.first_chunk()).map_or(0.0, real) / scale;
        let header = Self { format, extents: Extents::new(extents).ok()?, floating_point, plaquette };
        (extents.iter().all(is_possible) && plaquette.abs() <= 1.0 + TOLERANCE).then_some(header)
    }

    fn bytes(&self) -> u64 {
        if self.format == Format::HiRep { 28 } else { 24 }
    }

    /// The length of the file.
    pub(super) fn length(&self) -> u64 {
        self.bytes() + self.extents.volume() as u64 * (DIMENSIONS * LINK_BYTES) as u64
    }

    /// The links, not yet checked.
    fn links(&self, path: &Path) -> Result<Configuration, PlainError> {
        let extents = self.extents;
        require_room(extents).map_err(|bytes| PlainError::OutOfMemory { extents, bytes })?;
        let mut file = BufReader::with_capacity(1 << 18, open(path)?.0);
        file.seek(SeekFrom::Start(self.bytes()))?;
        let mut links = vec![Complex::new(0.0, 0.0); extents.volume() * SITE_WORDS];
        let mut read = |x, direction: usize| {
            let (mut bytes, mut link) = ([0; LINK_BYTES], Vec::with_capacity(LINK_WORDS));
            file.read_exact(&mut bytes)?;
            decode(&bytes, StoredRows::Three, self.floating_point, &mut link);
            links[SITE_WORDS * extents.site(x) + LINK_WORDS * direction..][..LINK_WORDS].copy_from_slice(&link);
            Ok::<_, io::Error>(())
        };
        let [lx, ly, lz, _] = extents.as_array();
        for point in 0..extents.volume() {
            let x = match self.format {
                Format::DdAlphaAmg => extents.coordinate(point),
                _ => [point / (ly * lz) % lx, point / lz % ly, point % lz, point / (lx * ly * lz)],
            };
            match self.format {
                Format::DdAlphaAmg => [3, 2, 1, 0].into_iter().try_for_each(|direction| read(x, direction))?,
                Format::OpenQcd if x.iter().sum::<usize>() % 2 == 0 => {}
                Format::OpenQcd => [3, 0, 1, 2].into_iter().try_for_each(|direction| {
                    read(x, direction)?;
                    read(extents.neighbour(x, Leg::backward(direction)), direction)
                })?,
                _ => [3, 0, 1, 2].into_iter().try_for_each(|direction| read(x, direction))?,
            }
        }
        Ok(Configuration::new(extents, links)?)
    }
}

/// Reads the file at `path`, and verifies its plaquette, and that its links are finite and, if `demand` says so, in SU(3). Memory for links
/// is allocated only after the length of the file was checked.
pub(super) fn read(path: &Path, demand: Demand) -> Result<PlainFile, PlainError> {
    let (file, length) = open(path)?;
    let (mut start, mut others) = (Vec::new(), Vec::new());
    file.take(64).read_to_end(&mut start)?;
    for header in PlainHeader::all_of(&start).filter(|header| header.length() == length) {
        let configuration = header.links(path)?;
        demand.require(&configuration)?;
        let data = configuration.plaquette();
        // Written so that NaN fails.
        if (data - header.plaquette).abs() < TOLERANCE {
            return Ok(PlainFile { header, configuration });
        }
        others.push((header, data));
    }
    let Some(&(header, _)) = others.first() else { return Err(PlainError::Header) };
    let data: Vec<String> =
        others.iter().map(|(header, data)| format!("{data} in the order of {}", header.format)).collect();
    Err(PlainError::Plaquette { header: header.plaquette, data: data.join(", ") })
}
