//! `lanefield flow`, `smear`, `gaugefix` and `observe`: the same files and numbers everywhere, which agree with each other, and honest errors.

use super::{Folder, assert_contains, opencl};

#[test]
#[ignore = "test-all: the same files on a device"]
fn a_flow_is_the_same_files_on_every_device() {
    let folder = Folder::with_gauge();
    let devices = [Some("--device cpu --lanes 16".to_owned()), Some("--device cpu --threads 2".into()), opencl()];
    let mut first = None;
    for device in devices.iter().flatten() {
        let outputs = "--output f.npy --csv f.csv --plot f.svg";
        let flow = "flow --config gauge.nersc --action symanzik --step 0.1 --adaptive 1e-3 --time 0.2";
        let table = folder.succeeds(&format!("{flow} {outputs} {device}"));
        let files = (table, folder.read("f.npy"), folder.read("f.csv"), folder.read("f.svg"));
        assert!(files == *first.get_or_insert_with(|| files.clone()), "{device}");
    }
}

#[test]
fn what_flows_and_is_smeared_is_observed_as_it_was_written() {
    let folder = Folder::with_gauge();
    let flow = folder.json("flow --config gauge.nersc --step 0.05 --time 0.12 --every 2 --output f.nersc --device cpu");
    let times: Vec<f64> = flow["times"].as_array().unwrap().iter().map(|row| row["t"].as_f64().unwrap()).collect();
    assert_eq!(times, [0.0, 0.1, 0.12]);
    let value = |document: &serde_json::Value, name: &str| {
        let values = document["values"].as_array().unwrap();
        values.iter().find(|value| value["name"] == name).unwrap_or_else(|| panic!("{name}"))["bits"].clone()
    };
    let observed = folder.json("observe --config f.nersc --device cpu");
    assert_eq!(value(&observed, "energy density"), flow["times"][2]["energy_bits"]);
    assert_eq!(value(&observed, "topological charge"), flow["times"][2]["charge_bits"]);
    let at_once = folder.json("observe --config gauge.nersc --flow 0.12,0.05 --device cpu");
    assert_eq!(at_once["values"], observed["values"]);
    let smeared = folder.json("smear --kind ape:0.5,2 --config gauge.nersc --output ape.nersc --device cpu");
    let observed = folder.json("observe --config gauge.nersc --smear ape:0.5,2 --observables plaquette --device cpu");
    assert_eq!(value(&observed, "plaquette"), smeared["plaquette_bits"]);
    assert_eq!(folder.json("config info ape.nersc")["plaquette"], smeared["plaquette"]);
}

#[test]
#[ignore = "test-all: the same files on a device"]
fn a_gauge_is_the_same_file_on_every_device() {
    let folder = Folder::with_gauge();
    let devices = [Some("--device cpu --lanes 16".to_owned()), Some("--device cpu --threads 2".into()), opencl()];
    for gauge in ["landau --every 7", "coulomb --start random --seed 4", "coulomb --time-direction x"] {
        let mut first = None;
        for device in devices.iter().flatten() {
            let fix = format!("gaugefix --gauge {gauge} --config gauge.nersc --output g.npy --tolerance 1e-6");
            let files = (folder.succeeds(&format!("{fix} {device}")), folder.read("g.npy"));
            assert!(files == *first.get_or_insert_with(|| files.clone()), "{gauge}, {device}");
        }
    }
    let fixed = folder.json("gaugefix --config gauge.nersc --output l.nersc --tolerance 1e-6 --device cpu");
    let history = fixed["history"].as_array().unwrap();
    assert_eq!(history.len() as u64, fixed["iterations"].as_u64().unwrap() + 1);
    assert_eq!(history.last().unwrap()["theta_bits"], fixed["theta_bits"]);
    assert_eq!(folder.json("config info l.nersc")["plaquette"], fixed["plaquette"]);
    // The functional is the link trace, in another order of sums.
    let trace = folder.json("config info l.nersc")["link_trace"].as_f64().unwrap();
    assert!((trace - fixed["functional"].as_f64().unwrap()).abs() < 1e-14);
}

#[test]
fn a_gauge_that_is_not_reached_is_no_file() {
    let folder = Folder::with_gauge();
    let line = "gaugefix --config gauge.nersc --output g.nersc --max-iterations 3 --device cpu";
    assert_contains(&folder.fails(1, line), &["after 3 iterations", "allow more with --max-iterations"]);
    assert!(!folder.path("g.nersc").exists());
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let folder = Folder::with_gauge();
    let refused = |line: &str, parts: &[&str]| folder.misuses(line, parts);
    refused("flow --config gauge.nersc --step 0.5", &["invalid step '0.5'", "at most 0.2"]);
    refused("flow --config gauge.nersc --action dbw2", &["invalid gauge action 'dbw2'", "wilson, symanzik or iwasaki"]);
    refused("smear --config gauge.nersc --output s.nersc --kind stout:0.1", &["expected stout:RHO,STEPS"]);
    refused(
        "gaugefix --config gauge.nersc --output g.nersc --gauge axial",
        &["unknown gauge 'axial'", "landau or coulomb"],
    );
    refused("gaugefix --config gauge.nersc --output g.nersc --overrelaxation 2", &["invalid ω '2'", "from 1 to 1.99"]);
    refused("gaugefix --config gauge.nersc --output g.nersc --tolerance 0", &["invalid tolerance '0'"]);
    let contradicts = |line: &str, part: &str| folder.refuses(line, &[part]);
    let fix = "gaugefix --config gauge.nersc --output g.nersc --device cpu";
    contradicts(&format!("{fix} --time-direction x"), "--time-direction is for --gauge coulomb");
    contradicts(&format!("{fix} --seed 3"), "--seed is for --start random");
    contradicts(&format!("{fix} --start random"), "--start random needs --seed");
    refused("observe --config gauge.nersc --loops 2", &["invalid loops '2'"]);
    refused("observe --config gauge.nersc --flow 1,0.5", &["invalid flow '1,0.5'", "from 0.0001 to 0.2"]);
    let too_long = folder.fails(2, "observe --config gauge.nersc --observables wilson --loops 99,1 --device cpu");
    assert_contains(&too_long, &["loops of 99 steps on"]);
}
