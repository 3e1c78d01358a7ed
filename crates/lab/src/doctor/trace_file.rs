//! The timeline of a traced run (`--trace` of any command), so that transfers, allocations and gaps can be judged after the fact.

use std::path::Path;

use serde::Deserialize;

use super::observation::{DeviceFacts, Observation, Timeline};
use super::read::{DescriptionError, read};

#[derive(Deserialize)]
struct Trace {
    kind: String,
    command: String,
    devices: Vec<String>,
    #[serde(rename = "traceEvents")]
    events: Vec<Event>,
}

/// Times are in microseconds.
#[derive(Deserialize)]
struct Event {
    name: String,
    #[serde(default)]
    cat: String,
    ph: String,
    ts: f64,
    #[serde(default)]
    dur: f64,
    #[serde(default)]
    args: Arguments,
}

impl Event {
    fn range(&self) -> (f64, f64) {
        (self.ts, self.ts + self.dur.max(0.0))
    }
}

/// The total length covered by some ranges.
fn covered(mut ranges: Vec<(f64, f64)>) -> f64 {
    ranges.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut all, mut until) = (0.0, f64::NEG_INFINITY);
    for (from, to) in ranges {
        all += (to - from.max(until)).max(0.0);
        until = until.max(to);
    }
    all
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Arguments {
    bytes: Option<f64>,
}

pub fn read_trace(path: &Path) -> Result<Observation, DescriptionError> {
    let text = read(path)?;
    let content = |message: String| DescriptionError::Content { path: path.to_owned(), message };
    let trace: Trace = serde_json::from_str(&text).map_err(|error| content(format!("no trace: {error}")))?;
    if trace.kind != "trace" {
        return Err(content(format!("a document of kind {}, and no trace: write one by --trace", trace.kind)));
    }
    let observation = observed(trace);
    observation.ok_or_else(|| content("no command of an OpenCL device was traced".to_owned()))
}

fn observed(trace: Trace) -> Option<Observation> {
    let on_device = |event: &&Event| event.ph == "X" && matches!(event.cat.as_str(), "kernel" | "transfer");
    let events: Vec<&Event> = trace.events.iter().filter(on_device).collect();
    let begin = events.iter().map(|event| event.ts).min_by(f64::total_cmp)?;
    let end = events.iter().map(|event| event.ts + event.dur).max_by(f64::total_cmp)?;
    let mut timeline = Timeline { wall: 1e-6 * (end - begin), ..Timeline::default() };
    for event in &events {
        let (seconds, bytes) = (1e-6 * event.dur, event.args.bytes.unwrap_or(0.0) as u64);
        match event.name.as_str() {
            "write to device" | "read from device" if event.cat == "transfer" => {
                timeline.transfers += seconds;
                timeline.transferred_bytes += bytes;
            }
            "allocate" if event.cat == "transfer" => {
                timeline.allocations += seconds;
                timeline.allocated_buffers += 1;
            }
            _ if event.cat == "kernel" => timeline.launches += 1,
            _ => {}
        }
    }
    // Kernels, copies and fills, which may overlap.
    let moved = |event: &&&Event| !matches!(event.name.as_str(), "write to device" | "read from device" | "allocate");
    timeline.kernels = 1e-6 * covered(events.iter().filter(moved).map(|event| event.range()).collect());
    // While the host builds programs, reads files or queries the times of events, it could not have launched anything.
    let host = |event: &&Event| {
        event.ph == "X" && (matches!(event.cat.as_str(), "build" | "file") || event.name == "times of events (trace)")
    };
    let device: Vec<(f64, f64)> = events.iter().map(|event| event.range()).collect();
    let within = |(from, to): (f64, f64)| (from.max(begin), to.min(end));
    let elsewhere = trace.events.iter().filter(host).map(|event| within(event.range())).filter(|(from, to)| from < to);
    let both: Vec<(f64, f64)> = device.iter().copied().chain(elsewhere).collect();
    timeline.wall -= 1e-6 * (covered(both) - covered(device));
    let kernels = events.iter().filter(|event| event.cat == "kernel" && event.dur > 0.0);
    let shortest = kernels.map(|event| 1e-6 * event.dur).min_by(f64::total_cmp).unwrap_or(0.0);
    Some(Observation {
        subject: trace.command,
        machine: DeviceFacts {
            name: trace.devices.join(", "),
            wavefront: 1,
            units: 1,
            copy_bandwidth: f64::NAN,
            // The shortest launch that was seen.
            launch: shortest,
            ..DeviceFacts::default()
        },
        timeline,
        ..Observation::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::{Fault, diagnose};

    fn trace(events: &str) -> Option<Observation> {
        let text = format!(
            r#"{{"kind":"trace","command":"lanefield solve","devices":["GPU"],"traceEvents":[
                {{"name":"process_name","ph":"M","pid":1,"tid":0,"ts":0.0,"args":{{"name":"host"}}}},
                {{"name":"command","cat":"host","ph":"X","pid":1,"tid":1,"ts":0.0,"dur":9000.0}}{events}]}}"#
        );
        observed(serde_json::from_str(&text).unwrap())
    }

    fn event(cat: &str, name: &str, ts: u32, dur: u32, bytes: u32) -> String {
        format!(
            r#",{{"name":"{name}","cat":"{cat}","ph":"X","pid":2,"tid":1,"ts":{ts},"dur":{dur},"args":{{"bytes":{bytes}}}}}"#
        )
    }

    #[test]
    fn a_timeline_goes_from_the_first_to_the_last_command_of_the_device() {
        let events = [
            event("transfer", "allocate", 100, 10, 0),
            event("transfer", "write to device", 110, 90, 4096),
            event("kernel", "hop", 200, 100, 0),
            event("kernel", "hop", 250, 100, 0),
            event("transfer", "read from device", 400, 100, 4096),
        ];
        let timeline = trace(&events.concat()).unwrap().timeline;
        let near = |a: f64, b: f64| (a - b).abs() < 1e-12;
        assert!(near(timeline.wall, 400e-6) && near(timeline.kernels, 150e-6) && near(timeline.transfers, 190e-6));
        assert_eq!((timeline.launches, timeline.allocated_buffers, timeline.transferred_bytes), (2, 1, 8192));
        assert!(near(timeline.gaps(), 50e-6), "{}", timeline.gaps());
        assert!(trace("").is_none());
    }

    #[test]
    fn what_the_host_did_meanwhile_is_no_gap() {
        let host = r#",{"name":"build hop.cl","cat":"build","ph":"X","pid":1,"tid":1,"ts":150,"dur":1000}"#;
        let events = event("kernel", "hop", 100, 100, 0) + host + &event("kernel", "hop", 1200, 100, 0);
        let timeline = trace(&events).unwrap().timeline;
        // The build takes 950 of 1200 µs without a concurrent kernel.
        assert!((timeline.wall - 250e-6).abs() < 1e-12, "{}", timeline.wall);
        assert!((timeline.gaps() - 50e-6).abs() < 1e-12);
    }

    #[test]
    fn transfers_and_gaps_of_a_trace_are_findings() {
        let launches: String = (0..20).map(|k| event("kernel", "hop", 1000 + 100 * k, 20, 0)).collect();
        let events = event("transfer", "write to device", 0, 1000, 1 << 20) + &launches;
        let faults: Vec<Fault> = diagnose(&trace(&events).unwrap()).iter().map(|finding| finding.fault).collect();
        assert_eq!(faults, [Fault::Launches, Fault::Transfers]);
    }
}
