//! The counters of one kernel.

use serde::Serialize;

use super::limits::{Busy, OccupancyLimit, Stall, Stalled};
use crate::binding::Binding;
use crate::json::si::percent;

/// One kernel, averaged over its calls. Values that a profile does not have are `None`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KernelCounters {
    pub kernel: String,
    pub work_items: Option<u64>,
    pub calls: u64,
    pub seconds: Option<f64>,
    /// TOTAL_RW: bytes read and written per call.
    pub total_rw_bytes: Option<f64>,
    pub bytes_per_second: Option<f64>,
    pub share_of_ceiling: Option<f64>,
    /// L2 cache hits, in percent of the accesses; a fraction in JSON.
    #[serde(rename = "l2_hit_share", serialize_with = "percent")]
    pub l2_hit_percent: Option<f64>,
    /// Registers per work-item; on AMD, vector registers.
    pub registers: Option<f64>,
    pub scalar_registers: Option<f64>,
    pub local_bytes: Option<f64>,
    /// Spilled registers, in bytes per work-item.
    pub scratch_bytes: Option<f64>,
    pub group_size: Option<f64>,
    /// Active warps, in percent of the most possible; a fraction in JSON.
    #[serde(rename = "occupancy_share", serialize_with = "percent")]
    pub occupancy_percent: Option<f64>,
    /// The occupancy if groups never ran out.
    #[serde(rename = "theoretical_occupancy_share", serialize_with = "percent")]
    pub theoretical_occupancy_percent: Option<f64>,
    pub occupancy_limits: Vec<OccupancyLimit>,
    pub waves: Option<f64>,
    pub dram_read_bytes: Option<f64>,
    pub dram_written_bytes: Option<f64>,
    pub l2_bytes: Option<f64>,
    /// Bytes per call through the first-level cache.
    pub l1_bytes: Option<f64>,
    /// First-level cache hits, in percent of the accesses; a fraction in JSON.
    #[serde(rename = "l1_hit_share", serialize_with = "percent")]
    pub l1_hit_percent: Option<f64>,
    /// Sectors of 32 bytes per load of a warp from global memory.
    pub sectors_per_load: Option<f64>,
    pub sectors_per_store: Option<f64>,
    /// Bytes per call from and to private memory: spilled registers, and indexed arrays.
    pub private_bytes: Option<f64>,
    pub units: Vec<Busy>,
    /// Why warps were stalled, the largest share first.
    pub stalls: Vec<Stalled>,
    pub binds: Option<Binding>,
    /// Why there is no TOTAL_RW although half of it was counted.
    pub remark: Option<String>,
}

impl KernelCounters {
    pub(crate) fn busiest(&self) -> Vec<Busy> {
        let mut units = self.units.clone();
        units.sort_by(|a, b| b.share.total_cmp(&a.share));
        units
    }

    /// Why warps waited, the largest share first, without those that issued an instruction.
    pub fn waits(&self) -> impl Iterator<Item = Stalled> {
        self.stalls.iter().copied().filter(|stalled| stalled.reason != Stall::SELECTED)
    }

    pub(crate) fn largest_stall(&self) -> Option<Stalled> {
        self.waits().max_by(|a, b| a.share.total_cmp(&b.share))
    }
}
