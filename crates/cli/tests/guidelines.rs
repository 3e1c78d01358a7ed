//! `lanefield guidelines`: the shape of what it prints, and what is refused; never a time.

use super::{Folder, assert_contains, opencl, text};

const TINY: &str = "guidelines --tiny --samples 1";

#[test]
fn the_table_has_a_row_for_each_name_that_was_given() {
    let Some(device) = opencl() else { return };
    let table = Folder::new().succeeds(&format!("{TINY} fused-passes beyond-memory {device}"));
    assert_contains(&table, &["device", "driver", "guideline", "without, µs", "factor", "verdict"]);
    assert_contains(
        &table,
        &["fused-passes: two axpy, one after the other → both in one pass", "beyond-memory*", "1 observed"],
    );
    assert_contains(&table, &["beyond-memory: one buffer of "]);
    assert!(!table.contains("coalesced"), "{table}");
    let wide = table.lines().find(|line| line.starts_with(" fused-passes") && line.chars().count() > 120);
    assert_eq!(wide, None);
}

#[test]
fn json_has_both_sides_the_factor_and_the_verdict() {
    let Some(device) = opencl() else { return };
    let json = Folder::new().json(&format!("{TINY} keep-on-device {device}"));
    assert_eq!((&json["kind"], &json["scale"]), (&"guidelines".into(), &"tiny".into()));
    assert!(json["device"]["name"].is_string() && json["device"]["driver"].is_string());
    let [row] = &json["guidelines"].as_array().unwrap()[..] else { panic!("{json}") };
    assert_eq!(
        (&row["name"], &row["topic"], &row["timed"]),
        (&"keep-on-device".into(), &"transfers".into(), &"host".into())
    );
    assert_eq!(row["sources"][0], serde_json::json!({ "document": "hip", "section": "Data Transfer" }));
    let [without, with, factor] =
        ["without_seconds", "with_seconds", "factor"].map(|side| row[side]["median"].as_f64().unwrap());
    assert!((factor - without / with).abs() <= 1e-9 * factor, "{row}");
    assert_eq!((&row["samples"], &row["verdict"]), (&1.into(), &"unclear".into()));
    assert_eq!(row["remark"], "1 of the 3 pairs of samples that a verdict takes");
}

#[test]
fn the_list_needs_no_device_and_tells_what_is_advised_and_by_whom() {
    let folder = Folder::new();
    let output = folder.command("guidelines --list").env("OCL_ICD_VENDORS", "/nonexistent").output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{}", text(&output.stderr));
    let advice = "coalesced\n  Let work-items that run in step access words that lie next to each other.\n";
    assert_contains(&text(&output.stdout), &[advice, "[HIP performance guidelines, Device Memory Access]"]);
    assert_contains(&text(&output.stdout), &["[DaCe GPU best practices, Atomic write-conflicts]"]);
    let json = folder.json("guidelines --list atomics");
    assert_eq!((&json["kind"], &json["list"][0]["name"]), (&"guidelines list".into(), &"atomics".into()));
}

#[test]
fn misuse_is_refused_with_what_would_be_right() {
    let folder = Folder::new();
    let error = folder.fails(2, "guidelines magic");
    assert_contains(&error, &["there is no guideline 'magic'; there are: coalesced, aligned"]);
    assert_contains(&folder.misused("guidelines --samples 0"), &["expected a whole number from 1 to 100000"]);
    if opencl().is_some() {
        assert_contains(&folder.fails(2, "guidelines --device cpu"), &["OpenCL devices", "--device"]);
    }
    let none = folder.command("guidelines").env("OCL_ICD_VENDORS", "/nonexistent").output().unwrap();
    assert_eq!(none.status.code(), Some(2));
    assert_contains(&text(&none.stderr), &["error: failed to find a device", "there is no OpenCL here"]);
}
