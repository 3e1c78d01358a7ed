//! Reads a NERSC file: header, length, data; then verifies everything that the header says about the data. The counterpart is `writer.rs`.

use std::io::{self, Cursor, Read};
use std::path::Path;

use lanefield_reference::gauge::{Configuration, SITE_WORDS};
use lanefield_reference::layout::{Coordinate, Extents};
use num_complex::Complex;

use crate::comm::WholeLattice;
use crate::io::open::open;
use crate::io::rows::{Demand, SitesOfFile, require_room};
use crate::io::stored_links::decode;

use super::header::{MAXIMUM_HEADER, NerscHeader};
use super::{ByteOrder, FloatingPoint, LINK_TRACE_TOLERANCE, NerscError, PLAQUETTE_TOLERANCE, StoredRows, data_length};

/// A NERSC file: the content of its header, and its links, which agree with it.
#[derive(Debug, Clone, PartialEq)]
pub struct NerscFile {
    /// The header.
    pub header: NerscHeader,
    /// The links. f32 values are widened; a third row that is not in the file is rebuilt in f64 by `third_row`.
    pub configuration: Configuration,
}

/// The number of bytes of data that are decoded at a time.
const CHUNK: usize = 1 << 18;

/// The number of sites that are examined to find the byte order. In the wrong order, their links are much further from SU(3).
const SAMPLE_SITES: usize = 16;
const SAMPLE_TOLERANCE: f64 = 0.1;

/// Reads the NERSC file at `path`, and verifies its length, CHECKSUM, LINK_TRACE and PLAQUETTE. Its links must be finite and in SU(3)
/// within [`SU3_TOLERANCE`](lanefield_reference::gauge::SU3_TOLERANCE). Memory for links is allocated only after the length of the file was
/// checked.
pub fn read(path: &Path) -> Result<NerscFile, NerscError> {
    let (file, length) = open(path)?;
    read_from(file, length)
}

/// Reads the header of the NERSC file at `path`, and checks it against the length of the file.
pub fn read_header(path: &Path) -> Result<NerscHeader, NerscError> {
    let (mut file, length) = open(path)?;
    begin(&mut file, length).map(|(header, ..)| header)
}

/// As [`read`], by several ranks: each reads the sites of its local volume and those around it, and all verify the whole together. A rank
/// whose own links are damaged fails alone.
pub fn read_part(path: &Path, lattice: &WholeLattice) -> Result<NerscFile, NerscError> {
    read_links(path, lattice, Demand::Su3)
}

/// As [`read_part`]; `demand` says whether the links must be in SU(3).
pub(in crate::io) fn read_links(path: &Path, lattice: &WholeLattice, demand: Demand) -> Result<NerscFile, NerscError> {
    let (mut file, length) = open(path)?;
    let (mut header, data_start, _) = begin(&mut file, length)?;
    if header.extents != lattice.extents() {
        return Err(NerscError::OtherExtents {
            found: header.extents.to_string(),
            expected: lattice.extents().to_string(),
        });
    }
    let site_bytes = header.rows.reals_per_site() * header.floating_point.size();
    let mut sites = SitesOfFile::new(file, data_start as u64, site_bytes, header.extents);
    let mut sample = Vec::new();
    for site in 0..header.extents.volume().min(SAMPLE_SITES) {
        let x: Coordinate = header.extents.coordinate(site);
        sample.extend(sites.site(x)?);
    }
    settle_byte_order(&mut header, &sample);
    let (mut words, mut links) = (ChecksumWords::default(), Vec::new());
    let part = lattice.part();
    let mut own = part.volume();
    require_room(part).map_err(|bytes| NerscError::OutOfMemory { extents: part, bytes })?;
    // The sites of the local volume come first, then those around it.
    let configuration = Configuration::from_sites(part, |x, site| {
        let bytes = sites.site(x)?;
        if own > 0 {
            own -= 1;
            words.add(bytes);
        }
        links.clear();
        decode(bytes, header.rows, header.floating_point, &mut links);
        site.copy_from_slice(&links);
        Ok::<_, NerscError>(())
    })?;
    let mut sums = [words.big, words.little].map(i64::from);
    lattice.communicator().sum(&mut sums).map_err(io::Error::from)?;
    let [big, little] = sums.map(|sum| sum as u32);
    let data = Data { configuration, words: ChecksumWords { big, little } };
    let configuration = data.verify(&header, demand)?;
    let link_trace = lattice.link_trace(&configuration).map_err(io::Error::from)?;
    check_observables(&header, link_trace, lattice.plaquette(&configuration).map_err(io::Error::from)?)?;
    Ok(NerscFile { header, configuration })
}

/// The header, the position of the data, and the bytes that were read. The length is checked.
fn begin(reader: &mut impl Read, length: u64) -> Result<(NerscHeader, usize, Vec<u8>), NerscError> {
    let head_length = length.min(MAXIMUM_HEADER as u64);
    let mut head = Vec::with_capacity(usize::try_from(head_length).unwrap_or(MAXIMUM_HEADER));
    reader.by_ref().take(head_length).read_to_end(&mut head)?;
    let (header, data_start) = NerscHeader::parse(&head)?;
    check_length(&header, length.saturating_sub(data_start as u64))?;
    Ok((header, data_start, head))
}

/// As [`read`], from a whole file in memory.
pub fn parse(bytes: &[u8]) -> Result<NerscFile, NerscError> {
    read_from(bytes, bytes.len() as u64)
}

/// As [`read`], from a reader that contains `length` bytes. Memory for the links is allocated according to `length`, so it must be correct.
/// It is an error if the reader ends early.
pub fn read_from(mut reader: impl Read, length: u64) -> Result<NerscFile, NerscError> {
    let (mut header, data_start, head) = begin(&mut reader, length)?;
    let data = Data::read(&mut header, Cursor::new(&head[data_start..]).chain(reader))?;
    let configuration = data.verify(&header, Demand::Su3)?;
    check_observables(&header, configuration.link_trace(), configuration.plaquette())?;
    Ok(NerscFile { header, configuration })
}

fn check_length(header: &NerscHeader, found: u64) -> Result<(), NerscError> {
    let expected = data_length(header.extents, header.rows, header.floating_point);
    if found == expected {
        return Ok(());
    }
    let describe = |rows: StoredRows, format: FloatingPoint| format!("{} {}", rows.datatype(), format.name());
    let other = [StoredRows::Two, StoredRows::Three]
        .into_iter()
        .flat_map(|rows| [FloatingPoint::F32Big, FloatingPoint::F64Big].map(|format| (rows, format)))
        .find(|&(rows, format)| data_length(header.extents, rows, format) == found);
    let hint = other.map_or(String::new(), |(rows, format)| {
        let bits = 8 * format.size();
        format!("; that is the length of {} with {bits}-bit numbers", rows.datatype())
    });
    let header_says = format!("{} of {}", header.extents, describe(header.rows, header.floating_point));
    Err(NerscError::DataLength { header_says, expected, found, hint })
}

/// Decoded links, and the data that is needed to verify them.
struct Data {
    configuration: Configuration,
    words: ChecksumWords,
}

/// Wrapping sums of 32-bit words in either byte order.
#[derive(Clone, Copy, Default)]
struct ChecksumWords {
    big: u32,
    little: u32,
}

impl ChecksumWords {
    fn add(&mut self, bytes: &[u8]) {
        let (words, _) = bytes.as_chunks::<4>();
        for &word in words {
            self.big = self.big.wrapping_add(u32::from_be_bytes(word));
            self.little = self.little.wrapping_add(u32::from_le_bytes(word));
        }
    }

    /// The sum in the byte order of the file.
    fn of(self, floating_point: FloatingPoint) -> u32 {
        match floating_point.byte_order() {
            ByteOrder::Big => self.big,
            ByteOrder::Little => self.little,
        }
    }
}

impl Data {
    fn read(header: &mut NerscHeader, mut reader: impl Read) -> Result<Self, NerscError> {
        let extents = header.extents;
        let words = extents.volume() * SITE_WORDS;
        let mut links = Vec::new();
        links
            .try_reserve_exact(words)
            .map_err(|_| NerscError::OutOfMemory { extents, bytes: words.saturating_mul(size_of::<Complex<f64>>()) })?;
        let site_bytes = header.rows.reals_per_site() * header.floating_point.size();
        let chunk_sites = (CHUNK / site_bytes).min(extents.volume());
        let mut buffer = vec![0; chunk_sites * site_bytes];
        let mut sums = ChecksumWords::default();
        let mut left = extents.volume();
        while left > 0 {
            let sites = left.min(chunk_sites);
            let bytes = &mut buffer[..sites * site_bytes];
            reader.read_exact(bytes)?;
            sums.add(bytes);
            if links.is_empty() {
                settle_byte_order(header, &bytes[..sites.min(SAMPLE_SITES) * site_bytes]);
            }
            decode(bytes, header.rows, header.floating_point, &mut links);
            left -= sites;
        }
        let without_checksum = |source| NerscError::Links { source, checksum: None };
        let configuration = Configuration::new(extents, links).map_err(without_checksum)?;
        Ok(Self { configuration, words: sums })
    }

    /// The links, after checking that they have the header's checksum, are finite, and are in SU(3).
    fn verify(self, header: &NerscHeader, demand: Demand) -> Result<Configuration, NerscError> {
        let data = self.words.of(header.floating_point);
        let checksum = header.checksum.filter(|said| *said != data).map(|said| [said, data]);
        let links_error = |source| NerscError::Links { source, checksum };
        self.configuration.require_finite().map_err(links_error)?;
        if let Some([header, data]) = checksum {
            return Err(NerscError::Checksum { header, data });
        }
        demand.require(&self.configuration).map_err(links_error)?;
        Ok(self.configuration)
    }
}

/// Changes the byte order that the header states to the other one if the first sites are in SU(3) in that order alone.
fn settle_byte_order(header: &mut NerscHeader, sample: &[u8]) {
    let is_su3 = |floating_point| {
        let mut links = Vec::new();
        decode(sample, header.rows, floating_point, &mut links);
        Extents::new([links.len() / SITE_WORDS, 1, 1, 1]).is_ok_and(|extents| {
            Configuration::new(extents, links).is_ok_and(|c| c.require_su3(SAMPLE_TOLERANCE).is_ok())
        })
    };
    let swapped = header.floating_point.swapped();
    if !is_su3(header.floating_point) && is_su3(swapped) {
        header.floating_point = swapped;
    }
}

fn check_observables(header: &NerscHeader, link_trace: f64, plaquette: f64) -> Result<(), NerscError> {
    // Written so that a NaN in the header fails.
    let agree = |a: f64, b: f64, tolerance: f64| (a - b).abs() < tolerance;
    if let Some(header) = header.link_trace.filter(|said| !agree(link_trace, *said, LINK_TRACE_TOLERANCE)) {
        return Err(NerscError::LinkTrace { header, data: link_trace });
    }
    match header.plaquette.filter(|said| !agree(plaquette, *said, PLAQUETTE_TOLERANCE)) {
        Some(header) => Err(NerscError::Plaquette { header, data: plaquette }),
        None => Ok(()),
    }
}
