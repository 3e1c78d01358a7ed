//! The entries of profiles for a kernel, added up, and averages over its calls.

use std::collections::BTreeMap;

use super::error::CountersError;
use super::kernel::KernelCounters;
use super::limits::{Busy, OccupancyLimit, Stall, Stalled};
use super::sheet::{Row, Sheet};
use crate::binding::Unit;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Quantity {
    Seconds,
    BytesRead,
    BytesWritten,
    /// L2 cache hits, in percent of the accesses.
    L2Hit,
    /// Registers per work-item; on AMD, vector registers.
    Registers,
    ScalarRegisters,
    LocalBytes,
    /// Spilled registers and indexed arrays, in bytes per work-item.
    ScratchBytes,
    GroupSize,
    /// Active warps, in percent of the most that a unit holds.
    Occupancy,
    /// The occupancy if groups never ended.
    TheoreticalOccupancy,
    /// Groups per compute unit if this were the only limit.
    GroupsBy(OccupancyLimit),
    /// How many times the groups of the launch fill the device.
    Waves,
    Busy(Unit),
    L2Bytes,
    L1Bytes,
    /// First-level cache hits, in percent of the accesses.
    L1Hit,
    /// Sectors of 32 bytes per load of a warp from global memory.
    SectorsPerLoad,
    SectorsPerStore,
    /// Bytes loaded from private memory: spilled registers, indexed arrays.
    PrivateLoaded,
    PrivateStored,
    /// Active warps per issued instruction.
    WarpsPerIssue,
    Stalled(StallsBy, Stall),
}

/// How stalled warps were counted, the best method first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum StallsBy {
    Warp,
    Issue,
    Samples,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mean {
    sum: f64,
    count: f64,
}

impl Mean {
    pub(super) fn add(&mut self, value: f64, weight: f64) {
        self.sum += value * weight;
        self.count += weight;
    }

    pub(super) fn join(&mut self, other: Self) {
        self.sum += other.sum;
        self.count += other.count;
    }

    pub(super) fn value(self) -> Option<f64> {
        (self.count > 0.0).then(|| self.sum / self.count)
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Collected {
    pub calls: u64,
    pub means: BTreeMap<Quantity, Mean>,
    /// Times from runs without counters: counting makes kernels slower.
    pub plain_seconds: Mean,
}

impl Collected {
    /// Adds the values of a row in some columns, each times a factor.
    pub(super) fn add(
        &mut self,
        sheet: &Sheet,
        row: &Row,
        columns: &[(&str, Quantity, f64)],
    ) -> Result<(), CountersError> {
        for &(column, quantity, factor) in columns {
            if let Some(value) = sheet.number(row, column)? {
                self.means.entry(quantity).or_default().add(value * factor, 1.0);
            }
        }
        Ok(())
    }

    /// Merges the entry for the same kernel in another file of the same run, which has the same calls.
    pub(super) fn join(&mut self, other: Self) {
        self.calls = self.calls.max(other.calls);
        self.plain_seconds.join(other.plain_seconds);
        other.means.into_iter().for_each(|(quantity, mean)| self.means.entry(quantity).or_default().join(mean));
    }

    pub(super) fn averaged(&self, (kernel, work_items): (&str, Option<u64>), ceiling: Option<f64>) -> KernelCounters {
        let mean = |quantity| self.means.get(&quantity).and_then(|mean| mean.value());
        let seconds = self.plain_seconds.value().or_else(|| mean(Quantity::Seconds));
        let (read, written) = (mean(Quantity::BytesRead), mean(Quantity::BytesWritten));
        let total = read.zip(written).map(|(read, written)| read + written);
        let half = |bytes: f64, counted: &str, missing: &str| {
            let mega = bytes / 1e6;
            Some(format!(
                "only what it {counted} was counted, {mega:.5} MB a call: TOTAL_RW needs what it {missing}, too"
            ))
        };
        let remark = match (read, written) {
            (Some(read), None) => half(read, "reads", "writes (WRITE_SIZE, dram__bytes_write.sum)"),
            (None, Some(written)) => half(written, "writes", "reads (FETCH_SIZE, dram__bytes_read.sum)"),
            _ => None,
        };
        let rate = total.zip(seconds.filter(|&seconds| seconds > 0.0)).map(|(bytes, seconds)| bytes / seconds);
        let groups = OccupancyLimit::ALL.map(|limit| (limit, mean(Quantity::GroupsBy(limit))));
        let least = groups.iter().filter_map(|(_, groups)| *groups).fold(f64::INFINITY, f64::min);
        let limits = groups.iter().filter(|(_, groups)| *groups == Some(least)).map(|(limit, _)| *limit);
        let busy = |unit| Some(Busy { unit, share: mean(Quantity::Busy(unit))? / 100.0 });
        let private = [Quantity::PrivateLoaded, Quantity::PrivateStored].map(mean);
        let counters = KernelCounters {
            kernel: kernel.to_owned(),
            work_items,
            calls: self.calls,
            seconds,
            total_rw_bytes: total,
            bytes_per_second: rate,
            share_of_ceiling: rate.zip(ceiling).map(|(rate, ceiling)| rate / ceiling),
            l2_hit_percent: mean(Quantity::L2Hit),
            registers: mean(Quantity::Registers),
            scalar_registers: mean(Quantity::ScalarRegisters),
            local_bytes: mean(Quantity::LocalBytes),
            scratch_bytes: mean(Quantity::ScratchBytes),
            group_size: mean(Quantity::GroupSize),
            occupancy_percent: mean(Quantity::Occupancy),
            theoretical_occupancy_percent: mean(Quantity::TheoreticalOccupancy),
            occupancy_limits: limits.collect(),
            waves: mean(Quantity::Waves),
            dram_read_bytes: read,
            dram_written_bytes: written,
            l2_bytes: mean(Quantity::L2Bytes),
            l1_bytes: mean(Quantity::L1Bytes),
            l1_hit_percent: mean(Quantity::L1Hit),
            sectors_per_load: mean(Quantity::SectorsPerLoad),
            sectors_per_store: mean(Quantity::SectorsPerStore),
            private_bytes: private[0].zip(private[1]).map(|(loaded, stored)| loaded + stored),
            units: Unit::ALL.into_iter().filter_map(busy).collect(),
            stalls: self.stalls(),
            binds: None,
            remark,
        };
        KernelCounters { binds: counters.what_binds(), ..counters }
    }

    /// Why warps were stalled, the largest share first: from counters if there are any, otherwise from samples.
    fn stalls(&self) -> Vec<Stalled> {
        let stalled = |(quantity, mean): (&Quantity, &Mean)| match *quantity {
            Quantity::Stalled(by, stall) => Some((by, stall, mean.value()?)),
            _ => None,
        };
        let mut found: Vec<(StallsBy, Stall, f64)> = self.means.iter().filter_map(stalled).collect();
        let Some(&(best, ..)) = found.first() else { return Vec::new() };
        found.retain(|(by, ..)| *by == best);
        let sum: f64 = found.iter().map(|(.., value)| value).sum();
        let all = match best {
            StallsBy::Warp => 100.0,
            // Some reasons may not have been counted.
            StallsBy::Issue => {
                sum.max(self.means.get(&Quantity::WarpsPerIssue).and_then(|mean| mean.value()).unwrap_or(0.0))
            }
            StallsBy::Samples => sum,
        };
        let share = |value: f64| if all > 0.0 { value / all } else { 0.0 };
        let mut stalls: Vec<Stalled> =
            found.into_iter().map(|(_, reason, value)| Stalled { reason, share: share(value) }).collect();
        stalls.sort_by(|a, b| b.share.total_cmp(&a.share));
        stalls
    }
}

impl KernelCounters {
    /// A kernel with bytes and time from any source.
    pub fn by_hand(kernel: &str, bytes: f64, seconds: f64, ceiling: Option<f64>) -> Self {
        let mut collected = Collected { calls: 1, ..Collected::default() };
        collected.means.entry(Quantity::BytesRead).or_default().add(bytes, 1.0);
        collected.means.entry(Quantity::BytesWritten).or_default().add(0.0, 1.0);
        collected.plain_seconds.add(seconds, 1.0);
        collected.averaged((kernel, None), ceiling)
    }
}
