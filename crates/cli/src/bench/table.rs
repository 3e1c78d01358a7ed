//! What was measured, as a table and as JSON.

use anyhow::bail;
use comfy_table::{CellAlignment, TableComponent};
use lanefield::kernel::Ceiling;
use lanefield::reference::layout::Extents;
use lanefield_lab::{KernelRecord, Timed};
use serde::Serialize;

use crate::output::{facts, table};

/// The bandwidths with which kernels are compared, in bytes per second.
#[derive(Clone, Copy)]
pub struct Ceilings {
    copy: f64,
    /// Measured only where a kernel is held against it.
    read: Option<f64>,
}

impl Ceilings {
    /// Measures those that the records need.
    ///
    /// # Errors
    /// What the backend reports.
    pub fn measure<B: Timed>(backend: &B, records: &[KernelRecord]) -> anyhow::Result<Self> {
        let reads = records.iter().any(|record| record.ceiling == Ceiling::Read);
        let read = reads.then(|| backend.read_bandwidth()).transpose()?;
        Ok(Self { copy: backend.copy_bandwidth()?, read })
    }

    fn of(&self, ceiling: Ceiling) -> Option<f64> {
        match ceiling {
            Ceiling::Copy => Some(self.copy),
            Ceiling::Read => self.read,
        }
    }
}

/// What was measured. As JSON, these fields.
#[derive(Serialize)]
pub struct Report {
    /// The command: `bench`, `bench sprint`, ….
    kind: &'static str,
    /// What it ran on.
    device: String,
    /// Timed launches of each row.
    samples: u32,
    /// Copy bandwidth measured in this run, in 10⁹ bytes a second, read and written.
    copy_gb_per_second: f64,
    /// Read bandwidth, likewise; null where no row is held against it.
    read_gb_per_second: Option<f64>,
    /// The rows.
    pub rows: Vec<Row>,
}

/// A record, and its rates.
#[derive(Serialize)]
pub struct Row {
    /// The record.
    #[serde(flatten)]
    pub record: KernelRecord,
    /// Floating-point operations, in 10⁹ a second, at the median time.
    pub gflop_per_second: Option<f64>,
    /// Bytes, each input and each output once, in 10⁹ a second, at the median time.
    pub gb_per_second: Option<f64>,
    /// Their ratio to the ceiling; above 1 where fields stay in a cache.
    pub share_of_ceiling: Option<f64>,
}

impl Row {
    fn new(record: KernelRecord, ceilings: &Ceilings) -> Self {
        let bytes = record.bytes_per_second();
        Self {
            gflop_per_second: record.flops_per_second().map(|rate| rate / 1e9),
            gb_per_second: bytes.map(|rate| rate / 1e9),
            share_of_ceiling: bytes.zip(ceilings.of(record.ceiling)).map(|(rate, ceiling)| rate / ceiling),
            record,
        }
    }

    /// What distinguishes it from other rows of its kernel: its fields, and what was chosen unless that is common to all rows.
    fn variant(&self, common: Option<&str>) -> String {
        let Self { record: KernelRecord { fields, variant, .. }, .. } = self;
        if common == Some(variant) { fields.to_string() } else { format!("{fields}; {variant}") }
    }

    fn cells(&self, common: Option<&str>) -> [String; 8] {
        let record = &self.record;
        let number = |number: Option<f64>| number.map_or("–".to_owned(), |number| format!("{number:.1}"));
        let spread = record.seconds.map(|spread| format!("{:.1} – {:.1}", spread.tenth * 1e6, spread.ninetieth * 1e6));
        let ceiling = match record.ceiling {
            Ceiling::Copy => "copy",
            Ceiling::Read => "read",
        };
        let share = self.share_of_ceiling.map(|share| format!("{:.1}% of {ceiling}", 100.0 * share));
        [
            record.kernel.name.to_owned(),
            self.variant(common),
            number(record.seconds.map(|spread| spread.median * 1e6)),
            spread.unwrap_or_else(|| "failed".to_owned()),
            number(record.back_to_back_seconds.map(|seconds| seconds * 1e6)),
            number(self.gflop_per_second),
            number(self.gb_per_second),
            share.unwrap_or_else(|| "–".to_owned()),
        ]
    }
}

impl Report {
    /// Holds what was timed on `backend` against its bandwidths.
    ///
    /// # Errors
    /// Where nothing at all could be run: the first reason; what the backend reports.
    pub fn new<B: Timed>(backend: &B, samples: u32, records: Vec<KernelRecord>) -> anyhow::Result<Self> {
        if let [first, ..] = records.as_slice()
            && records.iter().all(|record| record.failure.is_some())
        {
            bail!("failed to time {}: {}", first.kernel, first.failure.as_deref().unwrap_or_default());
        }
        let ceilings = Ceilings::measure(backend, &records)?;
        Ok(Self {
            kind: "bench",
            device: backend.describe(),
            samples,
            copy_gb_per_second: ceilings.copy / 1e9,
            read_gb_per_second: ceilings.read.map(|read| read / 1e9),
            rows: records.into_iter().map(|record| Row::new(record, &ceilings)).collect(),
        })
    }

    /// The same, made by another command.
    pub fn of_kind(self, kind: &'static str) -> Self {
        Self { kind, ..self }
    }

    /// What was chosen for all rows; none where they differ.
    fn common(&self) -> Option<&str> {
        let first = self.rows.first()?.record.variant.as_str();
        self.rows.iter().all(|row| row.record.variant == first).then_some(first)
    }

    /// The device, the lattice if it is one, what was chosen for all rows, and the bandwidths.
    pub fn heading(&self, lattice: Option<Extents>) -> String {
        let rate = |rate: f64| format!("{rate:.1} GB/s");
        let mut known = vec![("device", self.device.clone())];
        known.extend(lattice.map(|extents| ("lattice", extents.to_string())));
        known.extend(self.common().map(|variant| ("variant", variant.to_owned())));
        known.push(("copy bandwidth", rate(self.copy_gb_per_second)));
        known.extend(self.read_gb_per_second.map(|read| ("read bandwidth", rate(read))));
        facts(known)
    }

    /// The rows that are `wanted`, and why kernels could not be run.
    pub fn table_of(&self, wanted: impl Fn(&Row) -> bool) -> String {
        let mut lines = table([
            "kernel",
            "variant",
            "median, µs",
            "10 – 90 %, µs",
            "back to back, µs",
            "GFlop/s",
            "GB/s",
            "of ceiling",
        ]);
        lines.remove_style(TableComponent::HorizontalLines).remove_style(TableComponent::MiddleIntersections);
        let (common, mut failures) = (self.common(), String::new());
        for row in self.rows.iter().filter(|row| wanted(row)) {
            lines.add_row(row.cells(common));
            if let Some(reason) = &row.record.failure {
                failures += &format!("\n{}, {}: {reason}", row.record.kernel, row.variant(common));
            }
        }
        for column in lines.column_iter_mut().skip(2) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        format!("{lines}{failures}")
    }

    /// All of it, for people.
    pub fn text(&self, lattice: Option<Extents>) -> String {
        format!("{}\n{}", self.heading(lattice), self.table_of(|_| true))
    }
}
