//! `lanefield bench reduce`: the shape of what it prints, and what is refused; never a time.

use super::{Folder, assert_contains, opencl};

const REDUCE: &str = "bench reduce --lattice 2.2.2.4 --object colour-vector --samples 2";

/// Shapes and forms of the rows, in order, of a device.
fn rows_of_a_device() -> Vec<(String, String)> {
    let shapes = ["2 sites a group", "8 sites a group", "16 sites a group", "32 sites a group", "plan"];
    let forms = ["staged:3", "fused:3", "fused:2", "serial-words", "exact"];
    let row = |shape: &str, form: &str| (shape.to_owned(), form.to_owned());
    let mut rows: Vec<_> = shapes.iter().flat_map(|shape| forms.map(|form| row(shape, form))).collect();
    rows.push(row("default", "exact"));
    rows.extend(spinor_rows());
    rows
}

fn spinor_rows() -> Vec<(String, String)> {
    let operations = ["f32", "f64"].map(|p| ["norm2", "inner product"].map(|name| format!("{name}, {p} spinor")));
    let row = |name: &String, form: &str| (name.clone(), form.to_owned());
    operations.iter().flatten().flat_map(|name| ["tree", "exact"].map(|form| row(name, form))).collect()
}

/// Shape and form of the rows of a table that were timed, with the number of cells after them.
fn timed_rows(table: &str) -> Vec<(String, String, usize)> {
    let rows = table.lines().skip_while(|line| !line.starts_with(" shape")).skip(2).take_while(|line| !line.is_empty());
    let cells = |line: &str| {
        let (shape, rest) = line.trim_start().split_once("   ").unwrap_or((line, ""));
        let mut cells = rest.split_whitespace();
        let form = cells.next().unwrap_or_default().to_owned();
        (shape.to_owned(), form, cells.count())
    };
    rows.filter(|line| line.trim_end().ends_with(['%', '–']) && !line.contains("failed")).map(cells).collect()
}

#[test]
#[ignore = "test-all: builds sums in all forms"]
fn the_table_has_every_form_in_every_shape_with_time_rate_and_share() {
    let Some(device) = opencl() else { return };
    let table = Folder::new().succeeds(&format!("{REDUCE} {device}"));
    // Group, median, least – most, rate, two shares, the first of which is that of a cache.
    let expected: Vec<_> = rows_of_a_device().into_iter().map(|(shape, form)| (shape, form, 9)).collect();
    assert_eq!(timed_rows(&table), expected, "{table}");
    assert_contains(
        &table,
        &["f64 colour vector on 2.2.2.4", "read bandwidth", "median, µs", "of read", "of same read"],
    );
    let last = table.lines().last().unwrap();
    assert!(last.starts_with("same bits: 24 tree sums of ") && last.ends_with(" plans, 10 exact sums"), "{last}");
}

#[test]
fn the_cpu_reference_has_one_form_of_a_tree_and_one_exact_sum() {
    let table = Folder::new().succeeds(&format!("{REDUCE} --device cpu --precision f32"));
    let shapes = ["2 sites a group", "8 sites a group", "16 sites a group", "32 sites a group", "plan"];
    let mut expected: Vec<_> = shapes.map(|shape| (shape.to_owned(), "tree".to_owned())).into();
    expected.push(("default".to_owned(), "exact".to_owned()));
    expected.extend(spinor_rows());
    let found: Vec<_> = timed_rows(&table).into_iter().map(|(shape, form, _)| (shape, form)).collect();
    assert_eq!(found, expected, "{table}");
    assert!(table.trim_end().ends_with(" exact sums"), "{table}");
}

#[test]
fn json_has_the_rows_of_the_table_and_the_verdict() {
    let json = Folder::new().json(&format!("{REDUCE} --device cpu --threads 1 --bundle 2"));
    assert_eq!((&json["lattice"], &json["object"]), (&serde_json::json!([2, 2, 2, 4]), &"colour vector".into()));
    assert_eq!((&json["precision"], &json["field_bytes"]), (&"f64".into(), &(32 * 3 * 16).into()));
    assert_eq!((&json["bundle"], &json["samples"], &json["finish"]), (&2.into(), &2.into(), &serde_json::Value::Null));
    assert_eq!(json["plan"], "256 blocks of 1024 threads in warps of 32");
    assert!(json["read_bytes_per_second"].as_f64().unwrap() > 0.0);
    assert_eq!((&json["same_bits"], &json["agreement"]["different"]), (&true.into(), &serde_json::json!([])));
    let rows = json["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 6 + 8);
    for row in rows {
        let [median, least, most] = ["median", "least", "most"].map(|name| row["seconds"][name].as_f64().unwrap());
        assert!(least <= median && median <= most, "{row}");
        let bytes = row["bytes"].as_f64().unwrap();
        let rate = row["bytes_per_second"].as_f64().unwrap();
        assert!((rate * median - bytes).abs() <= 1e-9 * bytes, "{row}");
        assert!(
            row["failure"].is_null() && (row["share_of_read_bandwidth"].is_number() != (row["in_cache"] == true)),
            "{row}"
        );
    }
    assert_eq!((&rows[1]["shape"], &rows[1]["form"]), (&serde_json::json!({ "sites_a_group": 8 }), &"tree".into()));
    assert_eq!((&rows[4]["shape"], &rows[4]["group"]), (&"plan".into(), &1024.into()));
    assert_eq!((&rows[5]["sum"], &rows[13]["operation"]), (&"exact".into(), &"inner_product".into()));
}

#[test]
fn a_row_that_cannot_be_run_says_why_and_the_table_goes_on() {
    // Lanes of 8 bytes hold no complex number of f64.
    let table = Folder::new().succeeds(&format!("{REDUCE} --device cpu --precision f32 --lanes 8"));
    let failed: Vec<&str> = table.lines().filter(|line| line.contains("f64 spinor: ")).collect();
    assert_eq!(failed.len(), 4, "{table}");
    for line in failed {
        assert_contains(line, &["8 bytes", "at least 16"]);
    }
    assert_eq!(timed_rows(&table).len(), 6 + 4, "{table}");
    assert_contains(&table, &["same bits: "]);
}

#[test]
fn a_name_that_nothing_has_is_refused() {
    Folder::new().refuses(
        "bench gauge --lattice 4.4.4.4 --samples 1 --only nonsense --device cpu",
        &["--only 'nonsense' is part of no name: expected one of heat bath; heat bath, 4 overrelaxations;"],
    );
}

#[test]
fn misuse_is_refused_with_what_would_be_right() {
    let folder = Folder::new();
    let misused = |what: &str| folder.misused(&format!("bench reduce --device cpu {what}"));
    assert_contains(&misused("--object quark"), &["'quark'", "propagator"]);
    assert_contains(&misused("--bundle 0"), &["expected a whole number from 1 to 1024"]);
    assert_contains(&misused("--samples 0"), &["expected a whole number from 1 to 100000"]);
    assert_contains(&misused("--lattice 4.4.4"), &["4.4.4"]);
    assert_contains(&folder.misused("bench --kernel redcue"), &["'redcue'", "reduce"]);
    assert_contains(
        &folder.fails(2, &format!("{REDUCE} --device cpu --finish second-kernel")),
        &["the CPU has one way"],
    );
    assert_contains(&folder.fails(2, &format!("{REDUCE} --device cpu --lanes 8")), &["8 bytes", "at least 16"]);
}
