//! Descriptions of machines, clusters and workloads, which are numbers in TOML files, and the checks of these files.

use serde::de::DeserializeOwned;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum DescriptionError {
    #[error("{what} cannot be read: {reason}")]
    File { what: String, reason: String },
    #[error("{what} says {name} = {value}: expected {expected}")]
    Value { what: String, name: String, value: f64, expected: &'static str },
    #[error("no {what} '{name}': use {known}, or a file that ends in .toml")]
    Unknown { what: &'static str, name: String, known: String },
    #[error("{what} has no work: give levels, lines, fetches, register-bytes, instructions or regroupings above 0")]
    NoWork { what: String },
}

impl DescriptionError {
    /// A file that does not have the expected format; the reason is one line.
    pub(crate) fn file(what: &str, reason: impl ToString) -> Self {
        Self::File { what: what.to_owned(), reason: reason.to_string().trim().replace('\n', " ") }
    }

    pub(crate) fn value(what: &str, name: &str, value: f64, expected: &'static str) -> Self {
        Self::Value { what: what.to_owned(), name: name.to_owned(), value, expected }
    }

    /// Returns an error for the first number that is out of range.
    pub(crate) fn check(
        what: &str,
        numbers: &[(&str, f64)],
        is_sound: impl Fn(f64) -> bool,
        expected: &'static str,
    ) -> Result<(), Self> {
        let wrong = numbers.iter().find(|(_, value)| !is_sound(*value));
        wrong.map_or(Ok(()), |(name, value)| Err(Self::value(what, name, *value, expected)))
    }
}

pub trait Description: DeserializeOwned + Clone {
    /// Checks every number; `what` names the description in errors.
    fn check(&self, what: &str) -> Result<(), DescriptionError>;

    /// Parses one; `what` names it in errors.
    fn parse(what: &str, text: &str) -> Result<Self, DescriptionError> {
        let read: Self = lanefield::toml_text::from_str(text).map_err(|error| DescriptionError::file(what, error))?;
        read.check(what)?;
        Ok(read)
    }
}

/// The descriptions in files that ship, by name. A test checks that they are valid.
pub(crate) fn shipped<T: Description>(files: &[(&'static str, &str)]) -> Vec<(&'static str, T)> {
    files.iter().filter_map(|(name, text)| Some((*name, T::parse(name, text).ok()?))).collect()
}

/// The description with this name, ignoring case; `others` are further valid names.
pub(crate) fn named<T: Clone>(
    what: &'static str,
    shipped: &[(&'static str, T)],
    others: &[&'static str],
    name: &str,
) -> Result<T, DescriptionError> {
    let found = shipped.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.map(|(_, known)| known.clone()).ok_or_else(|| {
        let known: Vec<&str> = shipped.iter().map(|(known, _)| *known).chain(others.iter().copied()).collect();
        DescriptionError::Unknown { what, name: name.to_owned(), known: known.join(", ") }
    })
}
