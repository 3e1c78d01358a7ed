//! The counts as JSON and as text.

use lanefield::backend::opencl::AccessWidth;
use lanefield::kernel::Kernel;
use lanefield::reference::real::Precision;
use lanefield_lab::access::{ArrayCounts, BankPasses, Index, PatternReport};
use serde::Serialize;

use crate::numbers::count;
use crate::output::{dense, facts, fitted, joined, table_of, wrapped};

#[derive(Serialize)]
pub struct Report {
    pub wavefront: u64,
    #[serde(rename = "line_bytes")]
    pub line: u64,
    #[serde(flatten)]
    pub counted: Counted,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Counted {
    Kernels(Vec<OfKernel>),
    Patterns(Vec<OfPattern>),
    #[serde(untagged)]
    Row(OfRow),
}

#[derive(Serialize)]
pub struct OfKernel {
    pub kernel: &'static Kernel,
    pub lattice: [usize; 4],
    pub precision: Precision,
    pub reconstruct: usize,
    pub spinors: usize,
    pub lane_bytes: usize,
    pub access: AccessWidth,
    pub mapping: String,
    /// Work-items of a work-group in each dimension, the lane first.
    pub group: [usize; 3],
    pub launch: String,
    pub arrays: Vec<ArrayCounts>,
    pub total: ArrayTotal,
}

/// All accesses of a wavefront together.
#[derive(Serialize)]
pub struct ArrayTotal {
    pub sectors_a_wavefront: f64,
    pub bytes_moved_a_work_item: f64,
    pub sector_efficiency: f64,
}

#[derive(Serialize)]
pub struct OfPattern {
    pub name: Option<&'static str>,
    pub about: Option<&'static str>,
    pub good: Option<bool>,
    pub pattern: String,
    pub element: u64,
    pub fast: Index,
    pub serial: Vec<Index>,
    #[serde(flatten)]
    pub counted: PatternReport,
}

#[derive(Serialize)]
pub struct OfRow {
    pub row: u64,
    pub element: u64,
    /// Elements from one row to the next in memory.
    pub pitch: u64,
    pub local: Vec<LocalRow>,
}

#[derive(Serialize)]
pub struct LocalRow {
    pub banks: u64,
    pub padding: u64,
    pub column_without: BankPasses,
    pub column_with: BankPasses,
}

fn percent(share: f64) -> String {
    format!("{:.1}%", 100.0 * share)
}

pub fn text(Report { wavefront, line, counted }: &Report) -> String {
    match counted {
        Counted::Kernels(kernels) => {
            kernels.iter().map(|of| of_kernel(of, *wavefront, *line)).collect::<Vec<_>>().join("\n\n")
        }
        Counted::Patterns(patterns) => of_patterns(patterns),
        Counted::Row(row) => of_row(row, *wavefront),
    }
}

fn of_kernel(counted: &OfKernel, wavefront: u64, line: u64) -> String {
    let OfKernel { kernel, precision, reconstruct, spinors, lane_bytes, access, mapping, group, launch, .. } = counted;
    let lattice = joined(&counted.lattice, ".");
    let spinors = if *spinors == 1 { String::new() } else { format!(", ×{spinors}") };
    let links = if kernel.reads_links() { format!(", reconstruct {reconstruct}") } else { String::new() };
    let heading = facts([
        ("kernel", format!("{kernel}, {precision}{links}{spinors}")),
        ("lattice", format!("{lattice}, lanes of {lane_bytes} bytes")),
        ("accesses", format!("of {access} {}, {}", if *access == AccessWidth::Word { "" } else { "bytes" }, mapping)),
        ("group", format!("{} work-items", joined(group, " × "))),
        ("launch", wrapped(launch)),
        ("wavefront, line", format!("{}, {} bytes", count(wavefront, "work-item"), line)),
    ]);
    let cells = |row: &ArrayCounts| {
        let mean = |total: u64| format!("{:.1}", row.counts.an_access(total));
        [
            ("array", format!("{}{}", row.array.name(), if row.store { " (stored)" } else { "" })),
            ("leg", row.leg.clone().unwrap_or_default()),
            ("per work-item", format!("{} × {} B", row.accesses_a_work_item, row.widest)),
            ("32 B", mean(row.counts.transactions_32)),
            ("64 B", mean(row.counts.transactions_64)),
            ("128 B", mean(row.counts.transactions_128)),
            ("lines", mean(row.counts.line_touches)),
            ("distinct lines", format!("{:.1}", row.lines_a_wavefront)),
            ("efficiency", percent(row.sector_efficiency)),
            ("other lanes", if row.other_lanes > 0.0 { percent(row.other_lanes) } else { String::new() }),
        ]
    };
    let rows = fitted(table_of(counted.arrays.iter().map(cells), 2..), &["other lanes", "64 B", "128 B", "lines"]);
    let total = &counted.total;
    let end = facts([
        ("sectors per wavefront", format!("{:.1}", total.sectors_a_wavefront)),
        ("moved per work-item", format!("{:.1} bytes", total.bytes_moved_a_work_item)),
        ("efficiency", percent(total.sector_efficiency)),
    ]);
    format!("{heading}\n{rows}\ntransactions and lines: of one access of a wavefront, on average\n{end}")
}

fn of_patterns(patterns: &[OfPattern]) -> String {
    let cells = |row: &OfPattern| {
        let PatternReport { accesses_a_work_item, wavefronts, first, all, banks, sector_efficiency, .. } = &row.counted;
        let passes: Vec<String> =
            banks.iter().map(|of| format!("{} of {} ({})", of.passes, of.least, of.banks)).collect();
        [
            ("pattern", row.name.map_or_else(|| row.pattern.clone(), str::to_owned)),
            ("accesses ×\nwavefronts", format!("{accesses_a_work_item} × {wavefronts}")),
            ("32 B", first.transactions_32.to_string()),
            ("64 B", first.transactions_64.to_string()),
            ("128 B", first.transactions_128.to_string()),
            ("lines", first.line_touches.to_string()),
            ("distinct\nof touches", format!("{} of {}", all.distinct_lines, all.line_touches)),
            ("efficiency", percent(*sector_efficiency)),
            ("bank passes", passes.join(", ")),
        ]
    };
    let rows = fitted(dense(table_of(patterns.iter().map(cells), 1..)), &["64 B", "128 B", "lines"]);
    let mut notes = String::new();
    for row in patterns {
        let misaligned = row.counted.misaligned;
        if let (Some(name), Some(about), Some(good)) = (row.name, row.about, row.good) {
            notes += &format!("\n{name}: {about}; {}; {}", if good { "good" } else { "bad" }, row.pattern);
        }
        if misaligned > 0 {
            let (lie, their) = if misaligned == 1 { ("lies", "its") } else { ("lie", "their") };
            let elements = count(misaligned, "element");
            notes += &format!("\n{elements} {lie} at no multiple of {their} {}", count(row.element, "byte"));
        }
    }
    let first = "transactions, lines and bank passes: of the first access of the first wavefront; distinct lines and efficiency: of all";
    format!("{rows}\n{first}{notes}")
}

fn of_row(OfRow { row, element, pitch, local }: &OfRow, wavefront: u64) -> String {
    let mut known = vec![
        ("row", format!("{} of {}", count(*row, "element"), count(*element, "byte"))),
        ("pitch in memory", format!("{}: a multiple of the wavefront's {wavefront}", count(*pitch, "element"))),
    ];
    for LocalRow { banks, padding, column_without, column_with } in local {
        let name = if *banks == 32 { "local, 32 banks" } else { "local, 64 banks" };
        let passes = format!(
            "a column takes {}, with {} of padding per row {} (at least {})",
            count(column_without.passes, "pass"),
            count(*padding, "element"),
            column_with.passes,
            column_with.least
        );
        known.push((name, passes));
    }
    facts(known)
}
