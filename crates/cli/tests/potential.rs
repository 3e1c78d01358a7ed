//! `lanefield potential`: the same numbers on every device, the fit of what was measured, and honest errors.

use std::sync::LazyLock;

use serde_json::Value;

use super::{Folder, assert_contains, opencl};

/// Six configurations in the directory `e`.
static ENSEMBLE: LazyLock<Folder> = LazyLock::new(|| {
    let folder = Folder::new();
    folder.succeeds(
        "config generate heatbath --beta 5.7 --lattice 4.4.4.4 --seed 4 --overrelax 1 --sweeps 12 --every 2 --device cpu --output e",
    );
    folder
});

const POTENTIAL: &str = "potential e --smear hyp:0.75,0.6,0.3,1 --loops 3,3";

#[test]
#[ignore = "test-all: the same numbers on a device"]
fn potentials_are_the_same_on_every_device() {
    let Some(device) = opencl() else { return };
    let [found, other] = ["--device cpu", &device].map(|device| ENSEMBLE.json(&format!("{POTENTIAL} {device}")));
    assert_eq!((&found["distances"], &found["fits"]), (&other["distances"], &other["fits"]));
}

#[test]
fn potentials_are_those_of_the_loops() {
    let found = ENSEMBLE.json(&format!("{POTENTIAL} --csv p.csv --device cpu"));
    let mut sum = [0.0; 2];
    for sweep in 1..=6 {
        let loops = ENSEMBLE.json(&format!(
            "observe --config e/{:06}.nersc --smear hyp:0.75,0.6,0.3,1 --observables wilson --loops 3,3 --device cpu",
            2 * sweep
        ));
        let values = loops["values"].as_array().unwrap();
        let of = |name: &str| values.iter().find(|value| value["name"] == name).unwrap()["value"].as_f64().unwrap();
        sum[0] += of("Wilson loop 2,1");
        sum[1] += of("Wilson loop 2,2");
    }
    let expected = (sum[0] / sum[1]).ln();
    let shown = found["distances"][1]["potential"][0]["value"].as_f64().unwrap();
    assert!((shown - expected).abs() < 1e-13, "{shown} and {expected}");
    let csv = String::from_utf8(ENSEMBLE.read("p.csv")).unwrap();
    assert_contains(&csv, &["r,t,potential,potential_bits,error", &format!("2,1,{shown:e},")]);
    // A fit of three parameters to three distances goes through them.
    let fit = |key: &str| found["fits"][0][key]["value"].as_f64().unwrap();
    assert!((fit("constant") - fit("coulomb") / 2.0 + 2.0 * fit("tension") - shown).abs() < 1e-10);
    let scale = (1.65 - fit("coulomb")) / fit("tension");
    assert!((fit("r0") - scale.sqrt()).abs() < 1e-12);
    assert_eq!(found["fits"][0]["degrees"], 0);
}

#[test]
fn one_configuration_has_a_potential_without_errors_and_no_fit() {
    let found = ENSEMBLE.json("potential e/000002.nersc --loops 3,2 --device cpu");
    assert_eq!(found["fits"].as_array().map(Vec::len), Some(0));
    assert_eq!(found["distances"][0]["potential"][0]["error"], Value::Null);
}

#[test]
fn what_cannot_be_fitted_is_refused_by_name() {
    let refused = |arguments: &str, expected: &[&str]| {
        ENSEMBLE.refuses(&format!("potential e --device cpu {arguments}"), expected);
    };
    refused("--loops 3,1", &["--loops has 1", "expected 2 or more"]);
    refused("--loops 3,2 --fit 2:3", &["--fit 2:3", "three distances or more from 1 to 3"]);
    refused("--loops 9,2", &["loops of 9 steps"]);
}
