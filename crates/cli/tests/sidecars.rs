//! Sidecars: what `solve`, `propagator` and `apply` write beside an array, what may replace it, and what `correlator` makes of it.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{Folder, assert_contains, opencl, text};

const PROPAGATOR: &str = "propagator --config gauge.nersc --operator wilson --mass 0.2 --device cpu";

fn folder() -> Folder {
    Folder::with_gauge_on("4.2.2.6")
}

/// With `p.npy` from time slice 2, and `q.npy` from time slice 5.
fn with_propagators() -> Folder {
    let folder = folder();
    folder.succeeds(&format!("{PROPAGATOR} --source point:1,0,1,2 --output p.npy"));
    folder.succeeds(&format!("{PROPAGATOR} --source point:0,1,0,5 --output q.npy"));
    folder
}

fn sidecar(folder: &Folder, array: &str) -> Value {
    serde_json::from_slice(&folder.read(&format!("{array}.json"))).unwrap()
}

/// The error of a command that replaces nothing.
fn refused(folder: &Folder, line: &str) -> String {
    let output = folder.careful_command(line).output().unwrap();
    let error = text(&output.stderr);
    assert_eq!((output.status.code(), error.lines().count()), (Some(2), 1), "{line}: {error}");
    error
}

#[test]
fn the_sidecar_of_a_propagator_says_what_it_is() {
    let folder = with_propagators();
    let sidecar = sidecar(&folder, "p.npy");
    let info = folder.json("config info gauge.nersc");
    let sha256 = Sha256::digest(folder.read("p.npy")).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let array = json!({ "file": "p.npy", "sha256": sha256, "shape": [6, 2, 2, 4, 4, 4, 3, 3], "dtype": "complex128" });
    assert_eq!(sidecar["array"], array);
    assert_eq!(sidecar["command"], "propagator");
    assert_eq!(sidecar["files"], json!({ "config": "gauge.nersc" }));
    let inputs = &sidecar["inputs"];
    assert_eq!((&inputs["operator"], &inputs["parameters"]), (&json!("wilson"), &json!({ "mass": 0.2 })));
    assert_eq!((&inputs["boundary"], &inputs["precision"]), (&json!("1,1,1,-1"), &json!("f64")));
    assert_eq!(inputs["source"], json!({ "kind": "point", "position": [1, 0, 1, 2] }));
    assert_eq!(inputs["configuration"]["lattice"], json!([4, 2, 2, 6]));
    assert_eq!(inputs["configuration"]["plaquette"].as_f64(), info["plaquette"].as_f64());
    assert_eq!(inputs["settings"]["tolerance"], 1e-10);
}

#[test]
fn a_converted_array_keeps_its_sidecar_and_correlator_reads_it_from_hdf5() {
    let folder = with_propagators();
    folder.succeeds("convert p.npy p.h5 --to-dataset props/p");
    let (of_npy, mut of_h5) = (sidecar(&folder, "p.npy"), sidecar(&folder, "p.h5"));
    let times = |array: &str| folder.json(&format!("correlator --propagator {array} --device cpu"))["times"].clone();
    assert_eq!(times("p.h5"), times("p.npy"));
    (of_h5["array"], of_h5["seal"]) = (of_npy["array"].clone(), of_npy["seal"].clone());
    assert_eq!(of_h5, of_npy);
    // Of another basis it would say what the array is no more.
    folder.succeeds("convert p.npy uk.npy --to-gamma ukqcd");
    assert!(!folder.path("uk.npy.json").exists());
    let mut bytes = folder.read("p.npy");
    *bytes.last_mut().unwrap() ^= 1;
    folder.write("p.npy", &bytes);
    assert_contains(&refused(&folder, "convert p.npy other.h5"), &["the array was changed or replaced"]);
}

#[test]
fn a_projected_configuration_has_a_label_and_a_sidecar_and_converted_ones_keep_labels() {
    let folder = folder();
    folder.succeeds("config project gauge.nersc near.npy --projection max-re-tr");
    assert_eq!(sidecar(&folder, "near.npy")["command"], "config project");
    assert_eq!(sidecar(&folder, "near.npy")["inputs"]["settings"]["projection"], "max-re-tr");
    folder.succeeds("config convert near.npy near.h5");
    let info = folder.json("config info near.h5");
    assert_eq!(info["provenance"]["ensemble_label"], "project:max-re-tr");
    let refused = refused(&folder, "config convert gauge.nersc near.h5");
    assert_contains(&refused, &["near.h5 already exists"]);
}

#[test]
#[ignore = "test-all: the same files on a device"]
fn sidecars_are_the_same_files_on_every_device() {
    let folder = folder();
    let lines = [
        "solve --config gauge.nersc --source gauss:1 --mass 0.5 --output x.npy",
        "propagator --config gauge.nersc --source point:0,0,0,0 --operator dwf --ls 4 --mass 0.5 --output x.npy",
        "apply --operator hop --config gauge.nersc --source gauss:1 --output x.npy",
    ];
    let devices = [Some("--device cpu --lanes 16".to_owned()), Some("--device cpu --threads 1".into()), opencl()];
    for line in lines {
        let mut first = None;
        for device in devices.iter().flatten() {
            folder.succeeds(&format!("{line} {device}"));
            let sidecar = folder.read("x.npy.json");
            assert!(sidecar == *first.get_or_insert_with(|| sidecar.clone()), "{line} {device}");
        }
    }
}

#[test]
fn sidecars_of_solutions_and_applications_name_source_solver_and_piece() {
    let folder = folder();
    folder.succeeds("solve --config gauge.nersc --source gauss:7 --mass 0.5 --batch 2 --device cpu --output x.npy");
    let x = sidecar(&folder, "x.npy");
    assert_eq!(x["inputs"]["source"], json!({ "kind": "gauss", "seed": 7, "nrhs": 2 }));
    assert_eq!(x["array"]["shape"], json!([2, 6, 2, 2, 4, 4, 3]));
    assert_eq!(x["inputs"]["settings"]["solver"], "cg");
    folder.succeeds(
        "apply --operator clover --mass 0.5 --piece mooee --parity even --config gauge.nersc --source gauss:7 --precision f32 --device cpu --output y.npy",
    );
    let y = sidecar(&folder, "y.npy");
    assert_eq!(y["inputs"]["settings"], json!({ "piece": "mooee", "dagger": false, "sites": "even" }));
    assert_eq!(y["array"]["dtype"], "complex64");
    folder.succeeds("apply --operator hop --config gauge.nersc --source y.npy --device cpu --output z.npy");
    let z = sidecar(&folder, "z.npy");
    assert_eq!(z["inputs"]["source"]["kind"], "file");
    assert_eq!(z["files"], json!({ "config": "gauge.nersc", "source": "y.npy" }));
}

#[test]
fn an_array_is_replaced_without_force_by_the_same_array_alone() {
    let folder = folder();
    let solve = "solve --config gauge.nersc --source gauss:1 --device cpu --output x.npy --mass";
    folder.careful_command(&format!("{solve} 0.5")).assert().success();
    let (array, sidecar) = (folder.read("x.npy"), folder.read("x.npy.json"));
    folder.careful_command(&format!("{solve} 0.5")).assert().success();
    assert!(folder.read("x.npy") == array && folder.read("x.npy.json") == sidecar);

    let error = refused(&folder, &format!("{solve} 0.6"));
    assert_contains(&error, &["x.npy already exists", "parameters.mass 0.5, not 0.6", "--force to replace it"]);
    let apply = "apply --operator hop --config gauge.nersc --source gauss:1 --device cpu --output x.npy";
    assert_contains(&refused(&folder, apply), &["x.npy already exists, made by lanefield solve"]);
    assert!(folder.read("x.npy") == array && folder.read("x.npy.json") == sidecar);

    // An array that was changed since is the user's.
    folder.write("x.npy", b"my notes");
    assert_contains(&refused(&folder, &format!("{solve} 0.5")), &["x.npy already exists", "SHA-256"]);
    assert_eq!(folder.read("x.npy"), b"my notes");
    // So is a file that is no sidecar.
    folder.write("y.npy.json", b"my notes");
    let error = refused(&folder, &solve.replace("x.npy", "y.npy").replace("--mass", "--mass 0.5"));
    assert_contains(&error, &["y.npy.json is not the sidecar of an array", "--force"]);
    assert_eq!(folder.read("y.npy.json"), b"my notes");
    folder.succeeds(&format!("{solve} 0.6"));
    assert_ne!(folder.read("x.npy.json"), sidecar);
}

#[test]
fn an_array_that_goes_to_a_device_has_no_sidecar() {
    let folder = folder();
    folder.succeeds("apply --operator hop --config gauge.nersc --source gauss:1 --device cpu --output /dev/null");
    assert_eq!(folder.names(), ["gauge.nersc"]);
    assert!(!std::path::Path::new("/dev/null.json").exists());
}

#[test]
fn the_sidecar_says_where_the_source_is_and_what_contradicts_it_is_refused() {
    let folder = with_propagators();
    let correlator = "correlator --device cpu --propagator";
    let json = folder.json(&format!("{correlator} p.npy"));
    assert_eq!(json["operator"], "wilson");
    assert_eq!(json["propagators"][0]["origin_time"], 2);
    assert_eq!(json["propagators"][0]["source"]["position"], json!([1, 0, 1, 2]));
    assert!(json["errors_from"].is_null() && json["times"][0]["pion"]["error"].is_null());
    assert_eq!(json["times"], folder.json(&format!("{correlator} p.npy --origin-time 2"))["times"]);
    let error = folder.fails(2, &format!("{correlator} p.npy --origin-time 3"));
    assert_contains(&error, &["--origin-time 3 contradicts p.npy.json", "at t = 2"]);

    let mut array = folder.read("p.npy");
    *array.last_mut().unwrap() ^= 1;
    folder.write("p.npy", &array);
    folder.refuses(&format!("{correlator} p.npy"), &["p.npy has the SHA-256", "its sidecar p.npy.json describes"]);
    folder.write("q.npy.json", b"{}");
    folder.refuses(&format!("{correlator} q.npy"), &["q.npy.json is not the sidecar of an array"]);
}

#[test]
fn without_a_sidecar_the_time_of_the_source_is_demanded_and_nothing_is_claimed() {
    let folder = with_propagators();
    let with = folder.json("correlator --device cpu --propagator p.npy");
    std::fs::remove_file(folder.path("p.npy.json")).unwrap();
    let error = folder.fails(2, "correlator --device cpu --propagator p.npy");
    assert_contains(&error, &["p.npy has no sidecar p.npy.json", "--origin-time T"]);
    let output = folder.run("correlator --device cpu --propagator p.npy --origin-time 2 --plot c.svg --json");
    assert!(output.status.success());
    let warning = "warning: p.npy has no sidecar p.npy.json: source, operator and configuration are not checked";
    assert_contains(&text(&output.stderr), &[warning]);
    let without: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(without["operator"].is_null() && without["propagators"][0]["source"].is_null());
    assert_eq!(without["times"], with["times"]);
    assert_contains(&text(&folder.read("c.svg")), &["operator and configuration not known"]);
    let error = folder.fails(2, "correlator --device cpu --propagator q.npy p.npy");
    assert_contains(&error, &["p.npy has no sidecar", "averaged only where each has one"]);
}

#[test]
fn propagators_of_several_sources_are_averaged_with_errors_in_any_order() {
    let folder = with_propagators();
    let correlator = |files: &str| folder.json(&format!("correlator --device cpu --propagator {files} --csv c.csv"));
    let (p, q, both) = (correlator("p.npy"), correlator("q.npy"), correlator("p.npy q.npy"));
    assert_eq!(both["errors_from"], "sources");
    let value = |json: &Value, t: usize, key: &str| json["times"][t]["rho"][key].as_f64().unwrap();
    for t in 0..6 {
        let (a, b) = (value(&p, t, "value"), value(&q, t, "value"));
        let (mean, error) = (value(&both, t, "value"), value(&both, t, "error"));
        assert!((mean / (0.5 * (a + b)) - 1.0).abs() < 1e-15, "t {t}");
        // The standard error of two numbers is half their distance.
        assert!((error - 0.5 * (a - b).abs()).abs() <= 1e-12 * mean, "t {t}: {error}");
    }
    assert_eq!(both["times"], correlator("q.npy p.npy")["times"]);
    let csv = text(&folder.read("c.csv"));
    assert!(csv.lines().next().unwrap().ends_with(",rho_effective_mass_error,rho_effective_mass_error_bits"), "{csv}");
    let table = folder.succeeds("correlator --device cpu --propagator p.npy q.npy --plot c.svg");
    assert_contains(
        &table,
        &["means of 2 propagators; jackknife errors over sources on one configuration", "1.0957(92)"],
    );
    let svg = text(&folder.read("c.svg"));
    assert_contains(&svg, &["wilson, mass 0.2; 2 sources on gauge.nersc; jackknife errors over sources"]);
}

#[test]
fn errors_are_over_configurations_where_there_are_several() {
    let folder = with_propagators();
    folder.succeeds("config generate weak --lattice 4.2.2.6 --seed 4 --spread 0.3 --output other.nersc");
    folder.succeeds(&format!("{PROPAGATOR} --source point:0,0,0,0 --output r.npy").replace("gauge", "other"));
    let json = |files: &str| folder.json(&format!("correlator --device cpu --propagator {files}"));
    let (both, r, all) = (json("p.npy q.npy"), json("r.npy"), json("p.npy q.npy r.npy"));
    assert_eq!(all["errors_from"], "configurations");
    // Each configuration counts once, whatever the number of its sources.
    let value = |json: &Value, key: &str| json["times"][3]["pion"][key].as_f64().unwrap();
    let (a, b) = (value(&both, "value"), value(&r, "value"));
    assert!((value(&all, "value") / (0.5 * (a + b)) - 1.0).abs() < 1e-15);
    assert!((value(&all, "error") / (0.5 * (a - b).abs()) - 1.0).abs() < 1e-9);
}

#[test]
fn propagators_that_do_not_belong_together_are_not_averaged() {
    let folder = with_propagators();
    folder.succeeds(&format!("{PROPAGATOR} --source point:0,0,0,0 --output m.npy").replace("0.2", "0.3"));
    let fails = |files: &str| folder.fails(2, &format!("correlator --device cpu --propagator {files}"));
    let parts = ["p.npy and m.npy cannot be averaged: parameters.mass is 0.2", "and 0.3 in that of the second"];
    assert_contains(&fails("p.npy m.npy"), &parts);
    folder.succeeds(&format!("{PROPAGATOR} --source point:0,0,0,0 --output b.npy --boundary 2.25pi,1,1,-1"));
    assert_contains(&fails("p.npy b.npy"), &["boundary is \"1,1,1,-1\"", "\"0.25pi,1,1,-1\""]);
    assert_contains(&fails("p.npy q.npy p.npy"), &["p.npy and p.npy have the same source on the same configuration"]);
    // Also where the configuration was rounded or gauge-fixed between.
    folder.succeeds("config convert gauge.nersc f32.milc");
    folder.succeeds("gaugefix --config gauge.nersc --tolerance 1e-4 --output fixed.lime --device cpu");
    for config in ["f32.milc", "fixed.lime"] {
        let propagator = PROPAGATOR.replace("gauge.nersc", config);
        folder.succeeds(&format!("{propagator} --source point:1,0,1,2 --output copy.npy"));
        let parts = ["p.npy and copy.npy have the same source on copies of one configuration", "count twice"];
        assert_contains(&fails("p.npy q.npy copy.npy"), &parts);
    }
}

#[test]
fn an_array_with_a_flipped_bit_is_refused_by_all_that_read_it_and_compare_says_so() {
    let folder = folder();
    folder.succeeds(&format!("{PROPAGATOR} --source wall:2 --output p.npy"));
    folder.succeeds("source gauss:1 --lattice 4.2.2.6 --output eta.npy");
    folder.write("whole.npy", &folder.read("eta.npy"));
    for array in ["p.npy", "eta.npy"] {
        let mut bytes = folder.read(array);
        *bytes.last_mut().unwrap() ^= 1;
        folder.write(array, &bytes);
    }
    for line in [
        "correlator --propagator p.npy --device cpu",
        &format!("{PROPAGATOR} --source p.npy --output x.npy"),
        "solve --config gauge.nersc --source eta.npy --mass 0.5 --device cpu --output x.npy",
        "apply --operator hop --config gauge.nersc --source eta.npy --device cpu --output x.npy",
        "reduce --op inner --input whole.npy --with eta.npy --device cpu",
        "reduce --op norm2 --input eta.npy --device cpu",
        "run --kernel scale --in x=eta.npy --scalar a=2 --out out=x.npy --device cpu",
        "convert eta.npy x.npy",
    ] {
        assert_contains(&refused(&folder, line), &["npy has the SHA-256", "was changed or replaced"]);
        assert!(!folder.path("x.npy").exists(), "{line}");
    }
    let compared = folder.ends(1, "compare whole.npy eta.npy");
    assert_contains(&text(&compared.stderr), &["warning: eta.npy has the SHA-256", "was changed or replaced"]);
    assert_contains(&text(&compared.stdout), &["at 1 of 96 sites", "one bit of one number is flipped"]);
}
