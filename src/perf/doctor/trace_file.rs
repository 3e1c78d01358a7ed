//! The timeline of a run that was traced (`--trace` of any command), so that transfers, allocations and gaps are judged after the fact.

use std::path::Path;

use serde::Deserialize;

use super::described::{DescriptionError, read};
use super::observation::{Machine, Observation, Timeline};

#[derive(Deserialize)]
struct Trace {
    kind: String,
    command: String,
    devices: Vec<String>,
    #[serde(rename = "traceEvents")]
    events: Vec<Event>,
}

/// Times are microseconds.
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

#[derive(Deserialize, Default)]
#[serde(default)]
struct Arguments {
    bytes: Option<f64>,
}

/// Reads a trace.
///
/// # Errors
/// [`DescriptionError`]: a file that cannot be read, or is no trace of a run on a device.
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
    let mut busy: Vec<(f64, f64)> = events.iter().filter(moved).map(|event| (event.ts, event.ts + event.dur)).collect();
    busy.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut until = f64::NEG_INFINITY;
    for (from, to) in busy {
        timeline.kernels += 1e-6 * (to - from.max(until)).max(0.0);
        until = until.max(to);
    }
    let kernels = events.iter().filter(|event| event.cat == "kernel" && event.dur > 0.0);
    let shortest = kernels.map(|event| 1e-6 * event.dur).min_by(f64::total_cmp).unwrap_or(0.0);
    Some(Observation {
        subject: trace.command,
        machine: Machine {
            name: trace.devices.join(", "),
            wavefront: 1,
            units: 1,
            copy_bandwidth: f64::NAN,
            // No launch that was seen took less.
            launch: shortest,
            is_cpu: false,
            stands_for_gpu: false,
            compiled_for: None,
        },
        bytes: 0,
        flops: 0,
        passes: Vec::new(),
        outputs: Vec::new(),
        timeline,
        estimated: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perf::doctor::{Fault, diagnose};

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
    fn transfers_and_gaps_of_a_trace_are_findings() {
        let launches: String = (0..20).map(|k| event("kernel", "hop", 1000 + 100 * k, 20, 0)).collect();
        let events = event("transfer", "write to device", 0, 1000, 1 << 20) + &launches;
        let faults: Vec<Fault> = diagnose(&trace(&events).unwrap()).iter().map(|finding| finding.fault).collect();
        assert_eq!(faults, [Fault::Launches, Fault::Transfers]);
    }
}
