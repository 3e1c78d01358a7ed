//! Reads an ILDG or SciDAC file: header, length, links; then verifies everything that the file says about them. The counterpart is
//! `writer.rs`.

use std::io::{self, BufReader, Cursor, Read, Seek};
use std::path::Path;

use lanefield_reference::gauge::Configuration;
use lanefield_reference::layout::Extents;

use super::{Checksums, IldgError, IldgHeader, Observables, site_bytes};
use crate::comm::WholeLattice;
use crate::io::nersc::{LINK_TRACE_TOLERANCE, PLAQUETTE_TOLERANCE};
use crate::io::open::open;
use crate::io::rows::{Demand, SitesOfFile, require_room};

/// An ILDG or SciDAC file: the content of its records, and its links, which agree with them.
#[derive(Clone, PartialEq, Debug)]
pub struct IldgFile {
    /// The records.
    pub header: IldgHeader,
    /// The links; f32 values are widened.
    pub configuration: Configuration,
}

/// Reads the file at `path` and verifies its structure and length. If the file has checksums, a plaquette and a link trace, they are
/// verified, too. Links must be finite and in SU(3). `given`: the lattice, which a file that contains only `ildg-binary-data` does not say.
/// Memory for links is allocated only after their length was checked.
pub fn read(path: &Path, given: Option<Extents>) -> Result<IldgFile, IldgError> {
    let (file, length) = open(path)?;
    read_from(file, length, given)
}

/// Reads the header of the file at `path`, and checks it against the length of the file.
pub fn read_header(path: &Path, given: Option<Extents>) -> Result<IldgHeader, IldgError> {
    let (file, length) = open(path)?;
    IldgHeader::read(&mut BufReader::new(file), length, given)
}

/// As [`read`], from a whole file in memory.
pub fn parse(bytes: &[u8], given: Option<Extents>) -> Result<IldgFile, IldgError> {
    read_from(Cursor::new(bytes), bytes.len() as u64, given)
}

/// As [`read`], by several ranks: each reads the sites of its local volume and those around it, and all verify the whole together. A rank
/// whose own links are damaged fails alone.
pub fn read_part(path: &Path, lattice: &WholeLattice) -> Result<IldgFile, IldgError> {
    read_links(path, lattice, Demand::Su3)
}

/// As [`read_part`]; `demand` says whether the links must be in SU(3).
pub(in crate::io) fn read_links(path: &Path, lattice: &WholeLattice, demand: Demand) -> Result<IldgFile, IldgError> {
    let (mut file, length) = open(path)?;
    let header = IldgHeader::read(&mut file, length, Some(lattice.extents()))?;
    read_sites(file, header, lattice, demand)
}

fn read_from(mut reader: impl Read + Seek, length: u64, given: Option<Extents>) -> Result<IldgFile, IldgError> {
    let header = IldgHeader::read(&mut reader, length, given)?;
    let lattice = WholeLattice::alone(header.extents);
    read_sites(reader, header, &lattice, Demand::Su3)
}

fn read_sites(
    reader: impl Read + Seek,
    header: IldgHeader,
    lattice: &WholeLattice,
    demand: Demand,
) -> Result<IldgFile, IldgError> {
    let (configuration, found) = links(reader, &header, lattice)?;
    if let Some(said) = header.checksums.filter(|said| *said != found) {
        // Damage is reported before its effects on the links.
        let (header, data) = (said, found);
        return Err(IldgError::Checksum { header: header.a, header_b: header.b, data: data.a, data_b: data.b });
    }
    demand.require(&configuration)?;
    match observables(&header.observables, &configuration, lattice)?.into_iter().next() {
        Some(problem) => Err(problem),
        None => Ok(IldgFile { header, configuration }),
    }
}

/// The links of this rank, not yet checked, and the checksums of all links.
pub(super) fn links(
    reader: impl Read + Seek,
    header: &IldgHeader,
    lattice: &WholeLattice,
) -> Result<(Configuration, Checksums), IldgError> {
    let part = lattice.part();
    require_room(part).map_err(|bytes| IldgError::OutOfMemory { extents: part, bytes })?;
    let (start, bytes) = (header.data_record().start, site_bytes(header.floating_point));
    let mut sums = Checksums::default();
    let configuration =
        SitesOfFile::new(reader, start, bytes, header.extents)
            .links(part, header.floating_point, |site, bytes| sums.add(site, bytes))?;
    Ok((configuration, sums.merged(lattice).map_err(io::Error::from)?))
}

/// Checks that the observables in the header are those of the links.
pub(super) fn observables(
    said: &Observables,
    configuration: &Configuration,
    lattice: &WholeLattice,
) -> Result<Vec<IldgError>, IldgError> {
    let mut problems = Vec::new();
    // Written so that NaN fails.
    let agree = |a: f64, b: f64, tolerance: f64| (a - b).abs() < tolerance;
    let plaquette = lattice.plaquette(configuration).map_err(io::Error::from)?;
    // The file may have the mean of Re tr / 3, or of Re tr.
    let agrees = |said: f64| [1.0, 3.0].iter().any(|colours| agree(said, colours * plaquette, PLAQUETTE_TOLERANCE));
    if let Some(said) = said.plaquette.filter(|said| !agrees(*said)) {
        let (what, tolerance) = ("the plaquette", PLAQUETTE_TOLERANCE);
        problems.push(IldgError::Observable { what, said, found: plaquette, tolerance });
    }
    let link_trace = lattice.link_trace(configuration).map_err(io::Error::from)?;
    let agrees = |said: f64| [1.0, 3.0].iter().any(|colours| agree(said, colours * link_trace, LINK_TRACE_TOLERANCE));
    if let Some(said) = said.link_trace.filter(|said| !agrees(*said)) {
        let (what, tolerance) = ("the link trace", LINK_TRACE_TOLERANCE);
        problems.push(IldgError::Observable { what, said, found: link_trace, tolerance });
    }
    Ok(problems)
}
