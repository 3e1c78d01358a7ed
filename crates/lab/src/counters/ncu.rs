//! Profiles of Nsight Compute (`ncu --csv`), versions 2022 to 2025. There is a row for each metric of a launch; with `--page raw`, there is a row
//! for each launch, a column for each metric, and a row of units below the header. Rows for metrics use the names of raw pages, or those of a
//! report's sections.

use std::collections::{BTreeMap, HashSet};

use lanefield::reference::ensure;

use super::collected::{Quantity, StallsBy};
use super::error::CountersError;
use super::limits::{OccupancyLimit, Stall};
use super::profile::Profile;
use super::sheet::{Row, Sheet};
use super::units::{self, number};
use crate::binding::Unit;

/// Metrics by name, raw or from a section. If several measure the same quantity, the first that is present counts.
const METRICS: &[(&str, Quantity)] = &[
    ("gpu__time_duration.sum", Quantity::Seconds),
    ("gpu__time_duration.avg", Quantity::Seconds),
    ("Duration", Quantity::Seconds),
    ("dram__bytes_read.sum", Quantity::BytesRead),
    ("dram__bytes_op_read.sum", Quantity::BytesRead),
    ("dram__bytes_write.sum", Quantity::BytesWritten),
    ("dram__bytes_op_write.sum", Quantity::BytesWritten),
    ("lts__t_bytes.sum", Quantity::L2Bytes),
    ("l1tex__t_bytes.sum", Quantity::L1Bytes),
    ("lts__t_sector_hit_rate.pct", Quantity::L2Hit),
    ("L2 Hit Rate", Quantity::L2Hit),
    ("l1tex__t_sector_hit_rate.pct", Quantity::L1Hit),
    ("L1/TEX Hit Rate", Quantity::L1Hit),
    ("launch__registers_per_thread", Quantity::Registers),
    ("Registers Per Thread", Quantity::Registers),
    ("launch__shared_mem_per_block", Quantity::LocalBytes),
    ("launch__shared_mem_per_block_allocated", Quantity::LocalBytes),
    ("launch__block_size", Quantity::GroupSize),
    ("Block Size", Quantity::GroupSize),
    ("launch__waves_per_multiprocessor", Quantity::Waves),
    ("Waves Per SM", Quantity::Waves),
    ("sm__warps_active.avg.pct_of_peak_sustained_active", Quantity::Occupancy),
    ("Achieved Occupancy", Quantity::Occupancy),
    ("sm__maximum_warps_per_active_cycle_pct", Quantity::TheoreticalOccupancy),
    ("Theoretical Occupancy", Quantity::TheoreticalOccupancy),
    ("launch__occupancy_limit_registers", Quantity::GroupsBy(OccupancyLimit::Registers)),
    ("Block Limit Registers", Quantity::GroupsBy(OccupancyLimit::Registers)),
    ("launch__occupancy_limit_shared_mem", Quantity::GroupsBy(OccupancyLimit::LocalMemory)),
    ("Block Limit Shared Mem", Quantity::GroupsBy(OccupancyLimit::LocalMemory)),
    ("launch__occupancy_limit_warps", Quantity::GroupsBy(OccupancyLimit::Warps)),
    ("Block Limit Warps", Quantity::GroupsBy(OccupancyLimit::Warps)),
    ("launch__occupancy_limit_blocks", Quantity::GroupsBy(OccupancyLimit::Groups)),
    ("Block Limit SM", Quantity::GroupsBy(OccupancyLimit::Groups)),
    ("launch__occupancy_limit_barriers", Quantity::GroupsBy(OccupancyLimit::Barriers)),
    ("Block Limit Barriers", Quantity::GroupsBy(OccupancyLimit::Barriers)),
    ("gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", Quantity::Busy(Unit::Dram)),
    ("dram__throughput.avg.pct_of_peak_sustained_elapsed", Quantity::Busy(Unit::Dram)),
    ("DRAM Throughput", Quantity::Busy(Unit::Dram)),
    ("lts__throughput.avg.pct_of_peak_sustained_elapsed", Quantity::Busy(Unit::L2)),
    ("L2 Cache Throughput", Quantity::Busy(Unit::L2)),
    ("l1tex__throughput.avg.pct_of_peak_sustained_active", Quantity::Busy(Unit::L1)),
    ("l1tex__throughput.avg.pct_of_peak_sustained_elapsed", Quantity::Busy(Unit::L1)),
    ("L1/TEX Cache Throughput", Quantity::Busy(Unit::L1)),
    ("smsp__issue_active.avg.pct_of_peak_sustained_active", Quantity::Busy(Unit::Issue)),
    ("sm__issue_active.avg.pct_of_peak_sustained_active", Quantity::Busy(Unit::Issue)),
    ("sm__inst_issued.avg.pct_of_peak_sustained_active", Quantity::Busy(Unit::Issue)),
    ("Issue Slots Busy", Quantity::Busy(Unit::Issue)),
    // Cycles in which a pipe is busy; an instruction may take several.
    ("sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active", Quantity::Busy(Unit::Fma)),
    ("sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active", Quantity::Busy(Unit::Fma)),
    ("sm__pipe_alu_cycles_active.avg.pct_of_peak_sustained_active", Quantity::Busy(Unit::Alu)),
    ("sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_active", Quantity::Busy(Unit::Alu)),
    ("sm__inst_executed_pipe_lsu.avg.pct_of_peak_sustained_active", Quantity::Busy(Unit::Lsu)),
    ("sm__pipe_fp64_cycles_active.avg.pct_of_peak_sustained_active", Quantity::Busy(Unit::Fp64)),
    ("sm__inst_executed_pipe_fp64.avg.pct_of_peak_sustained_active", Quantity::Busy(Unit::Fp64)),
    ("l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio", Quantity::SectorsPerLoad),
    ("l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio", Quantity::SectorsPerStore),
    ("l1tex__t_bytes_pipe_lsu_mem_local_op_ld.sum", Quantity::PrivateLoaded),
    ("l1tex__t_bytes_pipe_lsu_mem_local_op_st.sum", Quantity::PrivateStored),
    ("smsp__average_warps_active_per_issue_active.ratio", Quantity::WarpsPerIssue),
    ("smsp__average_warp_latency_per_inst_issued.ratio", Quantity::WarpsPerIssue),
    ("Warp Cycles Per Issued Instruction", Quantity::WarpsPerIssue),
];

/// The prefix and the suffix of the reason in the metrics of stalls.
const STALLS: [(&str, &str, StallsBy); 4] = [
    ("smsp__warp_issue_stalled_", "_per_warp_active.pct", StallsBy::Warp),
    ("smsp__average_warps_issue_stalled_", "_per_issue_active.ratio", StallsBy::Issue),
    ("Stall ", "", StallsBy::Issue),
    ("smsp__pcsamp_warps_issue_stalled_", "", StallsBy::Samples),
];

/// The quantity that a metric measures, and its rank among those that measure the same: the smaller the better.
fn quantity(metric: &str) -> Option<(Quantity, usize)> {
    if let Some(place) = METRICS.iter().position(|(name, _)| *name == metric) {
        return Some((METRICS[place].1, place));
    }
    let stalled = |(start, end, by): (&str, &str, StallsBy)| {
        Some(Quantity::Stalled(by, Stall::of(metric.strip_prefix(start)?.strip_suffix(end)?)?))
    };
    Some((STALLS.into_iter().find_map(stalled)?, 0))
}

/// The factor for the unit in a column, for this quantity.
fn factor(sheet: &Sheet, row: &Row, column: &str, quantity: Quantity) -> Result<f64, CountersError> {
    let unit = sheet.text(row, column);
    let (factor, expected) = match quantity {
        Quantity::Seconds => (
            units::factor(&units::SECONDS, unit),
            "is not a unit of time: expected nsecond, usecond, msecond or second",
        ),
        Quantity::BytesRead
        | Quantity::BytesWritten
        | Quantity::LocalBytes
        | Quantity::L2Bytes
        | Quantity::L1Bytes
        | Quantity::PrivateLoaded
        | Quantity::PrivateStored => {
            // Per block, per launch.
            let unit = unit.split('/').next().unwrap_or_default();
            (units::factor(&units::BYTES, unit), "is not a unit of bytes: expected byte, Kbyte, Mbyte or Gbyte")
        }
        Quantity::Busy(_)
        | Quantity::L2Hit
        | Quantity::L1Hit
        | Quantity::Occupancy
        | Quantity::TheoreticalOccupancy => {
            (Some(1.0).filter(|_| matches!(unit, "%" | "")), "is not a unit of a share: expected %")
        }
        _ => return Ok(1.0),
    };
    factor.ok_or_else(|| sheet.wrong(row, column, expected))
}

/// Adds a profile, and returns the number of rows used.
pub(super) fn add(profile: &mut Profile, sheet: &Sheet) -> Result<usize, CountersError> {
    ensure!(sheet.has("ID"), sheet.unknown());
    if sheet.has("Metric Name") && sheet.has("Metric Value") { long(profile, sheet) } else { wide(profile, sheet) }
}

fn long(profile: &mut Profile, sheet: &Sheet) -> Result<usize, CountersError> {
    let mut seen = HashSet::new();
    // Sections of a report repeat some metrics, and some measure the same: for each launch the best one counts.
    let mut best: BTreeMap<_, (usize, &Row)> = BTreeMap::new();
    for (number, row) in sheet.rows.iter().enumerate() {
        let launch = (sheet.text(row, "Process ID"), sheet.text(row, "ID"));
        let collected = profile.of(sheet.text(row, "Kernel Name"), work_items(sheet, row));
        collected.calls += u64::from(seen.insert(launch));
        let Some((quantity, place)) = quantity(sheet.text(row, "Metric Name")) else { continue };
        let known = best.entry((launch, quantity)).or_insert((usize::MAX, &sheet.rows[number]));
        if place < known.0 {
            *known = (place, row);
        }
    }
    for ((_, quantity), (_, row)) in best {
        let factor = factor(sheet, row, "Metric Unit", quantity)?;
        let collected = profile.of(sheet.text(row, "Kernel Name"), work_items(sheet, row));
        collected.add(sheet, row, &[("Metric Value", quantity, factor)])?;
    }
    Ok(sheet.rows.len())
}

fn wide(profile: &mut Profile, sheet: &Sheet) -> Result<usize, CountersError> {
    let is_launch = |row: &Row| !sheet.text(row, "ID").is_empty();
    let units_of = sheet.rows.first().filter(|row| !is_launch(row));
    let mut best: BTreeMap<Quantity, (usize, &str)> = BTreeMap::new();
    for column in sheet.header.iter().filter(|column| !OF_A_LAUNCH.contains(&column.as_str())) {
        let Some((quantity, place)) = quantity(column) else { continue };
        let known = best.entry(quantity).or_insert((place, column));
        if place < known.0 {
            *known = (place, column);
        }
    }
    let mut metrics = Vec::new();
    for (quantity, (_, column)) in best {
        let factor = match units_of {
            Some(row) => factor(sheet, row, column, quantity)?,
            // Without units (`--print-units base`), sizes are in bytes and times in nanoseconds.
            None if quantity == Quantity::Seconds => 1e-9,
            None => 1.0,
        };
        metrics.push((column, quantity, factor));
    }
    let launches: Vec<&Row> = sheet.rows.iter().filter(|row| is_launch(row)).collect();
    for row in &launches {
        let collected = profile.of(sheet.text(row, "Kernel Name"), work_items(sheet, row));
        collected.calls += 1;
        collected.add(sheet, row, &metrics)?;
    }
    Ok(launches.len())
}

/// Columns with three sizes whose names are also those of metrics in sections.
const OF_A_LAUNCH: [&str; 2] = ["Block Size", "Grid Size"];

/// Work-items per launch, from "(256, 1, 1)" blocks of "(8, 8, 4)" each.
fn work_items(sheet: &Sheet, row: &Row) -> Option<u64> {
    let product = |column: &str| -> Option<f64> {
        let sizes = sheet.text(row, column).trim_matches(|c| matches!(c, '(' | ')' | ' '));
        // A comma without a space separates thousands, unless there are only such commas.
        let separator = if sizes.contains(", ") { ", " } else { "," };
        sizes.split(separator).map(number).product()
    };
    Some((product("Block Size")? * product("Grid Size")?) as u64)
}
