use lanefield::backend::timeline::{Command, CommandKind, Stages, Work};
use serde_json::Value;

use super::*;

/// Two launches of `hop` that overlap, a read, and a span of the host.
fn recording() -> Recording {
    let timeline = Timeline::new(true);
    let queue = timeline.add_queue("device \"A\"");
    let [hop, read] = ["hop f32", "read from device"].map(|name| timeline.name(name));
    let kernel = CommandKind::Kernel { global: [64, 2, 1], local: [32, 1, 1] };
    let command = |kind, name, [queued, submitted, started, ended]: [i64; 4], flops, bytes| {
        let stages = Stages { queued, submitted, started, ended };
        Command { queue, kind, name, stages, work: Work { flops, bytes }, call: 500 }
    };
    timeline.add_commands([
        command(kernel, hop, [1000, 1100, 2000, 5000], 6000, 3000),
        command(kernel, hop, [1200, 1300, 4000, 7000], 6000, 3000),
        command(CommandKind::Read, read, [1400, 1500, 7000, 8000], 0, 64),
    ]);
    timeline.add_held(queue, 4096);
    drop(timeline.span(Group::File, "read <gauge>"));
    timeline.recording()
}

fn chrome() -> Value {
    let mut bytes = Vec::new();
    write_chrome(&recording(), "lanefield test", &[], &mut bytes).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

fn events(trace: &Value, phase: &str) -> Vec<Value> {
    trace["traceEvents"].as_array().unwrap().iter().filter(|event| event["ph"] == phase).cloned().collect()
}

#[test]
fn hotspots_are_calls_total_average_and_share_of_the_group() {
    let table = hotspots(&recording());
    let hop = &table[0];
    assert_eq!((hop.group, hop.name.as_str(), hop.calls), ("kernel", "hop f32", 2));
    assert!((hop.total_seconds - 6e-6).abs() < 1e-15 && (hop.average_seconds - 3e-6).abs() < 1e-15);
    assert_eq!(hop.share_of_group, 1.0);
    // 6000 bytes and 12000 operations in 6 µs.
    assert!((hop.bytes_per_second.unwrap() - 1e9).abs() < 1.0 && (hop.flops_per_second.unwrap() - 2e9).abs() < 1.0);
    assert_eq!((table[1].group, table[1].flops_per_second), ("transfer", None));
    assert_eq!(table[2].group, "file");
}

#[test]
fn the_longest_of_a_group_comes_first() {
    let timeline = Timeline::new(true);
    for (name, nanoseconds) in [("short", 10), ("long", 1000), ("middle", 100)] {
        let stages = Stages { queued: 0, submitted: 0, started: 0, ended: nanoseconds };
        let name = timeline.name(name);
        let kind = CommandKind::Fill;
        timeline.add_commands([Command { queue: 0, kind, name, stages, work: Work::default(), call: 0 }]);
    }
    let names: Vec<String> = hotspots(&timeline.recording()).into_iter().map(|row| row.name).collect();
    assert_eq!(names, ["long", "middle", "short"]);
}

#[test]
fn a_command_is_one_slice_of_its_time_in_microseconds() {
    let trace = chrome();
    let slices = events(&trace, "X");
    let hops: Vec<&Value> = slices.iter().filter(|slice| slice["name"] == "hop f32").collect();
    assert_eq!(hops.len(), 2);
    assert_eq!((&hops[0]["ts"], &hops[0]["dur"], &hops[0]["pid"]), (&2.0.into(), &3.0.into(), &2.into()));
    let args = &hops[0]["args"];
    assert_eq!((&args["queued_us"], &args["submitted_us"], &args["call_us"]), (&1.0.into(), &1.1.into(), &0.5.into()));
    assert_eq!((&args["bytes"], &args["global"][0], &args["local"][0]), (&3000.into(), &64.into(), &32.into()));
}

#[test]
fn slices_of_a_track_do_not_overlap() {
    let slices = events(&chrome(), "X");
    let tracks: Vec<i64> =
        slices.iter().filter(|slice| slice["pid"] == 2).map(|slice| slice["tid"].as_i64().unwrap()).collect();
    // The second hop starts before the first is done; the read waits for both, and takes the first track again.
    assert_eq!(tracks, [1, 2, 1]);
}

#[test]
fn processes_and_tracks_are_named() {
    let names: Vec<Value> = events(&chrome(), "M").iter().map(|event| event["args"]["name"].clone()).collect();
    for name in ["lanefield test", "device \"A\"", "running"] {
        assert!(names.contains(&name.into()), "{names:?}");
    }
}

#[test]
fn counters_end_with_all_bytes_and_an_empty_queue() {
    let counters = events(&chrome(), "C");
    let last = |name: &str| counters.iter().rfind(|event| event["name"] == name).unwrap()["args"].clone();
    assert_eq!(last("bytes moved")["bytes"], 6064);
    assert_eq!(last("operations")["flops"], 12000);
    assert_eq!(last("commands in the queue")["commands"], 0);
    assert_eq!(last("memory held")["bytes"], 4096);
}
