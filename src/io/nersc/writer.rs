//! Writes a NERSC file in the form that Grid writes, so that Grid can read it. The counterpart is `reader.rs`.

use std::io::{self, Write};
use std::path::Path;

use lanefield_reference::gauge::Configuration;

use super::header::NerscHeader;
use super::{ByteOrder, FloatingPoint, NerscError, StoredRows, data_length};
use crate::comm::WholeLattice;
use crate::io::atomic::{write_atomically, write_together};
use crate::io::rows::{SitesOfFile, as_stored};
use crate::io::stored_links::encode;

/// How a configuration is written, and the additional content of its header. The default is what Grid writes: three rows of IEEE64BIG.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct NerscOptions {
    pub rows: StoredRows,
    pub floating_point: FloatingPoint,
    pub ensemble_id: String,
    pub ensemble_label: String,
    pub sequence_number: u64,
}

impl Default for NerscOptions {
    fn default() -> Self {
        Self {
            rows: StoredRows::Three,
            floating_point: FloatingPoint::F64Big,
            ensemble_id: "LANEFIELD".to_owned(),
            ensemble_label: String::new(),
            sequence_number: 1,
        }
    }
}

/// Writes `configuration` to a NERSC file at `path`, whole or not at all.
///
/// LINK_TRACE and PLAQUETTE are computed from the links as they will be read: rounded, and with the third row rebuilt if the file does not
/// store it. Output is deterministic: CREATION_DATE, ARCHIVE_DATE and CREATOR_HARDWARE, which Grid takes from the clock and the machine,
/// are `unspecified`.
///
/// # Errors
/// [`NerscError::Links`] if the links are not finite or not in SU(3), so that [`super::read`] would refuse the file;
/// [`NerscError::BadText`]; [`NerscError::Write`].
pub fn write(path: &Path, configuration: &Configuration, options: &NerscOptions) -> Result<(), NerscError> {
    let header = prepare(configuration, options, &WholeLattice::alone(configuration.extents()))?;
    Ok(write_atomically(path, |writer| emit(&header, configuration, writer))?)
}

/// As [`write()`], by several ranks: each writes the sites of its local volume. The bytes of the file do not depend on the number of ranks.
/// A failure on one rank is a failure on all.
pub fn write_part(
    path: &Path,
    configuration: &Configuration,
    options: &NerscOptions,
    lattice: &WholeLattice,
) -> Result<(), NerscError> {
    let header = prepare(configuration, options, lattice)?;
    let text = header.to_text();
    let written = write_together(path, lattice, |mut file| {
        if lattice.is_first() {
            file.write_all(text.as_bytes())?;
        }
        let site_bytes = header.rows.reals_per_site() * header.floating_point.size();
        let mut sites = SitesOfFile::new(file, text.len() as u64, site_bytes, header.extents);
        sites.write_links(configuration, header.rows, header.floating_point)
    });
    Ok(written?)
}

/// The bytes that [`write()`] would write.
pub fn to_bytes(configuration: &Configuration, options: &NerscOptions) -> Result<Vec<u8>, NerscError> {
    let header = prepare(configuration, options, &WholeLattice::alone(configuration.extents()))?;
    let mut bytes = Vec::new();
    emit(&header, configuration, &mut bytes)?;
    Ok(bytes)
}

fn prepare(
    configuration: &Configuration,
    options: &NerscOptions,
    lattice: &WholeLattice,
) -> Result<NerscHeader, NerscError> {
    let &NerscOptions { rows, floating_point, .. } = options;
    check_text("ENSEMBLE_ID", &options.ensemble_id)?;
    check_text("ENSEMBLE_LABEL", &options.ensemble_label)?;
    let stored = as_stored(configuration, rows, floating_point)
        .map_err(|source| NerscError::Links { source, checksum: None })?;
    let mut checksum = 0u32;
    encode(configuration.links(), rows, floating_point, |bytes| {
        add_to_checksum(&mut checksum, bytes, floating_point);
    });
    let mut sum = [i64::from(checksum)];
    lattice.communicator().sum(&mut sum).map_err(io::Error::from)?;
    let checksum = sum[0] as u32;
    Ok(NerscHeader {
        extents: lattice.extents(),
        rows,
        floating_point,
        link_trace: Some(lattice.link_trace(&stored).map_err(io::Error::from)?),
        plaquette: Some(lattice.plaquette(&stored).map_err(io::Error::from)?),
        checksum: Some(checksum),
        boundary: std::array::from_fn(|_| "PERIODIC".to_owned()),
        ensemble_id: options.ensemble_id.clone(),
        ensemble_label: options.ensemble_label.clone(),
        sequence_number: options.sequence_number.to_string(),
        creator: "lanefield".to_owned(),
        creator_hardware: "unspecified".to_owned(),
        creation_date: "unspecified".to_owned(),
        archive_date: "unspecified".to_owned(),
    })
}

/// A text must not end the header, or begin a line of it. Grid looks for END_HEADER anywhere in a line.
fn check_text(field: &'static str, value: &str) -> Result<(), NerscError> {
    let printable = value.bytes().all(|b| b == b' ' || b.is_ascii_graphic());
    if printable && value.len() <= 200 && !value.contains("END_HEADER") {
        Ok(())
    } else {
        Err(NerscError::BadText { field, value: value.to_owned() })
    }
}

fn emit(header: &NerscHeader, configuration: &Configuration, mut writer: impl Write) -> io::Result<()> {
    writer.write_all(header.to_text().as_bytes())?;
    let mut result = Ok(());
    let mut written = 0u64;
    encode(configuration.links(), header.rows, header.floating_point, |bytes| {
        if result.is_ok() {
            result = writer.write_all(bytes);
            written += bytes.len() as u64;
        }
    });
    debug_assert!(result.is_err() || written == data_length(header.extents, header.rows, header.floating_point));
    result
}

/// CHECKSUM: the wrapping sum of the 32-bit words, each read in the byte order of the file. The two halves of a double
/// may be taken in either order.
fn add_to_checksum(checksum: &mut u32, bytes: &[u8], floating_point: FloatingPoint) {
    let (words, _) = bytes.as_chunks::<4>();
    let sum = |word: fn([u8; 4]) -> u32| words.iter().fold(*checksum, |sum, &bytes| sum.wrapping_add(word(bytes)));
    *checksum = match floating_point.byte_order() {
        ByteOrder::Big => sum(u32::from_be_bytes),
        ByteOrder::Little => sum(u32::from_le_bytes),
    };
}
