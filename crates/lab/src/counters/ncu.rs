//! Profiles of Nsight Compute (`ncu --csv`): a row for each metric of a launch, or, with `--page raw`, a row for each launch, a column for
//! each metric and a row of units below the header.

use std::collections::HashSet;

use super::sheet::{Row, Sheet};
use super::units::{self, number};
use super::{CountersError, Profile, Quantity};

/// What a metric measures, by its name or by what the sections of a report call it.
fn quantity(metric: &str) -> Option<Quantity> {
    Some(match metric {
        "gpu__time_duration.sum" | "gpu__time_duration.avg" | "Duration" => Quantity::Seconds,
        "dram__bytes_read.sum" => Quantity::BytesRead,
        "dram__bytes_write.sum" => Quantity::BytesWritten,
        "lts__t_sector_hit_rate.pct" | "L2 Hit Rate" => Quantity::L2Hit,
        "launch__registers_per_thread" | "Registers Per Thread" => Quantity::Registers,
        "launch__shared_mem_per_block" | "launch__shared_mem_per_block_allocated" => Quantity::LocalBytes,
        "launch__block_size" => Quantity::GroupSize,
        "sm__warps_active.avg.pct_of_peak_sustained_active" | "Achieved Occupancy" => Quantity::Occupancy,
        _ => return None,
    })
}

/// The factor of the unit, which stands in a column, of what is measured.
fn factor(sheet: &Sheet, row: &Row, column: &str, quantity: Quantity) -> Result<f64, CountersError> {
    let unit = sheet.text(row, column);
    let (factor, expected) = match quantity {
        Quantity::Seconds => {
            (units::factor(&units::SECONDS, unit), "is no unit of time: nsecond, usecond, msecond or second")
        }
        Quantity::BytesRead | Quantity::BytesWritten | Quantity::LocalBytes => {
            // Of a block, of a launch.
            let unit = unit.split('/').next().unwrap_or_default();
            (units::factor(&units::BYTES, unit), "is no unit of bytes: byte, Kbyte, Mbyte or Gbyte")
        }
        _ => return Ok(1.0),
    };
    factor.ok_or_else(|| sheet.wrong(row, column, expected))
}

/// Adds a profile, and gives the number of rows that were used.
pub(super) fn add(profile: &mut Profile, sheet: &Sheet) -> Result<usize, CountersError> {
    if !sheet.has("ID") {
        return Err(sheet.unknown());
    }
    match sheet.has("Metric Name") && sheet.has("Metric Value") {
        true => long(profile, sheet),
        false => wide(profile, sheet),
    }
}

/// A row for each metric.
fn long(profile: &mut Profile, sheet: &Sheet) -> Result<usize, CountersError> {
    let mut seen = HashSet::new();
    let mut known = HashSet::new();
    for row in &sheet.rows {
        let metric = sheet.text(row, "Metric Name");
        let launch = (sheet.text(row, "Process ID"), sheet.text(row, "ID"));
        let collected = profile.of(sheet.text(row, "Kernel Name"), work_items(sheet, row));
        collected.calls += u64::from(seen.insert(launch));
        let Some(quantity) = quantity(metric) else { continue };
        // Sections of a report repeat some metrics.
        if !known.insert((launch, quantity)) {
            continue;
        }
        let factor = factor(sheet, row, "Metric Unit", quantity)?;
        collected.add(sheet, row, &[("Metric Value", quantity, factor)])?;
    }
    Ok(sheet.rows.len())
}

/// A row for each launch, below a row of units.
fn wide(profile: &mut Profile, sheet: &Sheet) -> Result<usize, CountersError> {
    let is_launch = |row: &Row| !sheet.text(row, "ID").is_empty();
    let units_of = sheet.rows.first().filter(|row| !is_launch(row));
    let mut metrics = Vec::new();
    let mut found = HashSet::new();
    for column in &sheet.header {
        let Some(quantity) = quantity(column).filter(|quantity| found.insert(*quantity)) else { continue };
        let factor = match units_of {
            Some(row) => factor(sheet, row, column, quantity)?,
            // Without units (`--print-units base`) bytes are bytes, and times nanoseconds.
            None if quantity == Quantity::Seconds => 1e-9,
            None => 1.0,
        };
        metrics.push((column.as_str(), quantity, factor));
    }
    let launches: Vec<&Row> = sheet.rows.iter().filter(|row| is_launch(row)).collect();
    for row in &launches {
        let collected = profile.of(sheet.text(row, "Kernel Name"), work_items(sheet, row));
        collected.calls += 1;
        collected.add(sheet, row, &metrics)?;
    }
    Ok(launches.len())
}

/// Work-items of a launch, from "(256, 1, 1)" blocks of "(8, 8, 4)" each.
fn work_items(sheet: &Sheet, row: &Row) -> Option<u64> {
    let product = |column: &str| -> Option<f64> {
        let sizes = sheet.text(row, column).trim_matches(|c| matches!(c, '(' | ')' | ' '));
        // A comma without a blank separates thousands, unless there are no others.
        let separator = if sizes.contains(", ") { ", " } else { "," };
        sizes.split(separator).map(number).product()
    };
    Some((product("Block Size")? * product("Grid Size")?) as u64)
}
