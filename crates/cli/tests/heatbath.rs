//! `lanefield config generate heatbath`.

use lanefield::io::nersc;
use serde_json::Value;

use super::{Folder, assert_contains, opencl};

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
    folder.succeeds(&format!("{RUN} --sweeps 2 --device cpu --output of"));
    let before = folder.read("of/ensemble.json");
    let refused = |arguments: &str, words: &[&str]| {
        folder.refuses(&format!("{RUN} --device cpu --sweeps 4 {arguments}"), words);
    };
    refused("--output of", &["of has files in it", "--resume"]);
    let other = RUN.replace("5.7", "6");
    let error = folder.fails(2, &format!("{other} --device cpu --sweeps 4 --output of --resume"));
    assert_contains(&error, &["another ensemble: beta is 5.7 there, and 6.0 here"]);
    let odd = RUN.replace("4.4.4.4", "4.4.4.3");
    folder.refuses(&format!("{odd} --device cpu --sweeps 4 --output odd"), &["extent 3 of t is odd"]);
    assert!(!folder.path("odd").exists());
    assert_eq!(folder.read("of/ensemble.json"), before);
}
