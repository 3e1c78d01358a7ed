use serde_json::json;

use super::*;

/// A text that would be a script, an attribute or an entity if it were not escaped.
const NASTY: &str = "<script>alert(1)</script>\"'&amp;{{ title }}";

fn document(value: Value) -> Document {
    Document::parse(Path::new("some <file>.json"), value.to_string().as_bytes()).unwrap()
}

fn page(documents: &[Value]) -> String {
    let documents: Vec<Document> = documents.iter().cloned().map(document).collect();
    render("A title", &documents).unwrap()
}

fn bench_row(kernel: &str, variant: &str, median: f64) -> Value {
    json!({
        "family": "clover", "kernel": kernel, "lattice": [4, 4, 4, 8], "precision": "f32", "variant": variant, "bit_true": true,
        "work": { "flops": 2000, "bytes": 1000 }, "ceiling": "copy", "seconds": { "median": median }, "link_reals": 18, "spinors": 1,
        "gflop_per_second": 2e-6 / median, "gb_per_second": 1e-6 / median, "share_of_ceiling": 0.5,
    })
}

fn bench(kind: &str, rows: &[Value]) -> Value {
    json!({ "kind": kind, "device": "device", "samples": 3, "copy_gb_per_second": 10.0, "rows": rows })
}

#[test]
fn nothing_is_loaded_from_anywhere() {
    let page =
        page(&[bench("bench", &[bench_row("hop", "v", 1e-6)]), json!({ "kind": "peak", "read_gb_per_second": 1.0 })]);
    for forbidden in ["http://", "https://", "//cdn", "url(", "@import", "<link rel=\"stylesheet\"", "src="] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn all_text_of_documents_is_escaped() {
    let row = json!({ NASTY: NASTY, "kernel": NASTY, "variant": NASTY, "precision": NASTY, "lattice": NASTY, "occupancy": 0.5,
        "share_of_ceiling": 0.5, "gb_per_second": 1.0, "factor": 2.0, "gain": 1.5, "percentage": 10.0, "group": "kernel", "name": NASTY,
        "family": "clover", "seconds": { "median": 1e-6 }, "work": { "flops": 1, "bytes": 1 }, "gflop_per_second": 1.0 });
    let events = json!([
        { "ph": "X", "name": NASTY, "pid": 1, "tid": 1, "ts": 0, "dur": 10 },
        { "ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": { "name": NASTY } },
    ]);
    let document = |kind: &str| {
        json!({ "kind": kind, "device": NASTY, NASTY: NASTY, "rows": [row], "kernels": [row], "hotspots": [row], "traceEvents": events,
            "copy_gb_per_second": 1.0, "findings": [{ "title": NASTY, "change": NASTY, "evidence": [NASTY] }], "beside": [row] })
    };
    let kinds = sections::ORDER.iter().map(|(kind, _)| *kind).chain([NASTY]);
    let page = page(&kinds.map(document).collect::<Vec<_>>());
    assert!(!page.contains("<script>alert"), "a script got through");
    assert!(!page.contains("\"'&amp;{{"), "a quote got through");
    assert!(page.contains("&lt;script&gt;alert(1)"));
    // Our own script alone.
    assert_eq!(page.matches("<script").count(), 1);
    assert!(render(NASTY, &[]).unwrap().matches("<script").count() == 1);
}

#[test]
fn each_kind_has_its_section_in_the_order_of_the_page() {
    let document = |kind: &str| json!({ "kind": kind, "device": "d", "traceEvents": [] });
    let page = page(&sections::ORDER.iter().rev().map(|(kind, _)| document(kind)).collect::<Vec<_>>());
    let mut last = 0;
    for (_, title) in sections::ORDER {
        let at = page.find(&format!("<h2>{title}")).unwrap_or_else(|| panic!("no {title}"));
        assert!(at > last, "{title}");
        last = at;
    }
}

#[test]
fn a_kind_that_is_not_known_is_shown_as_facts_and_tables() {
    let page = page(&[
        json!({ "kind": "weather", "city": "Perth", "days": [{ "day": 1, "rain_us": 2.5 }, { "day": 2, "rain_us": null }] }),
    ]);
    for part in ["<h2>weather", "<dt>city</dt><dd>Perth</dd>", "rain, µs", "data-value=\"2.5\"", ">–</td>"] {
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
    let rows: Vec<Value> = (0..5).map(|k| json!({ "kernel": "hop", "lane_bytes": 64, "median_us": k })).collect();
    let table = table::Table::of("t", &rows).unwrap();
    assert_eq!(table.columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>(), ["median, µs"]);
    assert_eq!(table.shared, [("kernel".to_owned(), "hop".to_owned()), ("lane, bytes".to_owned(), "64".to_owned())]);
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
    let chart = serde_json::to_value(roofline::roofline(&points).unwrap()).unwrap();
    assert_eq!((chart["points"].as_array().unwrap().len(), chart["roofs"].as_array().unwrap().len()), (1, 1));
    // 2 operations a byte, 2 GFlop/s: below the slope of 10 GB/s, so lower on the page than the roof's end.
    let [y, roof] = [&chart["points"][0]["y"], &chart["roofs"][0]["to"][1]].map(|value| value.as_f64().unwrap());
    assert!(y > roof, "{chart}");
    assert!(roofline::roofline(&[document(json!({ "kind": "peak" }))]).is_none());
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
fn a_document_without_a_kind_is_refused_by_name() {
    let error = |text: &str| Document::parse(Path::new("dir/what.json"), text.as_bytes()).unwrap_err().to_string();
    assert!(error("{}").contains("dir/what.json does not say what it is"));
    assert!(error("[1").contains("dir/what.json is no JSON"));
    assert!(error("{\"kind\": 3}").contains("\"kind\""));
    // A Chrome trace of another program has none.
    assert_eq!(Document::parse(Path::new("t"), b"{\"traceEvents\": []}").unwrap().kind, "trace");
    let events = br#"[{"ph": "X", "name": "hop", "pid": 2, "tid": 1, "ts": 0, "dur": 5}]"#;
    let bare = Document::parse(Path::new("t"), events).unwrap();
    assert_eq!((bare.kind.as_str(), timeline::timelines(&bare.value).len()), ("trace", 1));
    assert!(Document::parse(Path::new("t"), br#"[{"ph": "X"}, 2]"#).is_err());
}

#[test]
fn curves_go_by_size_and_group() {
    let row = |place: &str, bytes: u64, rate: f64| json!({ "place": place, "bytes": bytes, "gb_per_second": rate });
    let rows = [row("device", 4096, 100.0), row("device", 1024, 400.0), row("unit", 1024, 50.0)];
    let chart = serde_json::to_value(curves::curves("t", &rows, "gb_per_second", "place", "GB/s").unwrap()).unwrap();
    // One point makes no curve.
    let [series] = &chart["series"].as_array().unwrap()[..] else { panic!("{chart}") };
    let dots = series["dots"].as_array().unwrap();
    let [small, large] = [0, 1].map(|k| [0, 1].map(|axis| dots[k][axis].as_f64().unwrap()));
    assert!(small[0] < large[0] && small[1] < large[1], "{chart}");
    assert_eq!(dots[0][2], "device 1 KiB: 400 GB/s");
}

#[test]
fn entries_of_occupancy_are_drawn_with_what_limits_them() {
    let limits = json!([{ "resource": "registers", "groups": 9 }, { "resource": "local-memory", "groups": 2 }]);
    let entry = json!({ "architecture": { "name": "mi100" }, "demand": { "group": 256, "registers": 44, "scalar": 64, "local": 24576 },
        "occupancy": { "share": 0.25, "waves": 10, "most_waves": 40, "groups": 2, "limits": limits }, "kernel": null });
    let page = page(&[json!({ "kind": "occupancy", "entries": [entry], "sweeps": [] })]);
    for part in ["25.0 %", "local-memory", "mi100"] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn findings_are_told_with_the_kernel_that_has_them() {
    let finding = json!({ "title": "registers are spilled", "gain": 0.82, "confirmed_gain": 0.81, "change": "--max-registers 0", "evidence": ["40"] });
    let examined = json!({ "subject": "hop, 32.32.32.64", "kernel_seconds": 1070e-6, "gb_per_second": 752.7, "share_of_copy": 0.18,
        "estimated_seconds": 202e-6, "findings": [finding] });
    let page = page(&[json!({ "kind": "doctor", "device": { "name": "H200", "units": 132 }, "kernels": [examined] })]);
    for part in [
        "registers are spilled",
        "+82.0 %",
        "confirmed +81.0 %",
        "<p class=\"subject\">hop, 32.32.32.64</p>",
        "Examined",
    ] {
        assert!(page.contains(part), "no {part}");
    }
}
