//! `lanefield doctor`: the shape of what it prints, and what is refused; never a time.

use super::{Folder, assert_contains, opencl};

fn planted(name: &str) -> String {
    format!("{}/../lab/tests/data/doctor/{name}.toml", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn a_kernel_is_told_with_its_launch_and_its_share_of_copy_bandwidth() {
    let Some(device) = opencl() else { return };
    let told = Folder::new().succeeds(&format!("doctor --kernel hop --lattice 4.4.4.4 --samples 2 {device}"));
    for part in ["copy bandwidth", "empty kernel", "hop, 4.4.4.4", "GB/s, in cache", "work-items in groups of"] {
        assert_contains(&told, &[part]);
    }
}

/// Which faults are found depends on times here, where a device has been measured: the library's tests of the doctor invent them. This one holds
/// the form of the report, and that a finding is either confirmed or says why not.
#[test]
fn json_has_what_was_observed_and_every_finding_in_full() {
    let Some(device) = opencl() else { return };
    let command = format!("doctor --described {} --confirm --samples 4 {device}", planted("launches"));
    let report = Folder::new().json(&command);
    assert_eq!(report["kind"], "doctor");
    let examined = &report["kernels"][0];
    assert_eq!(examined["subject"], "launches");
    assert!(examined["kernel_seconds"].as_f64().is_some_and(|seconds| seconds > 0.0), "{examined}");
    for finding in examined["findings"].as_array().unwrap() {
        assert!(finding["fault"].is_string() && finding["change"].is_string(), "{finding}");
        assert!(finding["gain"].as_f64().is_some_and(|gain| gain > 0.0), "{finding}");
        assert!(finding["evidence"][0].is_string(), "{finding}");
        assert!(finding["confirmed_gain"].is_f64() || finding["unconfirmed"].is_string(), "{finding}");
    }
}

#[test]
fn a_description_that_cannot_be_used_is_refused_in_one_line() {
    let Some(device) = opencl() else { return };
    let folder = Folder::new();
    folder.write("kernel.toml", b"name = 3");
    assert_contains(
        &folder.fails(2, &format!("doctor --described kernel.toml {device}")),
        &["kernel.toml does not describe"],
    );
    assert_contains(&folder.fails(2, &format!("doctor --described none.toml {device}")), &["cannot read none.toml"]);
    assert_contains(
        &folder.misused(&format!("doctor --kernel hopp {device}")),
        &["unknown kernel 'hopp'", "eo_clover"],
    );
}

#[test]
fn the_cpu_reference_is_not_examined() {
    assert_contains(&Folder::new().fails(2, "doctor --device cpu"), &["the doctor examines OpenCL devices"]);
}

#[test]
fn a_description_that_cannot_be_read_is_refused_before_a_device_is_opened() {
    let folder = Folder::new();
    folder.write("bad.toml", b"name = \"x\"\nfoo = [1,\nbar = 2\n");
    for (file, says) in [("missing.toml", "cannot read missing.toml"), ("bad.toml", "bad.toml does not describe")] {
        let output = folder.run(&format!("doctor --described {file} --device cpu"));
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), error.lines().count()), (Some(2), 1), "{error}");
        assert_contains(&error, &[says]);
        // The place in the file instead of a piece of it.
        assert!(file == "missing.toml" || error.contains(": line 3, column 5: "), "{error}");
        assert!(!error.contains('|'), "{error}");
    }
}

#[test]
fn a_profile_is_judged_without_a_device_and_beside_what_is_observed_of_the_same_kernel() {
    let folder = Folder::new();
    let data = format!("{}/../lab/tests/data/counters", env!("CARGO_MANIFEST_DIR"));
    let told = folder.succeeds(&format!("doctor --counters {data}/ncu_h200_raw.csv"));
    for part in ["hop, 524288 work-items", "binds: l1 (counters: L1 throughput 91%)", "the next limit is L2 throughput"]
    {
        assert_contains(&told, &[part]);
    }
    assert_contains(&told, &["binds: latency (counters: latency: no unit above 60%", "→ more bytes in flight"]);
    assert_contains(&folder.fails(2, &format!("doctor --counters {data}/ncu_h200_raw.csv --confirm")), &["--kernel"]);
    folder.write(
        "untimed.csv",
        b"ID,Kernel Name,Metric Name,Metric Unit,Metric Value\n0,hop,dram__bytes_read.sum,byte,1\n",
    );
    assert_contains(&folder.fails(2, "doctor --counters untimed.csv"), &["gpu__time_duration.sum"]);
    assert_contains(&folder.misused("doctor --counters a.csv --timeline b.json"), &["cannot be used with"]);
    let Some(device) = opencl() else { return };
    let here = format!("doctor --kernel axpy --lattice 4.4.4.4 --samples 2 {device} --counters");
    let error = folder.fails(2, &format!("{here} {data}/ncu_h200_raw.csv"));
    assert_contains(
        &error,
        &["the profile has none of these kernels", "axpy of 1572864 work-items", "leave out --kernel"],
    );
    let pass = &folder.json(&format!("doctor --kernel axpy --lattice 4.4.4.4 --samples 2 {device}"))["kernels"][0]["observation"]
        ["passes"][0];
    assert!(pass["counters"].is_null(), "{pass}");
    let (group, items) = (pass["group"].as_u64().unwrap(), pass["work_items"].as_u64().unwrap());
    let profile = format!(
        "ID,Kernel Name,Block Size,Grid Size,gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed\n0,axpy,\"({group}, 1, 1)\",\"({}, 1, 1)\",87\n",
        items / group
    );
    folder.write("axpy.csv", profile.as_bytes());
    let examined = folder.json(&format!("{here} axpy.csv"));
    assert_eq!(examined["kernels"][0]["binds"]["limit"], "dram");
    assert_eq!(examined["kernels"][0]["observation"]["passes"][0]["counters"]["units"][0]["share"], 0.87);
}
