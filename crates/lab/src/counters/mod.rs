//! Counters by formula: what a profiler counted of a kernel, and the bandwidth that follows, as the EmPRiSM sprint report (Pawsey) computes it:
//! bytes fetched and written, averaged over the calls of a kernel, over its average time, as a share of a measured peak. Profiles of rocprof
//! (`rocprof.rs`) and Nsight Compute (`ncu.rs`) are read, and put beside what `lanefield bench` measured (`beside.rs`). Of what Nsight Compute tells of units and
//! stalls (`limits.rs`) follows what binds a kernel (`binds.rs`).

mod beside;
mod binds;
mod limits;
mod ncu;
mod rocprof;
mod sheet;
#[cfg(test)]
mod tests;
mod units;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;
use thiserror::Error;

use sheet::{Row, Sheet};

use crate::si::percent;

pub use beside::{Beside, NameMap, OurKernel, our_kernels};
pub use binds::{Binds, Limit};
pub(crate) use limits::percent as in_percent;
pub use limits::{Busy, OccupancyLimit, Stall, Stalled, Unit};
pub use units::{parse_bytes, parse_seconds};

/// Why a profile could not be read. Messages name file, line and column.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CountersError {
    #[error("failed to read {}: {source}", .path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{} {reason}", .path.display())]
    Unfit { path: PathBuf, reason: String },
    #[error("{}, line {line}, column \"{column}\": '{value}' {reason}", .path.display())]
    Cell {
        path: PathBuf,
        line: u64,
        column: String,
        value: String,
        /// Why it is wrong, and what would be right.
        reason: String,
    },
    #[error("there is no kernel \"{name}\" in {place}; there are: {known}")]
    NoSuchKernel { name: String, place: String, known: String },
}

impl CountersError {
    fn unfit(path: &Path, reason: impl Into<String>) -> Self {
        Self::Unfit { path: path.to_owned(), reason: reason.into() }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Quantity {
    Seconds,
    BytesRead,
    BytesWritten,
    /// Share of accesses that the L2 cache had, in percent.
    L2Hit,
    /// Registers of a work-item; on AMD its vector registers.
    Registers,
    ScalarRegisters,
    LocalBytes,
    /// Spilled registers and indexed arrays of a work-item, in bytes.
    ScratchBytes,
    GroupSize,
    /// Active warps, in percent of the most that a unit holds.
    Occupancy,
    /// The same, as it would be if groups never ended.
    TheoreticalOccupancy,
    /// Groups that a compute unit holds, were this the only limit.
    GroupsBy(OccupancyLimit),
    /// How often the groups of the launch fill the device.
    Waves,
    /// How busy a unit is, in percent of its most.
    Busy(Unit),
    L2Bytes,
    /// Bytes through the first cache.
    L1Bytes,
    /// Share of accesses that the first cache had, in percent.
    L1Hit,
    /// Sectors of 32 bytes for each load from global memory by a warp.
    SectorsPerLoad,
    SectorsPerStore,
    /// Bytes that are loaded from private memory: spilled registers, indexed arrays.
    PrivateLoaded,
    PrivateStored,
    /// Warps that are there for each instruction issued.
    WarpsPerIssue,
    Stalled(StallsBy, Stall),
}

/// How the warps that are stalled for a reason were counted, the best way first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum StallsBy {
    /// Percent of the time of warps.
    Warp,
    /// Warps for each instruction issued.
    Issue,
    Samples,
}

#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    sum: f64,
    count: f64,
}

impl Mean {
    fn add(&mut self, value: f64, weight: f64) {
        self.sum += value * weight;
        self.count += weight;
    }

    fn join(&mut self, other: Self) {
        self.sum += other.sum;
        self.count += other.count;
    }

    fn value(self) -> Option<f64> {
        (self.count > 0.0).then(|| self.sum / self.count)
    }
}

#[derive(Clone, Debug, Default)]
struct Collected {
    calls: u64,
    means: BTreeMap<Quantity, Mean>,
    /// Times of runs in which nothing was counted: counting makes kernels slower.
    plain_seconds: Mean,
}

/// Kernels of one or several profiles of the same run, by name and work-items in all.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    kernels: BTreeMap<(String, Option<u64>), Collected>,
}

/// Bytes of the kilobyte that rocprof's FETCH_SIZE and WRITE_SIZE count.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kilobyte {
    /// 1000, as the sprint report reckons.
    #[default]
    Thousand,
    /// 1024, as the formula in rocprof's own `metrics.xml` divides.
    Binary,
}

impl Kilobyte {
    pub fn bytes(self) -> f64 {
        match self {
            Self::Thousand => 1000.0,
            Self::Binary => 1024.0,
        }
    }
}

/// One kernel, averaged over its calls. What a profile does not tell is none.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KernelCounters {
    pub kernel: String,
    pub work_items: Option<u64>,
    pub calls: u64,
    pub seconds: Option<f64>,
    /// TOTAL_RW: bytes of a call, read and written.
    pub total_rw_bytes: Option<f64>,
    pub bytes_per_second: Option<f64>,
    pub share_of_ceiling: Option<f64>,
    /// Accesses that hit in the L2 cache, in percent; as JSON a share.
    #[serde(rename = "l2_hit_share", serialize_with = "percent")]
    pub l2_hit_percent: Option<f64>,
    /// Registers of a work-item; on AMD vector registers.
    pub registers: Option<f64>,
    pub scalar_registers: Option<f64>,
    pub local_bytes: Option<f64>,
    /// Spilled registers of a work-item, in bytes.
    pub scratch_bytes: Option<f64>,
    pub group_size: Option<f64>,
    /// Active warps, in percent of the most; as JSON a share.
    #[serde(rename = "occupancy_share", serialize_with = "percent")]
    pub occupancy_percent: Option<f64>,
    /// The same, were there always groups to go on with.
    #[serde(rename = "theoretical_occupancy_share", serialize_with = "percent")]
    pub theoretical_occupancy_percent: Option<f64>,
    pub occupancy_limits: Vec<OccupancyLimit>,
    pub waves: Option<f64>,
    pub dram_read_bytes: Option<f64>,
    pub dram_written_bytes: Option<f64>,
    pub l2_bytes: Option<f64>,
    /// Bytes of a call through the first cache.
    pub l1_bytes: Option<f64>,
    /// Accesses that hit in the first cache, in percent; as JSON a share.
    #[serde(rename = "l1_hit_share", serialize_with = "percent")]
    pub l1_hit_percent: Option<f64>,
    /// Sectors of 32 bytes for each load from global memory by a warp.
    pub sectors_per_load: Option<f64>,
    pub sectors_per_store: Option<f64>,
    /// Bytes of a call from and to private memory: spilled registers, and indexed arrays.
    pub private_bytes: Option<f64>,
    pub units: Vec<Busy>,
    /// Why warps were stalled, the largest share first.
    pub stalls: Vec<Stalled>,
    pub binds: Option<Binds>,
    /// Why there is no TOTAL_RW where half of it was counted.
    pub remark: Option<String>,
}

impl KernelCounters {
    /// A kernel of which bytes and time are known, by whatever means.
    pub fn by_hand(kernel: &str, bytes: f64, seconds: f64, ceiling: Option<f64>) -> Self {
        let mut collected = Collected { calls: 1, ..Collected::default() };
        collected.means.entry(Quantity::BytesRead).or_default().add(bytes, 1.0);
        collected.means.entry(Quantity::BytesWritten).or_default().add(0.0, 1.0);
        collected.plain_seconds.add(seconds, 1.0);
        collected.averaged((kernel, None), ceiling)
    }
}

impl Collected {
    /// Adds what a row has in some columns, each times a factor.
    fn add(&mut self, sheet: &Sheet, row: &Row, columns: &[(&str, Quantity, f64)]) -> Result<(), CountersError> {
        for &(column, quantity, factor) in columns {
            if let Some(value) = sheet.number(row, column)? {
                self.means.entry(quantity).or_default().add(value * factor, 1.0);
            }
        }
        Ok(())
    }

    /// Takes what another file has of the same kernel in the same run: its calls are the same ones.
    fn join(&mut self, other: Self) {
        self.calls = self.calls.max(other.calls);
        self.plain_seconds.join(other.plain_seconds);
        other.means.into_iter().for_each(|(quantity, mean)| self.means.entry(quantity).or_default().join(mean));
    }

    fn averaged(&self, (kernel, work_items): (&str, Option<u64>), ceiling: Option<f64>) -> KernelCounters {
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

    /// Why warps were stalled, the largest share first: by what was counted, else by samples.
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

impl Profile {
    /// Adds what a file has. Files of one run belong together: times of one that counts nothing are taken before those of one that does.
    pub fn read(&mut self, path: &Path, kilobyte: Kilobyte) -> Result<(), CountersError> {
        let text =
            lanefield::bounded::read(path).map_err(|source| CountersError::Read { path: path.to_owned(), source })?;
        let sheet = Sheet::parse(path, &String::from_utf8_lossy(&text))?;
        let mut of_file = Self::default();
        let added = match sheet.has("Kernel Name") {
            true => ncu::add(&mut of_file, &sheet)?,
            false => rocprof::add(&mut of_file, &sheet, kilobyte)?,
        };
        if added == 0 {
            return Err(CountersError::unfit(path, "has no kernels"));
        }
        of_file
            .kernels
            .into_iter()
            .for_each(|(kernel, collected)| self.kernels.entry(kernel).or_default().join(collected));
        Ok(())
    }

    /// The kernels, the longest in all first; `ceiling`: in bytes a second.
    pub fn kernels(&self, ceiling: Option<f64>) -> Vec<KernelCounters> {
        let mut kernels: Vec<_> = self
            .joined()
            .iter()
            .map(|((name, work_items), collected)| collected.averaged((name, *work_items), ceiling))
            .collect();
        let total = |kernel: &KernelCounters| kernel.seconds.unwrap_or(0.0) * kernel.calls as f64;
        kernels.sort_by(|a, b| total(b).total_cmp(&total(a)));
        kernels
    }

    /// The kernels, where times by name alone are given to the one size that there is of a kernel.
    fn joined(&self) -> BTreeMap<(String, Option<u64>), Collected> {
        let mut kernels = self.kernels.clone();
        let unsized_names = self.kernels.keys().filter(|(_, size)| size.is_none()).map(|(name, _)| name.clone());
        for name in unsized_names {
            let sizes: Vec<_> = self.kernels.keys().filter(|(other, size)| *other == name && size.is_some()).collect();
            if let [only] = sizes[..]
                && let Some(by_name) = kernels.remove(&(name, None))
                && let Some(sized) = kernels.get_mut(only)
            {
                sized.calls = sized.calls.max(by_name.calls);
                sized.plain_seconds.join(by_name.plain_seconds);
            }
        }
        kernels
    }

    fn of(&mut self, kernel: &str, work_items: Option<u64>) -> &mut Collected {
        self.kernels.entry((short_name(kernel).to_owned(), work_items)).or_default()
    }
}

/// A kernel's name without its arguments, and without the suffix that HIP gives it.
fn short_name(name: &str) -> &str {
    let name = name.trim();
    // Arguments begin at the first parenthesis outside of template brackets, in which there may be casts.
    let mut depth = 0usize;
    let end = name.char_indices().find_map(|(at, c)| {
        match c {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            '(' if depth == 0 && at > 0 => return Some(at),
            _ => {}
        }
        None
    });
    let name = &name[..end.unwrap_or(name.len())];
    let name = name.split(" [clone").next().unwrap_or(name);
    name.strip_suffix(".kd").unwrap_or(name).trim()
}
