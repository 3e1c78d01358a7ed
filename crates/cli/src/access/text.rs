//! What was counted, for people.

use comfy_table::{CellAlignment, TableComponent};
use lanefield::backend::opencl::AccessWidth;
use lanefield_lab::access::PatternReport;

use super::{ArrayRow, LocalRow, OfKernel, OfRow, Patterns, Report};
use crate::output::{facts, table, wrapped};

/// `1 element`, `2 elements`, `2 passes`.
fn count(number: u64, thing: &str) -> String {
    let plural = if thing.ends_with(['s', 'h']) { "es" } else { "s" };
    format!("{number} {thing}{}", if number == 1 { "" } else { plural })
}

fn percent(share: f64) -> String {
    format!("{:.1}%", 100.0 * share)
}

pub fn kernel(report: &Report<OfKernel>) -> String {
    let OfKernel { kernel, precision, link_reals, spinors, lane_bytes, access, mapping, group, launch, .. } =
        &report.counted;
    let lattice = report.counted.lattice.map(|extent| extent.to_string()).join(".");
    let spinors = if *spinors == 1 { String::new() } else { format!(", ×{spinors}") };
    let links = if kernel.reads_links() { format!(", reconstruct {link_reals}") } else { String::new() };
    let heading = facts([
        ("kernel", format!("{kernel}, {precision}{links}{spinors}")),
        ("lattice", format!("{lattice}, lanes of {lane_bytes} bytes")),
        ("accesses", format!("of {access} {}, {}", if *access == AccessWidth::Word { "" } else { "bytes" }, mapping)),
        ("group", format!("{} work-items", group.map(|n| n.to_string()).join(" × "))),
        ("launch", wrapped(launch)),
        ("wavefront, line", format!("{}, {} bytes", count(report.wavefront, "work-item"), report.line)),
    ]);
    let mut rows = table([
        "array",
        "leg",
        "per work-item",
        "32 B",
        "64 B",
        "128 B",
        "lines",
        "distinct lines",
        "efficiency",
        "other lanes",
    ]);
    for ArrayRow { counted: row, sector_efficiency } in &report.counted.arrays {
        let mean = |total: u64| format!("{:.1}", row.counts.an_access(total));
        rows.add_row([
            format!("{}{}", row.array.name(), if row.store { " (stored)" } else { "" }),
            row.leg.clone().unwrap_or_default(),
            format!("{} × {} B", row.accesses_a_work_item, row.widest),
            mean(row.counts.transactions_32),
            mean(row.counts.transactions_64),
            mean(row.counts.transactions_128),
            mean(row.counts.line_touches),
            format!("{:.1}", row.lines_a_wavefront),
            percent(*sector_efficiency),
            if row.other_lanes > 0.0 { percent(row.other_lanes) } else { String::new() },
        ]);
    }
    rows.remove_style(TableComponent::HorizontalLines).remove_style(TableComponent::MiddleIntersections);
    for column in rows.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let total = &report.counted.total;
    let end = facts([
        ("sectors per wavefront", format!("{:.1}", total.sectors_a_wavefront)),
        ("moved per work-item", format!("{:.1} bytes", total.bytes_moved_a_work_item)),
        ("efficiency", percent(total.sector_efficiency)),
    ]);
    format!("{heading}\n{rows}\ntransactions and lines: of one access of a wavefront, on average\n{end}")
}

pub fn patterns(report: &Report<Patterns>) -> String {
    let mut rows = table([
        "pattern",
        "accesses ×\nwavefronts",
        "32 B",
        "64 B",
        "128 B",
        "lines",
        "distinct\nof touches",
        "efficiency",
        "bank passes",
    ]);
    let mut notes = String::new();
    for row in &report.counted.patterns {
        let PatternReport { accesses_a_work_item, wavefronts, first, all, banks, misaligned, .. } = &row.counted;
        let passes: Vec<String> =
            banks.iter().map(|of| format!("{} of {} ({})", of.passes, of.least, of.banks)).collect();
        rows.add_row([
            row.name.map_or_else(|| row.pattern.clone(), str::to_owned),
            format!("{accesses_a_work_item} × {wavefronts}"),
            first.transactions_32.to_string(),
            first.transactions_64.to_string(),
            first.transactions_128.to_string(),
            first.line_touches.to_string(),
            format!("{} of {}", all.distinct_lines, all.line_touches),
            percent(row.sector_efficiency),
            passes.join(", "),
        ]);
        if let (Some(name), Some(about), Some(good)) = (row.name, row.about, row.good) {
            notes += &format!("\n{name}: {about}; {}; {}", if good { "good" } else { "bad" }, row.pattern);
        }
        if *misaligned > 0 {
            let (lie, their) = if *misaligned == 1 { ("lies", "its") } else { ("lie", "their") };
            let elements = count(*misaligned, "element");
            notes += &format!("\n{elements} {lie} at no multiple of {their} {}", count(row.element, "byte"));
        }
    }
    rows.remove_style(TableComponent::HorizontalLines).remove_style(TableComponent::MiddleIntersections);
    for column in rows.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
        column.set_padding((1, 0));
    }
    let first = "transactions, lines and bank passes: of the first access of the first wavefront; distinct lines and efficiency: of all";
    format!("{rows}\n{first}{notes}")
}

pub fn row(report: &Report<OfRow>) -> String {
    let OfRow { row, element, pitch, local } = &report.counted;
    let mut known = vec![
        ("row", format!("{} of {}", count(*row, "element"), count(*element, "byte"))),
        (
            "pitch in memory",
            format!("{}: a multiple of the wavefront's {}", count(*pitch, "element"), report.wavefront),
        ),
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
