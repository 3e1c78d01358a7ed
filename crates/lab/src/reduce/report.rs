//! What a measurement of sums found: the rows of its table, and whether what had to be equal was equal.

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
    /// So many sites a group, a work-item for each lane of each.
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

/// Seconds of the timed runs of a row: device time where there are device events, else wall time.
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
    /// Work-items of a group, where they were chosen.
    pub group: Option<usize>,
    /// `staged:R`, `fused:R`, `serial-words`, `tree` where there is one form only, or `exact`.
    pub form: String,
    /// `exact`, or `tree of …` with the plan; none where there is no such plan.
    pub sum: Option<String>,
    pub bytes: u64,
    pub seconds: Option<Seconds>,
    /// Seconds in which a kernel that does nothing else reads as many bytes.
    pub read_seconds: Option<f64>,
    pub failure: Option<String>,
    /// Bytes a second of the fields, each once, at the median time.
    pub bytes_per_second: Option<f64>,
    /// Its ratio to the read bandwidth; none where the fields stay in a cache.
    pub share_of_read_bandwidth: Option<f64>,
    /// Whether the fields stay in a cache, as a whole or in part.
    pub in_cache: bool,
    /// The time in which a kernel that does nothing else reads as many bytes, launch included, over this row's median time; none if that cannot be.
    pub share_of_same_read: Option<f64>,
}

impl ReduceRow {
    /// Holds it against the bandwidth at which a memory is read, and against a launch that does nothing. A time that cannot be is a failure.
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
    /// The plan of the bundle on this backend; none where no plan is possible.
    pub plan: Option<String>,
    /// Read bandwidth, in bytes a second: kept from an earlier run, unless a row of this one was faster.
    #[serde(rename = "read_bytes_per_second")]
    pub read_bandwidth: f64,
    pub rows: Vec<ReduceRow>,
    pub agreement: Agreement,
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct Agreement {
    /// Rows whose sums were tree sums; those of the same plan of the same field must be equal.
    pub tree_sums: usize,
    pub plans: usize,
    /// Rows whose sums were exact; all of the same field must be equal.
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
