//! Opens files for reading. A regular file has a known length before it is read. Anything else is first copied into a regular file.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use lanefield_reference::ensure;
use tempfile::NamedTempFile;
use thiserror::Error;

/// Why a file was not opened. Messages are fragments.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum OpenError {
    #[error("cannot read {}: {source}", .path.display())]
    System { path: PathBuf, source: io::Error },
    #[error("{} is not a file", .path.display())]
    NotAFile { path: PathBuf },
    #[error(
        "cannot copy {} into a temporary file in {}: {source}; set TMPDIR to another directory",
        .path.display(), std::env::temp_dir().display()
    )]
    Spool { path: PathBuf, source: io::Error },
}

/// Whether a path names a pipe, a device, or a file that another program opened for this one (`/dev/stdout`, wherever it leads). These can
/// be read or written once, and cannot be replaced.
pub fn is_stream(path: &Path) -> bool {
    let opened = ["/dev/stdin", "/dev/stdout", "/dev/stderr"].map(Path::new).contains(&path)
        || ["/dev/fd", "/proc/self/fd"].iter().any(|directory| path.starts_with(directory));
    opened || path.metadata().is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

/// A regular file and its length.
pub(super) fn open(path: &Path) -> Result<(File, u64), OpenError> {
    let refused = |source| OpenError::System { path: path.to_owned(), source };
    // Checked before the file is opened, since opening a pipe would wait for its writer.
    let metadata = fs::metadata(path).map_err(refused)?;
    ensure!(metadata.is_file(), OpenError::NotAFile { path: path.to_owned() });
    Ok((File::open(path).map_err(refused)?, metadata.len()))
}

/// The first four bytes of a regular file, which distinguish formats; `None` if it is shorter or cannot be read.
#[cfg(feature = "hdf5")]
pub(super) fn first_bytes(path: &Path) -> Option<[u8; 4]> {
    let mut bytes = [0; 4];
    open(path).ok()?.0.read_exact(&mut bytes).ok()?;
    Some(bytes)
}

/// Whether a NumPy array or an HDF5 file begins with these bytes.
pub fn begins_an_array(start: &[u8]) -> bool {
    [&b"\x93NUMPY"[..], b"\x89HDF"].iter().any(|magic| start.starts_with(magic))
}

/// A file that can be opened repeatedly, and its first bytes.
#[derive(Debug)]
pub struct Reopenable {
    path: PathBuf,
    copy: Option<NamedTempFile>,
    /// At most [`Self::START`] bytes.
    pub(super) start: Vec<u8>,
    pub(super) length: u64,
}

impl Reopenable {
    const START: u64 = 512;

    /// Opens the file at `path`. From a pipe or a device the first bytes are read. If `wanted` accepts them, the rest is copied into a
    /// temporary file.
    pub fn open(path: &Path, wanted: impl FnOnce(&[u8]) -> bool) -> Result<Self, OpenError> {
        let refused = |source| OpenError::System { path: path.to_owned(), source };
        let metadata = fs::metadata(path).map_err(refused)?;
        ensure!(!metadata.is_dir(), OpenError::NotAFile { path: path.to_owned() });
        let (mut file, mut start) = (File::open(path).map_err(refused)?, Vec::new());
        (&file).take(Self::START).read_to_end(&mut start).map_err(refused)?;
        let path = path.to_owned();
        if metadata.is_file() {
            return Ok(Self { path, copy: None, start, length: metadata.len() });
        }
        if !wanted(&start) {
            let length = start.len() as u64;
            return Ok(Self { path, copy: None, start, length });
        }
        let mut copied = || {
            let mut copy = NamedTempFile::new()?;
            copy.write_all(&start)?;
            let length = start.len() as u64 + io::copy(&mut file, &mut copy)?;
            Ok((copy, length))
        };
        match copied() {
            Ok((copy, length)) => Ok(Self { path, copy: Some(copy), start, length }),
            Err(source) => Err(OpenError::Spool { path, source }),
        }
    }

    /// The path at which it can be opened.
    pub fn path(&self) -> &Path {
        self.copy.as_ref().map_or(&self.path, NamedTempFile::path)
    }
}
