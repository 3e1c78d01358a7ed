//! Gauge configurations in the format of MILC, version 5: a header of 96 bytes, then the links site by site. Sites have x fastest, the rows
//! of each link are in order, and numbers are f32. Everything has the byte order of the machine that wrote the file. Source: MILC's
//! `io_lat4.c`.

use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::Path;

use lanefield_reference::ensure;
use lanefield_reference::gauge::{Configuration, GaugeError, SU3_TOLERANCE};
use lanefield_reference::layout::{Extents, LayoutError};
use thiserror::Error;

use super::atomic::{WriteError, write_atomically, write_together};
use super::open::{OpenError, open};
use super::rows::{Demand, SitesOfFile, as_stored, each_site, require_room};
use super::stored_links::{ByteOrder, FloatingPoint, StoredRows, encode};
use crate::comm::WholeLattice;

/// The first word of a file.
pub const MAGIC: u32 = 20103;

/// The size of the header with checksums, in bytes.
const HEADER: usize = 96;
const TIME_STAMP: usize = 64;
/// 32-bit words of the links of a site.
const SITE_NUMBERS: usize = 72;
const SITE_BYTES: usize = 4 * SITE_NUMBERS;

/// Why a MILC file was not read or written. Messages are fragments.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum MilcError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("reading stopped in the middle: {0}")]
    Read(#[from] io::Error),
    #[error("not a configuration of MILC, version 5: it begins with {found:08x}, not with 20103 in either byte order")]
    Magic { found: u32 },
    #[error("the extents in the header are {extents:?}: {source}")]
    Extents { extents: [u32; 4], source: LayoutError },
    #[error("the sites are in order {0}: expected 0, x fastest")]
    Order(u32),
    #[error("the file has {found} bytes: a configuration on {extents} has {expected}")]
    Length { extents: Extents, expected: u64, found: u64 },
    #[error("the lattice is {found}, not {expected}")]
    OtherExtents { found: String, expected: String },
    #[error("not enough memory for a configuration on {extents}: {bytes} bytes")]
    OutOfMemory { extents: Extents, bytes: usize },
    #[error("the checksums in the header are {header:08x?}, and those of the data {data:08x?}: the file is damaged")]
    Checksum { header: [u32; 2], data: [u32; 2] },
    #[error(transparent)]
    Links(#[from] GaugeError),
    #[error("the time stamp cannot be {0:?}: it must be at most 63 printable ASCII characters")]
    BadText(String),
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// The content of a file's header.
#[derive(Clone, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct MilcHeader {
    pub extents: Extents,
    pub byte_order: ByteOrder,
    /// The time when it was written, in the writer's format.
    pub time_stamp: String,
    pub checksums: [u32; 2],
}

/// A MILC file: the content of its header, and its links, which agree with it.
#[derive(Clone, PartialEq, Debug)]
pub struct MilcFile {
    /// The header.
    pub header: MilcHeader,
    /// The links, widened from f32.
    pub configuration: Configuration,
}

/// How a configuration is written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MilcOptions {
    /// The byte order of the whole file.
    pub byte_order: ByteOrder,
    /// The time stamp: at most 63 characters.
    pub time_stamp: String,
}

impl Default for MilcOptions {
    fn default() -> Self {
        Self { byte_order: ByteOrder::Little, time_stamp: "Thu Jan  1 00:00:00 1970 UTC".to_owned() }
    }
}

/// Two checksums: the exclusive or of the 32-bit words, each rotated to the left by its number mod 29, and the same mod 31.
#[derive(Clone, Copy, Default)]
struct MilcChecksums([u32; 2]);

impl MilcChecksums {
    fn add(&mut self, site: usize, bytes: &[u8], byte_order: ByteOrder) {
        for (k, &word) in bytes.as_chunks::<4>().0.iter().enumerate() {
            let (word, number) = (word_of(word, byte_order), site * SITE_NUMBERS + k);
            self.0[0] ^= word.rotate_left((number % 29) as u32);
            self.0[1] ^= word.rotate_left((number % 31) as u32);
        }
    }
}

fn word_of(bytes: [u8; 4], byte_order: ByteOrder) -> u32 {
    match byte_order {
        ByteOrder::Big => u32::from_be_bytes(bytes),
        ByteOrder::Little => u32::from_le_bytes(bytes),
    }
}

fn bytes_of(word: u32, byte_order: ByteOrder) -> [u8; 4] {
    match byte_order {
        ByteOrder::Big => word.to_be_bytes(),
        ByteOrder::Little => word.to_le_bytes(),
    }
}

/// The number format of files with this byte order.
pub(super) fn floating_point(byte_order: ByteOrder) -> FloatingPoint {
    match byte_order {
        ByteOrder::Big => FloatingPoint::F32Big,
        ByteOrder::Little => FloatingPoint::F32Little,
    }
}

/// The byte order of a file that begins with these bytes, if it is a MILC file.
fn byte_order_of(start: [u8; 4]) -> Option<ByteOrder> {
    [ByteOrder::Little, ByteOrder::Big].into_iter().find(|order| word_of(start, *order) == MAGIC)
}

/// Whether a MILC file begins with these bytes.
pub(super) fn begins_so(start: &[u8]) -> bool {
    start.first_chunk().copied().and_then(byte_order_of).is_some()
}

impl MilcHeader {
    fn read(reader: &mut (impl Read + Seek), length: u64) -> Result<Self, MilcError> {
        let mut header = [0; HEADER];
        let there = (length as usize).min(HEADER);
        reader.seek(SeekFrom::Start(0))?;
        reader.read_exact(&mut header[..there])?;
        let start = [header[0], header[1], header[2], header[3]];
        let Some(byte_order) = byte_order_of(start) else {
            return Err(MilcError::Magic { found: u32::from_be_bytes(start) });
        };
        let number = |at: usize| {
            let word = header[at..].first_chunk::<4>().copied().unwrap_or_default();
            word_of(word, byte_order)
        };
        let extents = [4, 8, 12, 16].map(number);
        let known = Extents::new(extents.map(|extent| extent as usize));
        let known = known.map_err(|source| MilcError::Extents { extents, source })?;
        let expected = HEADER as u64 + known.volume() as u64 * SITE_BYTES as u64;
        ensure!(expected == length, MilcError::Length { extents: known, expected, found: length });
        let order = number(84);
        ensure!(order == 0, MilcError::Order(order));
        let stamp = header[20..20 + TIME_STAMP].split(|&byte| byte == 0).next().unwrap_or_default();
        let time_stamp = String::from_utf8_lossy(stamp).chars().filter(|c| !c.is_control()).collect();
        Ok(Self { extents: known, byte_order, time_stamp, checksums: [number(88), number(92)] })
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER);
        let mut put = |word: u32| bytes.extend(bytes_of(word, self.byte_order));
        put(MAGIC);
        self.extents.as_array().into_iter().for_each(|extent| put(extent as u32));
        let mut stamp = self.time_stamp.clone().into_bytes();
        stamp.resize(TIME_STAMP, 0);
        bytes.extend(stamp);
        for word in [0, self.checksums[0], self.checksums[1]] {
            bytes.extend(bytes_of(word, self.byte_order));
        }
        bytes
    }
}

/// Reads the file at `path`, and verifies its length and checksums, and that its links are finite and in SU(3). Memory for links is
/// allocated only after the length of the file was checked.
pub fn read(path: &Path) -> Result<MilcFile, MilcError> {
    let (mut file, length) = open(path)?;
    let header = MilcHeader::read(&mut file, length)?;
    let lattice = WholeLattice::alone(header.extents);
    read_sites(file, header, &lattice, Demand::Su3)
}

/// Reads the header of the file at `path`, and checks it against the length of the file.
pub fn read_header(path: &Path) -> Result<MilcHeader, MilcError> {
    let (mut file, length) = open(path)?;
    MilcHeader::read(&mut file, length)
}

/// As [`read`], from a whole file in memory.
pub fn parse(bytes: &[u8]) -> Result<MilcFile, MilcError> {
    let mut reader = Cursor::new(bytes);
    let header = MilcHeader::read(&mut reader, bytes.len() as u64)?;
    let lattice = WholeLattice::alone(header.extents);
    read_sites(reader, header, &lattice, Demand::Su3)
}

/// As [`read`], by several ranks: each reads the sites of its local volume and those around it, and all verify the whole together. A rank
/// whose own links are damaged fails alone.
pub fn read_part(path: &Path, lattice: &WholeLattice) -> Result<MilcFile, MilcError> {
    read_links(path, lattice, Demand::Su3)
}

/// As [`read_part`]; `demand` says whether the links must be in SU(3).
pub(super) fn read_links(path: &Path, lattice: &WholeLattice, demand: Demand) -> Result<MilcFile, MilcError> {
    let (mut file, length) = open(path)?;
    let header = MilcHeader::read(&mut file, length)?;
    if header.extents != lattice.extents() {
        let (found, expected) = (header.extents.to_string(), lattice.extents().to_string());
        return Err(MilcError::OtherExtents { found, expected });
    }
    read_sites(file, header, lattice, demand)
}

fn read_sites(
    reader: impl Read + Seek,
    header: MilcHeader,
    lattice: &WholeLattice,
    demand: Demand,
) -> Result<MilcFile, MilcError> {
    let (configuration, data) = links(reader, &header, lattice)?;
    ensure!(data == header.checksums, MilcError::Checksum { header: header.checksums, data });
    demand.require(&configuration)?;
    Ok(MilcFile { header, configuration })
}

/// The links of this rank, not yet checked, and the checksums of all links.
fn links(
    reader: impl Read + Seek,
    header: &MilcHeader,
    lattice: &WholeLattice,
) -> Result<(Configuration, [u32; 2]), MilcError> {
    let part = lattice.part();
    require_room(part).map_err(|bytes| MilcError::OutOfMemory { extents: part, bytes })?;
    let mut sites = SitesOfFile::new(reader, HEADER as u64, SITE_BYTES, header.extents);
    let mut sums = MilcChecksums::default();
    let add = |site: usize, bytes: &[u8]| sums.add(site, bytes, header.byte_order);
    let configuration = sites.links(part, floating_point(header.byte_order), add)?;
    Ok((configuration, lattice.exclusive_or(sums.0).map_err(io::Error::from)?))
}

/// Lists every defect of the file at `path`.
pub fn check(path: &Path) -> Result<Vec<String>, MilcError> {
    let (mut file, length) = open(path)?;
    let header = match MilcHeader::read(&mut file, length) {
        Err(MilcError::Read(error)) => return Err(error.into()),
        Err(error) => return Ok(vec![error.to_string()]),
        Ok(header) => header,
    };
    let (configuration, data) = links(file, &header, &WholeLattice::alone(header.extents))?;
    let mut defects = Vec::new();
    if data != header.checksums {
        defects.push(MilcError::Checksum { header: header.checksums, data }.to_string());
    }
    defects.extend(configuration.require_su3(SU3_TOLERANCE).err().map(|error| error.to_string()));
    Ok(defects)
}

/// Writes `configuration` to a file at `path`, whole or not at all, rounded to f32.
///
/// # Errors
/// [`MilcError::Links`] if the links are not finite or not in SU(3); [`MilcError::BadText`]; [`MilcError::Write`].
pub fn write(path: &Path, configuration: &Configuration, options: &MilcOptions) -> Result<(), MilcError> {
    let bytes = to_bytes(configuration, options)?;
    Ok(write_atomically(path, |writer| writer.write_all(&bytes))?)
}

/// The bytes that [`write()`] would write.
pub fn to_bytes(configuration: &Configuration, options: &MilcOptions) -> Result<Vec<u8>, MilcError> {
    let header = prepared(configuration, options, &WholeLattice::alone(configuration.extents()))?;
    let mut bytes = header.to_bytes();
    encode(configuration.links(), StoredRows::Three, floating_point(options.byte_order), |more| bytes.extend(more));
    Ok(bytes)
}

/// As [`write()`], by several ranks: each writes the sites of its local volume. The bytes of the file do not depend on the number of ranks.
/// A failure on one rank is a failure on all.
pub fn write_part(
    path: &Path,
    configuration: &Configuration,
    options: &MilcOptions,
    lattice: &WholeLattice,
) -> Result<(), MilcError> {
    let header = prepared(configuration, options, lattice)?;
    let written = write_together(path, lattice, |file| {
        let mut sites = SitesOfFile::new(file, HEADER as u64, SITE_BYTES, header.extents);
        if lattice.is_first() {
            sites.write_at(0, &header.to_bytes())?;
        }
        sites.write_links(configuration, StoredRows::Three, floating_point(options.byte_order))
    });
    Ok(written?)
}

fn prepared(
    configuration: &Configuration,
    options: &MilcOptions,
    lattice: &WholeLattice,
) -> Result<MilcHeader, MilcError> {
    let printable = options.time_stamp.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
    ensure!(printable && options.time_stamp.len() < TIME_STAMP, MilcError::BadText(options.time_stamp.clone()));
    let floating_point = floating_point(options.byte_order);
    as_stored(configuration, StoredRows::Three, floating_point)?;
    let mut sums = MilcChecksums::default();
    each_site(configuration, floating_point, |site, bytes| sums.add(site, bytes, options.byte_order));
    Ok(MilcHeader {
        extents: lattice.extents(),
        byte_order: options.byte_order,
        time_stamp: options.time_stamp.clone(),
        checksums: lattice.exclusive_or(sums.0).map_err(io::Error::from)?,
    })
}
