//! AMD profiles: `results.csv` of rocprof, with a row for each call and a column for each counter; `results.stats.csv`, with a row for each kernel;
//! and `counter_collection.csv`, `kernel_trace.csv` and `kernel_stats.csv` of rocprofv3.

use std::collections::HashSet;

use lanefield::reference::ensure;

use super::collected::{Collected, Quantity};
use super::error::CountersError;
use super::profile::Profile;
use super::sheet::{Row, Sheet};
use super::units::Kilobyte;

/// Columns with a kernel's resources, for both programs.
const RESOURCES: [(&str, Quantity, f64); 14] = [
    ("vgpr", Quantity::Registers, 1.0),
    ("arch_vgpr", Quantity::Registers, 1.0),
    ("VGPR_Count", Quantity::Registers, 1.0),
    ("sgpr", Quantity::ScalarRegisters, 1.0),
    ("SGPR_Count", Quantity::ScalarRegisters, 1.0),
    ("lds", Quantity::LocalBytes, 1.0),
    ("LDS_Block_Size", Quantity::LocalBytes, 1.0),
    ("Group_Segment_Size", Quantity::LocalBytes, 1.0),
    ("scr", Quantity::ScratchBytes, 1.0),
    ("Scratch_Size", Quantity::ScratchBytes, 1.0),
    ("Private_Segment_Size", Quantity::ScratchBytes, 1.0),
    ("wgr", Quantity::GroupSize, 1.0),
    ("Workgroup_Size", Quantity::GroupSize, 1.0),
    ("L2CacheHit", Quantity::L2Hit, 1.0),
];

fn counter(name: &str, kilobyte: Kilobyte) -> Option<(Quantity, f64)> {
    match name {
        "FETCH_SIZE" | "FetchSize" => Some((Quantity::BytesRead, kilobyte.bytes())),
        "WRITE_SIZE" | "WriteSize" => Some((Quantity::BytesWritten, kilobyte.bytes())),
        "L2CacheHit" => Some((Quantity::L2Hit, 1.0)),
        "OccupancyPercent" => Some((Quantity::Occupancy, 1.0)),
        _ => None,
    }
}

/// Adds a profile, and returns the number of rows used.
pub(super) fn add(profile: &mut Profile, sheet: &Sheet, kilobyte: Kilobyte) -> Result<usize, CountersError> {
    if sheet.has("KernelName") {
        calls(profile, sheet, "KernelName", kilobyte)
    } else if sheet.has("Kernel_Name") && sheet.has("Counter_Name") {
        counted(profile, sheet, kilobyte)
    } else if sheet.has("Kernel_Name") {
        calls(profile, sheet, "Kernel_Name", kilobyte)
    } else if sheet.has("Name") && sheet.has("Calls") {
        stats(profile, sheet)
    } else {
        Err(sheet.unknown())
    }
}

fn calls(profile: &mut Profile, sheet: &Sheet, name: &str, kilobyte: Kilobyte) -> Result<usize, CountersError> {
    let counters: Vec<(&str, Quantity, f64)> = sheet
        .header
        .iter()
        .filter_map(|column| counter(column, kilobyte).map(|(quantity, factor)| (column.as_str(), quantity, factor)))
        .filter(|(_, quantity, _)| *quantity != Quantity::L2Hit)
        .collect();
    for row in &sheet.rows {
        let (seconds, work_items) = (seconds(sheet, row)?, work_items(sheet, row)?);
        let collected = profile.of(sheet.text(row, name), work_items);
        collected.calls += 1;
        collected.add(sheet, row, &counters)?;
        add_seconds(collected, seconds, 1.0, !counters.is_empty());
        collected.add(sheet, row, &RESOURCES)?;
    }
    Ok(sheet.rows.len())
}

fn counted(profile: &mut Profile, sheet: &Sheet, kilobyte: Kilobyte) -> Result<usize, CountersError> {
    let mut seen = HashSet::new();
    for row in &sheet.rows {
        let (seconds, work_items) = (seconds(sheet, row)?, work_items(sheet, row)?);
        let collected = profile.of(sheet.text(row, "Kernel_Name"), work_items);
        let call = (sheet.text(row, "Process_Id"), sheet.text(row, "Dispatch_Id"));
        if seen.insert(call) {
            collected.calls += 1;
            add_seconds(collected, seconds, 1.0, true);
            collected.add(sheet, row, &RESOURCES)?;
        }
        if let Some((quantity, factor)) = counter(sheet.text(row, "Counter_Name"), kilobyte) {
            match sheet.number(row, "Counter_Value")? {
                Some(value) => collected.means.entry(quantity).or_default().add(value * factor, 1.0),
                None => return Err(sheet.wrong(row, "Counter_Value", "is not a number")),
            }
        }
    }
    Ok(sheet.rows.len())
}

fn stats(profile: &mut Profile, sheet: &Sheet) -> Result<usize, CountersError> {
    for row in &sheet.rows {
        let calls = sheet.number(row, "Calls")?.filter(|&calls| calls >= 1.0);
        let Some(calls) = calls else {
            return Err(sheet.wrong(row, "Calls", "is not a number of calls: expected at least 1"));
        };
        let column = if sheet.has("AverageNs") { "AverageNs" } else { "Average(ns)" };
        let average = match sheet.number(row, column)? {
            Some(average) => Some(average),
            None => sheet.number(row, "TotalDurationNs")?.map(|total| total / calls),
        };
        // The table does not have the number of work-items.
        let collected = profile.of(sheet.text(row, "Name"), None);
        collected.calls += calls as u64;
        add_seconds(collected, average.map(|average| average * 1e-9), calls, false);
    }
    Ok(sheet.rows.len())
}

/// Times from runs with and without counters are kept apart.
fn add_seconds(collected: &mut Collected, seconds: Option<f64>, weight: f64, counting: bool) {
    if let Some(seconds) = seconds {
        match counting {
            true => collected.means.entry(Quantity::Seconds).or_default().add(seconds, weight),
            false => collected.plain_seconds.add(seconds, weight),
        }
    }
}

/// The time of a call: a duration, or the end minus the start.
fn seconds(sheet: &Sheet, row: &Row) -> Result<Option<f64>, CountersError> {
    if let Some(duration) = sheet.number(row, "DurationNs")? {
        return Ok(Some(duration * 1e-9));
    }
    for (begin, end) in [("BeginNs", "EndNs"), ("Start_Timestamp", "End_Timestamp")] {
        if let (Some(begun), Some(ended)) = (sheet.number(row, begin)?, sheet.number(row, end)?) {
            ensure!(ended >= begun, sheet.wrong(row, end, format!("is before {begin}, {}", sheet.text(row, begin))));
            // Nanoseconds since boot or 1970 have more digits than a double holds exactly.
            let exact = |column| sheet.text(row, column).parse::<u64>().ok();
            let difference = match exact(begin).zip(exact(end)) {
                Some((begun, ended)) => (ended - begun) as f64,
                None => ended - begun,
            };
            return Ok(Some(difference * 1e-9));
        }
    }
    Ok(None)
}

fn work_items(sheet: &Sheet, row: &Row) -> Result<Option<u64>, CountersError> {
    for column in ["grd", "Grid_Size"] {
        if let Some(items) = sheet.number(row, column)? {
            return Ok(Some(items as u64));
        }
    }
    let mut product = 1.0;
    for column in ["Grid_Size_X", "Grid_Size_Y", "Grid_Size_Z"] {
        let Some(size) = sheet.number(row, column)? else { return Ok(None) };
        product *= size;
    }
    Ok(Some(product as u64))
}
