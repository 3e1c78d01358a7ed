//! `lanefield spectrum`: the same files on every device, runs in parts, and honest errors.

use std::sync::LazyLock;

use lanefield::io::npy::{self, ComplexValues};
use num_complex::Complex;
use serde_json::Value;

use super::{Folder, assert_contains, opencl, text as text_of};

const HEATBATH: &str =
    "config generate heatbath --beta 5.7 --lattice 4.4.4.8 --seed 2 --overrelax 1 --every 1 --device cpu --output e";
const QUARK: &str = "--operator wilson --mass 0.6 --source point:1,0,0,2 --momentum 1,0,0 --hadrons pion,rho,nucleon";

/// Seven configurations in the directory `e`, measured in `all.json`.
static MEASURED: LazyLock<Folder> = LazyLock::new(|| {
    let folder = Folder::new();
    folder.succeeds(&format!("{HEATBATH} --sweeps 7"));
    folder.succeeds(&format!("spectrum measure --config e {QUARK} --output all.json --device cpu"));
    folder
});

fn text(file: &str) -> String {
    String::from_utf8(MEASURED.read(file)).unwrap()
}

#[test]
fn correlators_are_the_same_file_for_any_threads_and_in_parts() {
    let whole = text("all.json");
    MEASURED.succeeds(&format!(
        "spectrum measure --config e {QUARK} --output threads.json --device cpu --threads 2 --lanes 16"
    ));
    assert!(text("threads.json") == whole);
    let parts = format!("{QUARK} --output parts.json --device cpu");
    MEASURED.succeeds(&format!("spectrum measure --config e/000001.nersc e/000002.nersc {parts}"));
    let summary = MEASURED.json(&format!("spectrum measure --config e {parts} --resume"));
    assert_eq!((&summary["configurations"], &summary["new_configurations"]), (&Value::from(7), &Value::from(5)));
    assert!(text("parts.json") == whole);
}

#[test]
#[ignore = "test-all: the same files on a device"]
fn correlators_are_the_same_file_on_a_device() {
    let Some(device) = opencl() else { return };
    MEASURED.succeeds(&format!("spectrum measure --config e {QUARK} --output device.json {device}"));
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

/// Correlators of free quarks of mass 0 and μ = 0.5 on 4³×8 at maximal twist, and of mass 0.3 and μ = 0.4 at 20°: sums over momenta of the propagators in the
/// physical basis, contracted with matrices by another program. At t = 1, 2, 3, 5.
const FREE: [(&str, [f64; 4], [f64; 4]); 4] = [
    (
        "pion",
        [7.199247588e-2, 1.640712604e-2, 5.687567135e-3, 5.687567135e-3],
        [4.982763758e-2, 1.182118540e-2, 4.748139597e-3, 4.748139597e-3],
    ),
    (
        "rho",
        [5.035570729e-2, 1.416388597e-2, 5.439407889e-3, 5.439407889e-3],
        [3.640982300e-2, 8.499555847e-3, 4.109617025e-3, 4.109617025e-3],
    ),
    (
        "a1",
        [-3.203825849e-2, -6.481399487e-3, -3.853096784e-3, -3.853096784e-3],
        [-2.108005639e-2, -6.987686437e-3, -3.937474717e-3, -3.937474717e-3],
    ),
    (
        "nucleon",
        [1.124448742e-2, 7.769809160e-4, 1.253708786e-4, 3.797965104e-5],
        [8.730844007e-3, 4.808344801e-4, 8.630382870e-5, 3.661090054e-5],
    ),
];

#[test]
fn hadrons_of_twisted_mass_are_those_of_the_physical_basis() {
    let folder = Folder::new();
    folder.succeeds("config generate unit --lattice 4.4.4.8 --output unit.nersc");
    let measure = "spectrum measure --config unit.nersc --source point:0,0,0,0 --hadrons pion,rho,a1,nucleon --tolerance 1e-12 --device cpu --operator twisted-mass";
    let heavy = "--mass 0.3 --mu 0.4";
    for (k, (quark, degrees)) in
        [("--mass 0 --mu 0.5", 90.0), (&*format!("{heavy} --twist-angle 20"), 20.0)].iter().enumerate()
    {
        let summary = folder.json(&format!("{measure} {quark} --output {k}.json"));
        assert_eq!((&summary["basis"], summary["twist_angle"].as_f64()), (&"physical".into(), Some(*degrees)));
        let data: Value = serde_json::from_slice(&folder.read(&format!("{k}.json"))).unwrap();
        assert_eq!(data["inputs"]["twist_angle"].as_f64(), Some(*degrees));
        for (hadron, maximal, other) in FREE {
            let found = data["configurations"][0]["correlators"].as_array().unwrap();
            let values = &found.iter().find(|c| c["hadron"] == hadron).unwrap()["values"];
            for (t, expected) in [1, 2, 3, 5].into_iter().zip(if k == 0 { maximal } else { other }) {
                let found = values[t].as_f64().unwrap();
                assert!((found / expected - 1.0).abs() < 1e-8, "{quark}: {hadron} at t = {t}: {found}, not {expected}");
            }
        }
    }
    // The same of a propagator in a file.
    let propagator =
        "propagator --config unit.nersc --source point:0,0,0,0 --tolerance 1e-12 --device cpu --operator twisted-mass";
    folder.succeeds(&format!("{propagator} {heavy} --output p.npy"));
    let correlator = folder.json("correlator --propagator p.npy --twist-angle 20 --device cpu --plot p.svg");
    assert_eq!((&correlator["basis"], correlator["twist_angle"].as_f64()), (&"physical".into(), Some(20.0)));
    assert!(text_of(&folder.read("p.svg")).contains("physical basis at twist angle 20°"));
    for (hadron, _, expected) in &FREE[..2] {
        let found = correlator["times"][3][*hadron]["value"].as_f64().unwrap();
        assert!((found / expected[2] - 1.0).abs() < 1e-8, "{hadron}: {found}, not {}", expected[2]);
    }
    let twisted = folder.json("correlator --propagator p.npy --twist-angle 0 --device cpu");
    assert_eq!(twisted["basis"], "twisted");
    assert_ne!(twisted["times"][3]["rho"]["value"], correlator["times"][3]["rho"]["value"]);
    // An angle that is none of this quark, and one that cannot be maximal.
    let fails = |line: &str, parts: &[&str]| folder.refuses(line, parts);
    fails("correlator --propagator p.npy --twist-angle -20 --device cpu", &["--twist-angle -20 contradicts mu 0.4"]);
    fails(&format!("{measure} {heavy} --twist-angle -20 --output x.json"), &["--twist-angle -20 contradicts mu 0.4"]);
    let wilson = measure.replace("twisted-mass", "wilson");
    fails(&format!("{wilson} --mass 1 --twist-angle 20 --output x.json"), &["wilson has no twisted mass"]);
    folder.misuses(&format!("{measure} {heavy} --twist-angle 200 --output x.json"), &["'200'", "-180 to 180"]);
    let warned = folder.ends(0, &format!("{measure} {heavy} --output maximal.json"));
    assert_contains(&text_of(&warned.stderr), &["warning: ", "mass 0.3 and mu 0.4 the twist angle is below 53.1°"]);
    fails("spectrum fit 1.json maximal.json", &["twist_angle 20.0", "with 90.0"]);
    let fit = folder.json("spectrum fit 0.json --plot fit.svg");
    assert_eq!((&fit["basis"], fit["twist_angle"].as_f64()), (&"physical".into(), Some(90.0)));
    assert!(text_of(&folder.read("fit.svg")).contains("mu 0.5; physical basis at twist angle 90°"));
    let old = text_of(&folder.read("0.json")).replace("twist_angle", "unknown").replace("\"seal\"", "\"none\"");
    folder.write("old.json", old.as_bytes());
    fails("spectrum fit old.json", &["old.json", "no twist angle", "measure them again"]);
}

#[test]
fn far_times_that_the_solver_did_not_reach_are_told() {
    let folder = Folder::new();
    folder.succeeds("config generate weak --lattice 4.4.4.8 --seed 1 --output weak.nersc");
    let quark = "--operator wilson --mass 20 --source point:0,0,0,3 --tolerance 1e-6 --device cpu";
    let warned = |line: &str| {
        let warning = text_of(&folder.ends(0, line).stderr);
        assert_contains(&warning, &["warning: correlators at t = ", "fewer than three digits"]);
    };
    warned(&format!("propagator --config weak.nersc {quark} --output p.npy"));
    warned("correlator --propagator p.npy --device cpu");
    warned(&format!("spectrum measure --config weak.nersc {quark} --hadrons pion --output s.json"));
    warned("spectrum fit s.json");
    // What they say is the relative error: that of the correlator is at most some times as large.
    let exact = quark.replace("1e-6", "1e-14");
    let silent = folder.ends(0, &format!("propagator --config weak.nersc {exact} --output exact.npy"));
    assert!(!text_of(&silent.stderr).contains("warning"));
    let [rough, exact] =
        ["p.npy", "exact.npy"].map(|file| folder.json(&format!("correlator --propagator {file} --device cpu")));
    let residuals = &rough["propagators"][0]["relative_errors"];
    for t in 0..8 {
        let value = |json: &Value| json["times"][t]["pion"]["value"].as_f64().unwrap();
        let (error, residual) = ((value(&rough) / value(&exact) - 1.0).abs(), residuals[t].as_f64().unwrap());
        assert!(error < 5.0 * residual.max(1e-9) || residual > 0.1, "t = {t}: {error} and {residual}");
    }
    assert!(residuals[4].as_f64().unwrap() > 1e3 * residuals[0].as_f64().unwrap());
}

#[test]
fn fits_and_errors_are_those_of_all_files_together() {
    let fit = "--fit pion:1:4 rho:1:3 nucleon:1:3 --uncorrelated";
    let all = MEASURED.json(&format!("spectrum fit all.json {fit} --csv all.csv --plot all.svg"));
    let mass = &all["fits"][0]["states"][0];
    let (value, error) = (mass["mass"].as_f64().unwrap(), mass["mass_error"].as_f64().unwrap());
    assert!(value > 0.5 && value < 3.0 && error > 0.0 && error < 0.5, "{mass}");
    assert!(text("all.svg").contains("7 configurations") && text("all.csv").starts_with("hadron,t,value,value_bits"));
    for (file, configurations) in [("one.json", &[1, 2, 3][..]), ("other.json", &[4, 5, 6, 7])] {
        let files = configurations.iter().map(|k| format!("e/{k:06}.nersc")).collect::<Vec<_>>().join(" ");
        MEASURED.succeeds(&format!("spectrum measure --config {files} {QUARK} --output {file} --device cpu"));
    }
    let together = MEASURED.json(&format!("spectrum fit one.json other.json {fit}"));
    assert_eq!(all, together);
    // Pairs, of which the last configuration is left over, change errors alone; a moving hadron is heavier.
    let binned = MEASURED.json(&format!("spectrum fit all.json {fit} --bin 2"));
    assert_ne!(binned["fits"][0]["states"][0]["mass_error"], mass["mass_error"]);
    assert_eq!((&binned["bins"], &binned["dropped"]), (&Value::from(3), &Value::from(1)));
    assert_eq!(binned["left_over"], serde_json::json!(["000007.nersc"]));
    let values = |of: &Value| [0, 1, 7].map(|t| of["hadrons"][0]["correlator"][t]["value"].clone());
    assert_eq!(values(&binned), values(&all));
    for bin in [4, 7, 8] {
        MEASURED.refuses(&format!("spectrum fit all.json --bin {bin}"), &[&format!("--bin {bin}"), "bins of 1 to 3"]);
    }
    let moving = MEASURED.json(&format!("spectrum fit all.json {fit} --momentum 1,0,0"));
    assert!(moving["fits"][0]["states"][0]["mass"].as_f64().unwrap() > value);
}

#[test]
fn every_fit_says_how_good_it_is() {
    for (flag, covariance) in
        [("", "full"), ("--shrink", "shrunk"), ("--svd-cut 0.1", "cut"), ("--uncorrelated", "diagonal")]
    {
        let line = format!("spectrum fit all.json --fit pion:0:3 {flag} --csv fit.csv --plot fit.svg");
        let found = MEASURED.json(&line);
        assert_eq!(found["covariance"], covariance);
        let fit = &found["fits"][0];
        assert_eq!(
            (fit["shrinkage"].is_number(), fit["raised"].is_number()),
            (flag == "--shrink", flag.starts_with("--svd"))
        );
        let (chi_squared, p) = (fit["chi_squared"].as_f64().unwrap(), fit["p_value"].as_f64().unwrap());
        // Two degrees, whose distributions are elementary: exp(−χ²/2), and of seven samples (1 + χ²/6)^(−5/2).
        let expected = if flag.is_empty() { (1.0 + chi_squared / 6.0).powf(-2.5) } else { (-chi_squared / 2.0).exp() };
        assert!((p - expected).abs() <= 1e-10 * expected, "{flag}: {fit}");
        // A single state does not fit the source.
        let warnings = fit["warnings"].to_string();
        assert_eq!(warnings.contains("poor fit"), p < 0.05, "{warnings}");
        assert_eq!(
            warnings.contains("7 samples are few for the covariance of 4 times, which needs 40"),
            flag.is_empty(),
            "{warnings}"
        );
        // 1/√12 and 1/√8.
        let few = warnings.contains("errors of 7 samples are themselves uncertain by 29%");
        assert_eq!(few, !flag.is_empty(), "{warnings}");
        let drawn = MEASURED.json(&format!("{line} --bootstrap 5 --seed 1"))["fits"][0]["warnings"].to_string();
        assert_contains(&drawn, &["errors of 5 bootstrap samples", "by 35%", "a larger --bootstrap"]);
        MEASURED.json(&line);
        assert_eq!(text("fit.svg").contains("poor fit"), p < 0.05);
        let row = format!("pion,,,,,,,,0,3,{:e},", fit["states"][0]["mass"].as_f64().unwrap());
        assert!(
            text("fit.csv").contains(&row) && text("fit.csv").contains(&format!(",{chi_squared:e},2,{p:e},1,7,0\n")),
            "{}",
            text("fit.csv")
        );
    }
    let uncorrelated = MEASURED.json("spectrum fit all.json --fit pion:0:3 --uncorrelated");
    assert!(uncorrelated["fits"][0]["p_value"].as_f64().unwrap() < 0.05, "{uncorrelated}");
    MEASURED.refuses("spectrum fit all.json --fit pion:3:3", &["2 parameters to 1 time: it needs at least 3"]);
    MEASURED.misuses("spectrum fit all.json --svd-cut 1", &["expected a number above 0 and below 1"]);
    MEASURED.misuses("spectrum fit all.json --svd-cut 0.1 --shrink", &["cannot be used with"]);
}

#[test]
fn no_cure_is_offered_that_was_given_already() {
    MEASURED.succeeds(&format!("spectrum measure --config e/000001.nersc {QUARK} --output single.json --device cpu"));
    for flag in ["", "--uncorrelated", "--shrink", "--svd-cut 0.1"] {
        let error = MEASURED.fails(2, &format!("spectrum fit single.json --fit pion:1:3 {flag}"));
        assert!(error.ends_with("samples or more, and there is 1"), "{error}");
        assert!(!error.contains("uncorrelated") && !error.contains("shrunk"), "{error}");
    }
}

#[test]
fn a_source_counts_once_whatever_its_file() {
    let measure = "spectrum measure --config e/000001.nersc --operator wilson --mass 0.6 --hadrons pion --device cpu --output sources.json";
    MEASURED.refuses(
        &format!("{measure} --source point:0,0,0,0 point:0,0,0,2 point:0,0,0,0"),
        &["--source point:0,0,0,0 is the same source as point:0,0,0,0: it would count twice"],
    );
    let propagator = "propagator --operator wilson --mass 0.6 --source wall:1 --config e/000001.nersc --device cpu";
    MEASURED.succeeds(&format!("{propagator} --output columns.npy"));
    // Twelve columns on one time slice.
    let (mut array, slice) = (npy::read_complex(&MEASURED.path("columns.npy")).unwrap(), 4 * 4 * 4 * 144);
    let mut values = std::mem::replace(&mut array.values, ComplexValues::F64(Vec::new())).into_f64();
    values[slice..].fill(Complex::default());
    npy::write_complex(&MEASURED.path("columns.npy"), &array.shape, &values).unwrap();
    std::fs::remove_file(MEASURED.path("columns.npy.json")).unwrap();
    std::fs::copy(MEASURED.path("columns.npy"), MEASURED.path("copy.npy")).unwrap();
    MEASURED
        .refuses(&format!("{measure} --source columns.npy copy.npy"), &["copy.npy is the same source as columns.npy"]);
}

#[test]
fn a_configuration_counts_once_whatever_its_file() {
    MEASURED.succeeds("config convert e/000001.nersc copy32.nersc --floating-point IEEE32BIG");
    let expected = "is the same configuration as";
    MEASURED.refuses(
        &format!("spectrum measure --config e copy32.nersc {QUARK} --output copies.json --device cpu"),
        &["copy32.nersc", expected],
    );
    MEASURED.succeeds("gaugefix --config e/000001.nersc --output fixed.nersc --tolerance 1e-4 --device cpu");
    MEASURED.refuses(
        &format!("spectrum measure --config e/000001.nersc fixed.nersc {QUARK} --output fixed.json --device cpu"),
        &["fixed.nersc", expected, "000001.nersc"],
    );
    MEASURED.succeeds(&format!("spectrum measure --config copy32.nersc {QUARK} --output copy.json --device cpu"));
    MEASURED.refuses(
        "spectrum fit all.json copy.json",
        &["copy32.nersc in copy.json", expected, "000001.nersc in all.json", "would count twice"],
    );
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let fails = |line: &str, parts: &[&str]| MEASURED.refuses(line, parts);
    fails(
        "spectrum fit all.json --fit pion:1:6",
        &["--fit pion:1:6", "7 samples do not determine the covariance of 6 times, which needs 8", "at most 5 times"],
    );
    fails("spectrum fit all.json --fit pion:3:9 --uncorrelated", &["invalid times 3 to 9 of a fit", "from 0 to 7"]);
    fails("spectrum fit all.json --fit b1:1:3", &["the b1 was not measured: expected pion, rho, nucleon"]);
    fails("spectrum fit all.json --momentum 2,0,0", &["momentum 2,0,0: expected 0,0,0 or 1,0,0"]);
    fails("spectrum fit all.json all.json", &["the same configuration", "would count twice"]);
    fails("spectrum fit e/ensemble.json", &["not a file of lanefield spectrum measure"]);
    let other = QUARK.replace("0.6", "0.7");
    MEASURED.succeeds(&format!("spectrum measure --config e/000001.nersc {other} --output heavy.json --device cpu"));
    fails("spectrum fit all.json heavy.json", &["all.json was measured with", "mass 0.6", "heavy.json with 0.7"]);
    let resumed = format!("spectrum measure --config e {other} --output all.json --resume --device cpu");
    fails(&resumed, &["--output all.json was measured with", "mass 0.6"]);
    let misused = |line: &str, parts: &[&str]| MEASURED.misuses(line, parts);
    misused("spectrum fit all.json --fit pion", &["invalid fit 'pion'", "pion:5:12"]);
    misused(&format!("spectrum measure e {QUARK},proton --output p.json"), &["invalid hadron 'proton'"]);
    misused(
        "spectrum measure --config e --mass 1 --source point:0,0,0,0 --smear-source 0.2 --output p.json",
        &["0.25,20"],
    );
}

#[test]
fn extended_sources_are_measured_and_what_they_do_not_give_is_refused() {
    let folder = Folder::new();
    folder.succeeds("config generate weak --lattice 4.4.4.4 --seed 3 --output gauge.nersc");
    let run = "spectrum measure --config gauge.nersc --operator wilson --mass 0.5 --device cpu --output s.json";
    let mesons = format!("{run} --hadrons pion,rho");
    folder.succeeds(&format!("{mesons} --source z4:1,2 wall:0 --smear-sink 0.25,2 --smear-links stout:0.1,2"));
    let data: serde_json::Value = serde_json::from_slice(&folder.read("s.json")).unwrap();
    let inputs = &data["inputs"];
    assert_eq!(
        (&inputs["sources"], &inputs["smear_links"]),
        (&serde_json::json!(["z4:1,2", "wall:0"]), &"stout:0.1,2".into())
    );
    let refused = |run: &str, more: &str| text_of(&folder.ends(2, &format!("{run} {more}")).stderr);
    assert_contains(
        &refused(run, "--source z2:1,0"),
        &["the nucleon has no contraction from noise", "--hadrons pion,rho"],
    );
    assert_contains(&refused(run, "--source momentum:1,0,0,0"), &["three times its momentum"]);
    assert_contains(&refused(&mesons, "--source wall:0 --momentum 1,0,0"), &["--momentum is for points"]);
    let resumed = refused(&mesons, "--resume --source z4:2,2 wall:0 --smear-sink 0.25,2 --smear-links stout:0.1,2");
    assert_contains(&resumed, &["z4:1,2", "z4:2,2"]);
}
