//! What limits a kernel or a run, with its share: of the time, from a model or a clock; or of a unit's capacity, from a profiler's counters.

use std::fmt;

use serde::Serialize;

/// A unit of a device, named as in Nsight Compute.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    Dram,
    L2,
    /// The first-level cache, with its tags and data, and local memory.
    L1,
    /// The slots in which schedulers issue instructions.
    Issue,
    Fma,
    /// Integer, bit and comparison operations.
    Alu,
    Lsu,
    Fp64,
}

impl Unit {
    pub const MEMORY: [Self; 3] = [Self::Dram, Self::L2, Self::L1];

    pub fn key(self) -> &'static str {
        match self {
            Self::Dram => "dram",
            Self::L2 => "l2",
            Self::L1 => "l1",
            Self::Issue => "issue",
            Self::Fma => "fma",
            Self::Alu => "alu",
            Self::Lsu => "lsu",
            Self::Fp64 => "fp64",
        }
    }
}

lanefield_reference::named!(
    Unit: Dram = "DRAM throughput", L2 = "L2 throughput", L1 = "L1 throughput", Issue = "issue slots", Fma = "FMA pipe", Alu = "ALU pipe",
    Lsu = "LSU pipe", Fp64 = "FP64 pipe"
);

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// Bytes from and to device memory.
    Memory,
    /// Bytes between the last-level cache and the compute units.
    SecondCache,
    /// Bytes from the first-level caches.
    FirstCache,
    /// A cache holds all bytes; they would take longer from memory.
    Cache,
    Fetches,
    Registers,
    /// Multiply-adds, additions and multiplications.
    Arithmetic,
    /// Bit operations that unpack and pack half precision.
    Conversion,
    Issue,
    Launch,
    Transfers,
    Allocations,
    /// The device waits for the host.
    Gaps,
    Kernels,
    /// None of the others takes half of the time.
    Execution,
    /// Warps wait, and no unit is fully used.
    Latency,
    #[serde(untagged)]
    Unit(Unit),
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Memory => "memory",
            Self::SecondCache => "last cache to units",
            Self::FirstCache => "first cache",
            Self::Cache => "cache",
            Self::Fetches => "fetches",
            Self::Registers => "registers",
            Self::Arithmetic => "arithmetic",
            Self::Conversion => "conversion",
            Self::Issue => "issue slots",
            Self::Launch => "launch",
            Self::Transfers => "transfers",
            Self::Allocations => "allocations",
            Self::Gaps => "gaps",
            Self::Kernels => "kernels",
            Self::Execution => "execution",
            Self::Latency => "latency",
            Self::Unit(unit) => unit.key(),
        })
    }
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Binding {
    #[serde(serialize_with = "crate::json::text::serialize")]
    pub limit: Limit,
    /// The fraction of the time that this limit alone would take, above 1 if the bytes stay in a cache; from counters, how busy the busiest unit
    /// is, 0 to 1.
    pub share: f64,
    pub because: String,
}

/// The largest of some limits, if its share is at least `enough`; otherwise the result of `otherwise` for it.
pub(crate) fn what_binds(
    limits: impl IntoIterator<Item = Binding>,
    enough: f64,
    otherwise: impl FnOnce(Binding) -> Option<Binding>,
) -> Option<Binding> {
    let known = limits.into_iter().filter(|limit| limit.share.is_finite());
    let greatest = known.max_by(|a, b| a.share.total_cmp(&b.share))?;
    if greatest.share >= enough { Some(greatest) } else { otherwise(greatest) }
}
