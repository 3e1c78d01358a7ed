//! `lanefield estimate`: verdicts, files, and what is refused. The numbers: `crates/lab/tests/estimate.rs` and the unit tests of `lanefield_lab::estimate`.

use lanefield::kernel;
use lanefield::kernel::KernelList;
use lanefield_lab::model::is_described;

use super::{Folder, assert_contains, opencl, text};

const HOP: &str = "estimate --machine h200 --kernel hop --lattice 8.8.8.16";

#[test]
fn a_kernel_has_all_its_limits_and_what_binds() {
    let json = Folder::new().json(HOP);
    assert_eq!(json["kind"], "estimate kernel");
    let [json] = &json["kernels"].as_array().unwrap()[..] else { panic!("{json}") };
    assert_eq!(json["binds"], "launch");
    let kinds: Vec<&str> = json["limits"].as_array().unwrap().iter().map(|l| l["kind"].as_str().unwrap()).collect();
    for kind in ["memory", "second-cache", "first-cache", "arithmetic", "issue", "conversion"] {
        assert!(kinds.contains(&kind), "{kinds:?}");
    }
    assert!(json["measured"].is_null() && json["go"].is_null());
    assert_contains(&Folder::new().succeeds(HOP), &["predicted", "binds", "last cache to units"]);
}

#[test]
fn no_go_ends_with_code_1_and_go_with_0() {
    let folder = Folder::new();
    let traversal = "estimate --machine proxy --traversal --levels 24";
    let output = folder.run(&format!("{traversal} --want 100e6"));
    assert_eq!(output.status.code(), Some(1));
    assert_contains(&text(&output.stdout), &["NO-GO", "10.67 Gi", "64.00 Mi", "145 lines", "7 levels, for 128 lanes"]);
    let go = folder.succeeds(&format!("{traversal} --want 10e6"));
    assert_contains(&go, &["GO: 10.00 M/s wanted, 59.24 M/s traversals of wavefronts possible, 5.924 times"]);
    let go = folder.succeeds(&format!("{HOP} --want 1"));
    assert_contains(&go, &["GO: 1.000/s wanted, ", " k/s launches possible, "]);
}

#[test]
fn workloads_and_machines_come_from_files() {
    let folder = Folder::new();
    folder.write("coherent.toml", b"name = \"coherent rays\"\nlines = 128\nlevels = 24\n");
    let json = folder.json("estimate --machine proxy --workload coherent.toml");
    assert_eq!((&json["wavefronts_per_second"], &json["fetches"]), (&(64.0 * 1024.0 * 1024.0).into(), &24.0.into()));
    let machine = include_str!("../../lab/src/machine/shipped/proxy.toml");
    folder.write(
        "half.toml",
        machine.replace("gb-per-second = 549.755813888", "gb-per-second = 274.877906944").as_bytes(),
    );
    let half = folder.json("estimate --machine half.toml --workload coherent.toml");
    assert_eq!(half["wavefronts_per_second"], 32.0 * 1024.0 * 1024.0);
}

#[test]
fn traversals_and_workloads_take_the_measured_read_or_say_that_it_is_missing() {
    let folder = Folder::new();
    folder.write("read.json", br#"{"kind": "peak", "read_bytes_per_second": 274877906944}"#);
    folder.write("copy.json", br#"{"kind": "peak", "copy_bytes_per_second": 5e11}"#);
    folder.write("w.toml", b"lines = 128\n");
    let json = folder.json("estimate --machine proxy --workload w.toml --peak read.json");
    assert_eq!(json["wavefronts_per_second"], 32.0 * 1024.0 * 1024.0);
    let text = folder.succeeds("estimate --machine proxy --traversal --peak read.json");
    assert_contains(&text, &["274.9 GB/s, read, measured", "16.0 times the bandwidth"]);
    for what in ["--workload w.toml", "--traversal"] {
        let error = folder.fails(2, &format!("estimate --machine proxy {what} --peak copy.json"));
        assert_contains(&error, &["copy.json has no read_bytes_per_second", "--parts streams"]);
    }
    folder.write("empty.toml", b"");
    let error = folder.fails(2, "estimate --machine proxy --workload empty.toml");
    assert_contains(&error, &["empty.toml has no work: give levels, lines"]);
}

#[test]
fn tables_fit_a_terminal_of_120_columns() {
    for command in ["estimate --list", HOP] {
        let table = Folder::new().succeeds(command);
        assert!(table.lines().all(|line| line.chars().count() <= 120), "{table}");
    }
}

#[test]
fn measured_peaks_take_the_place_of_the_machines() {
    let folder = Folder::new();
    folder.write("peak.json", br#"{"kind": "peak", "copy_bytes_per_second": 1e12, "launch_seconds": 0.5e-6}"#);
    let json = &folder.json(&format!("{HOP} --peak peak.json"))["kernels"][0];
    assert_eq!(json["machine"]["copy_bytes_per_second"], 1e12);
    assert_eq!(json["launch_seconds"], 0.5e-6);
}

#[test]
fn the_machines_that_ship_are_listed() {
    let json = Folder::new().json("estimate --list");
    let names: Vec<&str> = json["machines"].as_array().unwrap().iter().map(|m| m["id"].as_str().unwrap()).collect();
    assert_eq!(names, ["proxy", "mi100", "mi250x", "mi300x", "v100", "a100", "h100", "h200"]);
}

#[test]
fn a_family_has_an_estimate_of_each_kernel() {
    let folder = Folder::new();
    let described = |family: &str| {
        let kernels = KernelList::LIBRARY.named(family).unwrap().into_iter().filter(|kernel| is_described(kernel));
        kernels.map(|kernel| kernel.name).collect::<Vec<_>>()
    };
    let (family, alone) = KernelList::LIBRARY
        .families()
        .into_iter()
        .find_map(|family| match described(family)[..] {
            [alone] if alone != family => Some((family, alone)),
            _ => None,
        })
        .unwrap();
    let command = format!("estimate --machine h200 --kernel {family} --lattice 8.8.8.16");
    assert_eq!(folder.json(&command)["kernels"][0]["kernel"], alone);
    let command = "estimate --machine h200 --kernel hop_many,hop --lattice 8.8.8.16";
    assert_contains(&folder.misused(command), &["unknown kernel 'hop_many,hop'"]);
    let command = "estimate --machine h200 --kernel blas --lattice 8.8.8.16";
    let json = folder.json(command);
    let names: Vec<&str> =
        json["kernels"].as_array().unwrap().iter().map(|one| one["kernel"].as_str().unwrap()).collect();
    assert!(names.contains(&"axpy") && names.contains(&"copy"), "{names:?}");
    assert_eq!(folder.succeeds(command).matches("binds ").count(), names.len());
    let all = folder.json("estimate --machine h200 --kernel all --lattice 8.8.8.8");
    for kernel in kernel::all().filter(|kernel| kernel.tuned_as == Some(kernel.name) && is_described(kernel)) {
        assert!(all["kernels"].as_array().unwrap().iter().any(|one| one["kernel"] == kernel.name), "{kernel}");
    }
}

#[test]
fn a_device_is_measured_beside_the_estimate() {
    let Some(device) = opencl() else { return };
    let json = Folder::new().json(&format!("{HOP} --precision f32 --samples 1 {device}"));
    assert!(json["device"]["name"].is_string());
    let json = &json["kernels"][0];
    let [predicted, ratio] = ["seconds", "ratio"].map(|key| json[key].as_f64().unwrap());
    let times = &json["measured"];
    let measured = times["back_to_back_seconds"].as_f64().or(times["seconds"].as_f64()).unwrap();
    assert!((predicted / measured / ratio - 1.0).abs() < 1e-9);
}

#[test]
fn what_cannot_be_estimated_is_one_line() {
    let folder = Folder::new();
    folder.write("w.toml", b"lines = -3\n");
    folder.write("m.toml", b"name = 3\n");
    let fails = |arguments: &str| folder.fails(2, arguments);
    assert_contains(&fails("estimate --kernel hop"), &["--machine is missing", "--list"]);
    assert_contains(&fails("estimate --machine rtx --kernel hop"), &["no machine 'rtx': use proxy, mi100"]);
    assert_contains(&fails("estimate --machine m.toml --kernel hop"), &["m.toml cannot be read"]);
    assert_contains(&fails("estimate --machine none.toml --kernel hop"), &["failed to read none.toml"]);
    assert_contains(&fails("estimate --machine h200 --workload w.toml"), &["w.toml says lines = -3"]);
    assert_contains(&fails(&format!("{HOP} --peak w.toml")), &["w.toml cannot be read"]);
    assert_contains(&folder.misused(&format!("{HOP} --rhs 0")), &["expected a whole number from 1 to 4096"]);
    assert_contains(&fails(&format!("{HOP} --rhs 2")), &["hop does not take 2 right-hand sides: take hop_many"]);
    let error = fails("estimate --machine h200 --kernel take_rhs");
    assert_contains(&error, &["take_rhs has no description of its accesses", "expected one of hop, "]);
    assert_contains(&fails(&format!("{HOP} --want -1")), &["invalid rate '-1' of --want"]);
    assert_contains(&folder.misused(&format!("{HOP} --onto both")), &["invalid sites 'both'"]);
    assert_contains(&folder.misused("estimate"), &["--kernel"]);
}
