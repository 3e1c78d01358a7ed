//! Files that are opened to be read: regular ones, whose length is known before anything is read of them.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why a file was not opened. Messages are fragments.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum OpenError {
    /// The system refused.
    #[error("cannot read {}: {source}", .path.display())]
    System { path: PathBuf, source: io::Error },
    /// The path does not name a regular file.
    #[error("{} is not a file", .path.display())]
    NotAFile { path: PathBuf },
}

/// A regular file and its length.
pub(super) fn open(path: &Path) -> Result<(File, u64), OpenError> {
    let refused = |source| OpenError::System { path: path.to_owned(), source };
    // Asked before the file is opened: opening a pipe would wait for its writer.
    let metadata = fs::metadata(path).map_err(refused)?;
    if !metadata.is_file() {
        return Err(OpenError::NotAFile { path: path.to_owned() });
    }
    Ok((File::open(path).map_err(refused)?, metadata.len()))
}

/// The first four bytes of a regular file, which tell formats apart; none of one that cannot be read or is shorter.
pub(super) fn first_bytes(path: &Path) -> Option<[u8; 4]> {
    let mut bytes = [0; 4];
    open(path).ok()?.0.read_exact(&mut bytes).ok()?;
    Some(bytes)
}
