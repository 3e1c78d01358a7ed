//! The measurements as a table and as JSON.

use std::fmt::Display;

use lanefield::kernel::Ceiling;
use lanefield_lab::KernelRecord;
use lanefield_lab::bandwidth::Operation;
use lanefield_lab::study::Run;

use crate::numbers::number;
use crate::output::{facts, fitted, table_of};
use crate::prelude::*;

#[derive(Serialize)]
pub struct Report {
    #[serde(skip)]
    device: String,
    /// The planned lattices, each once.
    #[serde(skip)]
    pub lattices: Vec<Extents>,
    samples: u32,
    /// Copy bandwidth, bytes read plus written, in bytes a second. It is kept from an earlier run, unless a row of this run was faster.
    copy_bytes_per_second: f64,
    /// Read bandwidth, likewise; null if no row is compared with it.
    read_bytes_per_second: Option<f64>,
    pub rows: Vec<KernelRecord>,
}

/// The text after the name of the fastest.
pub fn or_others<T: Display>(as_fast: &[T]) -> String {
    let names: Vec<String> = as_fast.iter().map(T::to_string).collect();
    match names.as_slice() {
        [] => ", beyond the spread of the samples".to_owned(),
        names => format!("; within the spread of the samples as fast: {}", names.join(", ")),
    }
}

fn giga(rate: Option<f64>) -> String {
    number(rate.map(|rate| rate / 1e9), 1)
}

/// What distinguishes a record from others of its kernel: its fields, and its variant unless all records have the same.
fn variant_of(KernelRecord { fields, variant, .. }: &KernelRecord, common: Option<&str>) -> String {
    if common == Some(variant) { fields.to_string() } else { format!("{fields}; {variant}") }
}

fn cells(record: &KernelRecord, variant: String) -> [(&'static str, String); 8] {
    let spread = record.seconds.map(|spread| format!("{:.1} – {:.1}", spread.tenth * 1e6, spread.ninetieth * 1e6));
    let ceiling = match record.ceiling {
        Ceiling::Copy => "copy",
        Ceiling::Read => "read",
    };
    let share = record.share_of_ceiling.map(|share| format!("{:.1}% of {ceiling}", 100.0 * share));
    [
        ("kernel", record.kernel.name.to_owned()),
        ("variant", variant),
        ("median, µs", number(record.seconds.map(|spread| spread.median * 1e6), 1)),
        ("10 – 90 %, µs", spread.unwrap_or_else(|| "failed".to_owned())),
        ("back to back, µs", number(record.back_to_back_seconds.map(|seconds| seconds * 1e6), 1)),
        ("GFlop/s", giga(record.flops_per_second)),
        ("GB/s", giga(record.bytes_per_second)),
        ("of ceiling", share.unwrap_or_else(|| if record.in_cache { "in cache" } else { "–" }.to_owned())),
    ]
}

impl Report {
    /// Compares the times on `backend` with its bandwidths. Fails with the first reason if nothing could be run.
    pub fn new(backend: &AnyBackend, samples: u32, runs: &[Run], mut rows: Vec<KernelRecord>) -> anyhow::Result<Self> {
        if let [first, ..] = rows.as_slice()
            && rows.iter().all(|record| record.failure.is_some())
        {
            bail!("failed to time {}: {}", first.kernel, first.failure.as_deref().unwrap_or_default());
        }
        // Measured only if a kernel is compared with it.
        let reads = rows.iter().any(|record| record.ceiling == Ceiling::Read);
        let memory = backend.memory();
        let seen = |ceiling| {
            let held = rows.iter().filter(|record| record.ceiling == ceiling);
            let rates = held.filter_map(|record| {
                let bytes = record.work?.bytes;
                (bytes > memory.cache_bytes()).then_some(bytes as f64 / record.seconds?.ninetieth)
            });
            rates.reduce(f64::max)
        };
        let read = reads.then(|| memory.ceiling(Operation::Read, seen(Ceiling::Read))).transpose()?;
        let copy = memory.ceiling(Operation::Copy, seen(Ceiling::Copy))?;
        let least = rows.iter().filter_map(|row| Some(row.seconds?.median)).reduce(f64::min);
        let empty_launch = memory.empty_launch(least)?;
        for row in &mut rows {
            row.hold_against(memory, if row.ceiling == Ceiling::Read { read } else { Some(copy) }, empty_launch);
        }
        let mut lattices: Vec<Extents> = runs.iter().map(|run| run.case.extents).collect();
        lattices.dedup();
        let (copy_bytes_per_second, read_bytes_per_second) = (copy, read);
        Ok(Self { device: backend.describe(), lattices, samples, copy_bytes_per_second, read_bytes_per_second, rows })
    }

    /// The variant of all rows; `None` if they differ.
    fn common(&self) -> Option<&str> {
        let first = self.rows.first()?.variant.as_str();
        self.rows.iter().all(|row| row.variant == first).then_some(first)
    }

    /// The words with which the variants of several rows begin; empty if they differ from the first on.
    fn start(&self) -> String {
        let variants: Vec<String> = self.rows.iter().map(|row| variant_of(row, self.common())).collect();
        let [first, others @ ..] = variants.as_slice() else { return String::new() };
        let words = first.split_inclusive([',', ';']).scan(0, |end, word| {
            *end += word.len();
            Some(*end)
        });
        let is_common = |&end: &usize| others.iter().all(|other| other.get(..end) == Some(&first[..end]));
        match words.take_while(is_common).last() {
            // Something is left of each.
            Some(end) if !others.is_empty() && variants.iter().all(|variant| variant.len() > end + 1) => {
                first[..end + 1].to_owned()
            }
            _ => String::new(),
        }
    }

    /// The device, lattices, what was chosen for all rows, and the bandwidths.
    pub fn heading(&self, lattices: &[Extents]) -> String {
        let rate = |rate: f64| format!("{:.1} GB/s", rate / 1e9);
        let mut known = vec![("device", self.device.clone())];
        known.extend(lattices.iter().map(|extents| ("lattice", extents.to_string())));
        known.extend(self.common().map(|variant| ("variant", variant.to_owned())));
        let start = self.start();
        known.extend((!start.is_empty()).then(|| ("fields", start.trim_end_matches([' ', ',', ';']).to_owned())));
        known.push(("copy bandwidth", rate(self.copy_bytes_per_second)));
        known.extend(self.read_bytes_per_second.map(|read| ("read bandwidth", rate(read))));
        facts(known)
    }

    /// The rows that are `wanted`, and why other kernels could not be run.
    pub fn table_of(&self, wanted: impl Fn(&KernelRecord) -> bool) -> String {
        let (common, start, mut failures) = (self.common(), self.start(), String::new());
        let rows = || self.rows.iter().filter(|row| wanted(row));
        let lines = table_of(rows().map(|row| cells(row, variant_of(row, common)[start.len()..].to_owned())), 2..);
        let lines = fitted(lines, &["back to back, µs", "10 – 90 %, µs", "GFlop/s"]);
        for row in rows() {
            if let Some(reason) = &row.failure {
                failures += &format!("\n{}, {}: {reason}", row.kernel, variant_of(row, common));
            }
        }
        format!("{lines}{failures}")
    }

    pub fn text(&self) -> String {
        format!("{}\n{}", self.heading(&self.lattices), self.table_of(|_| true))
    }
}

#[cfg(test)]
mod tests {
    use lanefield_lab::{Spread, fastest};

    use super::*;

    #[test]
    fn what_the_samples_do_not_tell_from_the_fastest_is_named_with_it() {
        let spread = |tenth, median, ninetieth| Spread { median, tenth, ninetieth };
        let said = |timed: [Spread; 3]| {
            let (best, _, others) = fastest([2, 4, 8].into_iter().zip(timed)).unwrap();
            format!("{best}{}", or_others(&others))
        };
        let slow = spread(5.0, 6.0, 7.0);
        assert_eq!(said([slow, spread(1.0, 2.0, 3.0), slow]), "4, beyond the spread of the samples");
        assert_eq!(
            said([spread(2.5, 2.6, 9.0), spread(1.0, 2.0, 3.0), slow]),
            "4; within the spread of the samples as fast: 2"
        );
        let one_sample = |seconds| spread(seconds, seconds, seconds);
        assert_eq!(said([3.0, 2.0, 1.0].map(one_sample)), "8; within the spread of the samples as fast: 2, 4");
        assert!(fastest::<usize>([]).is_none());
    }
}
