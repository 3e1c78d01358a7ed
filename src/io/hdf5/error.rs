//! Errors of reading and writing HDF5 files, and how the names in a file are shown.

use std::io;

use hdf5_pure::FormatError;
use thiserror::Error;

use crate::io::atomic::WriteError;
use crate::io::npy::show_shape;
use crate::io::open::OpenError;

/// The maximum number of groups that are searched for a dataset.
pub(super) const MOST_GROUPS: usize = 10_000;

/// The maximum number of datasets that a message names.
const MOST_NAMED: usize = 8;

/// Why an array was not read or written.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum Hdf5Error {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("not an HDF5 file: its signature is not at byte 0, 512, 1024, …")]
    NotHdf5,
    #[error("the HDF5 file cannot be read: {}", one_line(&.0.to_string()))]
    Format(hdf5_pure::Error),
    #[error("no thread with a stack of 256 MiB can be started to read the HDF5 file: {0}")]
    Thread(io::Error),
    #[error("the HDF5 file cannot be read: its parser stopped at unexpected data")]
    Parser,
    #[error("the groups of the file cannot be searched ({}); name a dataset that is there", one_line(&.0.to_string()))]
    Search(hdf5_pure::Error),
    #[error("no dataset {dataset:?} in the file; it has {}", listed(.there))]
    NotFound { dataset: String, there: Vec<String> },
    #[error("no dataset of complex numbers in the file; it has {}", listed(.there))]
    NoneComplex { there: Vec<String> },
    #[error("{} datasets of complex numbers are in the file; name one of {}", .names.len(), listed(.names))]
    Several { names: Vec<String> },
    #[error("the file has more than {MOST_GROUPS} groups to search; name the dataset")]
    TooManyGroups,
    #[error("dataset {dataset:?} is damaged: its numbers do not match its attribute lanefield_sha256")]
    Damaged { dataset: String },
    #[error(
        "dataset {dataset:?} is {found}; its elements should be compounds {{r, i}} of two f32 or two f64, \
         or floats with two or more axes, the last of 2"
    )]
    NotComplex { dataset: String, found: String },
    #[error("dataset {dataset:?} was not written: {found} of its {expected} {unit} are in the file")]
    Unwritten { dataset: String, found: u64, expected: u64, unit: &'static str },
    #[error("the numbers of dataset {dataset:?} {reason}")]
    Storage { dataset: String, reason: String },
    #[error("dataset {dataset:?} of shape {} needs more bytes than the {length} of the file hold", show_shape(.shape))]
    TooLarge { dataset: String, shape: Vec<u64>, length: u64 },
    #[error("not enough memory for {bytes} bytes of an array of shape {}", show_shape(.shape))]
    OutOfMemory { shape: Vec<u64>, bytes: u64 },
    #[error("a dataset cannot be called {0:?}; it should be a name, or names of groups and a name, as a/b/c")]
    Name(String),
    #[error("shape {} has {expected} elements, not {found}", show_shape(.shape))]
    Length { shape: Vec<u64>, expected: String, found: usize },
    #[error(transparent)]
    Write(#[from] WriteError),
}

impl From<hdf5_pure::Error> for Hdf5Error {
    fn from(error: hdf5_pure::Error) -> Self {
        match error {
            hdf5_pure::Error::Format(FormatError::SignatureNotFound) => Self::NotHdf5,
            other => Self::Format(other),
        }
    }
}

/// The first few names, and the number of the others.
fn listed(names: &[String]) -> String {
    let shown: Vec<&str> = names.iter().take(MOST_NAMED).map(String::as_str).collect();
    match names.len() {
        0 => "none".to_owned(),
        n if n > MOST_NAMED => format!("{} and {} more", shown.join(", "), n - MOST_NAMED),
        _ => shown.join(", "),
    }
}

/// Text from a file in a form that fits a message: short, without control characters.
pub(super) fn one_line(text: &str) -> String {
    const MOST: usize = 80;
    let mut line: String = text.chars().take(MOST).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if text.chars().nth(MOST).is_some() {
        line.push('…');
    }
    line
}
