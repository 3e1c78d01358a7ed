//! The possible limits of a kernel: units of the device, and the reasons for which warps wait. Names are those of Nsight Compute.

use std::fmt;

use serde::Serialize;

use crate::binding::Unit;

#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Busy {
    pub unit: Unit,
    /// Fraction of its capacity, 0 to 1.
    pub share: f64,
}

impl fmt::Display for Busy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.unit, percent(self.share))
    }
}

/// Why a warp did not issue an instruction, or that it did (`selected`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
pub struct Stall(&'static str);

/// The reasons of Nsight Compute, from Volta to Hopper.
const STALLS: &str = "barrier branch_resolving dispatch_stall drain gmma imc_miss lg_throttle long_scoreboard math_pipe_throttle membar mio_throttle \
    misc no_instruction no_instructions not_selected selected short_scoreboard sleeping tex_throttle wait warpgroup_arrive";

impl Stall {
    /// A wait for global memory, or for registers that were spilled there.
    pub(crate) const LONG_SCOREBOARD: Self = Self("long_scoreboard");
    /// A wait for local memory of a group, or for rarely used functions.
    pub(crate) const SHORT_SCOREBOARD: Self = Self("short_scoreboard");
    pub(crate) const BARRIER: Self = Self("barrier");
    /// Too many accesses to global memory are pending.
    pub(crate) const LG_THROTTLE: Self = Self("lg_throttle");
    /// Too many accesses to local memory of groups are pending.
    pub(crate) const MIO_THROTTLE: Self = Self("mio_throttle");
    /// The pipe for its arithmetic is busy.
    pub(crate) const MATH_PIPE_THROTTLE: Self = Self("math_pipe_throttle");
    /// Code was not in the instruction cache.
    pub(crate) const NO_INSTRUCTION: Self = Self("no_instruction");
    /// A wait for the result of an instruction with a fixed latency.
    pub(crate) const WAIT: Self = Self("wait");
    pub(crate) const NOT_SELECTED: Self = Self("not_selected");
    pub(crate) const SELECTED: Self = Self("selected");

    /// The reason by name, as in metrics (`long_scoreboard`) or in sections (`Long Scoreboard`).
    pub(super) fn of(name: &str) -> Option<Self> {
        let name = name.to_lowercase().replace(' ', "_");
        let known = STALLS.split_whitespace().find(|known| *known == name)?;
        // Versions differ in the plural.
        Some(Self(known.strip_suffix("instructions").map_or(known, |_| "no_instruction")))
    }
}

impl fmt::Display for Stall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.replace('_', " "))
    }
}

#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Stalled {
    pub reason: Stall,
    /// Fraction of the time in which warps were active, 0 to 1.
    pub share: f64,
}

impl fmt::Display for Stalled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.reason, percent(self.share))
    }
}

pub(crate) fn percent(share: f64) -> String {
    format!("{:.0}%", 100.0 * share)
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OccupancyLimit {
    Registers,
    LocalMemory,
    Warps,
    Groups,
    Barriers,
}
lanefield_reference::named!(
    OccupancyLimit: Registers = "registers", LocalMemory = "local memory", Warps = "warps", Groups = "groups", Barriers = "barriers"
);
