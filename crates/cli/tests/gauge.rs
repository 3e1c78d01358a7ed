//! `lanefield flow`, `smear`, `gaugefix` and `observe`: the same files and numbers everywhere, which agree with each other, and honest errors.

use lanefield::io::npy;

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
    let smeared = folder.json("smear --smear ape:0.5,2 --config gauge.nersc --output ape.nersc --device cpu");
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
fn a_gauge_that_is_not_reached_is_kept_under_another_name() {
    let folder = Folder::with_gauge();
    let line = "gaugefix --config gauge.nersc --output g.nersc --max-iterations 3 --device cpu";
    let continues = "the same command with --config g.stopped.nersc continues";
    assert_contains(&folder.fails(1, line), &["after 3 iterations", "allow more with --max-iterations", continues]);
    folder.succeeds("gaugefix --config g.stopped.nersc --output further.nersc --tolerance 1e-8 --device cpu");
    let line = "gaugefix --config gauge.nersc --output g.nersc --tolerance 1e-40 --max-iterations 500 --device cpu";
    let error = folder.fails(1, line);
    assert_contains(&error, &["that is as far as f64 goes: use a larger --tolerance"]);
    assert!(!error.contains("allow more"), "{error}");
    assert!(!folder.path("g.nersc").exists());
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let folder = Folder::with_gauge();
    let refused = |line: &str, parts: &[&str]| folder.misuses(line, parts);
    refused("flow --config gauge.nersc --step 0.5", &["invalid step '0.5'", "at most 0.2"]);
    let endless = folder.fails(2, "flow --config gauge.nersc --step 1e-320 --device cpu");
    assert_contains(&endless, &["--step 1e-320 takes inf steps to flow time 2", "expected at most 1e9"]);
    refused("observe --config gauge.nersc --loops -1,2", &["invalid loops '-1,2'"]);
    refused("flow --config gauge.nersc --action dbw2", &["invalid gauge action 'dbw2'", "wilson, symanzik or iwasaki"]);
    refused("smear --config gauge.nersc --output s.nersc --kind stout:0.1", &["expected stout:RHO,STEPS"]);
    refused(
        "gaugefix --config gauge.nersc --output g.nersc --gauge axial",
        &["unknown gauge 'axial'", "landau or coulomb"],
    );
    refused("gaugefix --config gauge.nersc --output g.nersc --omega 2", &["invalid ω '2'", "from 1 to 1.99"]);
    refused("gaugefix --config gauge.nersc --output g.nersc --tolerance 0", &["invalid tolerance '0'"]);
    let contradicts = |line: &str, part: &str| folder.refuses(line, &[part]);
    let fix = "gaugefix --config gauge.nersc --output g.nersc --device cpu";
    contradicts(&format!("{fix} --time-direction x"), "--time-direction is for --gauge coulomb");
    contradicts(&format!("{fix} --seed 3"), "--seed is for --start random");
    contradicts(&format!("{fix} --start random"), "--start random needs --seed");
    refused("observe --config gauge.nersc --loops 2", &["invalid loops '2'"]);
    refused("observe --config gauge.nersc --flow 1,0.5", &["invalid flow '1,0.5'", "from 0.0001 to 0.2"]);
    let too_long = folder.fails(2, "observe --config gauge.nersc --observables wilson --loops 99,1 --device cpu");
    assert_contains(&too_long, &["loops of 99 steps do not fit"]);
}

#[test]
fn links_of_32_bits_are_smeared_flow_and_are_fixed() {
    let folder = Folder::with_gauge();
    folder.succeeds("config convert gauge.nersc f32.milc");
    let kinds =
        ["stout:0.1,2", "stout:0.1,0", "ape:0.5,1", "spatial-ape:0.5,2", "hyp:0.75,0.6,0.3,1", "ape:0.5,1,max-re-tr"];
    for (number, kind) in kinds.into_iter().enumerate() {
        let of = folder.json(&format!("smear --smear {kind} --config f32.milc --output {number}.lime --device cpu"));
        assert_eq!(of["smearing"], kind);
        assert_eq!(folder.json(&format!("config info {number}.lime"))["plaquette"], of["plaquette"]);
    }
    let flow = folder.json("flow --config f32.milc --step 0.05 --time 0.1 --output f.nersc --device cpu");
    assert!(flow["unitarity_defect"].as_f64().unwrap() > 1e-9);
    folder.succeeds("gaugefix --config f32.milc --tolerance 1e-5 --output g.h5 --device cpu");
    for (file, label) in [("f.nersc", "flow:wilson,0.1"), ("0.lime", "stout:0.1,2")] {
        assert_eq!(folder.json(&format!("config info {file}"))["provenance"]["ensemble_label"], label);
    }
    for (sidecar, command, key, value) in [
        ("0.lime.json", "smear", "kind", "stout:0.1,2"),
        ("f.nersc.json", "flow", "action", "wilson"),
        ("g.h5.json", "gaugefix", "gauge", "landau"),
    ] {
        let sidecar: serde_json::Value = serde_json::from_slice(&folder.read(sidecar)).unwrap();
        assert_eq!(sidecar["command"], command);
        assert_eq!(sidecar["inputs"]["settings"][key], value);
        assert_eq!(sidecar["files"]["config"], "f32.milc");
    }
    // Nothing that the readers take is refused by the writers: here links that are off by nearly all they may be.
    folder.succeeds("config convert gauge.nersc gauge.npy");
    let mut array = npy::read_complex(&folder.path("gauge.npy")).unwrap();
    let npy::ComplexValues::F64(links) = &mut array.values else { unreachable!() };
    links.chunks_exact_mut(9).for_each(|link| link.iter_mut().for_each(|z| *z *= 1.0 + 3.3e-6));
    npy::write_complex(&folder.path("off.npy"), &array.shape, links).unwrap();
    links.chunks_exact_mut(9).for_each(|link| link.iter_mut().for_each(|z| *z *= 1.0 + 3.3e-8));
    npy::write_complex(&folder.path("edge.npy"), &array.shape, links).unwrap();
    for command in ["smear --smear stout:0.1,3", "flow --step 0.1 --time 0.2", "gaugefix --tolerance 1e-5"] {
        folder.succeeds(&format!("{command} --config off.npy --output off.nersc --device cpu"));
        let info = folder.json("config info off.nersc");
        assert!((info["unitarity_defect"].as_f64().unwrap() - 9.9e-6).abs() < 1e-8, "{command}");
    }
    // But what a file of two rows or of 32 bits would bring out of their reach, before the work.
    for (options, bits) in [
        ("o.nersc --rows 2", "2 rows of 64"),
        ("o.milc", "3 rows of 32"),
        ("o.lime --floating-point IEEE32BIG", "3 rows of 32"),
    ] {
        for command in ["smear --smear stout:0.1,3", "flow --step 0.1 --time 0.2", "gaugefix --tolerance 1e-5"] {
            let line = format!("{command} --config edge.npy --output {options} --device cpu");
            let said = folder.fails(2, &line);
            assert_contains(&said, &[bits, "is not in SU(3)", "more than 1e-5", "--project brings"]);
            assert!(!said.contains("running on"), "{line}: {said}");
        }
        folder.refuses(&format!("config convert edge.npy {options}"), &["is not in SU(3)", "--project brings"]);
        folder.succeeds(&format!(
            "smear --smear stout:0.1,3 --config edge.npy --project --output {options} --device cpu"
        ));
    }
    folder.refuses("smear --smear stout:0.1,1 --config f32.milc --output s.cfg --device cpu", &["s.cfg does not say"]);
}
