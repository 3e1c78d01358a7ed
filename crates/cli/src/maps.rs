//! Commands for maps, which are kernels over index spaces of their own (`lanefield::dynamic::IndexKernel`): comparing, timing and examining
//! them.

use anyhow::{Context as _, bail};
use lanefield::backend::Cpu;
use lanefield::backend::opencl::DeviceError;
use lanefield::dynamic::{AnyBackend, Compared, IndexKernel};
use lanefield_lab::bandwidth::Operation;
use lanefield_lab::{Sampling, Spread, Timed as _, fastest, sample};
use lanefield_ports::compare::grouped;
use serde::Serialize;

use super::interrupt::interrupted;
use super::numbers::number;
use super::output::{fitted, table_of};

/// A kernel of a caller, over an index space of its own.
pub type Map = &'static dyn IndexKernel;

#[derive(Serialize)]
pub struct ComparedMap {
    map: &'static str,
    launches: u64,
    numbers: u64,
    differences: Vec<String>,
    /// What the device lacks for it.
    lacks: Option<String>,
    failure: Option<String>,
}

impl ComparedMap {
    /// Compares maps on a backend with the CPU, until a signal comes.
    pub fn all(maps: &[Map], key: u64, cpu: &Cpu, backend: &AnyBackend) -> Vec<Self> {
        let compare = |map: &Map| {
            let (compared, lacks, failure) = match map.compare(key, cpu, backend) {
                Ok(compared) => (compared, None, None),
                Err(error) => match DeviceError::lack(&error) {
                    Some(lacks) => (Compared::default(), Some(lacks), None),
                    None => (Compared::default(), None, Some(error.to_string())),
                },
            };
            let Compared { launches, numbers, differences } = compared;
            Self { map: map.name(), launches, numbers, differences, lacks, failure }
        };
        maps.iter().take_while(|_| !interrupted()).map(compare).collect()
    }

    pub fn same_bits(&self) -> bool {
        self.failure.is_none() && self.differences.is_empty()
    }

    pub fn differs(&self) -> bool {
        !self.differences.is_empty()
    }

    /// Whether the device supports it.
    pub fn is_compared(&self) -> bool {
        self.lacks.is_none()
    }

    pub fn line(&self) -> String {
        let Self { map, launches, numbers, differences, lacks, failure } = self;
        match (failure, &differences[..]) {
            (Some(failure), _) => format!("{map}: FAILED: {failure}"),
            (None, []) if let Some(lacks) = lacks => format!("{map}: not supported: {lacks}"),
            (None, []) => format!("{map}: {} numbers in {launches} launches, same bits", grouped(*numbers)),
            (None, [first, ..]) => format!("{map}: DIFFERENT in {} of {launches} launches: {first}", differences.len()),
        }
    }
}

/// The time of a map in one way of launching it.
#[derive(Default, Serialize)]
pub struct TimedMap {
    map: &'static str,
    pub way: String,
    bytes: u64,
    pub seconds: Option<Spread>,
    bytes_per_second: Option<f64>,
    /// The share of the copy bandwidth of the same run; null if the arrays fit a cache.
    share_of_copy: Option<f64>,
    failure: Option<String>,
}

impl TimedMap {
    /// Times maps in their default way, or in all ways.
    pub fn all(maps: &[Map], backend: &AnyBackend, samples: u32, all_ways: bool) -> anyhow::Result<Vec<Self>> {
        let mut timed = Vec::new();
        for map in maps {
            let ways = map.ways(backend);
            for (way, name) in ways.into_iter().enumerate().take(if all_ways { usize::MAX } else { 1 }) {
                if interrupted() {
                    break;
                }
                timed.push(Self::of(*map, (way, name), backend, samples));
            }
        }
        if let Some(failure) = timed.first().and_then(|row| row.failure.as_ref())
            && timed.iter().all(|row| row.failure.is_some())
        {
            bail!("failed to time {}: {failure}", timed[0].map);
        }
        let memory = backend.memory();
        let seen = timed.iter().filter(|row| row.bytes > memory.cache_bytes());
        let seen = seen.filter_map(|row| Some(row.bytes as f64 / row.seconds?.ninetieth)).reduce(f64::max);
        if !timed.is_empty() {
            let copy = memory.ceiling(Operation::Copy, seen).context("failed to measure the copy bandwidth")?;
            for row in timed.iter_mut().filter(|row| row.bytes > memory.cache_bytes()) {
                row.share_of_copy = row.bytes_per_second.map(|rate| rate / copy);
            }
        }
        Ok(timed)
    }

    fn of(map: Map, (way, name): (usize, String), backend: &AnyBackend, samples: u32) -> Self {
        let mut row = Self { map: map.name(), way: name, ..Self::default() };
        let timed = map.prepare(way, backend).and_then(|mut prepared| {
            row.bytes = prepared.bytes;
            let sampling = Sampling { samples: samples as usize, back_to_back: false };
            sample(backend, sampling, |_| (prepared.launch)())
        });
        match timed {
            Ok((seconds, _)) => {
                (row.seconds, row.bytes_per_second) = (Some(seconds), Some(row.bytes as f64 / seconds.median));
            }
            Err(error) => row.failure = Some(error.to_string()),
        }
        row
    }
}

/// The times of maps, in place of those of kernels.
#[derive(Serialize)]
pub struct MapReport {
    pub rows: [(); 0],
    pub maps: Vec<TimedMap>,
}

pub fn table_of_times(rows: &[TimedMap]) -> String {
    let cells = rows.iter().map(|row| {
        let spread = row.seconds.map(|spread| format!("{:.1} – {:.1}", spread.tenth * 1e6, spread.ninetieth * 1e6));
        let share = row.share_of_copy.map(|share| format!("{:.1}%", 100.0 * share));
        [
            ("map", row.map.to_owned()),
            ("launched with", row.way.clone()),
            ("median, µs", number(row.seconds.map(|spread| spread.median * 1e6), 1)),
            ("10 – 90 %, µs", spread.unwrap_or_else(|| format!("failed: {}", row.failure.as_deref().unwrap_or("")))),
            ("GB/s", number(row.bytes_per_second.map(|rate| rate / 1e9), 1)),
            ("of copy", share.unwrap_or_else(|| if row.failure.is_some() { "–" } else { "in cache" }.to_owned())),
        ]
    });
    fitted(table_of(cells, 2..), &["10 – 90 %, µs"]).to_string()
}

/// The fastest way of each map, as its author would write it.
pub fn fastest_ways(rows: &[TimedMap]) -> Vec<String> {
    rows.chunk_by(|a, b| a.map == b.map)
        .filter_map(|ways| {
            let usual = &ways[0];
            let timed = ways.iter().filter_map(|row| Some((row.way.as_str(), row.seconds?)));
            let (way, _, as_fast) = fastest(timed)?;
            Some(match way == usual.way || as_fast.contains(&usual.way.as_str()) {
                true => format!("{}: no way is faster than its own: {}", usual.map, usual.way),
                false => format!("{}: #[map_kernel({way})] is the fastest", usual.map),
            })
        })
        .collect()
}

/// Maps in all ways to launch them, and whether the bits are the same in all.
#[derive(Serialize)]
pub struct TunedMaps {
    pub maps: Vec<TimedMap>,
    pub fastest: Vec<String>,
    pub compared: Vec<ComparedMap>,
}

impl TunedMaps {
    pub fn text(&self) -> String {
        let compared: Vec<String> = self.compared.iter().map(ComparedMap::line).collect();
        format!("{}\n\n{}\n{}", table_of_times(&self.maps), self.fastest.join("\n"), compared.join("\n"))
    }
}

#[derive(Serialize)]
pub struct ExaminedMaps {
    maps: Vec<ExaminedMap>,
}

/// Why a map is slow: its share of the copy bandwidth, a faster way, and the cost of its launches.
#[derive(Serialize)]
struct ExaminedMap {
    #[serde(flatten)]
    usual: TimedMap,
    remarks: Vec<String>,
}

impl ExaminedMaps {
    pub fn all(maps: &[Map], backend: &AnyBackend, samples: u32) -> anyhow::Result<Self> {
        let mut examined = Vec::new();
        for map in maps {
            let rows = TimedMap::all(&[*map], backend, samples, true)?;
            let mut remarks = fastest_ways(&rows);
            remarks.extend(map.remarks(backend)?);
            // There are none after a signal.
            examined.extend(rows.into_iter().next().map(|usual| ExaminedMap { usual, remarks }));
        }
        Ok(Self { maps: examined })
    }

    pub fn text(&self) -> String {
        let one = |ExaminedMap { usual, remarks }: &ExaminedMap| {
            let times = table_of_times(std::slice::from_ref(usual));
            let remarks: Vec<String> = remarks.iter().map(|remark| format!("  {remark}")).collect();
            format!("{times}\n{}", remarks.join("\n"))
        };
        self.maps.iter().map(one).collect::<Vec<_>>().join("\n\n")
    }
}
