//! The ceilings of a device, as tables.

use std::collections::BTreeSet;

use lanefield::backend::opencl::Towards;
use lanefield_lab::peak::roofline::Roofline;
use lanefield_lab::peak::{HostMemory, Operation, Peak, Place, Stored, Transfer};

use crate::numbers::bytes;
use crate::output::{facts, table};

pub fn text(peak: &Peak, roofline: Option<&Roofline>) -> String {
    let mut blocks = vec![heading(peak), figures(peak)];
    blocks.extend(drift(peak));
    blocks.extend(intensity(peak));
    blocks.extend(working_sets(peak));
    blocks.extend(chases(peak));
    blocks.extend(transfers(peak));
    blocks.extend(roofline.map(kernels));
    blocks.join("\n\n")
}

fn heading(peak: &Peak) -> String {
    let mut known = vec![("device", peak.device.clone()), ("measured", peak.date.clone())];
    let clock = peak.max_clock_mhz.map(|clock| format!(" at {clock} MHz at most")).unwrap_or_default();
    known.push(("compute units", format!("{}{clock}", peak.compute_units)));
    if let Some(clocks) = &peak.clocks {
        let value = |value: Option<f64>, unit: &str| value.map(|value| format!("{value:.0} {unit}"));
        let said = [
            value(clocks.units_mhz, "MHz"),
            value(clocks.memory_mhz, "MHz of memory"),
            value(clocks.power_watts, "W"),
            value(clocks.temperature_celsius, "°C"),
        ];
        let said: Vec<String> = said.into_iter().flatten().collect();
        known.push(("clocks afterwards", format!("{} ({})", said.join(", "), clocks.source)));
    }
    known.push(("buffers", bytes(peak.buffer_bytes)));
    facts(known)
}

/// A figure of some unit; `None` if it was not measured.
type Figure = (&'static str, Option<f64>, &'static str, String);

fn figures(peak: &Peak) -> String {
    let way = |operation: Operation| {
        let best = peak.streams.iter().find(|stream| stream.operation == operation);
        best.map(|best| best.way.clone()).unwrap_or_default()
    };
    let plateau = |place: Place, rate: Option<f64>| {
        let found = peak.plateaus.iter().find(|plateau| plateau.place == place && Some(plateau.gb_per_second) == rate);
        found
            .map(|found| format!("{place}, {} to {}", bytes(found.from_bytes), bytes(found.to_bytes)))
            .unwrap_or_default()
    };
    // A CPU's second cache is read by each unit for itself.
    let l2 = [Place::Shared, Place::Own].map(|place| plateau(place, peak.l2_gb_per_second)).concat();
    let chase = |local: bool| {
        let of_place = peak.chases.iter().filter(|chase| (chase.place == Place::Local) == local);
        of_place.map(|chase| chase.bytes).max().map(|most| format!("a set of {}", bytes(most))).unwrap_or_default()
    };
    let launch = peak.launch.map(|launch| {
        let parts = [
            ("queued to start", launch.queued_to_start_microseconds),
            ("run", launch.run_microseconds),
            ("with a wait", Some(launch.round_trip_microseconds)),
        ];
        let said = parts.iter().filter_map(|(name, spread)| Some(format!("{name} {:.1} µs", (*spread)?.median)));
        said.collect::<Vec<_>>().join(", ")
    });
    let latency = peak.latency_nanoseconds;
    let rows: [Figure; 15] = [
        ("read", peak.read_gb_per_second, "GB/s", way(Operation::Read)),
        ("write", peak.write_gb_per_second, "GB/s", way(Operation::Write)),
        ("copy", peak.copy_gb_per_second, "GB/s", way(Operation::Copy)),
        ("triad", peak.triad_gb_per_second, "GB/s", way(Operation::Triad)),
        ("L2", peak.l2_gb_per_second, "GB/s", l2),
        ("L1", peak.l1_gb_per_second, "GB/s", plateau(Place::Own, peak.l1_gb_per_second)),
        ("local memory", peak.local_gb_per_second, "GB/s", String::new()),
        ("f32", peak.f32_gflop_per_second, "GFlop/s", "fused multiply-adds".to_owned()),
        ("f64", peak.f64_gflop_per_second, "GFlop/s", "fused multiply-adds".to_owned()),
        ("half", peak.half_gflop_per_second, "GFlop/s", "stored in half precision, computed in f32".to_owned()),
        ("latency, L1", latency.l1, "ns", String::new()),
        ("latency, L2", latency.l2, "ns", String::new()),
        ("latency, memory", latency.memory, "ns", chase(false)),
        ("latency, local memory", latency.local, "ns", chase(true)),
        ("launch", peak.launch_microseconds, "µs", launch.unwrap_or_default()),
    ];
    let mut lines = table(["ceiling", "", "", "how"], 1..2);
    for (name, value, unit, how) in rows {
        if let Some(value) = value {
            lines.add_row([name.to_owned(), figure(value), unit.to_owned(), how]);
        }
    }
    lines.to_string()
}

/// Said where the copy did not stay what it was.
fn drift(peak: &Peak) -> Option<String> {
    let drift = peak.drift.filter(|drift| drift.is_noticeable())?;
    Some(format!(
        "the copy changed by more than 3 %: {} GB/s cold, {} warmed up, {} at the end, {} after a second's rest",
        figure(drift.cold),
        figure(drift.start),
        figure(drift.end),
        figure(drift.rested)
    ))
}

fn intensity(peak: &Peak) -> Option<String> {
    let header =
        ["fma", "flop/byte\nin f32", "f32\nGB/s", "\nGFlop/s", "f64\nGB/s", "\nGFlop/s", "half\nGB/s", "\nGFlop/s"];
    let mut lines = table(header, 0..);
    let steps: BTreeSet<u32> = peak.intensity.iter().map(|point| point.fma_per_element).collect();
    for &k in &steps {
        let of = |stored| peak.intensity.iter().find(|point| point.stored == stored && point.fma_per_element == k);
        let rates = Stored::ALL.map(of).map(|point| match point {
            Some(point) => [figure(point.gb_per_second), figure(point.gflop_per_second)],
            None => ["–".to_owned(), "–".to_owned()],
        });
        let flops = of(Stored::F32).map_or("–".to_owned(), |point| format!("{}", point.flops_per_byte));
        lines.add_row([k.to_string(), flops].into_iter().chain(rates.into_iter().flatten()));
    }
    (!steps.is_empty()).then(|| lines.to_string())
}

/// A table with one row per measured size; empty without measurements.
fn by_size<'h>(
    header: impl IntoIterator<Item = &'h str>,
    sizes: impl Iterator<Item = u64>,
    rates: impl Fn(u64) -> Vec<Option<f64>>,
) -> Option<String> {
    let sizes: BTreeSet<u64> = sizes.collect();
    let mut lines = table(header.into_iter().collect::<Vec<_>>(), 1..);
    for &size in &sizes {
        let rates = rates(size).into_iter().map(|rate| rate.map_or("–".to_owned(), figure));
        lines.add_row(std::iter::once(bytes(size)).chain(rates));
    }
    (!sizes.is_empty()).then(|| lines.to_string())
}

fn working_sets(peak: &Peak) -> Option<String> {
    let header = ["read again, GB/s", "each unit its own", "all units the same", "local memory"];
    let sets = &peak.working_sets;
    by_size(header, sets.iter().map(|set| set.bytes), |size| {
        let of = |place| sets.iter().find(|set| set.place == place && set.bytes == size);
        [Place::Own, Place::Shared, Place::Local].map(|place| Some(of(place)?.gb_per_second)).to_vec()
    })
}

fn chases(peak: &Peak) -> Option<String> {
    let chases = || peak.chases.iter().filter(|chase| chase.place != Place::Local);
    by_size(["random order", "ns a load"], chases().map(|chase| chase.bytes), |size| {
        vec![chases().find(|chase| chase.bytes == size).map(|chase| chase.nanoseconds)]
    })
}

fn transfers(peak: &Peak) -> Option<String> {
    let ways = HostMemory::ALL.map(|memory| format!("{memory}, to the device"));
    let header = ["GB/s"].into_iter().chain(ways.iter().flat_map(|way| [way.as_str(), "back"]));
    by_size(header, peak.transfers.iter().map(|transfer| transfer.bytes), |size| {
        let of = |(memory, towards)| {
            let known =
                |transfer: &&Transfer| (transfer.memory, transfer.towards, transfer.bytes) == (memory, towards, size);
            peak.transfers.iter().find(known).map(|transfer| transfer.gb_per_second)
        };
        let ways = HostMemory::ALL.into_iter().flat_map(|memory| [(memory, Towards::Device), (memory, Towards::Host)]);
        ways.map(of).collect()
    })
}

fn kernels(roofline: &Roofline) -> String {
    let mut lines = table(["kernel", "flop/byte", "GFlop/s", "of the memory roof"], 1..);
    for point in &roofline.points {
        let share = point.share_of_memory_roof.map_or("–".to_owned(), |share| format!("{:.1}%", 100.0 * share));
        lines.add_row([
            point.name.clone(),
            format!("{:.3}", point.flops_per_byte),
            figure(point.gflop_per_second),
            share,
        ]);
    }
    lines.to_string()
}

/// Four digits that say something, at most one after the point from 100 on.
fn figure(value: f64) -> String {
    match value.abs() {
        large if large >= 1000.0 => format!("{value:.0}"),
        large if large >= 100.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}
