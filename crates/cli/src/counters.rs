//! `lanefield counters`: the bandwidth that a profiler's counters imply, and a comparison of a port's profile with our measurements.
//! `lanefield_lab::counters` computes them.

use lanefield_lab::counters::{
    Beside, Busy, KernelCounters, Kilobyte, NameMap, Profile, our_kernels, parse_bytes, parse_seconds,
};

use super::args::one_of;
use super::numbers::number;
use super::output::{dense, facts, fitted, joined, table};
use crate::prelude::*;

/// Compute the achieved bandwidth from a profiler's counters.
///
/// It can also compare the profile of a port with Lanefield's measurements.
///
/// It reads CSV of rocprof (results.csv with FETCH_SIZE and WRITE_SIZE, results.stats.csv), rocprofv3 (counter_collection, kernel_trace and
/// kernel_stats) and Nsight Compute (ncu --csv, also with --page raw). The bandwidth is TOTAL_RW = FETCH_SIZE + WRITE_SIZE, averaged over the calls
/// of a kernel, divided by its average time. The EmPRiSM sprint report of Pawsey uses the same formula.
///
/// Several files are profiles of one run. Times come from profiles without counters if possible, since counting makes kernels slower.
///
/// With Nsight Compute, it also derives what limits a kernel from the counters of units and stalls: docs/counters.md has the rule. That page also
/// explains how to profile Lanefield's kernels, which Nsight Compute does not see as OpenCL.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield counters --bytes 77.87891MB --time 0.270821ms --ceiling 1075.46
  lanefield counters results.csv results.stats.csv --ceiling 1310.72
  lanefield counters results.csv --beside bench.json \\
    --map EOCloverFBCGPU=eo_clover
  lanefield counters hop.csv

Where the files come from (docs/traces.md, docs/counters.md):
  results.csv        rocprof -i counters.txt ./port
                     with \"pmc: FETCH_SIZE WRITE_SIZE\" in counters.txt
  results.stats.csv  rocprof --stats ./port
  hop.csv            ncu --csv --page raw ./port > hop.csv
  bench.json         lanefield bench --kernel eo_clover --json > bench.json")]
pub struct Counters {
    /// CSV files of profiles
    #[arg(value_name = "FILE.csv", required_unless_present = "bytes")]
    files: Vec<PathBuf>,
    /// Bytes read and written by a call, such as 77.9MB: with --time, replaces a profile
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, requires = "time", conflicts_with = "files")]
    bytes: Option<f64>,
    /// Time of a call, such as 0.27ms: with --bytes, replaces a profile
    #[arg(long, value_name = "TIME", value_parser = parse_seconds, requires = "bytes")]
    time: Option<f64>,
    /// Measured peak bandwidth in GB/s, of which shares are computed
    #[arg(long, value_name = "GB/s", value_parser = rate)]
    ceiling: Option<f64>,
    /// Bytes per kilobyte of FETCH_SIZE and WRITE_SIZE: 1000, as in the sprint report, or 1024, as in rocprof's own formula
    #[arg(long, value_name = "BYTES", default_value = "1000", value_parser = one_of(KILOBYTES))]
    kilobyte: Kilobyte,
    /// Compare with Lanefield's measurements of the same kernels: JSON of `lanefield bench`
    #[arg(long, value_name = "BENCH.json", conflicts_with = "bytes")]
    beside: Option<PathBuf>,
    /// Map a kernel of the profile to one of Lanefield's [default: the one of the same name]
    #[arg(long, value_name = "THEIRS=OURS,…", value_delimiter = ',', requires = "beside")]
    map: Vec<NameMap>,
    /// Print JSON instead of a table
    #[arg(long, help_heading = "Output")]
    json: bool,
}

const KILOBYTES: &[(&str, Kilobyte, &str)] = &[
    ("1000", Kilobyte::Thousand, "As in the sprint report"),
    ("1024", Kilobyte::Binary, "As in rocprof's own formula"),
];

fn rate(text: &str) -> Result<f64, String> {
    let value = text.parse().ok().filter(|value: &f64| value.is_finite() && *value > 0.0);
    value.ok_or_else(|| format!("invalid bandwidth '{text}': expected GB/s, a number above 0"))
}

#[derive(Serialize)]
struct Report {
    files: Vec<PathBuf>,
    ceiling_bytes_per_second: Option<f64>,
    kilobyte_bytes: f64,
    rows: Vec<KernelCounters>,
    /// The comparison with our kernels, if it was requested.
    beside: Option<Vec<Beside>>,
}

impl Counters {
    pub fn run(self) -> anyhow::Result<Outcome> {
        let ceiling = self.ceiling.map(|giga| 1e9 * giga);
        let rows = match (self.bytes, self.time) {
            (Some(bytes), Some(seconds)) => vec![KernelCounters::by_hand("by hand", bytes, seconds, ceiling)],
            _ => {
                let mut profile = Profile::default();
                self.files.iter().try_for_each(|file| profile.read(file, self.kilobyte))?;
                profile.kernels(ceiling)
            }
        };
        ensure!(!rows.is_empty(), "there are no kernels in these files");
        let beside = match &self.beside {
            Some(bench) => Some(Beside::join(rows.clone(), &our_kernels(bench)?, &self.map)?),
            None => None,
        };
        let report = Report {
            files: self.files,
            ceiling_bytes_per_second: ceiling,
            kilobyte_bytes: self.kilobyte.bytes(),
            rows,
            beside,
        };
        show(self.json, Head::of(Kind::Counters), &report, Report::text)
    }
}

/// As in the tables of the sprint report: `287.566 GB/s (26.7%)`.
fn bandwidth(rate: Option<f64>, share: Option<f64>) -> String {
    match (rate, share) {
        (Some(rate), Some(share)) => format!("{:.3} GB/s ({:.1}%)", rate / 1e9, 100.0 * share),
        (Some(rate), None) => format!("{:.3} GB/s", rate / 1e9),
        (None, _) => "–".to_owned(),
    }
}

impl Report {
    fn text(&self) -> String {
        let mut text = self.kernels();
        for units in self.rows.iter().filter_map(units) {
            text += &format!("\n\n{units}");
        }
        if let Some(beside) = &self.beside {
            text += &format!("\n\n{}", compared(beside));
        }
        text
    }

    fn kernels(&self) -> String {
        type Cell = fn(&KernelCounters) -> String;
        const ALWAYS: usize = 6;
        let columns: [(&str, Cell); 13] = [
            ("kernel", |row| row.kernel.clone()),
            ("items", |row| row.work_items.map_or_else(|| "–".to_owned(), |items| items.to_string())),
            ("calls", |row| row.calls.to_string()),
            ("average, ms", |row| number(row.seconds.map(|seconds| seconds * 1e3), 6)),
            ("TOTAL_RW\nMB", |row| number(row.total_rw_bytes.map(|bytes| bytes / 1e6), 5)),
            ("bandwidth", |row| bandwidth(row.bytes_per_second, row.share_of_ceiling)),
            ("L2, %", |row| number(row.l2_hit_percent, 1)),
            ("regs", |row| number(row.registers, 0)),
            ("SGPR", |row| number(row.scalar_registers, 0)),
            ("LDS, B", |row| number(row.local_bytes, 0)),
            ("scr., B", |row| number(row.scratch_bytes, 0)),
            ("group", |row| number(row.group_size, 0)),
            ("occ., %", |row| number(row.occupancy_percent, 1)),
        ];
        // A quantity that no kernel has gets no column.
        let told =
            |&(at, (_, cell)): &(usize, (&str, Cell))| at < ALWAYS || self.rows.iter().any(|row| cell(row) != "–");
        let columns: Vec<(&str, Cell)> =
            columns.into_iter().enumerate().filter(told).map(|(_, column)| column).collect();
        let header: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
        let mut lines = dense(table(header, 1..));
        for row in &self.rows {
            lines.add_row(columns.iter().map(|(_, cell)| cell(row)));
        }
        let mut text = fitted(lines, &["SGPR", "LDS, B", "scr., B", "L2, %", "group"]).to_string();
        for row in &self.rows {
            text += &row.remark.as_ref().map_or_else(String::new, |remark| format!("\n{}: {remark}", row.kernel));
        }
        text
    }
}

const STALLS_TOLD: usize = 4;

/// Units, stalls and the limiting unit; `None` if no unit was counted.
fn units(row: &KernelCounters) -> Option<String> {
    if row.units.is_empty() {
        return None;
    }
    let listed = |parts: Vec<String>| Some(parts.join(", ")).filter(|text| !text.is_empty());
    let binds = row.binds.as_ref().map_or("unknown: too few counters", |binds| binds.because.as_str());
    let busy = row.units.iter().map(Busy::to_string).collect();
    let megabytes = |(name, bytes): (&str, Option<f64>)| bytes.map(|bytes| format!("{name} {:.3} MB", bytes / 1e6));
    let moved = [("DRAM", row.total_rw_bytes), ("L2", row.l2_bytes), ("L1", row.l1_bytes)];
    let moved = moved.into_iter().filter_map(megabytes).collect();
    let hits = [("L1", row.l1_hit_percent), ("L2", row.l2_hit_percent)];
    let hits = hits.into_iter().filter_map(|(name, hit)| hit.map(|hit| format!("{name} {hit:.0}%")));
    let sectors = [("load", row.sectors_per_load), ("store", row.sectors_per_store)];
    let sectors =
        sectors.into_iter().filter_map(|(name, count)| count.map(|count| format!("{count:.1} sectors a {name}")));
    let spilled = row.private_bytes.map(|bytes| match bytes > 0.0 {
        true => format!("{:.3} MB of spilled registers and private arrays", bytes / 1e6),
        false => "nothing spilled".to_owned(),
    });
    let occupancy = row.occupancy_percent.map(|achieved| {
        let most = row.theoretical_occupancy_percent.map_or_else(String::new, |most| format!(" of at most {most:.0}%"));
        let limits = joined(&row.occupancy_limits, " and ");
        let by = if limits.is_empty() { String::new() } else { format!(", limited by {limits}") };
        format!("{achieved:.0}%{most}{by}")
    });
    let registers = row.registers.map(|registers| format!("{registers:.0} registers"));
    let waves = row.waves.map(|waves| format!("groups fill the device {waves:.2} times"));
    let stalls = row.waits().take(STALLS_TOLD).map(|stalled| stalled.to_string()).collect();
    let lines = [
        ("binds", Some(binds.to_owned())),
        ("busy", listed(busy)),
        ("bytes of a call", listed(moved)),
        ("cache hits", listed(hits.chain(sectors).collect())),
        ("occupancy", listed(occupancy.into_iter().chain(registers).chain(spilled).chain(waves).collect())),
        ("stalled on", listed(stalls)),
    ];
    let items = row.work_items.map_or_else(String::new, |items| format!(", {items} work-items"));
    let known = lines.into_iter().filter_map(|(name, value)| Some((name, value?)));
    Some(format!("{}{items}\n{}", row.kernel, facts(known)))
}

fn compared(rows: &[Beside]) -> String {
    let header = ["theirs", "average, ms", "bandwidth", "ours", "median, ms", "bandwidth", "theirs / ours"];
    let mut lines = table(header, [1, 2, 4, 5, 6]);
    for Beside { theirs, ours, times_ours } in rows {
        let our = |value: fn(&lanefield_lab::counters::OurKernel) -> String| {
            ours.as_ref().map_or_else(|| "–".to_owned(), value)
        };
        lines.add_row([
            theirs.kernel.clone(),
            number(theirs.seconds.map(|seconds| seconds * 1e3), 6),
            bandwidth(theirs.bytes_per_second, theirs.share_of_ceiling),
            our(|ours| {
                let lattice = ours.lattice.map(|extents| format!(", {}", joined(&extents, ".")));
                format!("{}, {}{}", ours.kernel, ours.precision, lattice.unwrap_or_default())
            }),
            our(|ours| format!("{:.6}", ours.seconds * 1e3)),
            our(|ours| bandwidth(ours.bytes_per_second, ours.share_of_ceiling)),
            number(*times_ours, 2),
        ]);
    }
    lines.to_string()
}
