//! What limits a kernel, by a fixed rule (docs/counters.md):
//!
//! 1. If a unit is at least 80% busy, the busiest unit is the limit.
//! 2. Otherwise, if the busiest unit is at least 60% busy, it is the limit. Latency then contributes, and the largest stall is named with it.
//! 3. Otherwise, if the launch does not fill the device once, the launch is the limit.
//! 4. Otherwise latency is the limit, with the largest stall, and what limits occupancy.
//!
//! 60% and 80% are the thresholds of Nsight Compute's own rules for throughput. From step 2 on, there is no result if DRAM, L2 or L1 was not
//! counted, since that one might be the busiest.

use super::kernel::KernelCounters;
use super::limits::{OccupancyLimit, percent};
use crate::binding::{Binding, Limit, Unit, what_binds};

/// From this share on, a unit is the limit.
const FULL: f64 = 0.8;
/// From this share on, the busiest unit limits a kernel more than latency does.
const BUSY: f64 = 0.6;
const WORTH_A_WORD: f64 = 0.1;

impl KernelCounters {
    /// The limit; `None` if too little was counted to tell.
    pub(super) fn what_binds(&self) -> Option<Binding> {
        // Among equally busy units, the first.
        let units = self.units.iter().rev();
        let full =
            units.map(|busy| Binding { limit: Limit::Unit(busy.unit), share: busy.share, because: busy.to_string() });
        what_binds(full, FULL, |busiest| {
            let counted = |unit: &Unit| self.units.iter().any(|busy| busy.unit == *unit);
            Unit::MEMORY.iter().all(counted).then(|| self.none_is_full(busiest))
        })
    }

    fn none_is_full(&self, busiest: Binding) -> Binding {
        let stalled = self.largest_stall().filter(|stalled| stalled.share >= WORTH_A_WORD);
        let stalled = stalled.map_or_else(String::new, |stalled| format!(", warps stalled on {stalled}"));
        let Binding { limit, share, because } = busiest;
        if share >= BUSY {
            return Binding { limit, share, because: because + &stalled };
        }
        let idle = format!("no unit above {} ({because})", percent(BUSY));
        let (limit, because) = match self.waves.filter(|&waves| waves < 1.0) {
            Some(waves) => (Limit::Launch, format!("launch: {idle}, its groups fill {} of the device", percent(waves))),
            None => (Limit::Latency, format!("latency: {idle}{stalled}{}", self.occupancy())),
        };
        Binding { limit, share, because }
    }

    fn occupancy(&self) -> String {
        let Some(achieved) = self.occupancy_percent else { return String::new() };
        let limits: Vec<String> = self.occupancy_limits.iter().map(OccupancyLimit::to_string).collect();
        let by = if limits.is_empty() { String::new() } else { format!(", limited by {}", limits.join(" and ")) };
        format!(", occupancy {}{by}", percent(achieved / 100.0))
    }
}
