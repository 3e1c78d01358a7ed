//! Residual histories as CSV, to be compared bit for bit, and the bar that shows the progress of a solve.

use std::path::Path;

use lanefield::io::atomic::WriteError;

use crate::csv_output::{records, with_bits, write_csv};
use crate::progress::ShareBar;

/// Writes `iteration,residual,residual_bits`.
pub fn write_history(path: Option<&Path>, history: &[f64]) -> Result<(), WriteError> {
    write_csv(path, HEADER, history.iter().enumerate().map(row))
}

/// Writes `rhs,iteration,residual,residual_bits`, one right-hand side after the other.
pub fn write_batch_history<'a>(
    path: Option<&Path>,
    histories: impl Iterator<Item = &'a [f64]>,
) -> Result<(), WriteError> {
    let of_rhs = |(rhs, history): (usize, &'a [f64])| {
        history.iter().enumerate().map(row).map(move |row| [vec![rhs.to_string()], row].concat())
    };
    write_csv(path, ["rhs"].into_iter().chain(HEADER), histories.enumerate().flat_map(of_rhs))
}

/// The bytes that [`write_history`] writes.
pub fn history_bytes(history: &[f64]) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    records(&mut bytes, HEADER, history.iter().enumerate().map(row))?;
    Ok(bytes)
}

const HEADER: [&str; 3] = ["iteration", "residual", "residual_bits"];

fn row((iteration, &c): (usize, &f64)) -> Vec<String> {
    let [decimal, bits] = with_bits(Some(c));
    vec![iteration.to_string(), decimal, bits]
}

/// A bar on a terminal's standard error: how many of the requested digits the residual has reached.
pub struct Progress {
    bar: ShareBar,
    tolerance: f64,
    start: std::cell::Cell<f64>,
}

impl Progress {
    pub fn new(tolerance: f64) -> Self {
        Self { bar: ShareBar::new(), tolerance, start: std::cell::Cell::new(0.0) }
    }

    /// With a zero guess the first |r|² is |b|². A resumed solve counts from its checkpoint.
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
