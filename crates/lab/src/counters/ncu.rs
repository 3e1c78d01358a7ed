//! Profiles of Nsight Compute (`ncu --csv`): a row for each metric of a launch, or, with `--page raw`, a row for each launch, a column for
//! each metric and a row of units below the header.

use std::collections::HashSet;

use super::sheet::{Row, Sheet};
use super::units::{byte_factor, number, second_factor};
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

/// The factor of a unit for what is measured in it; none if it cannot be measured in it.
fn factor(quantity: Quantity, unit: &str) -> Option<f64> {
    match quantity {
        Quantity::Seconds => second_factor(unit),
        Quantity::BytesRead | Quantity::BytesWritten | Quantity::LocalBytes => byte_factor(unit),
        _ => Some(1.0),
    }
}

/// What units would be right.
fn units(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::Seconds => "is no unit of time: nsecond, usecond, msecond or second",
        _ => "is no unit of bytes: byte, Kbyte, Mbyte or Gbyte",
    }
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
        let factor = factor(quantity, sheet.text(row, "Metric Unit"))
            .ok_or_else(|| sheet.wrong(row, "Metric Unit", units(quantity)))?;
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
            Some(row) => {
                let unit = sheet.text(row, column);
                factor(quantity, unit).ok_or_else(|| sheet.wrong(row, column, units(quantity)))?
            }
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
