//! The estimate as JSON and as text.

use lanefield::kernel::Kernel;
use lanefield::reference::real::Precision;
use lanefield_lab::estimate::{KernelEstimate, Load, Prediction, TraversalReport, Workload, WorkloadReport};
use lanefield_lab::machine::Machine;
use serde::Serialize;

use crate::numbers::bytes;
use crate::output::{facts, fitted, joined, table, wrapped};

#[derive(Serialize)]
pub struct Report<T> {
    pub machine: Machine,
    /// What is estimated: kernel, traversal or workload.
    #[serde(skip)]
    pub subject: &'static str,
    pub rate_per_second: f64,
    pub want_per_second: Option<f64>,
    pub go: Option<bool>,
    #[serde(flatten)]
    pub estimate: T,
}

#[derive(Serialize)]
pub struct OfKernel {
    pub kernel: &'static Kernel,
    pub lattice: [usize; 4],
    pub onto: String,
    pub precision: Precision,
    pub reconstruct: usize,
    pub spinors: usize,
    #[serde(flatten)]
    pub estimate: KernelEstimate,
    pub measured: Option<Times>,
    pub ratio: Option<f64>,
}

#[derive(Serialize)]
pub struct OfWorkload {
    pub workload: Workload,
    #[serde(flatten)]
    pub report: WorkloadReport,
}

#[derive(Serialize)]
pub struct Kernels {
    pub kernels: Vec<Report<OfKernel>>,
}

#[derive(Serialize)]
pub struct Listing {
    pub machines: Vec<Listed>,
}

#[derive(Serialize)]
pub struct Listed {
    pub id: &'static str,
    #[serde(flatten)]
    pub machine: Machine,
    pub f32_flops_per_second: f64,
    pub f64_flops_per_second: f64,
}

#[derive(Serialize)]
pub struct Times {
    #[serde(skip)]
    pub device: String,
    pub seconds: f64,
    /// The time of each of several launches that are queued one after the other, for lattices on which these overlap.
    pub back_to_back_seconds: Option<f64>,
}

impl Times {
    /// The time that estimates are compared with: that of launches that follow each other.
    pub fn best(&self) -> f64 {
        self.back_to_back_seconds.unwrap_or(self.seconds)
    }
}

/// A number of four digits with the prefix of a power of 1000, and its unit: `811.6 MB`.
fn scaled(value: f64, unit: &str) -> String {
    const PREFIXES: [(&str, f64); 5] = [("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)];
    let (prefix, size) = PREFIXES.into_iter().find(|(_, size)| value.abs() >= *size).unwrap_or(("", 1.0));
    let value = value / size;
    let decimals = [(1000.0, 0), (100.0, 1), (10.0, 2)].into_iter().find(|(least, _)| value.abs() >= *least);
    let decimals = decimals.map_or(3, |(_, decimals)| decimals);
    // Bytes and Flop have a prefix in their unit, counts do not.
    let unit = match (prefix, unit) {
        (prefix, "bytes") => format!("{prefix}B"),
        ("", unit) => unit.to_owned(),
        (prefix, unit) => format!("{prefix} {unit}"),
    };
    if value.is_finite() { format!("{value:.decimals$} {unit}") } else { "no limit".to_owned() }
}

fn a_second(rate: f64) -> String {
    format!("{}/s", scaled(rate, "").trim_end())
}

/// A rate with a binary prefix, for the machine whose rates are powers of two: `64 Mi`.
fn binary(value: f64) -> String {
    const PREFIXES: [(&str, f64); 3] = [("Gi", (1u64 << 30) as f64), ("Mi", (1u64 << 20) as f64), ("Ki", 1024.0)];
    match PREFIXES.into_iter().find(|(_, size)| value >= *size) {
        Some((prefix, size)) => format!("{:.2} {prefix}", value / size),
        None => format!("{value:.2}"),
    }
}

fn time(seconds: f64) -> String {
    match seconds {
        _ if seconds >= 1e-3 => format!("{:.3} ms", seconds * 1e3),
        _ if seconds >= 1e-6 => format!("{:.1} µs", seconds * 1e6),
        _ => format!("{:.4} ns", seconds * 1e9),
    }
}

fn verdict<T>(report: &Report<T>) -> Option<(&'static str, String)> {
    let (want, go) = (report.want_per_second?, report.go?);
    let word = if go { "GO" } else { "NO-GO" };
    let counted = match report.subject {
        "kernel" => "launches",
        "traversal" => "traversals of wavefronts",
        _ => "pieces of work of wavefronts",
    };
    let (rate, ratio) = (report.rate_per_second, report.rate_per_second / want);
    Some((
        "verdict",
        format!("{word}: {} wanted, {} {counted} possible, {} times", a_second(want), a_second(rate), times(ratio)),
    ))
}

/// A ratio of any size, in few digits.
fn times(ratio: f64) -> String {
    if ratio < 1e-3 { format!("{ratio:.2e}") } else { scaled(ratio, "").trim_end().to_owned() }
}

/// The bandwidth of memory in traversals and workloads.
fn bandwidth<T>(report: &Report<T>) -> (&'static str, String) {
    let which = if report.machine.read_measured { "read, measured" } else { "the peak" };
    ("memory bandwidth", format!("{:.1} GB/s, {which}", report.machine.gauge_gb_per_second()))
}

fn of_machine<T>(report: &Report<T>) -> (&'static str, String) {
    let machine = &report.machine;
    (
        "machine",
        if machine.about.is_empty() { machine.name.clone() } else { format!("{}: {}", machine.name, machine.about) },
    )
}

fn limits(prediction: &Prediction) -> String {
    let mut rows = table(["limit", "time", "amount", "rate"], 1..);
    let taken = prediction.limits.iter().filter(|limit| limit.amount > 0.0);
    for Load { kind, amount, unit, rate, seconds } in taken {
        rows.add_row([kind.to_string(), time(*seconds), scaled(*amount, unit), format!("{}/s", scaled(*rate, unit))]);
    }
    rows.to_string()
}

pub fn kernel(report: &Report<OfKernel>) -> String {
    let of = &report.estimate;
    let lattice = joined(&of.lattice, ".");
    let spinors = if of.spinors == 1 { String::new() } else { format!(", ×{}", of.spinors) };
    let links = if of.kernel.reads_links() { format!(", reconstruct {}", of.reconstruct) } else { String::new() };
    let fields = format!("{}{links}{spinors}, {}", of.precision, of.onto);
    let heading = facts([
        of_machine(report),
        ("kernel", format!("{}, {fields}, on {lattice}", of.kernel)),
        ("launch", wrapped(&of.estimate.launch)),
    ]);
    let estimate = &of.estimate;
    let prediction = &estimate.prediction;
    let mut known = vec![
        ("empty launch", time(prediction.launch_seconds)),
        ("hits in first caches", format!("{:.1}%", 100.0 * estimate.traffic.hits)),
        ("read again", scaled(estimate.streams.read_again_bytes, "bytes")),
        ("kept from before", scaled(estimate.streams.kept_bytes, "bytes")),
        ("predicted", time(prediction.seconds)),
        ("binds", prediction.binds.to_string()),
    ];
    if let Some(flops) = estimate.flops {
        known.push(("speed", format!("{:.1} GFlop/s", flops / prediction.seconds / 1e9)));
    }
    if let (Some(times), Some(ratio)) = (&of.measured, of.ratio) {
        let single = times.back_to_back_seconds.map_or(String::new(), |_| format!(", {} alone", time(times.seconds)));
        known.push(("measured", format!("{} on {}{single}", time(times.best()), times.device)));
        known.push(("predicted / measured", format!("{ratio:.3}")));
    }
    known.extend(verdict(report));
    format!("{heading}\n{}\n{}", limits(prediction), facts(known))
}

pub fn workload(report: &Report<OfWorkload>) -> String {
    let OfWorkload { workload, report: of } = &report.estimate;
    let mut known = vec![of_machine(report), bandwidth(report)];
    if !workload.name.is_empty() {
        known.push(("workload", workload.name.clone()));
    }
    known.push(("lines from memory", format!("{:.1} per wavefront", of.lines)));
    known.push(("fetches", format!("{:.1} per lane", of.fetches)));
    let mut end = vec![
        ("binds", of.prediction.binds.to_string()),
        ("wavefronts", a_second(of.wavefronts_per_second)),
        ("useful lanes", a_second(of.lanes_per_second)),
    ];
    end.extend(verdict(report));
    format!("{}\n{}\n{}", facts(known), limits(&of.prediction), facts(end))
}

pub fn traversal(report: &Report<TraversalReport>) -> String {
    let of = &report.estimate;
    let mut known = vec![
        of_machine(report),
        bandwidth(report),
        ("levels", of.levels.to_string()),
        ("on chip / memory", format!("{:.1} times the bandwidth", of.on_chip_ratio)),
        ("registers / memory", format!("{:.1} times the bandwidth", of.register_ratio)),
        ("divergent", format!("{:.1} lanes are enough where all miss", of.divergent_lanes)),
        (
            "first cache",
            format!("{} lines: {} levels, for {} lanes with a leaf each", of.l1_lines, of.l1_levels, of.l1_lanes),
        ),
        (
            "coherent traversal",
            format!("{} lines of a wavefront, {} of them in its last levels", of.coherent_lines, of.last_lines),
        ),
        ("one miss a wavefront", format!("{:.1}% hits", 100.0 * of.hit_rate)),
        (
            "memory",
            format!(
                "{}/s wavefronts; at least lines (two a lane) {}/s",
                binary(of.memory_bound),
                binary(of.memory_bound_at_least)
            ),
        ),
        ("fetches", format!("{}/s lanes", binary(of.fetch_bound))),
        ("regrouping", format!("{} lines a wavefront: {:.2} times the rate", of.regrouping_lines, of.regrouped_rate)),
    ];
    known.extend(verdict(report));
    facts(known)
}

pub fn machines(listing: &Listing) -> String {
    let header = ["name", "machine", "units", "MHz", "copy, GB/s", "last cache", "GB/s", "TF/s f32, f64"];
    let mut rows = table(header, []);
    let mut sources = String::new();
    for listed in &listing.machines {
        let machine = &listed.machine;
        rows.add_row([
            listed.id.to_owned(),
            machine.name.clone(),
            machine.compute_units.to_string(),
            format!("{:.0}", machine.clock_mhz),
            format!("{:.0}", machine.copy_gb_per_second),
            bytes(machine.l2_bytes),
            format!("{:.0}", machine.l2_gb_per_second),
            format!("{:.1}, {:.1}", listed.f32_flops_per_second / 1e12, listed.f64_flops_per_second / 1e12),
        ]);
        sources += &format!("\n{}: {}", listed.id, machine.about);
    }
    format!("{}\nNumbers come from{sources}", fitted(rows, &["units", "MHz"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_digits_and_a_prefix() {
        assert_eq!(scaled(811_597_800.0, "bytes"), "811.6 MB");
        assert_eq!(scaled(4.24e12, "instructions"), "4.240 T instructions");
        assert_eq!([a_second(67_108_864.0), a_second(12.5)], ["67.11 M/s", "12.50/s"]);
        assert_eq!([times(65_572_019.786), times(0.66), times(1e-7)], ["65.57 M", "0.660", "1.00e-7"]);
        assert_eq!(a_second(f64::INFINITY), "no limit/s");
        assert_eq!([binary(67_108_864.0), binary(12.0)], ["64.00 Mi", "12.00"]);
    }
}
