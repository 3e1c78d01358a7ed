use std::path::Path;

use serde_json::{Value, json};

use super::*;
use crate::Kind;

/// A text that would be a script, an attribute or an entity if it were not escaped.
const NASTY: &str = "<script>alert(1)</script>\"'&amp;{{ title }}";

fn document(value: Value) -> Document {
    Document::parse(Path::new("some <file>.json"), value.to_string().as_bytes()).unwrap()
}

fn page(documents: &[Value]) -> String {
    let documents: Vec<Document> = documents.iter().cloned().map(document).collect();
    render("A title", &documents, &[]).unwrap()
}

fn bench_row(kernel: &str, variant: &str, median: f64) -> Value {
    json!({
        "family": "clover", "kernel": kernel, "lattice": [4, 4, 4, 8], "precision": "f32", "variant": variant, "bit_true": true,
        "work": { "flops": 2000, "bytes": 1000 }, "ceiling": "copy", "seconds": { "median": median }, "reconstruct": 18, "spinors": 1,
        "flops_per_second": 2000.0 / median, "bytes_per_second": 1000.0 / median, "share_of_ceiling": 0.5,
    })
}

fn bench(kind: &str, rows: &[Value]) -> Value {
    json!({ "kind": kind, "schema": 1, "device": { "name": "device" }, "samples": 3, "copy_bytes_per_second": 10e9, "rows": rows })
}

#[test]
fn nothing_is_loaded_from_anywhere() {
    let page = page(&[
        bench("bench", &[bench_row("hop", "v", 1e-6)]),
        json!({ "kind": "peak", "schema": 1, "read_bytes_per_second": 1e9 }),
    ]);
    for forbidden in ["http://", "https://", "//cdn", "url(", "@import", "<link rel=\"stylesheet\"", "src="] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn all_text_of_documents_is_escaped() {
    let row = json!({ NASTY: NASTY, "kernel": NASTY, "variant": NASTY, "precision": NASTY, "lattice": NASTY, "sites": NASTY, "ceiling": NASTY,
        "occupancy": { "share": 0.5 }, "share_of_ceiling": 0.5, "bytes_per_second": 1e9, "factor": { "median": 2.0 }, "gain": 1.5,
        "share_of_group": 0.1, "group": "kernel", "name": NASTY, "family": "clover", "subject": NASTY, "seconds": { "median": 1e-6 },
        "work": { "flops": 1, "bytes": 1 }, "flops_per_second": 1e9, "binds": { "limit": NASTY, "because": NASTY },
        "findings": [{ "title": NASTY, "gain": 0.1, "change": NASTY, "evidence": [NASTY] }] });
    let events = json!([
        { "ph": "X", "name": NASTY, "pid": 1, "tid": 1, "ts": 0, "dur": 10 },
        { "ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": { "name": NASTY } },
    ]);
    let document = |kind: &Kind| {
        let mut document = json!({ "kind": kind.name(), "schema": kind.schema(), "lanefield": { "version": NASTY, "commit": NASTY },
            "device": { "name": NASTY, "platform": NASTY }, NASTY: NASTY, "verdict": NASTY, "components": 1, "operator": NASTY, "converged": true,
            "rows": [row], "kernels": [row], "entries": [row], "guidelines": [row], "hotspots": [row], "copy_bytes_per_second": 1e9, "beside": [row] });
        if *kind == Kind::Trace {
            document["traceEvents"] = events.clone();
        }
        self::document(document)
    };
    let documents: Vec<Document> = Kind::ALL.iter().map(document).collect();
    let mut changed = documents.clone();
    changed.iter_mut().for_each(|document| document.value["verdict"] = json!(format!("{NASTY} {NASTY}")));
    let page = render("A title", &documents, &changed).unwrap();
    assert!(!page.contains("<script>alert"), "a script got through");
    assert!(!page.contains("\"'&amp;{{"), "a quote got through");
    assert!(page.contains("&lt;script&gt;alert(1)"));
    // Our own script alone.
    assert_eq!(page.matches("<script").count(), 1);
    assert!(render(NASTY, &[], &[]).unwrap().matches("<script").count() == 1);
}

#[test]
fn each_kind_has_its_section_in_the_order_of_the_page() {
    let document = |kind: &Kind| match kind {
        Kind::Trace => json!({ "kind": "trace", "traceEvents": [] }),
        kind => json!({ "kind": kind.name(), "schema": kind.schema(), "device": { "name": "d" } }),
    };
    let page = page(&Kind::ALL.iter().rev().map(document).collect::<Vec<_>>());
    let mut last = 0;
    for kind in Kind::ALL {
        let title = kind.title();
        let at = page.find(&format!("<h2>{title} <")).unwrap_or_else(|| panic!("no {title}"));
        assert!(at > last, "{title}");
        last = at;
    }
}

#[test]
fn a_kind_without_charts_is_shown_as_facts_and_tables() {
    let page = page(&[json!({ "kind": "reduce", "schema": 1, "op": "norm2", "seconds": 2.5e-3,
        "values": [{ "slice": 1, "rain_seconds": 2.5e-6 }, { "slice": 2, "rain_seconds": null }] })]);
    for part in
        ["<h2>Sums", "<dt>op</dt><dd>norm2</dd>", "<dd>2.500 ms</dd>", "rain, µs", "data-value=\"2.5\"", ">–</td>"]
    {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn stages_are_drawn_in_order_with_their_gain_over_the_first() {
    let rows = [("local memory", 4e-6), ("+ registers", 2e-6), ("+ order", 1e-6)]
        .map(|(name, s)| bench_row("eo_clover", name, s));
    let charts = bars::stages(&rows);
    let [chart] = &charts[..] else { panic!("{charts:?}") };
    assert_eq!(chart.title, "eo_clover on 4×4×4×8");
    let shown: Vec<(&str, f64, &str)> =
        chart.bars.iter().map(|bar| (bar.label.as_str(), bar.percent, bar.text.as_str())).collect();
    let expected = [
        ("local memory", 100.0, "4.00 µs · 1.00×"),
        ("+ registers", 50.0, "2.00 µs · 2.00×"),
        ("+ order", 25.0, "1.00 µs · 4.00×"),
    ];
    assert_eq!(shown, expected);
}

#[test]
fn what_is_the_same_in_all_rows_is_said_once() {
    let rows: Vec<Value> =
        (0..5).map(|k| json!({ "kernel": "hop", "lane_bytes": 64, "median_seconds": f64::from(k) * 1e-6 })).collect();
    let table = table::Table::of("t", &rows).unwrap();
    assert_eq!(table.columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>(), ["median, µs"]);
    assert_eq!(table.shared, [("kernel".to_owned(), "hop".to_owned()), ("lane".to_owned(), "64 bytes".to_owned())]);
}

#[test]
fn the_unit_of_a_number_is_that_of_its_key() {
    use words::{Quantity, heading};
    let of = |key: &str| heading(key).1;
    // The median of a factor is a factor, that of seconds is a time.
    assert_eq!([of("factor.median"), of("gain"), of("times_ours")], [Quantity::Plain; 3]);
    assert_eq!([of("seconds.median"), of("without_seconds.tenth"), of("latency_seconds.l1")], [Quantity::Time; 3]);
    assert_eq!([of("copy_bytes_per_second"), of("ours.bytes_per_second")], [Quantity::Bandwidth; 2]);
    assert_eq!(
        [of("flops_per_second"), of("share_of_ceiling"), of("clock_hertz")],
        [Quantity::Flops, Quantity::Share, Quantity::Frequency]
    );
    assert_eq!(of("flops_per_byte"), Quantity::Plain);
    let page =
        page(&[json!({ "kind": "guidelines", "schema": 1, "guidelines": [{ "name": "coalesced", "verdict": "holds",
        "factor": { "median": 5.03, "tenth": 4.9, "ninetieth": 5.1 }, "with_seconds": { "median": 2e-6 } }] })]);
    for part in ["factor: median</button>", ">5.03</td>", "with: median, µs</button>", ">2</td>"] {
        assert!(page.contains(part), "{part} in {page}");
    }
}

#[test]
fn numbers_have_four_digits_and_times_their_unit() {
    for (value, text) in [
        (0.0, "0"),
        (12345678.0, "12\u{202f}345\u{202f}678"),
        (1234.0, "1234"),
        (123.456, "123.5"),
        (0.12345, "0.1235"),
    ] {
        assert_eq!(words::number(value), text);
    }
    assert_eq!([1.5, 2.5e-3, 4.25e-6, 3e-8].map(words::seconds), ["1.500 s", "2.500 ms", "4.25 µs", "30 ns"]);
}

#[test]
fn a_roofline_needs_a_memory_and_something_below_it() {
    let points = [document(bench("bench", &[bench_row("hop", "v", 1e-6)]))];
    let [roofline] = &roofline::rooflines(&points)[..] else { panic!("not one") };
    let chart = serde_json::to_value(roofline).unwrap();
    assert_eq!((chart["points"].as_array().unwrap().len(), chart["roofs"].as_array().unwrap().len()), (1, 1));
    // 2 operations a byte, 2 GFlop/s: below the slope of 10 GB/s, so lower on the page than the roof's end.
    let [y, roof] = [&chart["points"][0]["y"], &chart["roofs"][0]["to"][1]].map(|value| value.as_f64().unwrap());
    assert!(y > roof, "{chart}");
    assert!(roofline::rooflines(&[document(json!({ "kind": "peak", "schema": 1 }))]).is_empty());
}

#[test]
fn a_roofline_names_each_point_and_the_roof_that_binds_it_and_no_roof_has_the_colour_of_another() {
    let mut fast = bench_row("clover_apply", "v", 1e-6);
    // 50 operations a byte: right of the ridge at 10.
    fast["work"] = json!({ "flops": 50_000, "bytes": 1000 });
    let peak = json!({ "kind": "peak", "schema": 1, "device": { "name": "device" }, "copy_bytes_per_second": 10e9, "read_bytes_per_second": 12e9,
        "l2_bytes_per_second": 50e9, "l1_bytes_per_second": 90e9, "local_bytes_per_second": 80e9, "f32_flops_per_second": 100e9,
        "f64_flops_per_second": 50e9, "half_flops_per_second": 60e9 });
    let documents =
        [bench("bench", &[bench_row("hop", "v", 1e-6), bench_row("hop", "slower", 2e-6), fast]), peak].map(document);
    let [roofline] = &roofline::rooflines(&documents)[..] else { panic!("not one") };
    let chart = serde_json::to_value(roofline).unwrap();
    let points = chart["points"].as_array().unwrap();
    let said = |key: &str| points.iter().map(|point| point[key].as_str().unwrap().to_owned()).collect::<Vec<_>>();
    assert_eq!(points.iter().map(|point| point["number"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(said("roof"), ["memory (copy)", "f32 arithmetic"]);
    // 2 GFlop/s of 2 flop/byte × 10 GB/s; 2 of 100 GFlop/s.
    assert_eq!(said("share"), ["10 %", "2 %"]);
    let mut colours: Vec<u64> =
        chart["roofs"].as_array().unwrap().iter().map(|roof| roof["colour"].as_u64().unwrap()).collect();
    let number = colours.len();
    colours.sort_unstable();
    colours.dedup();
    // L1 and local memory are above all that is drawn.
    assert_eq!((number, colours.len()), (6, 6), "{chart}");
    // Numbers do not lie on each other.
    let [a, b] = [0, 1].map(|k| [0, 1].map(|axis| points[k]["label"][axis].as_f64().unwrap()));
    assert!((a[0] - b[0]).abs() >= 16.0 || (a[1] - b[1]).abs() >= 12.0, "{chart}");
    let table = serde_json::to_value(roofline.table()).unwrap();
    assert_eq!(table["rows"][1][1]["text"], "clover_apply, f32, reconstruct 18, 4×4×4×8");
    // Kernels whose data stay in a cache are not compared with memory.
    let mut cached = bench_row("axpy", "v", 1e-6);
    (cached["in_cache"], cached["share_of_ceiling"]) = (json!(true), Value::Null);
    let document = document(bench("bench", &[cached.clone()]));
    let [roofline] = &roofline::rooflines(std::slice::from_ref(&document))[..] else { panic!("not one") };
    let point = &serde_json::to_value(roofline).unwrap()["points"][0];
    assert_eq!((&point["roof"], &point["share"]), (&json!("a cache"), &json!("–")));
    let found = serde_json::to_value(summary::summary(&[document], &[])).unwrap();
    assert!(found["best"][0]["text"].as_str().unwrap().contains("1 row has no share"), "{found}");
    assert!(bars::shares(std::slice::from_ref(&cached)).is_none() && bars::in_cache(&[cached]).is_some());
}

#[test]
fn the_summary_has_the_machine_the_ceilings_the_verdicts_and_both_ends_of_the_kernels() {
    let rows: Vec<Value> = (1..=9)
        .map(|k| {
            let mut row = bench_row(&format!("kernel{k}"), "v", 1e-6);
            row["share_of_ceiling"] = json!(0.1 * f64::from(k));
            row
        })
        .collect();
    let device = json!({ "name": "device", "platform": "p", "driver": "3" });
    let mut measured = bench("bench", &rows);
    (measured["device"], measured["lanefield"]) =
        (device.clone(), json!({ "version": "1.2", "commit": "abcdef0123456789" }));
    let verify = json!({ "kind": "verify", "schema": 1, "device": device, "verdict": "DIFFERENT", "bitwise": false, "components": 7 });
    let documents = [measured, verify].map(document);
    let sections = sections::all(&documents, &[]);
    let found = serde_json::to_value(summary::summary(&documents, &sections)).unwrap();
    assert_eq!(found["machine"][0][1], "device (p, driver 3)");
    assert_eq!(found["machine"][1][1], "1.2, commit abcdef012345");
    assert_eq!(found["ceilings"][0][1], "copy 10 GB/s");
    assert_eq!((&found["verdicts"][0]["class"], &found["verdicts"].as_array().unwrap().len()), (&json!("bad"), &1));
    let ends = ["best", "worst"].map(|end| {
        let lines = found[end].as_array().unwrap().iter();
        lines.map(|line| line["text"].as_str().unwrap().split(',').next().unwrap().to_owned()).collect::<Vec<_>>()
    });
    assert_eq!(ends, [["kernel9", "kernel8", "kernel7"], ["kernel1", "kernel2", "kernel3"]]);
    assert!(found["best"][0]["part"].as_str().is_some_and(|part| part.starts_with("part-")));
}

#[test]
fn every_time_of_a_kind_is_compared_by_its_own_name() {
    let compared = |kind: &str, content: Value| -> Vec<String> {
        let mut value = json!({ "kind": kind, "schema": 1 });
        value.as_object_mut().unwrap().extend(content.as_object().unwrap().clone());
        let documents = [document(value)];
        let sections = serde_json::to_value(compare::sections(&documents, &documents)).unwrap();
        let tables = sections[0]["tables"].as_array().unwrap().iter();
        let table = tables.filter(|table| table["caption"] == "Before and after");
        let rows = table.flat_map(|table| table["rows"].as_array().unwrap().clone());
        rows.map(|row| format!("{} {}", row[0]["text"].as_str().unwrap(), row[1]["text"].as_str().unwrap())).collect()
    };
    let spread = json!({ "median": 2e-6, "tenth": 1e-6, "ninetieth": 3e-6 });
    let guideline = json!({ "name": "coalesced", "with_seconds": spread, "without_seconds": spread, "factor": spread });
    assert_eq!(
        compared("guidelines", json!({ "guidelines": [guideline] })),
        ["guidelines, coalesced, with 2.00 µs", "guidelines, coalesced, without 2.00 µs"]
    );
    let tuned = json!({ "kernel": "hop", "searched": { "default_seconds": 2e-6, "seconds": 1e-6 } });
    assert_eq!(
        compared("tune", json!({ "kernels": [tuned] })),
        ["kernels, hop, searched: default 2.00 µs", "kernels, hop, searched: time 1.00 µs"]
    );
    let peak = json!({ "copy_bytes_per_second": 1e9, "latency_seconds": { "l1": 1e-9 }, "launch": { "run_seconds": spread },
        "drift": { "cold_bytes_per_second": 1e9, "rested_bytes_per_second": 2e9 } });
    let expected = [
        "copy 1 GB/s",
        "drift, cold 1 GB/s",
        "drift, rested 2 GB/s",
        "latency: L1 1 ns",
        "launch, an empty kernel 2.00 µs",
    ];
    assert_eq!(compared("peak", peak), expected);
    let row = json!({ "kernel": "hop", "precision": "f32", "seconds": 2.0, "components": 7 });
    assert_eq!(
        compared("verify", json!({ "report": { "rows": [row] }, "seconds": 3.0 })),
        ["hop, f32 2.000 s", "time 3.000 s"]
    );
}

#[test]
fn before_and_after_have_ratios_with_the_spread_and_what_one_side_has_alone() {
    let with = |row: Value, tenth: f64, ninetieth: f64| {
        let mut row = row;
        (row["seconds"]["tenth"], row["seconds"]["ninetieth"]) = (json!(tenth), json!(ninetieth));
        row
    };
    let before = bench(
        "bench",
        &[
            with(bench_row("hop", "v", 2e-6), 1.8e-6, 2.2e-6),
            with(bench_row("axpy", "v", 1e-6), 0.8e-6, 1.2e-6),
            with(bench_row("gone", "v", 1e-6), 1e-6, 1e-6),
        ],
    );
    let after = bench(
        "bench",
        &[
            with(bench_row("hop", "v", 1e-6), 0.9e-6, 1.1e-6),
            with(bench_row("axpy", "v", 1.1e-6), 0.9e-6, 1.3e-6),
            with(bench_row("new", "v", 1e-6), 1e-6, 1e-6),
        ],
    );
    let verify =
        |verdict: &str| json!({ "kind": "verify", "schema": 1, "verdict": verdict, "bitwise": verdict == "same bits" });
    let documents = [after, verify("DIFFERENT"), json!({ "kind": "config", "schema": 1 })].map(document);
    let sections = compare::sections(&documents, &[before, verify("same bits")].map(document));
    let all = serde_json::to_value(&sections).unwrap();
    let table = |section: usize, caption: &str| -> Vec<Vec<String>> {
        let tables = all[section]["tables"].as_array().unwrap();
        let table =
            tables.iter().find(|table| table["caption"] == caption).unwrap_or_else(|| panic!("no {caption}: {all}"));
        let text = |cell: &Value| cell["text"].as_str().unwrap().to_owned();
        table["rows"].as_array().unwrap().iter().map(|row| row.as_array().unwrap().iter().map(text).collect()).collect()
    };
    let compared = table(0, "Before and after");
    let row = |kernel: &str| compared.iter().find(|row| row[0].starts_with(kernel)).unwrap();
    assert_eq!(row("hop")[1..], ["2.00 µs", "1.00 µs", "2.00× (1.64 – 2.44)", "faster"]);
    assert_eq!(row("axpy")[4], "within the spread");
    let only = table(0, "On one side only");
    assert!(only.iter().any(|row| row[0].starts_with("gone") && row[1] == "only before"), "{only:?}");
    assert!(only.iter().any(|row| row[0].starts_with("new") && row[1] == "only after"), "{only:?}");
    assert!(table(1, "What else changed").contains(&["verdict", "same bits", "DIFFERENT"].map(str::to_owned).into()));
    assert_eq!(table(2, "Documents of one side"), [["config", "some <file>.json", "only after"]]);
}

#[test]
fn a_timeline_has_a_track_for_each_thread_and_queue() {
    let event = |pid: u64, name: &str, ts: f64, dur: f64| json!({ "ph": "X", "pid": pid, "tid": 1, "name": name, "ts": ts, "dur": dur });
    let trace = json!({ "traceEvents": [event(1, "command", 0.0, 100.0), event(2, "hop", 0.0, 50.0), event(2, "axpy", 50.0, 50.0)] });
    let charts = serde_json::to_value(timeline::timelines(&trace)).unwrap();
    let tracks = charts[0]["tracks"].as_array().unwrap();
    let slices: Vec<usize> = tracks.iter().map(|track| track["slices"].as_array().unwrap().len()).collect();
    assert_eq!(slices, [1, 2]);
    let [hop, axpy] = [0, 1].map(|k| tracks[1]["slices"][k]["width"].as_f64().unwrap());
    assert!((hop - axpy).abs() < 4.0, "{charts}");
}

#[test]
fn a_document_of_no_known_kind_or_schema_is_refused_by_name() {
    let error = |text: &str| Document::parse(Path::new("dir/what.json"), text.as_bytes()).unwrap_err().to_string();
    assert!(error("{}").contains("dir/what.json does not say what it is"));
    assert!(error("[1").contains("dir/what.json is not JSON"));
    assert!(error("{\"kind\": 3}").contains("\"kind\""));
    let message = error("{\"kind\": \"weather\", \"schema\": 1}");
    assert!(
        message.contains("dir/what.json is of kind 'weather'") && message.contains("expected one of devices, peak,"),
        "{message}"
    );
    let message = error("{\"kind\": \"bench\", \"schema\": 9}");
    assert!(message.contains("has schema 9 of kind 'bench', and this version reads 1"), "{message}");
    assert!(error("{\"kind\": \"bench\"}").contains("has schema none of kind 'bench'"));
    // A Chrome trace of another program has none.
    assert_eq!(Document::parse(Path::new("t"), b"{\"traceEvents\": []}").unwrap().kind, Kind::Trace);
    let events = br#"[{"ph": "X", "name": "hop", "pid": 2, "tid": 1, "ts": 0, "dur": 5}]"#;
    let bare = Document::parse(Path::new("t"), events).unwrap();
    assert_eq!((bare.kind, timeline::timelines(&bare.value).len()), (Kind::Trace, 1));
    assert!(Document::parse(Path::new("t"), br#"[{"ph": "X"}, 2]"#).is_err());
}

#[test]
fn curves_go_by_size_and_group() {
    let row =
        |place: &str, bytes: u64, rate: f64| json!({ "place": place, "bytes": bytes, "bytes_per_second": rate * 1e9 });
    let rows = [row("device", 4096, 100.0), row("device", 1024, 400.0), row("unit", 1024, 50.0)];
    let chart = serde_json::to_value(curves::curves("t", &rows, "bytes_per_second", "place").unwrap()).unwrap();
    // One point is not a curve.
    let [series] = &chart["series"].as_array().unwrap()[..] else { panic!("{chart}") };
    let dots = series["dots"].as_array().unwrap();
    let [small, large] = [0, 1].map(|k| [0, 1].map(|axis| dots[k][axis].as_f64().unwrap()));
    assert!(small[0] < large[0] && small[1] < large[1], "{chart}");
    assert_eq!(dots[0][2], "device 1 KiB: 400 GB/s");
}

#[test]
fn entries_of_occupancy_are_drawn_with_what_limits_them() {
    let limits = json!([{ "resource": "registers", "groups": 9 }, { "resource": "local-memory", "groups": 2 }]);
    let entry = json!({ "architecture": { "name": "mi100" }, "demand": { "group": 256, "registers": 44, "scalar": 64, "local_bytes": 24576 },
        "occupancy": { "share": 0.25, "waves": 10, "most_waves": 40, "groups": 2, "limits": limits }, "kernel": null });
    let page = page(&[json!({ "kind": "occupancy", "schema": 1, "entries": [entry], "sweeps": [] })]);
    for part in ["25.0 %", "local-memory", "mi100"] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn findings_are_told_with_the_kernel_that_has_them() {
    let finding = json!({ "title": "registers are spilled", "gain": 0.82, "confirmed_gain": 0.81, "change": "--max-registers 0", "evidence": ["40"] });
    let examined = json!({ "subject": "hop, 32.32.32.64", "kernel_seconds": 1070e-6, "bytes_per_second": 752.7e9, "share_of_copy": 0.18,
        "binds": { "limit": "execution", "share": 0.8, "because": "computing" },
        "estimated_seconds": 202e-6, "findings": [finding] });
    let page = page(&[
        json!({ "kind": "doctor", "schema": 1, "machine": { "name": "H200", "units": 132 }, "kernels": [examined] }),
    ]);
    for part in [
        "registers are spilled",
        "+82.0 %",
        "confirmed +81.0 %",
        "<p class=\"subject\">hop, 32.32.32.64</p>",
        "Examined",
        "execution",
    ] {
        assert!(page.contains(part), "no {part}");
    }
}

#[test]
fn physics_is_drawn_for_a_screen_and_a_phone_with_its_fits_in_tables_and_in_the_summary() {
    let number = |value: f64, error: f64| json!({ "value": value, "bits": "3ff0", "error": error });
    let correlator: Vec<Value> = (0..4).map(|t| number(0.5f64.powi(t), 0.01)).collect();
    let masses = json!({ "kind": "spectrum fit", "schema": 1, "lattice": [4, 4, 4, 4],
        "hadrons": [{ "hadron": "pion", "correlator": correlator, "effective_masses": [number(0.69, 0.02), null, number(0.7, 0.03)] }],
        "fits": [{ "hadron": "pion", "first": 1, "last": 3, "chi_squared": 1.25, "degrees": 2, "p_value": 0.53,
            "states": [{ "mass": 0.693, "mass_error": 0.012, "mass_bits": "3ff0" }], "warnings": ["errors of few samples"] }] });
    let fit = json!({ "time": 1, "constant": number(0.6, 0.1), "coulomb": number(0.3, 0.1), "tension": number(0.05, 0.01), "r0": number(2.9, 0.2),
        "chi_squared": 0.5, "degrees": 1, "p_value": 0.48, "warnings": [],
        "curve": [{ "r": 1.0, "value": 0.3, "error": 0.01 }, { "r": 4.0, "value": 1.2, "error": 0.05 }] });
    let distances: Vec<Value> =
        (1..=4).map(|r| json!({ "r": r, "potential": [number(0.3 * f64::from(r), 0.01)] })).collect();
    let potential = json!({ "kind": "potential", "schema": 1, "distances": distances, "first": 1, "last": 4, "fits": [fit], "warnings": [] });
    let times: Vec<Value> =
        (0..9).map(|k| json!({ "t": 0.2 * f64::from(k), "energy": 0.5, "energy_bits": "3ff0" })).collect();
    let flow = json!({ "kind": "flow", "schema": 1, "times": times, "t0": 0.6, "w0": null });
    let history: Vec<Value> =
        (1..=3).map(|k| json!({ "file": format!("e/{k}.nersc"), "values": [0.5 + 0.01 * f64::from(k)] })).collect();
    let observe = json!({ "kind": "observe", "schema": 1, "values": [{ "name": "plaquette", "value": 0.52, "error": 0.006, "bits": "3fe0" }],
        "history": history });
    let page = page(&[masses, potential, flow, observe]);
    for part in [
        "Correlators and effective masses",
        "pion, 1 to 3: a m = 0.693(12), χ²",
        "1.25&#x2f;2, p = 0.53",
        "errors of few samples",
        "The static potential",
        "0.050(10)",
        "2.90(20)",
        "t²E over flow time",
        "t₀&#x2f;a² = 0.6",
        "Histories",
        "plaquette 0.5200(60)",
    ] {
        assert!(page.contains(part), "no {part}");
    }
    // Each figure twice, in the colours of the page; and no bits.
    assert_eq!(
        (page.matches("<div class=\"wide\"><svg").count(), page.matches("<div class=\"narrow\"><svg").count()),
        (4, 4)
    );
    // The bands of both fits.
    assert!(page.matches("fill-opacity=\"0.25\" stroke-linejoin").count() >= 4, "{page}");
    assert!(page.contains("stroke=\"var(--c1)\"") && !page.contains("3ff0"));
}

#[test]
fn rates_that_mean_nothing_and_the_empty_kernel_are_not_shown() {
    let row = |name: &str, average: f64| {
        json!({ "group": "kernel", "name": name, "calls": 1, "average_seconds": average,
        "total_seconds": average, "share_of_group": 0.5, "bytes_per_second": 5e9, "flops_per_second": 0.0 })
    };
    let trace = json!({ "kind": "trace", "traceEvents": [], "hotspots": [row("hop f32", 1e-3), row("axpy f32", 5e-6), row("nothing", 2e-6)] });
    let page = page(&[trace]);
    assert!(page.contains("hop f32") && page.contains("axpy f32"));
    assert!(!page.contains(">nothing<"), "{page}");
    // The bandwidth of the long one alone, and no column of speeds that are all zero.
    assert!(page.contains("bandwidth, GB&#x2f;s") && !page.contains("speed, GFlop"), "{page}");
    assert_eq!(page.matches("data-value=\"5.0\"").count() + page.matches("data-value=\"5\"").count(), 1, "{page}");
}
