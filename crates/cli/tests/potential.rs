//! `lanefield potential`: the same numbers on every device, the fit of what was measured, and honest errors.

use std::sync::LazyLock;

use serde_json::Value;

use super::{Folder, assert_contains, opencl};

/// Seven configurations in the directory `e`.
static ENSEMBLE: LazyLock<Folder> = LazyLock::new(|| {
    let folder = Folder::new();
    folder.succeeds(
        "config generate heatbath --beta 5.7 --lattice 4.4.4.4 --seed 4 --overrelax 1 --sweeps 14 --every 2 --device cpu --output e",
    );
    folder
});

const POTENTIAL: &str = "potential --config e --smear hyp:0.75,0.6,0.3,1 --loops 3,3 --fit 1:3";

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
    for sweep in 1..=7 {
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
    assert_eq!((&found["fits"][0]["degrees"], &found["fits"][0]["p_value"]), (&Value::from(0), &Value::Null));
    assert_contains(&found["fits"][0]["warnings"].to_string(), &["as many parameters as numbers"]);
    assert_contains(&found["warnings"].to_string(), &["--fit 1:3: smearing changes V(r) to r = 2"]);
}

#[test]
fn bins_change_errors_alone_and_say_what_is_left_over() {
    let potential = "potential --config e --loops 3,3 --device cpu";
    let of = |bin: usize| ENSEMBLE.json(&format!("{potential} --bin {bin}"));
    let v = |found: &Value, key: &str| found["distances"][0]["potential"][0][key].as_f64().unwrap();
    let one = of(1);
    for (bin, bins) in [(2, 3), (3, 2)] {
        let found = of(bin);
        assert_eq!(v(&found, "value"), v(&one, "value"));
        assert_ne!(v(&found, "error"), v(&one, "error"));
        let said = serde_json::json!([7, bin, bins, 1, ["e/000014.nersc"]]);
        let keys = ["configurations", "bin", "bins", "dropped", "left_over"].map(|key| found[key].clone());
        assert_eq!(Value::from(keys.to_vec()), said);
        // The last one is in no bin: the error is that of the first six.
        let files: Vec<String> = (1..=6).map(|k| format!("e/{:06}.nersc", 2 * k)).collect();
        let six = ENSEMBLE.json(&format!(
            "{} --bin {bin}",
            potential.replace("potential --config e", &format!("potential --config {}", files.join(" ")))
        ));
        assert_eq!(v(&found, "error"), v(&six, "error"));
    }
    for bin in 4..=8 {
        ENSEMBLE.refuses(
            &format!("{potential} --bin {bin}"),
            &[&format!("--bin {bin}: 7 measurements have"), "bins of 1 to 3"],
        );
    }
    let text = ENSEMBLE.succeeds(&format!("{potential} --bin 2 --bootstrap 9 --seed 1 --csv bins.csv"));
    assert_contains(
        &text,
        &[
            "7 configurations, bootstrap errors of 9 samples from 3 bins of 2 configurations; 1 left over",
            "e/000014.nersc",
        ],
    );
    let csv = String::from_utf8(ENSEMBLE.read("bins.csv")).unwrap();
    assert!(csv.lines().next().unwrap().ends_with("chi_squared,degrees,p_value,bin,bins,dropped"), "{csv}");
    assert!(csv.lines().skip(1).all(|line| line.ends_with(",2,3,1")), "{csv}");
}

#[test]
fn a_configuration_counts_once_whatever_its_file() {
    ENSEMBLE.succeeds("config convert e/000002.nersc copy.lime");
    ENSEMBLE.succeeds("config convert e/000002.nersc copy32.nersc --floating-point IEEE32BIG");
    std::os::unix::fs::symlink("e/000002.nersc", ENSEMBLE.path("link.nersc")).unwrap();
    std::fs::copy(ENSEMBLE.path("e/000002.nersc"), ENSEMBLE.path("copy.nersc")).unwrap();
    for copy in ["e/000002.nersc", "link.nersc", "copy.nersc", "copy.lime", "copy32.nersc", "e"] {
        let expected = "is the same configuration as e/000002.nersc: it would count twice";
        ENSEMBLE.refuses(&format!("potential --config e/000002.nersc {copy} --loops 2,2 --device cpu"), &[expected]);
    }
    ENSEMBLE.succeeds("gaugefix --config e/000002.nersc --output fixed.nersc --tolerance 1e-4 --device cpu");
    ENSEMBLE.refuses(
        "potential --config fixed.nersc e --device cpu",
        &["e/000002.nersc is the same configuration as fixed.nersc: it would count twice"],
    );
}

#[test]
fn the_fit_leaves_out_what_smearing_distorts() {
    let ends = |smearing: &str, loops: &str| {
        let found = ENSEMBLE.json(&format!("potential --config e {smearing} --loops {loops} --device cpu"));
        (found["first"].clone(), found["last"].clone(), found["warnings"].to_string())
    };
    let (first, last, warnings) = ends("--smear spatial-ape:0.5,3", "3,2");
    assert_eq!((first, last, warnings.as_str()), (1.into(), 3.into(), "[]"));
    let fit = ENSEMBLE.json("potential --config e --loops 4,2 --device cpu")["fits"][0].clone();
    let [chi_squared, p] = ["chi_squared", "p_value"].map(|key| fit[key].as_f64().unwrap());
    // Of one degree, p falls from 1 by the density of a Gaussian.
    assert_contains(&fit["warnings"].to_string(), &["errors of 7 samples are themselves uncertain by 29%"]);
    let binned =
        ENSEMBLE.json("potential --config e --loops 4,2 --bin 3 --device cpu")["fits"][0]["warnings"].to_string();
    assert_contains(&binned, &["errors of 2 samples", "by 71%", "or smaller bins"]);
    assert!(p < 1.0 && p > 1.0 - (2.0 * chi_squared / std::f64::consts::PI).sqrt(), "{fit}");
    let (first, last, warnings) = ends("--smear hyp:0.75,0.6,0.3,1", "3,2");
    assert_eq!((first, last), (Value::Null, Value::Null));
    assert_contains(
        &warnings,
        &["no fit", "3 distances or more, smearing changes V(r) to r = 2, and loops go to r = 3"],
    );
    assert_contains(&ends("", "2,2").2, &["no fit: it takes 3 distances or more, and --loops go to r = 2"]);
}

#[test]
fn one_configuration_has_a_potential_without_errors_and_no_fit() {
    let found = ENSEMBLE.json("potential --config e/000002.nersc --loops 3,2 --device cpu");
    assert_eq!(found["fits"].as_array().map(Vec::len), Some(0));
    assert_eq!(found["distances"][0]["potential"][0]["error"], Value::Null);
    assert_contains(&found["warnings"].to_string(), &["no fit: errors, which weigh distances, need 2"]);
    let one = "potential --config e/000002.nersc --loops 3,2 --device cpu";
    assert_contains(&ENSEMBLE.succeeds(one), &["1 configuration: errors need 2 or more"]);
    ENSEMBLE.refuses(&format!("{one} --fit 1:3"), &["--fit 1:3", "need 2 configurations or more, and there is 1"]);
    ENSEMBLE.refuses(&format!("{one} --bin 2"), &["--bin 2", "expected 2 measurements or more"]);
    ENSEMBLE.refuses(&format!("{one} --bootstrap 9 --seed 1"), &["--bootstrap 9", "need 2 configurations or more"]);
}

#[test]
fn what_cannot_be_fitted_is_refused_by_name() {
    let refused = |arguments: &str, expected: &[&str]| {
        ENSEMBLE.refuses(&format!("potential --config e --device cpu {arguments}"), expected);
    };
    refused("--loops 3,1", &["--loops has 1", "expected 2 or more"]);
    refused("--loops 3,2 --fit 2:3", &["--fit 2:3", "three distances or more from 1 to 3"]);
    refused("--loops 9,2", &["loops of 9 steps"]);
}
