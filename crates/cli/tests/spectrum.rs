//! `lanefield spectrum`: the same files on every device, runs in parts, and honest errors.

use std::sync::LazyLock;

use serde_json::Value;

use super::{Folder, opencl};

const HEATBATH: &str =
    "config generate heatbath --beta 5.7 --lattice 4.4.4.8 --seed 2 --overrelax 1 --every 1 --device cpu --output e";
const QUARK: &str = "--operator wilson --mass 0.6 --source point:1,0,0,2 --momentum 1,0,0 --hadrons pion,rho,nucleon";

/// Six configurations in the directory `e`, measured in `all.json`.
static MEASURED: LazyLock<Folder> = LazyLock::new(|| {
    let folder = Folder::new();
    folder.succeeds(&format!("{HEATBATH} --sweeps 6"));
    folder.succeeds(&format!("spectrum measure e {QUARK} --output all.json --device cpu"));
    folder
});

fn text(file: &str) -> String {
    String::from_utf8(MEASURED.read(file)).unwrap()
}

#[test]
fn correlators_are_the_same_file_for_any_threads_and_in_parts() {
    let whole = text("all.json");
    MEASURED.succeeds(&format!("spectrum measure e {QUARK} --output threads.json --device cpu --threads 2 --lanes 16"));
    assert!(text("threads.json") == whole);
    let parts = format!("{QUARK} --output parts.json --device cpu");
    MEASURED.succeeds(&format!("spectrum measure e/000001.nersc e/000002.nersc {parts}"));
    let summary = MEASURED.json(&format!("spectrum measure e {parts} --resume"));
    assert_eq!((&summary["configurations"], &summary["new_configurations"]), (&Value::from(6), &Value::from(4)));
    assert!(text("parts.json") == whole);
}

#[test]
#[ignore = "test-all: the same files on a device"]
fn correlators_are_the_same_file_on_a_device() {
    let Some(device) = opencl() else { return };
    MEASURED.succeeds(&format!("spectrum measure e {QUARK} --output device.json {device}"));
    assert!(text("device.json") == text("all.json"));
}

#[test]
fn a_correlator_is_that_of_the_propagator() {
    let propagator = "propagator --operator wilson --mass 0.6 --source point:1,0,0,2 --device cpu";
    MEASURED.succeeds(&format!("{propagator} --config e/000003.nersc --output p.npy"));
    let correlator = MEASURED.json("correlator --propagator p.npy --device cpu");
    let measured: Value = serde_json::from_str(&text("all.json")).unwrap();
    let values = |hadron: &str| {
        let of_third = measured["configurations"][2]["correlators"].as_array().unwrap();
        let at_rest = |c: &&Value| c["hadron"] == hadron && c["momentum"] == serde_json::json!([0, 0, 0]);
        of_third.iter().find(at_rest).unwrap()["values"].clone()
    };
    for (hadron, pick) in [("pion", "pion"), ("rho", "rho")] {
        for (t, row) in correlator["times"].as_array().unwrap().iter().enumerate() {
            assert_eq!(values(hadron)[t], row[pick]["value"], "{hadron} at t = {t}");
        }
    }
}

#[test]
fn fits_and_errors_are_those_of_all_files_together() {
    let fit = "--fit pion:1:4 rho:1:3 nucleon:1:3 --uncorrelated";
    let all = MEASURED.json(&format!("spectrum fit all.json {fit} --csv all.csv --plot all.svg"));
    let mass = &all["fits"][0]["states"][0];
    let (value, error) = (mass["mass"].as_f64().unwrap(), mass["mass_error"].as_f64().unwrap());
    assert!(value > 0.5 && value < 3.0 && error > 0.0 && error < 0.5, "{mass}");
    assert!(text("all.svg").contains("6 configurations") && text("all.csv").starts_with("hadron,t,value,value_bits"));
    for (file, configurations) in [("one.json", [1, 2, 3]), ("other.json", [4, 5, 6])] {
        let files = configurations.map(|k| format!("e/{k:06}.nersc")).join(" ");
        MEASURED.succeeds(&format!("spectrum measure {files} {QUARK} --output {file} --device cpu"));
    }
    let together = MEASURED.json(&format!("spectrum fit one.json other.json {fit}"));
    assert_eq!(all, together);
    // The mean of pairs is half as many samples; a moving hadron is heavier.
    let binned = MEASURED.json(&format!("spectrum fit all.json {fit} --bin 2"));
    assert_ne!(binned["fits"][0]["states"][0]["mass_error"], mass["mass_error"]);
    let moving = MEASURED.json(&format!("spectrum fit all.json {fit} --momentum 1,0,0"));
    assert!(moving["fits"][0]["states"][0]["mass"].as_f64().unwrap() > value);
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let fails = |line: &str, parts: &[&str]| MEASURED.refuses(line, parts);
    fails(
        "spectrum fit all.json --fit pion:1:6",
        &["--fit pion:1:6", "6 samples do not determine the covariance of 6"],
    );
    fails("spectrum fit all.json --fit pion:3:9 --uncorrelated", &["from t = 3 to 9", "from 0 to 7"]);
    fails("spectrum fit all.json --fit b1:1:3", &["the b1 was not measured: expected pion, rho, nucleon"]);
    fails("spectrum fit all.json --momentum 2,0,0", &["momentum 2,0,0: expected 0,0,0 or 1,0,0"]);
    fails("spectrum fit all.json all.json", &["the same configuration", "would count twice"]);
    fails("spectrum fit e/ensemble.json", &["not a file of lanefield spectrum measure"]);
    let other = QUARK.replace("0.6", "0.7");
    MEASURED.succeeds(&format!("spectrum measure e/000001.nersc {other} --output heavy.json --device cpu"));
    fails("spectrum fit all.json heavy.json", &["all.json was measured with", "mass 0.6", "heavy.json with 0.7"]);
    let resumed = format!("spectrum measure e {other} --output all.json --resume --device cpu");
    fails(&resumed, &["--output all.json was measured with", "mass 0.6"]);
    let misused = |line: &str, parts: &[&str]| MEASURED.misuses(line, parts);
    misused("spectrum fit all.json --fit pion", &["invalid fit 'pion'", "pion:5:12"]);
    misused(&format!("spectrum measure e {QUARK},proton --output p.json"), &["unknown hadron 'proton'"]);
    misused("spectrum measure e --mass 1 --source point:0,0,0,0 --smear-source 0.2 --output p.json", &["0.25,20"]);
}
