//! One HTML file of what the laboratory's commands gave as JSON: machine, roofline, shares of bandwidth, optimisations one after the other,
//! occupancy, counters, hotspots. It loads nothing from anywhere. A document is known by its `kind`; of a kind that is not known here it shows what
//! is there, as facts and tables.
//!
//! | file | subject |
//! |---|---|
//! | `sections.rs` | what is shown of each kind of document |
//! | `roofline.rs`, `bars.rs`, `curves.rs`, `timeline.rs` | charts, as numbers for the template; `frame.rs`: the plane of two of them |
//! | `table.rs`, `words.rs` | tables of any rows; numbers and names for people |
//! | `report.html`, `report.css`, `report.js` | the template, which escapes all text |

mod bars;
mod curves;
mod frame;
mod roofline;
mod sections;
mod table;
#[cfg(test)]
mod tests;
mod timeline;
mod words;

use std::path::{Path, PathBuf};

use minijinja::{AutoEscape, Environment, context};
use serde_json::{Value, json};
use thiserror::Error;

/// Why there is no report. Messages name the file.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReportError {
    /// A file cannot be read.
    #[error("failed to read {}: {source}", .path.display())]
    Read {
        /// As given.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A file is no JSON.
    #[error("{} is no JSON: {reason}; give what a command printed with --json, or a --trace", .path.display())]
    NoJson {
        /// As given.
        path: PathBuf,
        /// What is wrong, and where.
        reason: String,
    },
    /// A file is no document of the laboratory.
    #[error(
        "{} does not say what it is: its JSON has no \"kind\" at the top; give what a command of this version printed with --json (peak, bench, tune, \
         doctor, verify, guidelines, occupancy, access, estimate, counters), or a --trace", .path.display()
    )]
    NoKind {
        /// As given.
        path: PathBuf,
    },
    /// The template failed: none that occurs.
    #[error("failed to write the report: {0}")]
    Template(#[from] minijinja::Error),
}

/// A JSON document of a command.
#[derive(Clone, Debug)]
pub struct Document {
    /// The name of its file.
    pub name: String,
    /// The command that made it: `peak`, `bench sprint`, `trace`.
    pub kind: String,
    /// All of it.
    pub value: Value,
}

impl Document {
    /// Reads a document.
    ///
    /// # Errors
    /// [`ReportError`], with the file's name.
    pub fn read(path: &Path) -> Result<Self, ReportError> {
        let text = std::fs::read(path).map_err(|source| ReportError::Read { path: path.to_owned(), source })?;
        Self::parse(path, &text)
    }

    /// The document that a file holds.
    ///
    /// # Errors
    /// [`ReportError`], with the file's name.
    pub fn parse(path: &Path, text: &[u8]) -> Result<Self, ReportError> {
        let value: Value = serde_json::from_slice(text)
            .map_err(|error| ReportError::NoJson { path: path.to_owned(), reason: error.to_string() })?;
        let is_event = |event: &Value| event["ph"].is_string();
        let value = match value {
            // Chrome's format may also be the array of events alone.
            Value::Array(events) if !events.is_empty() && events.iter().all(is_event) => {
                json!({ "traceEvents": events })
            }
            value => value,
        };
        let kind = match (&value["kind"], &value["traceEvents"]) {
            (Value::String(kind), _) if !kind.trim().is_empty() => kind.clone(),
            // A Chrome trace of another program.
            (_, Value::Array(_)) => "trace".to_owned(),
            _ => return Err(ReportError::NoKind { path: path.to_owned() }),
        };
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        Ok(Self { name, kind, value })
    }
}

/// The report as one HTML file.
///
/// # Errors
/// [`ReportError::Template`].
pub fn render(title: &str, documents: &[Document]) -> Result<String, ReportError> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.add_template("report.html", include_str!("report.html"))?;
    let page = environment.get_template("report.html")?.render(context! {
        title,
        style => include_str!("report.css"),
        script => include_str!("report.js"),
        sections => minijinja::Value::from_serialize(sections::all(documents)),
        version => env!("CARGO_PKG_VERSION"),
    })?;
    Ok(page)
}
