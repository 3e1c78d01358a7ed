//! Tables as CSV. The bytes depend only on the cells.

use std::io::{self, Write};
use std::path::Path;

use lanefield::io::atomic::{WriteError, write_atomically};

use super::numbers::bits;
use super::ranks::is_first;

/// Writes a header and rows to a file, if one is requested. Rank 0 writes it.
pub fn write_csv(
    path: Option<&Path>,
    header: impl IntoIterator<Item: AsRef<[u8]>>,
    rows: impl Iterator<Item = Vec<String>>,
) -> Result<(), WriteError> {
    let Some(path) = path.filter(|_| is_first()) else { return Ok(()) };
    write_atomically(path, |writer| records(writer, header, rows))
}

/// The bytes that [`write_csv`] writes.
pub fn records(
    writer: impl Write,
    header: impl IntoIterator<Item: AsRef<[u8]>>,
    rows: impl Iterator<Item = Vec<String>>,
) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(writer);
    csv.write_record(header)?;
    for row in rows {
        csv.write_record(row)?;
    }
    csv.flush()
}

/// The columns of numbers, each followed by that of its 16 hex digits.
pub fn columns_with_bits<'a>(names: &'a [&'a str]) -> impl Iterator<Item = String> + 'a {
    names.iter().flat_map(|name| [(*name).to_owned(), format!("{name}_bits")])
}

/// A number and its 16 hex digits, or two empty cells.
pub fn with_bits(number: Option<f64>) -> [String; 2] {
    [decimal(number), number.map_or_else(String::new, bits)]
}

/// A number, or an empty cell.
pub fn decimal(number: Option<f64>) -> String {
    number.map_or_else(String::new, |number| format!("{number:e}"))
}
