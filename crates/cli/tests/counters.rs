//! `lanefield counters`: the numbers of the sprint report, profiles of either vendor, ours beside them, and what is refused.

use std::path::Path;

use super::{Folder, assert_contains};

fn data(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../lab/tests/data/counters").join(name).display().to_string()
}

const BENCH: &str = r#"{ "kind": "bench", "schema": 1, "rows": [
    { "kernel": "eo_clover", "variant": "v", "precision": "f32", "bit_true": true, "seconds": { "median": 1e-4 },
      "bytes_per_second": 800e9, "share_of_ceiling": 0.75 },
    { "kernel": "eo_clover", "variant": "relaxed", "precision": "f32", "bit_true": false, "seconds": { "median": 1e-5 } }] }"#;

#[test]
fn by_hand_the_bandwidths_of_the_sprint_report_come_out() {
    let folder = Folder::new();
    let first = folder.succeeds("counters --bytes 77.87891MB --time 0.270821ms --ceiling 1075.46");
    assert_contains(&first, &["287.566 GB/s (26.7%)"]);
    let second = folder.succeeds("counters --bytes 1.29009797GB --time 2.671374ms --ceiling 1075.46");
    assert_contains(&second, &["482.934 GB/s (44.9%)"]);
}

#[test]
fn a_profile_is_read_and_ours_stands_beside_it() {
    let folder = Folder::new();
    folder.write("bench.json", BENCH.as_bytes());
    let (profile, map) = (data("rocprof.csv"), "--map EOCloverFBCGPU=eo_clover");
    let table = folder.succeeds(&format!("counters {profile} --ceiling 1075.46 --beside bench.json {map}"));
    assert_contains(&table, &["287.566 GB/s (26.7%)", "TOTAL_RW", "77.87891", "800.000 GB/s (75.0%)", "2.71"]);
    let json = folder.json(&format!("counters {profile} --beside bench.json {map}"));
    assert_eq!((&json["kind"], &json["rows"][0]["calls"]), (&"counters".into(), &2.into()));
    // What has other bits is no way to run it.
    assert_eq!(json["beside"][0]["ours"]["variant"], "v");
    assert_eq!(json["beside"][1]["ours"], serde_json::Value::Null);
}

#[test]
fn a_table_of_the_sprint_report_fits_a_terminal_and_half_a_total_is_a_dash() {
    let folder = Folder::new();
    let table = folder.succeeds(&format!("counters {} --ceiling 1075.46", data("rocprof.csv")));
    assert!(table.lines().all(|line| line.chars().count() <= 120), "{table}");
    // No kernel's profile tells its occupancy.
    assert!(table.contains("SGPR") && !table.contains("occ., %"), "{table}");
    folder.write("fetched.csv", b"KernelName,FETCH_SIZE,DurationNs\nk,1000,2000\n");
    assert_contains(
        &folder.succeeds("counters fetched.csv"),
        &["k: only what it reads was counted, 1.00000 MB a call"],
    );
    assert!(folder.json("counters fetched.csv")["rows"][0]["total_rw_bytes"].is_null());
}

#[test]
fn what_is_wrong_is_named_with_file_line_and_column() {
    let folder = Folder::new();
    folder.write("bad.csv", b"KernelName,FETCH_SIZE\nk,many\n");
    folder.write("bench.json", BENCH.as_bytes());
    assert_contains(&folder.fails(2, "counters bad.csv"), &["bad.csv, line 2, column \"FETCH_SIZE\"", "'many'"]);
    assert_contains(&folder.fails(2, "counters absent.csv"), &["absent.csv"]);
    folder.write("old.json", BENCH.replace("\"schema\": 1, ", "").as_bytes());
    let error = folder.fails(2, &format!("counters {} --beside old.json", data("rocprof.csv")));
    assert_contains(&error, &["old.json is not a JSON document of `lanefield bench`", "its schema is null"]);
    let error =
        folder.fails(2, &format!("counters {} --beside bench.json --map nothing=eo_clover", data("rocprof.csv")));
    assert_contains(&error, &["\"nothing\"", "EOCloverFBCGPU"]);
    assert_contains(&folder.misused("counters --bytes 12 --time 1ms"), &["with its unit"]);
    assert_contains(&folder.misused("counters --bytes 12MB"), &["--time"]);
    assert_contains(&folder.misused("counters --bytes 1e300TB --time 1ms"), &["1e300TB", "at most"]);
    assert_contains(&folder.misused("counters --bytes 12MB --time 0.1ns"), &["at least 1ns"]);
    assert_contains(&folder.misused("counters"), &["FILE.csv"]);
}

#[test]
fn what_binds_each_kernel_is_said_with_what_was_counted() {
    let folder = Folder::new();
    let text = folder.succeeds(&format!("counters {}", data("ncu_h200_raw.csv")));
    assert_contains(
        &text,
        &[
            "hop, 524288 work-items",
            "L1 throughput 91%",
            "DRAM 512.963 MB, L2 1290.000 MB, L1 1520.000 MB",
            "L1 22%, L2 59%, 15.9 sectors a load, 16.0 sectors a store",
            "30% of at most 31%, limited by registers, 90 registers, nothing spilled, groups fill the device 6.21 times",
            "lg throttle 41%, long scoreboard 33%, wait 10%, not selected 4%",
            "latency: no unit above 60% (DRAM throughput 45%), warps stalled on long scoreboard 48%, occupancy 25%",
            "0.016 MB of spilled registers and private arrays",
        ],
    );
    let json = folder.json(&format!("counters {}", data("ncu_h200_raw.csv")));
    let rows = json["rows"].as_array().unwrap();
    let hop = rows.iter().find(|row| row["kernel"] == "hop").unwrap();
    assert_eq!(hop["binds"]["limit"], "l1");
    assert_eq!(hop["units"][0]["unit"], "dram");
    assert_eq!(hop["stalls"][0]["reason"], "lg_throttle");
    assert_eq!(hop["occupancy_limits"][0], "registers");
    // Profiles that tell of no unit have no such part.
    assert!(!folder.succeeds(&format!("counters {}", data("rocprof.csv"))).contains("binds"));
}
