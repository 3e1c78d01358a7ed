//! `--trace` and `--stats`: every launch once, stages in order, the same bits, and a file also where the command fails.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Folder, assert_contains, opencl, text};

const SOLVE: &str = "solve --config gauge.nersc --source gauss:4 --mass 0.1";

fn trace(folder: &Folder, name: &str) -> Value {
    serde_json::from_slice(&folder.read(name)).unwrap()
}

/// Complete events of a category, by name.
fn slices(trace: &Value, category: &str) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for event in trace["traceEvents"].as_array().unwrap() {
        if event["ph"] == "X" && event["cat"] == category {
            *counts.entry(event["name"].as_str().unwrap().to_owned()).or_default() += 1;
        }
    }
    counts
}

/// Calls of a group, by name, as `--stats` counts them.
fn calls(trace: &Value, group: &str) -> BTreeMap<String, usize> {
    let rows = trace["hotspots"].as_array().unwrap().iter().filter(|row| row["group"] == group);
    rows.map(|row| (row["name"].as_str().unwrap().to_owned(), row["calls"].as_u64().unwrap() as usize)).collect()
}

#[test]
fn every_launch_of_a_solve_is_in_the_trace_once() {
    let Some(device) = opencl() else { return };
    let folder = Folder::with_gauge();
    let json = folder.json(&format!("{SOLVE} {device} --trace device.json"));
    folder.succeeds(&format!("{SOLVE} --device cpu --trace cpu.json"));
    let (device, cpu) = (trace(&folder, "device.json"), trace(&folder, "cpu.json"));
    let (kernels, reference) = (slices(&device, "kernel"), slices(&cpu, "CPU reference"));
    assert_eq!(kernels, calls(&device, "kernel"));
    // The reference, which launches nothing, counts its own calls; it waits for each scalar. On the device iterations are queued, some of them behind the end.
    let iterations = json["iterations"].as_u64().unwrap() as usize;
    let of_device = |name: &str| kernels.get(&format!("{name} f64")).copied().unwrap_or(0);
    assert_eq!(iterations, reference["cg_update"]);
    // What follows the operator is one launch on some devices, else three.
    let at_once = of_device("cg_iteration");
    let behind_the_end = of_device("cg_advance") + at_once - iterations;
    assert!(behind_the_end < 8, "{behind_the_end}");
    for name in ["eo_wilson", "oe_wilson", "eo_wilson_dagger", "oe_wilson_dagger"] {
        assert_eq!(of_device(name), reference[name] + behind_the_end, "{name}");
    }
    for name in ["hop", "scale", "norm2"] {
        assert_eq!(of_device(name), reference[name], "{name}");
    }
    for (queued, name) in
        [("cg_curvature", "inner_products"), ("cg_residual", "axpy_norm"), ("cg_advance", "cg_update")]
    {
        assert_eq!(of_device(queued) + at_once, iterations + behind_the_end, "{queued}");
        assert_eq!(of_device(name) + iterations, reference[name], "{name}");
    }
}

#[test]
fn commands_are_queued_submitted_started_and_ended_in_this_order_and_within_the_command() {
    let Some(device) = opencl() else { return };
    let folder = Folder::with_gauge();
    folder.succeeds(&format!("{SOLVE} {device} --trace t.json"));
    let trace = trace(&folder, "t.json");
    let events: Vec<&Value> = trace["traceEvents"].as_array().unwrap().iter().filter(|e| e["ph"] == "X").collect();
    let number = |value: &Value| value.as_f64().unwrap();
    let command = events.iter().find(|event| event["name"] == "command").unwrap();
    // The clocks of host and device are aligned to what a call takes; a millisecond is far more than that.
    let (first, last) = (number(&command["ts"]) - 1e3, number(&command["ts"]) + number(&command["dur"]) + 1e3);
    let mut commands = 0;
    for event in events.iter().filter(|event| event["pid"] != 1) {
        let args = &event["args"];
        let (queued, submitted) = (number(&args["queued_us"]), number(&args["submitted_us"]));
        let (started, took) = (number(&event["ts"]), number(&event["dur"]));
        assert!(queued <= submitted && submitted <= started && took >= 0.0, "{event}");
        assert!(first <= queued && started + took <= last, "{event} {command}");
        commands += 1;
    }
    assert!(commands > 100, "{commands}");
}

#[test]
fn a_solve_takes_the_memory_that_the_page_says() {
    let Some(device) = opencl() else { return };
    let page = include_str!("../../../docs/memory.md");
    let folder = Folder::new();
    folder.succeeds("config generate weak --lattice 8.8.8.8 --seed 1 --output gauge.nersc");
    for (operator, column, how) in
        [("wilson", 2, ""), ("staggered", 3, "--solver mixed-f32"), ("wilson", 4, "--batch 12")]
    {
        let row = page.lines().find(|line| line.starts_with(&format!("| {operator} |"))).unwrap();
        let said: f64 = row.split('|').nth(column).unwrap().trim().parse().unwrap();
        folder.succeeds(&format!(
            "solve --operator {operator} --config gauge.nersc --source gauss:4 --mass 0.5 --tolerance 1e-3 {how} {device} --trace t.json"
        ));
        let trace = trace(&folder, "t.json");
        let held = trace["traceEvents"].as_array().unwrap().iter().filter(|event| event["name"] == "memory held");
        let most = held.filter_map(|event| event["args"]["bytes"].as_f64()).fold(0.0, f64::max) / 4096.0;
        assert!((said..1.05 * said).contains(&most), "{operator} {how}: {most} bytes a site, and the page says {said}");
    }
}

#[test]
fn spans_of_the_host_nest() {
    let folder = Folder::with_gauge();
    folder.succeeds(&format!("{SOLVE} --device cpu --trace t.json"));
    let trace = trace(&folder, "t.json");
    let mut spans: Vec<(u64, f64, f64)> = Vec::new();
    for event in trace["traceEvents"].as_array().unwrap() {
        if event["ph"] == "X" && event["pid"] == 1 {
            let start = event["ts"].as_f64().unwrap();
            spans.push((event["tid"].as_u64().unwrap(), start, start + event["dur"].as_f64().unwrap()));
        }
    }
    // Nanoseconds are written as decimals of microseconds.
    const ROUNDING: f64 = 1e-3;
    for (k, &(thread, start, end)) in spans.iter().enumerate() {
        for &(other, from, to) in &spans[..k] {
            let apart = end <= from + ROUNDING || to <= start + ROUNDING;
            let inside = from <= start + ROUNDING && end <= to + ROUNDING;
            let around = start <= from + ROUNDING && to <= end + ROUNDING;
            assert!(thread != other || apart || inside || around, "{start} – {end} and {from} – {to}");
        }
    }
}

#[test]
fn a_traced_run_has_the_same_history_as_another() {
    let folder = Folder::with_gauge();
    for device in [Some("--device cpu".to_owned()), opencl()].into_iter().flatten() {
        folder.succeeds(&format!("{SOLVE} {device} --history plain.csv"));
        folder.succeeds(&format!("{SOLVE} {device} --history traced.csv --trace t.json --stats"));
        assert_eq!(text(&folder.read("traced.csv")), text(&folder.read("plain.csv")), "{device}");
    }
}

#[test]
fn stats_follow_the_table_on_standard_output_and_json_on_standard_error() {
    let folder = Folder::with_gauge();
    let table = folder.run(&format!("{SOLVE} --device cpu --stats"));
    let stdout = text(&table.stdout);
    assert_contains(&stdout, &["iterations", "calls", "total, ms", "average, µs", "%", "CPU reference", "cg_update"]);
    assert!(stdout.find("true residual") < stdout.find("cg_update"));
    let json = folder.run(&format!("{SOLVE} --device cpu --stats --json"));
    serde_json::from_slice::<Value>(&json.stdout).unwrap();
    assert_contains(&text(&json.stderr), &["calls", "cg_update"]);
}

#[test]
fn counts_of_the_stats_are_those_of_the_trace() {
    let folder = Folder::with_gauge();
    let stdout = folder.succeeds(&format!("{SOLVE} --device cpu --stats --trace t.json"));
    for (name, count) in slices(&trace(&folder, "t.json"), "CPU reference") {
        let mut rows = stdout.lines().skip_while(|line| !line.contains("total, ms"));
        let row = rows.find(|line| line.split_whitespace().any(|word| word == name)).unwrap();
        assert!(row.split_whitespace().any(|word| word == count.to_string()), "{name} {count}: {row}");
    }
}

#[test]
fn the_trace_is_there_also_where_the_command_fails() {
    let folder = Folder::new();
    folder.fails(2, "apply --operator hop --config absent --source gauss:1 --device cpu --output o.npy --trace t.json");
    assert_eq!(folder.names(), ["t.json"]);
    assert_eq!(trace(&folder, "t.json")["kind"], "trace");
}

#[test]
fn a_file_that_is_no_trace_is_not_replaced() {
    let folder = Folder::with_gauge();
    let error = folder.fails(2, "config info gauge.nersc --trace gauge.nersc");
    assert_contains(&error, &["gauge.nersc", "not a trace"]);
    folder.refuses("config convert gauge.nersc same.npy --trace same.npy", &["OUT and --trace name the same file"]);
    folder.refuses("smear --smear stout:0.1,1 --config gauge.nersc --output a.nersc --trace ./a.nersc", &["same file"]);
    // Of a command whose output is refused, nothing is written.
    folder.refuses("config convert gauge.nersc gauge.nersc --trace u.json", &["name the same file"]);
    assert_eq!(folder.names(), ["gauge.nersc"]);
    folder.succeeds("config info gauge.nersc --trace t.json");
    let before = folder.read("t.json");
    for reads in ["doctor --timeline t.json", "report t.json --output r.html"] {
        folder.refuses(&format!("{reads} --trace t.json"), &["--trace and ", " name the same file, t.json"]);
    }
    assert!(folder.read("t.json") == before, "the trace was replaced");
    folder.succeeds("config info gauge.nersc --trace t.json");
    assert_contains(&folder.fails(2, "config info gauge.nersc --trace absent/t.json"), &["absent/t.json"]);
}
