//! The table of a verification, whose rows are printed while it runs.

use lanefield::verify::{Findings, Row, RowVerdict, UnitReport};
use lanefield_ports::compare::grouped;

use crate::interrupt::interrupted;
use crate::output::{print, terminal_width};
use crate::progress::Steps;

/// The widths of the columns. That of the first is the longest name.
const COLUMNS: [usize; 7] = [44, 9, 11, 6, 15, 13, 9];

/// A line of the table. Rows are printed while the run continues, so the widths cannot depend on the last one.
fn line(cells: [&str; 7]) -> String {
    let [kernel, precision, reconstruct, cases, components, verdict, time] = cells;
    let [a, b, c, d, e, f, g] = COLUMNS;
    if terminal_width().is_some_and(|width| width < COLUMNS.iter().sum::<usize>() + 10) {
        let (precision, components) = (precision.get(..4).unwrap_or(precision), components.trim_start_matches("real "));
        return format!("{kernel:a$} {precision:4} {components:>14}  {verdict}");
    }
    format!(" {kernel:a$} {precision:b$} {reconstruct:>c$} {cases:>d$} {components:>e$}   {verdict:f$} {time:>g$}")
}

pub fn header() -> String {
    let names = line(["kernel", "precision", "reconstruct", "cases", "real components", "verdict", "time"]);
    format!("{names}\n{}", "═".repeat(names.chars().count() + 1))
}

pub fn line_of(row: &Row) -> String {
    let cells = [
        kernel(row),
        row.precision.to_string(),
        reconstruct(row.reconstruct),
        row.comparisons.to_string(),
        grouped(row.components),
        verdict_of(row),
        format!("{:.2} s", row.seconds),
    ];
    line(cells.each_ref().map(String::as_str))
}

/// A verification with its rows and its progress.
pub struct Shown {
    pub json: bool,
    pub steps: Steps,
    /// Whether all rows could be written to standard output.
    pub result: anyhow::Result<()>,
}

impl Shown {
    pub fn take(&mut self, findings: &mut Findings<'_>, unit: usize, report: UnitReport) {
        if report.error.is_some() && interrupted() {
            return;
        }
        let progress = findings.take(unit, report);
        self.steps.done(progress.done, &format!("{} million components compared", progress.components / 1_000_000));
        for row in progress.finished {
            if self.result.is_ok() {
                self.result = self.line(line_of(row));
            }
        }
    }

    pub fn line(&self, line: String) -> anyhow::Result<()> {
        if self.json { Ok(()) } else { self.steps.suspend(|| print(line)) }
    }
}

pub fn kernel(row: &Row) -> String {
    match row.iterations {
        Some(iterations) => format!("{} ({iterations} iterations)", row.kernel),
        None => row.kernel.clone(),
    }
}

/// Reals that are stored for each link, for kernels that read links.
pub fn reconstruct(reals: Option<usize>) -> String {
    reals.map_or_else(|| "–".to_owned(), |reals| reals.to_string())
}

fn verdict_of(row: &Row) -> String {
    match row.verdict {
        RowVerdict::SameBits => "same bits".to_owned(),
        RowVerdict::Differs => format!("DIFFERENT in {}", row.different),
        RowVerdict::NotSupported => "not supported".to_owned(),
    }
}
