//! The results of a measurement of sums: the rows of its table, and whether sums that must be equal are so.

use std::fmt;

use lanefield_reference::layout::Lattice;
use serde::Serialize;

use crate::ceilings::{MemoryOf, Share};
use crate::plausible;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    Sum,
    Norm2,
    InnerProduct,
}
lanefield_reference::named!(Operation: Sum = "sum", Norm2 = "norm2", InnerProduct = "inner product");

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// This number of sites per group, with a work-item for each lane of each site.
    SitesAGroup(usize),
    Plan,
    Default,
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SitesAGroup(sites) => write!(f, "{sites} sites a group"),
            Self::Plan => f.write_str("plan"),
            Self::Default => f.write_str("default"),
        }
    }
}

/// Seconds of the timed runs of a row: device time if there are device events, otherwise wall time.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Seconds {
    pub median: f64,
    pub least: f64,
    pub most: f64,
}

#[derive(Clone, Debug, Serialize)]
pub struct ReduceRow {
    pub operation: Operation,
    pub object: &'static str,
    pub precision: &'static str,
    pub shape: Shape,
    /// Work-items per group, if they were chosen.
    pub group: Option<usize>,
    /// `staged:R`, `fused:R`, `serial-words`, `tree` if there is only one form, or `exact`.
    pub form: String,
    /// `exact`, or `tree of …` with the plan; `None` if there is no such plan.
    pub sum: Option<String>,
    pub bytes: u64,
    pub seconds: Option<Seconds>,
    /// Seconds in which a kernel reads the same number of bytes and does nothing else.
    pub read_seconds: Option<f64>,
    pub failure: Option<String>,
    /// Bytes of the fields per second, each counted once, at the median time.
    pub bytes_per_second: Option<f64>,
    /// Its ratio to the read bandwidth; `None` if the fields stay in a cache.
    pub share_of_read_bandwidth: Option<f64>,
    /// Whether the fields stay in a cache, completely or partly.
    pub in_cache: bool,
    /// The time in which a kernel reads the same number of bytes and does nothing else, including its launch, divided by this row's median time;
    /// `None` if it is implausible.
    pub share_of_same_read: Option<f64>,
}

impl ReduceRow {
    /// Compares it with the read bandwidth of a memory, and with an empty launch. An implausible time is a failure.
    pub(super) fn hold_against(&mut self, memory: MemoryOf<'_>, read_bandwidth: f64, empty_launch: f64) {
        let Some(seconds) = self.seconds else { return };
        let rate = self.bytes as f64 / seconds.median;
        match memory.held(self.bytes, seconds.median, Some(read_bandwidth), empty_launch) {
            Ok(share) => {
                self.bytes_per_second = Some(rate);
                self.share_of_read_bandwidth = share.and_then(Share::of_ceiling);
                self.in_cache = share == Some(Share::InCache);
                self.share_of_same_read =
                    self.read_seconds.and_then(|read| plausible::share(read / seconds.median).ok());
            }
            Err(reason) => (self.seconds, self.failure) = (None, Some(reason.to_string())),
        }
    }
}

#[derive(Clone, Debug, Serialize)]
pub struct ReduceReport {
    #[serde(skip)]
    pub lattice: Lattice,
    /// The plan of the bundle on this backend; `None` if no plan is possible.
    pub plan: Option<String>,
    /// Read bandwidth in bytes per second: from an earlier run, unless a row of this one was faster.
    #[serde(rename = "read_bytes_per_second")]
    pub read_bandwidth: f64,
    pub rows: Vec<ReduceRow>,
    pub agreement: Agreement,
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct Agreement {
    /// Rows with tree sums; those with the same plan and field must be equal.
    pub tree_sums: usize,
    pub plans: usize,
    /// Rows with exact sums; all of the same field must be equal.
    pub exact_sums: usize,
    pub different: Vec<String>,
}

impl Agreement {
    pub fn same_bits(&self) -> bool {
        self.different.is_empty()
    }
}

impl fmt::Display for Agreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tree_sums, plans, exact_sums, different } = self;
        match different.as_slice() {
            [] => write!(f, "same bits: {tree_sums} tree sums of {plans} plans, {exact_sums} exact sums"),
            some => write!(f, "DIFFERENT bits: {}", some.join("; ")),
        }
    }
}
