//! A CSV table with a header. Cells are found by column, and errors name line and column.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use lanefield::reference::ensure;

use super::error::CountersError;
use super::units::number;

pub(super) struct Sheet {
    path: PathBuf,
    pub(super) header: Vec<String>,
    columns: HashMap<String, usize>,
    pub(super) rows: Vec<Row>,
}

pub(super) struct Row {
    line: u64,
    cells: csv::StringRecord,
}

impl Sheet {
    /// Reads a table. Skips the lines of Nsight Compute before it, which start with `==`.
    pub(super) fn parse(path: &Path, text: &str) -> Result<Self, CountersError> {
        let no_table = |reason: String| CountersError::unfit(path, format!("is not a CSV table: {reason}"));
        let (mut skipped, mut rest) = (0, text.trim_start_matches('\u{feff}'));
        while rest.starts_with("==") || rest.starts_with('\n') || rest.starts_with("\r\n") {
            rest = rest.split_once('\n').map_or("", |(_, rest)| rest);
            skipped += 1;
        }
        let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(rest.as_bytes());
        let in_line = |error: &csv::Error| match (error.position(), error.kind()) {
            (Some(at), csv::ErrorKind::UnequalLengths { expected_len, len, .. }) => {
                format!("line {} has {len} cells, and the header {expected_len}", at.line() + skipped)
            }
            (Some(at), _) => format!("line {}: {error}", at.line() + skipped),
            (None, _) => error.to_string(),
        };
        let header: Vec<String> =
            reader.headers().map_err(|error| no_table(in_line(&error)))?.iter().map(str::to_owned).collect();
        ensure!(!header.iter().all(String::is_empty), no_table("it is empty".to_owned()));
        let columns = header.iter().enumerate().rev().map(|(at, name)| (name.clone(), at)).collect();
        let mut rows = Vec::new();
        for record in reader.records() {
            let cells = record.map_err(|error| no_table(in_line(&error)))?;
            let line = cells.position().map_or(0, |at| at.line()) + skipped;
            rows.push(Row { line, cells });
        }
        Ok(Self { path: path.to_owned(), header, columns, rows })
    }

    pub(super) fn has(&self, column: &str) -> bool {
        self.columns.contains_key(column)
    }

    pub(super) fn text<'a>(&self, row: &'a Row, column: &str) -> &'a str {
        self.columns.get(column).and_then(|&at| row.cells.get(at)).unwrap_or_default()
    }

    /// The number in a column; `None` if the cell is empty or marked as not available, or if there is no such column.
    pub(super) fn number(&self, row: &Row, column: &str) -> Result<Option<f64>, CountersError> {
        match self.text(row, column) {
            "" | "n/a" | "N/A" | "nan" => Ok(None),
            text => match number(text) {
                Some(value) if value >= 0.0 => Ok(Some(value)),
                Some(_) => Err(self.wrong(row, column, "is negative")),
                None => Err(self.wrong(row, column, "is not a number")),
            },
        }
    }

    pub(super) fn wrong(&self, row: &Row, column: &str, reason: impl Into<String>) -> CountersError {
        CountersError::Cell {
            path: self.path.clone(),
            line: row.line,
            column: column.to_owned(),
            value: self.text(row, column).to_owned(),
            reason: reason.into(),
        }
    }

    pub(super) fn unknown(&self) -> CountersError {
        let columns = self.header.iter().take(12).map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
        let reason = format!(
            "is not a profile of a known kind: its columns are {columns}; known are rocprof (KernelName, or Name with Calls), rocprofv3 \
             (Kernel_Name) and Nsight Compute (ID with \"Kernel Name\")"
        );
        CountersError::unfit(&self.path, reason)
    }
}
