//! The input of a report: JSON printed by a command, or a trace.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use thiserror::Error;

use crate::Kind;

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReportError {
    #[error("failed to read {}: {source}", .path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{} is not JSON: {reason}; expected the output of a command with --json, or a --trace", .path.display())]
    NoJson { path: PathBuf, reason: String },
    #[error("{} does not say what it is: its JSON has no \"kind\" at the top; expected the output of a command with --json, or a --trace", .path.display())]
    NoKind { path: PathBuf },
    #[error("{} is of kind '{kind}', which this version does not know: expected one of {}", .path.display(), Kind::ALL.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", "))]
    UnknownKind { path: PathBuf, kind: String },
    #[error("{} has schema {found} of kind '{}', and this version reads {}: print it again with this version", .path.display(), .kind.name(), .kind.schema())]
    OtherSchema { path: PathBuf, kind: Kind, found: String },
    #[error("failed to write the report: {0}")]
    Template(#[from] minijinja::Error),
}

#[derive(Clone, Debug)]
pub struct Document {
    pub name: String,
    pub kind: Kind,
    pub value: Value,
}

impl Document {
    pub fn read(path: &Path) -> Result<Self, ReportError> {
        let text =
            lanefield::bounded::read(path).map_err(|source| ReportError::Read { path: path.to_owned(), source })?;
        Self::parse(path, &text)
    }

    pub fn parse(path: &Path, text: &[u8]) -> Result<Self, ReportError> {
        let value: Value = serde_json::from_slice(text)
            .map_err(|error| ReportError::NoJson { path: path.to_owned(), reason: error.to_string() })?;
        let is_event = |event: &Value| event["ph"].is_string();
        let value = match value {
            // Chrome's format may also be just the array of events.
            Value::Array(events) if !events.is_empty() && events.iter().all(is_event) => {
                json!({ "traceEvents": events })
            }
            value => value,
        };
        let kind = match (&value["kind"], &value["traceEvents"]) {
            // Traces are in Chrome's format, and have no schema of ours.
            (_, Value::Array(_)) => Kind::Trace,
            (Value::String(kind), _) => {
                let unknown = || ReportError::UnknownKind { path: path.to_owned(), kind: kind.clone() };
                let kind = Kind::of(kind).filter(|kind| *kind != Kind::Trace).ok_or_else(unknown)?;
                if value["schema"] != kind.schema() {
                    let found = value.get("schema").map_or("none".to_owned(), Value::to_string);
                    return Err(ReportError::OtherSchema { path: path.to_owned(), kind, found });
                }
                kind
            }
            _ => return Err(ReportError::NoKind { path: path.to_owned() }),
        };
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        Ok(Self { name, kind, value })
    }
}
