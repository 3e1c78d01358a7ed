//! Writes an ILDG file with the records of SciDAC, as QIO and Grid do. The counterpart is `reader.rs`. Output is deterministic: the file
//! depends only on the links and the options, and its date is 1 January 1970.

use std::io::{self, Write};
use std::path::Path;

use lanefield_reference::gauge::Configuration;
use lanefield_reference::layout::Extents;

use super::xml::escaped;
use super::{
    CHECKSUM, Checksums, DATA, FILE, FORMAT, IldgError, LFN, PRIVATE_FILE, PRIVATE_RECORD, RECORD, site_bytes,
};
use crate::comm::WholeLattice;
use crate::io::atomic::{write_atomically, write_together};
use crate::io::lime::{self, write_record};
use crate::io::rows::{SitesOfFile, as_stored, each_site};
use crate::io::stored_links::{FloatingPoint, StoredRows, encode};

/// How a configuration is written, and the additional content of its records.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IldgOptions {
    /// Whether numbers have 64 bits; otherwise 32.
    pub double: bool,
    /// The logical file name, if there is to be one.
    pub lfn: Option<String>,
    /// The text of `<info>` in usqcdInfo.
    pub info: String,
}

impl Default for IldgOptions {
    fn default() -> Self {
        Self { double: true, lfn: None, info: String::new() }
    }
}

impl IldgOptions {
    fn floating_point(&self) -> FloatingPoint {
        if self.double { FloatingPoint::F64Big } else { FloatingPoint::F32Big }
    }
}

/// Writes `configuration` to a file at `path`, whole or not at all.
///
/// # Errors
/// [`IldgError::Links`] if the links are not finite or not in SU(3), so that [`super::read`] would refuse the file; [`IldgError::BadText`];
/// [`IldgError::Write`].
pub fn write(path: &Path, configuration: &Configuration, options: &IldgOptions) -> Result<(), IldgError> {
    let frame = RecordFrame::of(configuration, options, &WholeLattice::alone(configuration.extents()))?;
    Ok(write_atomically(path, |writer| frame.write(configuration, writer))?)
}

/// The bytes that [`write()`] would write.
pub fn to_bytes(configuration: &Configuration, options: &IldgOptions) -> Result<Vec<u8>, IldgError> {
    let frame = RecordFrame::of(configuration, options, &WholeLattice::alone(configuration.extents()))?;
    let mut bytes = Vec::new();
    frame.write(configuration, &mut bytes)?;
    Ok(bytes)
}

/// As [`write()`], by several ranks: each writes the sites of its local volume. The bytes of the file do not depend on the number of ranks.
/// A failure on one rank is a failure on all.
pub fn write_part(
    path: &Path,
    configuration: &Configuration,
    options: &IldgOptions,
    lattice: &WholeLattice,
) -> Result<(), IldgError> {
    let frame = RecordFrame::of(configuration, options, lattice)?;
    let written = write_together(path, lattice, |mut file| {
        let data = frame.data_length();
        if lattice.is_first() {
            file.write_all(&frame.before)?;
        }
        let start = frame.before.len() as u64;
        let mut sites = SitesOfFile::new(file, start, site_bytes(frame.floating_point), frame.extents);
        if lattice.is_first() {
            sites.write_at(start + data, &frame.after)?;
        }
        sites.write_links(configuration, StoredRows::Three, frame.floating_point)
    });
    Ok(written?)
}

/// The records before the links and after them.
struct RecordFrame {
    extents: Extents,
    floating_point: FloatingPoint,
    before: Vec<u8>,
    after: Vec<u8>,
}

const XML: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>";

impl RecordFrame {
    fn of(configuration: &Configuration, options: &IldgOptions, lattice: &WholeLattice) -> Result<Self, IldgError> {
        let (extents, floating_point) = (lattice.extents(), options.floating_point());
        check_text("the logical file name", options.lfn.as_deref().unwrap_or_default())?;
        check_text("info", &options.info)?;
        let stored = as_stored(configuration, StoredRows::Three, floating_point)?;
        let mut sums = Checksums::default();
        each_site(configuration, floating_point, |site, bytes| sums.add(site, bytes));
        let sums = sums.merged(lattice).map_err(io::Error::from)?;
        let plaquette = lattice.plaquette(&stored).map_err(io::Error::from)?;
        let link_trace = lattice.link_trace(&stored).map_err(io::Error::from)?;

        let (letter, bits) = if options.double { ('D', 64) } else { ('F', 32) };
        let [x, y, z, t] = extents.as_array();
        let private_file = format!(
            "{XML}<scidacFile><version>1.1</version><spacetime>4</spacetime><dims>{x} {y} {z} {t} </dims><volfmt>0</volfmt></scidacFile>"
        );
        let file = format!("{XML}<title>Lanefield ILDG archival gauge configuration</title>");
        let private_record = format!(
            "{XML}<scidacRecord><version>1.1</version><date>Thu Jan  1 00:00:00 1970 UTC</date><recordtype>0</recordtype>\
             <datatype>QDP_{letter}3_ColorMatrix</datatype><precision>{letter}</precision><colors>3</colors><spins>1</spins><typesize>{}</typesize>\
             <datacount>4</datacount></scidacRecord>",
            18 * bits / 8
        );
        let record = format!(
            "{XML}<usqcdInfo><version>1.0</version><plaq>{plaquette}</plaq><linktr>{link_trace}</linktr><info>{}</info></usqcdInfo>",
            escaped(&options.info)
        );
        let format = format!(
            "{XML}<ildgFormat xmlns=\"http://www.lqcd.org/ildg\" xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" \
             xsi:schemaLocation=\"http://www.lqcd.org/ildg/filefmt.xsd\"><version>1.0</version><field>su3gauge</field><precision>{bits}</precision>\
             <lx>{x}</lx><ly>{y}</ly><lz>{z}</lz><lt>{t}</lt></ildgFormat>"
        );
        let checksum = format!(
            "{XML}<scidacChecksum><version>1.0</version><suma>{:x}</suma><sumb>{:x}</sumb></scidacChecksum>",
            sums.a, sums.b
        );

        let (mut before, mut after) = (Vec::new(), Vec::new());
        let mut put = |kind: &str, ends, text: &str| write_record(&mut before, kind, ends, text.as_bytes());
        put(PRIVATE_FILE, [true, false], &private_file)?;
        put(FILE, [false, true], &file)?;
        put(PRIVATE_RECORD, [true, false], &private_record)?;
        put(RECORD, [false, false], &record)?;
        put(FORMAT, [false, false], &format)?;
        if let Some(lfn) = &options.lfn {
            put(LFN, [false, false], lfn)?;
        }
        let length = data_length(extents, floating_point);
        before.extend(lime::header(DATA[0], [false, false], length));
        after.extend(lime::padding(length));
        write_record(&mut after, CHECKSUM, [false, true], checksum.as_bytes())?;
        Ok(Self { extents, floating_point, before, after })
    }

    fn data_length(&self) -> u64 {
        data_length(self.extents, self.floating_point)
    }

    fn write(&self, configuration: &Configuration, writer: &mut dyn Write) -> io::Result<()> {
        writer.write_all(&self.before)?;
        let mut result = Ok(());
        encode(configuration.links(), StoredRows::Three, self.floating_point, |bytes| {
            if result.is_ok() {
                result = writer.write_all(bytes);
            }
        });
        result?;
        writer.write_all(&self.after)
    }
}

fn data_length(extents: Extents, floating_point: FloatingPoint) -> u64 {
    extents.volume() as u64 * site_bytes(floating_point) as u64
}

fn check_text(field: &'static str, value: &str) -> Result<(), IldgError> {
    match value.len() <= 1000 && value.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()) {
        true => Ok(()),
        false => Err(IldgError::BadText { field, value: value.to_owned() }),
    }
}
