//! `lanefield config generate heatbath`.

use lanefield::io::nersc;
use serde_json::Value;

use super::{Folder, assert_contains, opencl, text};

/// An ensemble of four configurations on 4⁴.
const RUN: &str =
    "config generate heatbath --beta 5.7 --lattice 4.4.4.4 --seed 3 --overrelax 1 --thermalise 2 --every 2";

fn plaquettes(folder: &Folder, ensemble: &str) -> Vec<f64> {
    let text = String::from_utf8(folder.read(&format!("{ensemble}/history.csv"))).unwrap();
    text.lines().skip(1).map(|row| row.split(',').nth(1).unwrap().parse().unwrap()).collect()
}

#[test]
fn an_ensemble_is_configurations_and_a_history() {
    let folder = Folder::new();
    let summary = folder.json(&format!("{RUN} --sweeps 7 --device cpu --output of"));
    let history = plaquettes(&folder, "of");
    assert_eq!((history.len(), &summary["sweeps"]), (7, &Value::from(7)));
    assert_eq!(summary["configurations"], serde_json::json!(["of/000004.nersc", "of/000006.nersc"]));
    for sweeps in [4, 6] {
        let file = nersc::read(&folder.path(&format!("of/{sweeps:06}.nersc"))).unwrap();
        assert!((file.configuration.plaquette() - history[sweeps - 1]).abs() < 1e-13);
        assert_eq!(file.header.sequence_number, sweeps.to_string());
    }
}

#[test]
fn any_beta_from_0_on_is_kept_and_others_leave_nothing() {
    let folder = Folder::new();
    let run = "config generate heatbath --lattice 2.2.2.2 --seed 1 --sweeps 1 --every 1 --device cpu";
    folder.misuses(&format!("{run} --beta -1 --output no"), &["invalid β '-1'", "from 0 on"]);
    assert!(!folder.path("no").exists());
    for (beta, label) in [("0", "beta 0"), ("6", "beta 6"), ("1e300", "beta 1e300"), ("1e-300", "beta 1e-300")] {
        folder.succeeds(&format!("{run} --beta {beta} --output {beta}"));
        let header = nersc::read(&folder.path(&format!("{beta}/000001.nersc"))).unwrap().header;
        assert_eq!(header.ensemble_label, format!("quenched wilson {label}"));
    }
    folder.misuses(&run.replace("2.2.2.2", "-2.2.2.2 --beta 6 --output no"), &["invalid lattice '-2.2.2.2'"]);
}

#[test]
fn a_run_in_two_parts_writes_the_files_of_one() {
    let folder = Folder::new();
    folder.succeeds(&format!("{RUN} --sweeps 8 --device cpu --output whole"));
    folder.succeeds(&format!("{RUN} --sweeps 5 --device cpu --output parts"));
    folder.succeeds(&format!("{RUN} --sweeps 8 --device cpu --output parts --resume"));
    for file in ["000004.nersc", "000006.nersc", "000008.nersc", "history.csv", "ensemble.json"] {
        assert!(folder.read(&format!("whole/{file}")) == folder.read(&format!("parts/{file}")), "{file}");
    }
    assert!(!folder.path("parts/stopped.nersc").exists());
}

#[test]
#[ignore = "test-all: the same files on a device"]
fn a_device_writes_the_files_of_the_cpu_reference() {
    let Some(device) = opencl() else { return };
    for precision in ["f64", "f32"] {
        let folder = Folder::new();
        for (name, device) in [("cpu", "--device cpu"), ("device", device.as_str())] {
            folder.succeeds(&format!("{RUN} --sweeps 4 --precision {precision} {device} --output {name}"));
        }
        for file in ["000004.nersc", "history.csv"] {
            assert!(
                folder.read(&format!("cpu/{file}")) == folder.read(&format!("device/{file}")),
                "{precision}: {file}"
            );
        }
    }
}

#[test]
fn what_is_no_ensemble_is_refused_and_nothing_is_overwritten() {
    let folder = Folder::new();
    folder.succeeds(&format!("{RUN} --sweeps 4 --device cpu --output of"));
    let before = folder.read("of/ensemble.json");
    let refused = |arguments: &str, words: &[&str]| {
        folder.refuses(&format!("{RUN} --device cpu --sweeps 4 {arguments}"), words);
    };
    refused("--output of", &["of is not empty", "--resume"]);
    refused("--output of/000004.nersc", &["of/000004.nersc is a file: give the name of a directory"]);
    std::fs::create_dir(folder.path("new")).unwrap();
    refused("--output new --trace new/history.csv", &["new/history.csv is named by --trace, too"]);
    let other = RUN.replace("5.7", "6");
    let error = folder.fails(2, &format!("{other} --device cpu --sweeps 4 --output of --resume"));
    assert_contains(&error, &["another ensemble: beta is 5.7 there, and 6.0 was requested"]);
    let odd = RUN.replace("4.4.4.4", "4.4.4.3");
    folder.refuses(&format!("{odd} --device cpu --sweeps 4 --output odd"), &["extent 3 of t is odd"]);
    folder.refuses(
        &format!("{RUN} --sweeps 3 --device cpu --output odd"),
        &["--sweeps 3 would keep no configuration: the first one is kept after sweep 4"],
    );
    assert!(!folder.path("odd").exists());
    assert_eq!(folder.read("of/ensemble.json"), before);
}

#[test]
fn one_of_several_runs_writes_to_a_directory() {
    let folder = Folder::new();
    let ended = folder.together(
        ["5.7", "6"].map(|beta| format!("{} --sweeps 40 --device cpu --output of", RUN.replace("5.7", beta))),
    );
    let mut codes = ended.each_ref().map(|output| output.status.code().unwrap());
    codes.sort();
    let errors = ended.map(|output| String::from_utf8(output.stderr).unwrap()).concat();
    assert_eq!(codes, [0, 2], "{errors}");
    assert!(errors.contains("of is being written by ") || errors.contains("of is not empty"), "{errors}");
    let labels: Vec<String> = (4..=40)
        .step_by(2)
        .map(|sweeps| nersc::read_header(&folder.path(&format!("of/{sweeps:06}.nersc"))).unwrap().ensemble_id)
        .collect();
    assert!(labels.iter().all(|label| *label == labels[0] && label.starts_with("LANEFIELD-")), "{labels:?}");
}

#[test]
fn a_configuration_of_another_ensemble_in_the_directory_is_an_error_that_names_both() {
    let folder = Folder::new();
    for (beta, name) in [("5.7", "of"), ("6", "other")] {
        folder.succeeds(&format!("{} --sweeps 6 --device cpu --output {name}", RUN.replace("5.7", beta)));
    }
    let ids = ["of", "other"]
        .map(|name| nersc::read_header(&folder.path(&format!("{name}/000006.nersc"))).unwrap().ensemble_id);
    for both in ["of other", "of/000006.nersc other/000006.nersc"] {
        let parts = ["of is an ensemble of wilson at β = 5.7, and other of wilson at β = 6: measure them separately"];
        folder.refuses(&format!("potential --config {both} --loops 1,2 --device cpu"), &parts);
    }
    folder.succeeds("config convert other/000006.nersc of/copy.lime");
    folder
        .refuses("observe --config of/copy.lime --device cpu", &["of/copy.lime", &ids[0], &ids[1], "of/ensemble.json"]);
    folder.write("of/000006.nersc", &folder.read("other/000006.nersc"));
    for line in [
        "potential --config of --loops 1,2",
        "spectrum measure --config of --operator wilson --mass 0.5 --source point:0,0,0,0 --output x.json",
        "observe --config of/000006.nersc",
        &format!("{} --sweeps 8 --output of --resume", &RUN),
    ] {
        folder.refuses(&format!("{line} --device cpu"), &["of/000006.nersc", &ids[0], &ids[1], "of/ensemble.json"]);
    }
    let description = text(&folder.read("of/ensemble.json"));
    folder.write("of/ensemble.json", description.replace("beta", "bete").as_bytes());
    folder.refuses(
        "observe --config of/000006.nersc --device cpu",
        &["of/ensemble.json is damaged", &ids[1], "unknown field `bete`"],
    );
    // Without a description, files that say what they are of are compared with each other; files that do not are read.
    std::fs::remove_file(folder.path("of/ensemble.json")).unwrap();
    folder.refuses("potential --config of --loops 1,2 --device cpu", &[&ids[0], &ids[1]]);
    folder.succeeds("config convert other/000006.nersc of/000006.npy");
    // Its sidecar has the label.
    std::fs::remove_file(folder.path("of/000006.npy.json")).unwrap();
    folder.succeeds("config convert of/000006.npy of/000006.nersc");
    folder.succeeds("potential --config of --loops 1,2 --device cpu");
}
