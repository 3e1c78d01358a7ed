//! Reads and writes gauge configurations of any format. When reading, the first bytes of a file determine its format; when writing, its
//! name does. The command line, Python and C use these functions.

mod identify;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::error::Error as StdError;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use lanefield_reference::gauge::{Configuration, GaugeError, Projection, SU3_TOLERANCE};
use lanefield_reference::layout::Extents;
use serde_json::{Value, json};
use thiserror::Error;

use super::atomic::WriteError;
use super::claims;
pub use super::format::Format;
#[cfg(feature = "hdf5")]
use super::hdf5::{self, Hdf5Error};
use super::ildg::{self, IldgError, IldgHeader};
use super::milc::{self, MilcError, MilcHeader};
use super::nersc::{self, FloatingPoint, NerscError, NerscHeader, StoredRows};
use super::npy::{self, NpyError, Precision};
pub use super::open::is_stream;
use super::open::{OpenError, Reopenable};
use super::plain::{self, PlainError, PlainFile, PlainHeader};
use super::rows::{Demand, as_stored};
pub use super::sidecar::Provenance;
use super::sidecar::{self, ConfigurationInput, Sidecar, SidecarError, path_of};
use crate::comm::{CommError, WholeLattice};

/// The formats that can be read, for messages.
const READ: &str = "configurations are read in the formats of NERSC, the ILDG and SciDAC (LIME), MILC (version 5), openQCD, DD-αAMG, HiRep, NumPy (.npy) and HDF5";

/// Extensions, and the formats that files with such names are written in.
const EXTENSIONS: [(&str, Format); 8] = [
    ("nersc", Format::Nersc),
    ("lime", Format::Ildg),
    ("ildg", Format::Ildg),
    ("scidac", Format::Ildg),
    ("milc", Format::Milc),
    ("npy", Format::Npy),
    ("h5", Format::Hdf5),
    ("hdf5", Format::Hdf5),
];

impl Format {
    /// The format that the name of a file implies. Names without an extension, or with a number as in `ckpoint_lat.4000`, are NERSC files,
    /// and so are paths that are not regular files.
    ///
    /// # Errors
    /// [`ConfigurationError::Name`] for other extensions.
    pub fn of_name(path: &Path) -> Result<Self, ConfigurationError> {
        let extension = path.extension().map(OsStr::to_string_lossy).filter(|_| !is_stream(path));
        let Some(extension) = extension.filter(|text| !text.bytes().all(|byte| byte.is_ascii_digit())) else {
            return Ok(Self::Nersc);
        };
        let known = EXTENSIONS.into_iter().find(|(known, _)| extension.eq_ignore_ascii_case(known));
        known.map(|(_, format)| format).ok_or_else(|| ConfigurationError::Name { path: path.to_owned() })
    }

    /// The format of a file with this length and these first bytes.
    fn of_start(start: &[u8], length: u64) -> Option<Self> {
        match start {
            [0x45, 0x67, 0x89, 0xab, ..] => Some(Self::Ildg),
            [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => Some(Self::Npy),
            [0x89, b'H', b'D', b'F', ..] => Some(Self::Hdf5),
            _ if start.starts_with(b"BEGIN_HEADER") => Some(Self::Nersc),
            _ if milc::begins_so(start) => Some(Self::Milc),
            _ => PlainHeader::all_of(start).find(|header| header.length() == length).map(|header| header.format),
        }
    }
}

/// Why a configuration was not read or written. Messages name the file.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum ConfigurationError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("failed to read {}: {what}; {READ}", .path.display())]
    Unknown { path: PathBuf, what: String },
    #[error("failed to read {}: {problem}", .path.display())]
    Read { path: PathBuf, problem: Box<dyn StdError + Send + Sync> },
    #[error("{} is on {found}, not on {given}", .path.display())]
    OtherLattice { path: PathBuf, found: String, given: String },
    #[error(transparent)]
    Sidecar(#[from] SidecarError),
    #[error(
        "the name {} does not say its format: expected .nersc, .lime, .ildg, .scidac, .milc, .npy, .h5, .hdf5 or no extension, or a format that is named",
        .path.display()
    )]
    Name { path: PathBuf },
    #[error("configurations are not written in the format {0}")]
    NotWritten(Format),
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error("failed to write {}: {problem}", .path.display())]
    Unwritable { path: PathBuf, problem: Box<dyn StdError + Send + Sync> },
    #[error(transparent)]
    Communication(#[from] CommError),
}

/// The subject of an error of a format.
enum Sort {
    Opening(OpenError),
    Writing(WriteError),
    Content(Box<dyn StdError + Send + Sync>),
}

macro_rules! sorts {
    ($($error:ident),+) => {$(
        impl From<$error> for Sort {
            fn from(error: $error) -> Self {
                match error {
                    $error::Open(error) => Self::Opening(error),
                    $error::Write(error) => Self::Writing(error),
                    other => Self::Content(other.into()),
                }
            }
        }
    )+};
}
sorts!(NerscError, IldgError, MilcError, NpyError);
#[cfg(feature = "hdf5")]
sorts!(Hdf5Error);

impl From<PlainError> for Sort {
    fn from(error: PlainError) -> Self {
        match error {
            PlainError::Open(error) => Self::Opening(error),
            other => Self::Content(other.into()),
        }
    }
}

impl ConfigurationError {
    fn reading<E: Into<Sort>>(path: &Path) -> impl Fn(E) -> Self + '_ {
        |error| match error.into() {
            Sort::Opening(error) => error.into(),
            Sort::Writing(error) => error.into(),
            Sort::Content(problem) => Self::Read { path: path.to_owned(), problem },
        }
    }

    fn writing<E: Into<Sort>>(path: &Path) -> impl Fn(E) -> Self + '_ {
        |error| match error.into() {
            Sort::Opening(error) => error.into(),
            Sort::Writing(error) => error.into(),
            Sort::Content(problem) => Self::Unwritable { path: path.to_owned(), problem },
        }
    }

    /// What is wrong with the file, without its name.
    pub fn problem(&self) -> String {
        match self {
            Self::Unknown { what, .. } => what.clone(),
            Self::Read { problem, .. } | Self::Unwritable { problem, .. } => problem.to_string(),
            other => other.to_string(),
        }
    }
}

/// A gauge configuration, and what its file says about it.
#[derive(Clone, Debug)]
pub struct ConfigurationFile {
    /// The local volume of this rank.
    pub configuration: Configuration,
    /// The whole lattice.
    pub lattice: WholeLattice,
    /// What the file says.
    pub origin: Origin,
    /// Defects of its records or its sidecar that did not prevent reading it.
    pub problems: Vec<String>,
}

impl ConfigurationFile {
    /// The average plaquette of the whole lattice.
    pub fn plaquette(&self) -> Result<f64, CommError> {
        self.lattice.plaquette(&self.configuration)
    }
}

/// What the file of a configuration and its sidecar say about it.
#[derive(Clone, Debug)]
pub struct Origin {
    /// What the file says.
    pub header: Header,
    beside: Option<Provenance>,
}

/// What the file of a configuration says about it.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Header {
    Nersc(Box<NerscHeader>),
    Ildg(Box<IldgHeader>),
    Milc(MilcHeader),
    /// A file of openQCD, DD-αAMG or HiRep.
    Plain(PlainHeader),
    Npy(Precision),
    Hdf5(Precision),
}

impl Origin {
    /// The format of the file.
    pub fn format(&self) -> Format {
        match &self.header {
            Header::Nersc(_) => Format::Nersc,
            Header::Ildg(_) => Format::Ildg,
            Header::Milc(_) => Format::Milc,
            Header::Plain(header) => header.format,
            Header::Npy(_) => Format::Npy,
            Header::Hdf5(_) => Format::Hdf5,
        }
    }

    /// The numbers of the file; `None` for arrays, whose element type determines them.
    pub fn floating_point(&self) -> Option<FloatingPoint> {
        match &self.header {
            Header::Nersc(header) => Some(header.floating_point),
            Header::Ildg(header) => Some(header.floating_point),
            Header::Milc(header) => Some(milc::floating_point(header.byte_order)),
            Header::Plain(header) => Some(header.floating_point),
            Header::Npy(_) | Header::Hdf5(_) => None,
        }
    }

    /// The ensemble of the configuration, if the file or its sidecar says it. ILDG files written here have it in `<info>`.
    pub fn provenance(&self) -> Option<Provenance> {
        self.beside.clone().or_else(|| match &self.header {
            Header::Nersc(header) => Some(Provenance {
                ensemble_id: header.ensemble_id.clone(),
                ensemble_label: header.ensemble_label.clone(),
                sequence_number: header.sequence_number.clone(),
                lfn: None,
            }),
            Header::Ildg(header) => {
                let labels: Option<Provenance> =
                    header.info.as_deref().and_then(|info| serde_json::from_str(info).ok());
                let known = labels.is_some() || header.lfn.is_some();
                known.then(|| Provenance { lfn: header.lfn.clone(), ..labels.unwrap_or_default() })
            }
            Header::Milc(_) | Header::Plain(_) | Header::Npy(_) | Header::Hdf5(_) => None,
        })
    }
}

/// How a configuration is read.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ReadOptions {
    /// The lattice, for files that do not say it.
    pub lattice: Option<Extents>,
    /// Projects the links to SU(3), however far from it they are. Without it, links that are not within [`SU3_TOLERANCE`] are refused.
    pub projection: Option<Projection>,
}

/// Reads the configuration at `path`, and verifies everything that its file says about it. `path` may be a pipe.
pub fn read(path: &Path, options: ReadOptions) -> Result<ConfigurationFile, ConfigurationError> {
    read_on(path, options, |extents| Ok(WholeLattice::alone(extents)))
}

/// As [`read`], by several ranks. Each reads its local volume in the division that `divide` makes of the extents.
pub fn read_on<E: From<ConfigurationError>>(
    path: &Path,
    options: ReadOptions,
    divide: impl FnOnce(Extents) -> Result<WholeLattice, E>,
) -> Result<ConfigurationFile, E> {
    let file = Reopenable::open(path, is_known).map_err(ConfigurationError::from)?;
    let Some(format) = Format::of_start(&file.start, file.length) else {
        let what = identify::what_begins_so(&file.start, file.length);
        return Err(ConfigurationError::Unknown { path: path.to_owned(), what }.into());
    };
    let mut read = read_format(path, file.path(), format, options, divide)?;
    if !is_stream(path) {
        read.add_sidecar(path)?;
    }
    if let Some(given) = options.lattice.filter(|given| *given != read.lattice.extents()) {
        let (found, given) = (read.lattice.extents().to_string(), given.to_string());
        return Err(ConfigurationError::OtherLattice { path: path.to_owned(), found, given }.into());
    }
    Ok(match options.projection {
        None => read,
        Some(projection) => {
            let configuration = read.configuration.projected(projection);
            let failed = |problem: GaugeError| ConfigurationError::Read {
                path: path.to_owned(),
                problem: format!("after the projection ({projection}) {problem}").into(),
            };
            configuration.require_su3(SU3_TOLERANCE).map_err(failed)?;
            ConfigurationFile { configuration, ..read }
        }
    })
}

impl ConfigurationFile {
    fn new(configuration: Configuration, lattice: WholeLattice, header: Header) -> Self {
        let problems = if let Header::Ildg(header) = &header { header.problems.clone() } else { Vec::new() };
        Self { configuration, lattice, origin: Origin { header, beside: None }, problems }
    }

    /// Adds what the sidecar says. A NumPy array has no checksum of its own, and must be the one that the sidecar describes.
    fn add_sidecar(&mut self, path: &Path) -> Result<(), ConfigurationError> {
        let sidecar = match Sidecar::<Value>::read(path) {
            Ok(None) => return Ok(()),
            Ok(Some(sidecar)) => sidecar,
            Err(problem) => {
                self.problems.push(problem.to_string());
                return Ok(());
            }
        };
        let checked = if self.lattice.is_first() { sidecar.check(path) } else { Ok(()) };
        let is_other = self.lattice.communicator().any(checked.is_err())?;
        match checked {
            Err(error) if self.origin.format() == Format::Npy => return Err(error.into()),
            Err(error) => self.problems.push(error.to_string()),
            Ok(()) => {}
        }
        if !is_other {
            self.origin.beside = sidecar.provenance;
        }
        Ok(())
    }
}

/// Lists every defect of the file at `path`, one a line, and its format if it can be read. `lattice`: the lattice, for files that do not
/// say it.
pub fn check(path: &Path, lattice: Option<Extents>) -> Result<(Option<Format>, Vec<String>), ConfigurationError> {
    let file = Reopenable::open(path, is_known)?;
    let format = Format::of_start(&file.start, file.length);
    let reading = |problem| ConfigurationError::Read { path: path.to_owned(), problem };
    let defects = match format {
        Some(Format::Ildg) => ildg::check(file.path(), lattice).map_err(|error| reading(error.into()))?,
        Some(Format::Milc) => milc::check(file.path()).map_err(|error| reading(error.into()))?,
        _ => match read(file.path(), ReadOptions { lattice, projection: None }) {
            Ok(file) => return Ok((Some(file.origin.format()), file.problems)),
            Err(error @ ConfigurationError::Open(_)) => return Err(error),
            Err(error) => vec![error.problem()],
        },
    };
    Ok((format, defects))
}

/// Identifies a regular file by its first bytes: a format of configurations; or else a description, and how to get at its content.
pub fn identify(path: &Path) -> Option<Result<Format, String>> {
    let Reopenable { start, length, .. } = Reopenable::open(path, |_| false).ok().filter(|_| !is_stream(path))?;
    Some(Format::of_start(&start, length).ok_or_else(|| identify::what_begins_so(&start, length)))
}

/// Whether a pipe that begins with these bytes may contain a configuration.
fn is_known(start: &[u8]) -> bool {
    Format::of_start(start, u64::MAX).is_some() || PlainHeader::all_of(start).next().is_some()
}

fn read_format<E: From<ConfigurationError>>(
    name: &Path,
    path: &Path,
    format: Format,
    options: ReadOptions,
    divide: impl FnOnce(Extents) -> Result<WholeLattice, E>,
) -> Result<ConfigurationFile, E> {
    let demand = if options.projection.is_some() { Demand::Finite } else { Demand::Su3 };
    // A macro, because the types of errors differ.
    macro_rules! attempt {
        ($result:expr) => {
            $result.map_err(ConfigurationError::reading(name))?
        };
    }
    match format {
        Format::Nersc => {
            let lattice = divide(attempt!(nersc::read_header(path)).extents)?;
            let nersc::NerscFile { configuration, header } = attempt!(nersc::read_links(path, &lattice, demand));
            Ok(ConfigurationFile::new(configuration, lattice, Header::Nersc(Box::new(header))))
        }
        Format::Ildg => {
            let lattice = divide(attempt!(ildg::read_header(path, options.lattice)).extents)?;
            let ildg::IldgFile { configuration, header } = attempt!(ildg::read_links(path, &lattice, demand));
            Ok(ConfigurationFile::new(configuration, lattice, Header::Ildg(Box::new(header))))
        }
        Format::Milc => {
            let lattice = divide(attempt!(milc::read_header(path)).extents)?;
            let milc::MilcFile { configuration, header } = attempt!(milc::read_links(path, &lattice, demand));
            Ok(ConfigurationFile::new(configuration, lattice, Header::Milc(header)))
        }
        Format::OpenQcd | Format::DdAlphaAmg | Format::HiRep => {
            let PlainFile { configuration, header } = attempt!(plain::read(path, demand));
            let lattice = divide(header.extents)?;
            let configuration = attempt!(part_of(configuration, &lattice).map_err(PlainError::from));
            Ok(ConfigurationFile::new(configuration, lattice, Header::Plain(header)))
        }
        Format::Npy => {
            let header = attempt!(npy::read_header(path));
            let lattice = divide(attempt!(header.gauge_extents()))?;
            let configuration = attempt!(match lattice.part().is_part() {
                true => npy::read_gauge_part(path, lattice.part()),
                false => npy::read_gauge(path),
            });
            attempt!(demand.require(&configuration).map_err(NpyError::from));
            Ok(ConfigurationFile::new(configuration, lattice, Header::Npy(header.precision)))
        }
        #[cfg(feature = "hdf5")]
        Format::Hdf5 => {
            let array = attempt!(hdf5::read_complex(path, None));
            let precision = array.values.precision();
            let configuration = attempt!(array.into_gauge());
            let lattice = divide(configuration.extents())?;
            let configuration = attempt!(part_of(configuration, &lattice).map_err(NpyError::from));
            attempt!(demand.require(&configuration).map_err(NpyError::from));
            Ok(ConfigurationFile::new(configuration, lattice, Header::Hdf5(precision)))
        }
        #[cfg(not(feature = "hdf5"))]
        Format::Hdf5 => {
            let what = "it is an HDF5 file, which this build does not read (feature hdf5)".to_owned();
            Err(ConfigurationError::Unknown { path: name.to_owned(), what }.into())
        }
    }
}

/// The local volume of this rank, from a configuration that was read as a whole.
fn part_of(configuration: Configuration, lattice: &WholeLattice) -> Result<Configuration, GaugeError> {
    if lattice.part().is_part() { configuration.part(lattice.part()) } else { Ok(configuration) }
}

/// How a configuration is written. By default its name determines the format, and numbers are f64.
#[derive(Clone, Default, Debug)]
pub struct WriteOptions<'a> {
    /// The format; by default the one that the name implies.
    pub format: Option<Format>,
    /// The numbers of the file; by default those of the file that is converted, or else f64 (f32 for MILC).
    pub floating_point: Option<FloatingPoint>,
    /// Rows of links in a NERSC file; by default those of the file that is converted, or else 3.
    pub rows: Option<StoredRows>,
    /// The logical file name of an ILDG file; by default that of the file that is converted.
    pub lfn: Option<String>,
    /// The file that the configuration comes from.
    pub origin: Option<&'a Origin>,
    /// What was done to the links (`stout:0.1,3`), for the label of the ensemble; `None` if a file is converted.
    pub made_by: Option<String>,
    /// The content of its sidecar. Without it, a sidecar is written only if the file cannot name the ensemble.
    pub described: Option<Described>,
}

/// The command that made a configuration, for its sidecar: see [`Sidecar`].
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "they are those of Sidecar")]
pub struct Described {
    pub command: String,
    pub files: BTreeMap<String, String>,
    pub inputs: Value,
}

impl WriteOptions<'_> {
    /// The header of the file whose numbers are converted.
    fn converted(&self) -> Option<&Header> {
        self.origin.filter(|_| self.made_by.is_none()).map(|origin| &origin.header)
    }

    fn numbers(&self) -> Option<FloatingPoint> {
        self.floating_point.or_else(|| match self.converted()? {
            Header::Milc(_) => Some(FloatingPoint::F32Big),
            // Other programs expect the big-endian numbers of the other formats.
            Header::Plain(_) => None,
            _ => self.origin?.floating_point(),
        })
    }

    /// Refuses links that readers would not accept from such a file at `path`, since rounding to 32 bits or omitting third rows moves them
    /// too far from SU(3).
    pub fn require_storable(&self, path: &Path, configuration: &Configuration) -> Result<(), ConfigurationError> {
        let (rows, numbers) = match self.format.map_or_else(|| Format::of_name(path), Ok)? {
            Format::Nersc => (self.nersc().rows, self.nersc().floating_point),
            Format::Ildg if !self.ildg().double => (StoredRows::Three, FloatingPoint::F32Big),
            Format::Milc => (StoredRows::Three, FloatingPoint::F32Big),
            _ => return Ok(()),
        };
        let stored = as_stored(configuration, rows, numbers).map(drop);
        stored.map_err(|error| {
            let (rows, bits) = (if rows == StoredRows::Two { 2 } else { 3 }, 8 * numbers.size());
            let problem = format!("of links that are stored with {rows} rows of {bits}-bit numbers {error}").into();
            ConfigurationError::Unwritable { path: path.to_owned(), problem }
        })
    }

    /// The ensemble of the configuration, and what was done to it.
    fn provenance(&self) -> Option<Provenance> {
        let mut provenance = self.origin.and_then(Origin::provenance);
        if let Some(made_by) = &self.made_by {
            let Provenance { ensemble_label: label, lfn, .. } = provenance.get_or_insert_default();
            *label = if label.is_empty() { made_by.clone() } else { format!("{label} {made_by}") };
            *lfn = None;
        }
        if let Some(lfn) = &self.lfn {
            provenance.get_or_insert_default().lfn = Some(lfn.clone());
        }
        provenance
    }

    /// The parts of the provenance that the header cannot hold.
    fn unsaid(&self, format: Format) -> Option<Provenance> {
        let nersc = self.nersc();
        self.provenance().filter(|provenance| {
            let Provenance { ensemble_id, ensemble_label, sequence_number, lfn } = provenance;
            let default = nersc::NerscOptions::default();
            let said = match format {
                Format::Ildg => return false,
                Format::Nersc => &nersc,
                _ => &default,
            };
            let is_said = |text: &str, said: &str| text.is_empty() || text == said;
            !is_said(ensemble_id, &said.ensemble_id)
                || *ensemble_label != said.ensemble_label
                || !is_said(sequence_number, &said.sequence_number.to_string())
                || lfn.is_some()
        })
    }

    fn nersc(&self) -> nersc::NerscOptions {
        let mut options = nersc::NerscOptions::default();
        if let Some(Header::Nersc(header)) = self.converted() {
            options.rows = header.rows;
        }
        if let Some(Provenance { ensemble_id, ensemble_label, sequence_number, .. }) = self.provenance() {
            // The provenance is kept, as far as the writer of this format can express it.
            let sayable = |text: &str| text.len() <= 200 && text.bytes().all(|b| b == b' ' || b.is_ascii_graphic());
            if sayable(&ensemble_id) && sayable(&ensemble_label) {
                options.ensemble_id = if ensemble_id.is_empty() { options.ensemble_id } else { ensemble_id };
                options.ensemble_label = ensemble_label;
            }
            options.sequence_number = sequence_number.parse().unwrap_or(options.sequence_number);
        }
        options.rows = self.rows.unwrap_or(options.rows);
        options.floating_point = self.numbers().unwrap_or(options.floating_point);
        options
    }

    fn ildg(&self) -> ildg::IldgOptions {
        let double = self.numbers().is_none_or(|numbers| numbers.size() == 8);
        let mut options = ildg::IldgOptions { double, ..ildg::IldgOptions::default() };
        let mut provenance = self.provenance().unwrap_or_default();
        options.lfn = provenance.lfn.take();
        if let Some(Header::Ildg(header)) = self.converted() {
            options.info = header.info.clone().unwrap_or_default();
        } else if provenance != Provenance::default() {
            options.info = serde_json::to_string(&provenance).unwrap_or_default();
        }
        options
    }

    fn milc(&self) -> milc::MilcOptions {
        let mut options = milc::MilcOptions::default();
        if let Some(Header::Milc(header)) = self.origin.map(|origin| &origin.header) {
            options.time_stamp = header.time_stamp.clone();
        }
        if let Some(Header::Milc(header)) = self.converted() {
            options.byte_order = header.byte_order;
        }
        if let Some(numbers) = self.floating_point {
            options.byte_order = numbers.byte_order();
        }
        options
    }
}

/// Writes a configuration, whole or not at all. This rank has the local volume that `lattice` gives it. A path that is not a regular file
/// is written from beginning to end. A sidecar holds what the header cannot say about the ensemble; a sidecar that described another file
/// is removed.
pub fn write(
    path: &Path,
    configuration: &Configuration,
    lattice: &WholeLattice,
    options: &WriteOptions<'_>,
) -> Result<(), ConfigurationError> {
    let format = options.format.map_or_else(|| Format::of_name(path), Ok)?;
    let unsaid = options.unsaid(format);
    if lattice.is_first() {
        sidecar::remove(path)?;
    }
    write_file(path, configuration, lattice, options, format)?;
    let described = match (&options.described, &unsaid) {
        (None, None) => return Ok(()),
        _ if is_stream(path) => return Ok(()),
        (Some(described), _) => described.clone(),
        (None, Some(_)) => {
            let inputs = json!({ "configuration": ConfigurationInput::of(configuration, lattice)?, "settings": {} });
            Described { command: "config convert".to_owned(), files: BTreeMap::new(), inputs }
        }
    };
    if lattice.is_first() {
        let written = &claims::written_to(path);
        if written != path {
            claims::claim_new(&path_of(written), "the sidecar");
        }
        let array = (npy::gauge_shape(lattice.extents()), Precision::F64.dtype());
        let sidecar = Sidecar::new(written, array, &described.command, described.files, described.inputs)?;
        Sidecar { provenance: unsaid, ..sidecar }.write(written)?;
    }
    Ok(())
}

fn write_file(
    path: &Path,
    configuration: &Configuration,
    lattice: &WholeLattice,
    options: &WriteOptions<'_>,
    format: Format,
) -> Result<(), ConfigurationError> {
    let is_part = lattice.part().is_part();
    macro_rules! attempt {
        ($result:expr) => {
            $result.map_err(ConfigurationError::writing(path))
        };
    }
    match format {
        Format::Nersc if is_part => attempt!(nersc::write_part(path, configuration, &options.nersc(), lattice)),
        Format::Nersc => attempt!(nersc::write(path, configuration, &options.nersc())),
        Format::Ildg if is_part => attempt!(ildg::write_part(path, configuration, &options.ildg(), lattice)),
        Format::Ildg => attempt!(ildg::write(path, configuration, &options.ildg())),
        Format::Milc if is_part => attempt!(milc::write_part(path, configuration, &options.milc(), lattice)),
        Format::Milc => attempt!(milc::write(path, configuration, &options.milc())),
        Format::Npy => {
            attempt!(configuration.require_su3(SU3_TOLERANCE).map_err(NpyError::from))?;
            let mut links = lattice.arrays(1, |_| Ok(Cow::Borrowed(configuration.links())));
            match lattice.is_first() {
                false => Ok(()),
                true => {
                    let shape = npy::gauge_shape(lattice.extents());
                    attempt!(npy::write_complex_in_turn::<f64>(path, &shape, |take| links.rest(take)))
                }
            }
        }
        #[cfg(feature = "hdf5")]
        Format::Hdf5 => {
            attempt!(configuration.require_su3(SU3_TOLERANCE).map_err(NpyError::from))?;
            let Some(links) = lattice.gathered(configuration.links())? else { return Ok(()) };
            let values = npy::ComplexValues::F64(links);
            let array = npy::ComplexArray { shape: npy::gauge_shape(lattice.extents()), values };
            attempt!(hdf5::write_complex(path, "data", &array))
        }
        other => Err(ConfigurationError::NotWritten(other)),
    }
}
