//! Residual histories as CSV, to be compared as integers, and the bar that shows a solve going on.

use std::io::{self, Write};
use std::path::Path;

use lanefield::io::atomic::{WriteError, write_atomically};

use super::output::bits;
use super::progress::ShareBar;
use super::ranks;

/// Writes `iteration,residual,residual_bits`. The bytes depend on the history alone.
pub fn write_history(path: Option<&Path>, history: &[f64]) -> Result<(), WriteError> {
    write(path, HEADER, history.iter().enumerate().map(row))
}

/// Writes `rhs,iteration,residual,residual_bits`, one right-hand side after the other.
pub fn write_batch_history<'a>(
    path: Option<&Path>,
    histories: impl Iterator<Item = &'a [f64]>,
) -> Result<(), WriteError> {
    let of_rhs = |(rhs, history): (usize, &'a [f64])| {
        history.iter().enumerate().map(row).map(move |row| [vec![rhs.to_string()], row].concat())
    };
    write(path, &["rhs", "iteration", "residual", "residual_bits"], histories.enumerate().flat_map(of_rhs))
}

/// The bytes that [`write_history`] writes.
pub fn history_bytes(history: &[f64]) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    records(&mut bytes, HEADER, history.iter().enumerate().map(row))?;
    Ok(bytes)
}

const HEADER: &[&str] = &["iteration", "residual", "residual_bits"];

fn row((iteration, &c): (usize, &f64)) -> Vec<String> {
    vec![iteration.to_string(), format!("{c:e}"), bits(c)]
}

fn write(path: Option<&Path>, header: &[&str], rows: impl Iterator<Item = Vec<String>>) -> Result<(), WriteError> {
    let Some(path) = path.filter(|_| ranks::is_first()) else { return Ok(()) };
    write_atomically(path, |writer| records(writer, header, rows))
}

fn records(writer: impl Write, header: &[&str], rows: impl Iterator<Item = Vec<String>>) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(writer);
    csv.write_record(header)?;
    for row in rows {
        csv.write_record(row)?;
    }
    csv.flush()
}

/// A bar on a terminal's standard error: the digits of the residual that are won, of those that are wanted.
pub struct Progress {
    bar: ShareBar,
    tolerance: f64,
    start: std::cell::Cell<f64>,
}

impl Progress {
    pub fn new(tolerance: f64) -> Self {
        Self { bar: ShareBar::new(), tolerance, start: std::cell::Cell::new(0.0) }
    }

    /// From a zero guess the first |r|² is |b|²; a resumed solve counts from its checkpoint.
    pub fn show(&self, iteration: usize, c: f64) {
        if self.start.get() == 0.0 {
            self.start.set(c);
        }
        let relative = (c / self.start.get()).sqrt();
        let message = format!("iteration {iteration}, |r|/|b| {relative:.2e}");
        self.bar.show(relative.ln() / self.tolerance.ln(), message);
    }

    pub fn end(&self) {
        self.bar.end();
    }
}
