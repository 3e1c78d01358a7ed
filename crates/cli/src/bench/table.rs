//! What was measured, as a table and as JSON.

use anyhow::bail;
use lanefield::backend::Memory as _;
use lanefield::dynamic::AnyBackend;
use lanefield::kernel::Ceiling;
use lanefield::reference::layout::Extents;
use lanefield_lab::bandwidth::Operation;
use lanefield_lab::ceilings::{MemoryOf, Share};
use lanefield_lab::{KernelRecord, Timed as _};
use serde::Serialize;

use crate::output::{facts, number, table_of};

#[derive(Serialize)]
pub struct Report {
    #[serde(skip)]
    device: String,
    samples: u32,
    /// Copy bandwidth, read and written, in bytes a second: kept from an earlier run, unless a row of this one was faster.
    copy_bytes_per_second: f64,
    /// Read bandwidth, likewise; null where no row is held against it.
    read_bytes_per_second: Option<f64>,
    pub rows: Vec<Row>,
}

/// A record, and its rates.
#[derive(Serialize)]
pub struct Row {
    #[serde(flatten)]
    pub record: KernelRecord,
    /// Floating-point operations a second, at the median time.
    pub flops_per_second: Option<f64>,
    /// Bytes a second, each input and each output once, at the median time.
    pub bytes_per_second: Option<f64>,
    /// Their ratio to the ceiling; null where fields stay in a cache.
    pub share_of_ceiling: Option<f64>,
    /// Whether they stay in a cache, as a whole or in part.
    pub in_cache: bool,
}

/// A rate, in 10⁹ a second.
fn giga(rate: Option<f64>) -> String {
    number(rate.map(|rate| rate / 1e9), 1)
}

impl Row {
    /// A record, held against a bandwidth of a memory, in bytes per second.
    fn new(record: KernelRecord, memory: MemoryOf<'_>, ceiling: Option<f64>) -> Self {
        let bytes = record.bytes_per_second();
        let held = || Some(memory.share(record.work?.bytes, bytes?, ceiling?));
        let share = held();
        Self {
            flops_per_second: record.flops_per_second(),
            bytes_per_second: bytes,
            share_of_ceiling: share.and_then(Share::of_ceiling),
            in_cache: share == Some(Share::InCache),
            record,
        }
    }

    /// What distinguishes it from other rows of its kernel: its fields, and what was chosen unless that is common to all rows.
    fn variant(&self, common: Option<&str>) -> String {
        let Self { record: KernelRecord { fields, variant, .. }, .. } = self;
        if common == Some(variant) { fields.to_string() } else { format!("{fields}; {variant}") }
    }

    fn cells(&self, common: Option<&str>) -> [(&'static str, String); 8] {
        let record = &self.record;
        let spread = record.seconds.map(|spread| format!("{:.1} – {:.1}", spread.tenth * 1e6, spread.ninetieth * 1e6));
        let ceiling = match record.ceiling {
            Ceiling::Copy => "copy",
            Ceiling::Read => "read",
        };
        let share = self.share_of_ceiling.map(|share| format!("{:.1}% of {ceiling}", 100.0 * share));
        [
            ("kernel", record.kernel.name.to_owned()),
            ("variant", self.variant(common)),
            ("median, µs", number(record.seconds.map(|spread| spread.median * 1e6), 1)),
            ("10 – 90 %, µs", spread.unwrap_or_else(|| "failed".to_owned())),
            ("back to back, µs", number(record.back_to_back_seconds.map(|seconds| seconds * 1e6), 1)),
            ("GFlop/s", giga(self.flops_per_second)),
            ("GB/s", giga(self.bytes_per_second)),
            ("of ceiling", share.unwrap_or_else(|| if self.in_cache { "in cache" } else { "–" }.to_owned())),
        ]
    }
}

impl Report {
    /// Holds what was timed on `backend` against its bandwidths.
    ///
    /// # Errors
    /// Where nothing at all could be run: the first reason; what the backend reports.
    pub fn new(backend: &AnyBackend, samples: u32, records: Vec<KernelRecord>) -> anyhow::Result<Self> {
        if let [first, ..] = records.as_slice()
            && records.iter().all(|record| record.failure.is_some())
        {
            bail!("failed to time {}: {}", first.kernel, first.failure.as_deref().unwrap_or_default());
        }
        // Measured only where a kernel is held against it.
        let reads = records.iter().any(|record| record.ceiling == Ceiling::Read);
        let memory = backend.memory();
        let seen = |ceiling| {
            let held = records.iter().filter(|record| record.ceiling == ceiling);
            let rates = held.filter_map(|record| {
                let bytes = record.work?.bytes;
                (bytes > memory.cache_bytes()).then_some(bytes as f64 / record.seconds?.ninetieth)
            });
            rates.reduce(f64::max)
        };
        let read = reads.then(|| memory.ceiling(Operation::Read, seen(Ceiling::Read))).transpose()?;
        let copy = memory.ceiling(Operation::Copy, seen(Ceiling::Copy))?;
        let row = |record: KernelRecord| {
            let ceiling = if record.ceiling == Ceiling::Read { read } else { Some(copy) };
            Row::new(record, memory, ceiling)
        };
        Ok(Self {
            device: backend.describe(),
            samples,
            copy_bytes_per_second: copy,
            read_bytes_per_second: read,
            rows: records.into_iter().map(row).collect(),
        })
    }

    /// What was chosen for all rows; none where they differ.
    fn common(&self) -> Option<&str> {
        let first = self.rows.first()?.record.variant.as_str();
        self.rows.iter().all(|row| row.record.variant == first).then_some(first)
    }

    /// The device, the lattice if it is one, what was chosen for all rows, and the bandwidths.
    pub fn heading(&self, lattice: Option<Extents>) -> String {
        let rate = |rate: f64| format!("{:.1} GB/s", rate / 1e9);
        let mut known = vec![("device", self.device.clone())];
        known.extend(lattice.map(|extents| ("lattice", extents.to_string())));
        known.extend(self.common().map(|variant| ("variant", variant.to_owned())));
        known.push(("copy bandwidth", rate(self.copy_bytes_per_second)));
        known.extend(self.read_bytes_per_second.map(|read| ("read bandwidth", rate(read))));
        facts(known)
    }

    /// The rows that are `wanted`, and why kernels could not be run.
    pub fn table_of(&self, wanted: impl Fn(&Row) -> bool) -> String {
        let (common, mut failures) = (self.common(), String::new());
        let rows = || self.rows.iter().filter(|row| wanted(row));
        let lines = table_of(rows().map(|row| row.cells(common)), 2..);
        for row in rows() {
            if let Some(reason) = &row.record.failure {
                failures += &format!("\n{}, {}: {reason}", row.record.kernel, row.variant(common));
            }
        }
        format!("{lines}{failures}")
    }

    pub fn text(&self, lattice: Option<Extents>) -> String {
        format!("{}\n{}", self.heading(lattice), self.table_of(|_| true))
    }
}
