//! `lanefield propagator` and `lanefield correlator`: the same files everywhere, and honest errors.

use lanefield::io::npy;

use super::{Folder, assert_contains, on_colour_vectors, opencl, text};

/// With `gauge.nersc`, a weak configuration on 4.2.2.6.
fn folder() -> Folder {
    Folder::with_gauge_on("4.2.2.6")
}

const PROPAGATOR: &str = "propagator --config gauge.nersc --source point:1,0,1,2 --output p.npy --mass 0.2 --operator";

/// With `p.npy` too, a clover propagator from time slice 2.
fn with_propagator() -> Folder {
    let folder = folder();
    folder.succeeds(&format!("{PROPAGATOR} clover --device cpu"));
    folder
}

fn propagators_are_the_same_file(device: Option<String>) {
    let folder = folder();
    let devices =
        [Some("--device cpu --threads 1 --lanes 16".to_owned()), Some("--device cpu --threads 2".into()), device];
    for operator in [
        "wilson --precision f32",
        "twisted-mass --mu 0.1",
        "clover --csw 1.3",
        "dwf --ls 4 --unpreconditioned",
        "mobius --ls 4 --precision f32",
    ] {
        let mut first = None;
        for device in devices.iter().flatten() {
            folder.succeeds(&format!("{PROPAGATOR} {operator} {device}"));
            let file = folder.read("p.npy");
            assert!(file == *first.get_or_insert_with(|| file.clone()), "{operator} {device}: the files differ");
        }
        let array = npy::read_propagator(&folder.path("p.npy")).unwrap();
        assert_eq!(array.extents.as_array(), [4, 2, 2, 6]);
        let precision = if operator.contains("f32") { npy::Precision::F32 } else { npy::Precision::F64 };
        assert_eq!(array.values.precision(), precision, "{operator}");
    }
}

#[test]
fn the_propagator_is_the_same_file_for_any_threads_and_lanes() {
    propagators_are_the_same_file(None);
}

#[test]
#[ignore = "test-all: five operators on a device"]
fn the_propagator_is_the_same_file_for_any_threads_lanes_and_device() {
    propagators_are_the_same_file(opencl());
}

#[test]
fn a_column_of_the_propagator_is_what_solve_writes() {
    let folder = folder();
    folder.succeeds(&format!("{PROPAGATOR} wilson --device cpu"));
    folder.succeeds(
        "solve --config gauge.nersc --source point:1,0,1,2,3,1 --mass 0.2 --device cpu --output x.npy --operator wilson",
    );
    let p = npy::read_propagator(&folder.path("p.npy")).unwrap().values.into_f64();
    let x = npy::read_spinor(&folder.path("x.npy")).unwrap().values.into_f64();
    for (i, z) in x.into_iter().enumerate() {
        let (site, spin, colour) = (i / 12, i / 3 % 4, i % 3);
        assert_eq!(p[site * 144 + ((spin * 4 + 3) * 3 + colour) * 3 + 1], z, "site {site}");
    }
}

#[test]
#[ignore = "test-all: the same files on a device"]
fn correlators_are_the_same_files_on_every_device() {
    let folder = with_propagator();
    let devices = [Some("--device cpu --lanes 16".to_owned()), Some("--device cpu --threads 2".into()), opencl()];
    let mut first = None;
    for device in devices.iter().flatten() {
        let table = folder
            .succeeds(&format!("correlator --propagator p.npy --origin-time 2 --csv c.csv --plot c.svg {device}"));
        let files = (table, folder.read("c.csv"), folder.read("c.svg"));
        assert!(files == *first.get_or_insert_with(|| files.clone()), "{device}");
    }
}

#[test]
fn table_json_and_csv_say_the_same_and_the_pion_falls_from_the_source() {
    let folder = with_propagator();
    let correlator = "correlator --propagator p.npy --origin-time 2 --device cpu";
    let json = folder.json(&format!("{correlator} --csv c.csv"));
    let csv = text(&folder.read("c.csv"));
    let mut lines = csv.lines();
    let header = lines.next().unwrap();
    assert!(header.starts_with("t,pion,pion_bits,rho,rho_bits,rho_x,rho_x_bits,"), "{header}");
    let times = json["times"].as_array().unwrap();
    assert_eq!((times.len(), csv.lines().count()), (6, 7));
    for (time, line) in times.iter().zip(lines) {
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!(cells.len(), header.split(',').count());
        for (meson, k) in [("pion", 1), ("rho", 3)] {
            let value = time[meson]["value"].as_f64().unwrap();
            assert_eq!(cells[k].parse::<f64>().unwrap(), value);
            assert_eq!(format!("{:016x}", value.to_bits()), cells[k + 1]);
            assert_eq!(time[meson]["bits"], cells[k + 1]);
        }
        let mass = &time["pion"]["effective_mass"];
        assert_eq!(cells[11].parse::<f64>().ok(), mass.as_f64());
        assert_eq!(mass.is_null(), cells[11].is_empty() && cells[12].is_empty());
    }
    let pion: Vec<f64> = times.iter().map(|time| time["pion"]["value"].as_f64().unwrap()).collect();
    assert!(pion.windows(2).take(3).all(|pair| pair[0] > pair[1] && pair[1] > 0.0), "{pion:?}");
    assert!(times[5]["pion"]["effective_mass"].is_null(), "there is no time after the last");
    let table = folder.succeeds(correlator);
    assert_contains(&table, &["pion effective mass", &format!("{:.5}", pion[0]), "–"]);
}

#[test]
fn the_plot_is_an_svg_with_labelled_axes_a_title_and_a_legend() {
    let folder = with_propagator();
    folder.succeeds("correlator --propagator p.npy --origin-time 2 --device cpu --plot c.svg");
    let svg = text(&folder.read("c.svg"));
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    let parts = ["Correlators on 4.2.2.6", "t / a", "C(t)", "a m(t)", "pion", "rho"];
    assert_contains(&svg, &parts);
}

#[test]
fn the_summary_of_a_propagator_has_twelve_right_hand_sides() {
    let folder = folder();
    let json = folder.json(&format!("{PROPAGATOR} dwf --ls 4 --device cpu"));
    assert_eq!(json["converged"], true);
    assert_eq!(json["source"], serde_json::json!([1, 0, 1, 2]));
    let all = json["rhs"].as_array().unwrap();
    assert_eq!(all.len(), 12);
    for (k, rhs) in all.iter().enumerate() {
        assert_eq!((&rhs["spin"], &rhs["colour"]), (&(k / 3).into(), &(k % 3).into()));
        assert!(rhs["true_residual"].as_f64().unwrap() <= 1e-9);
    }
    let table = folder.succeeds(&format!("{PROPAGATOR} dwf --ls 4 --device cpu"));
    assert_contains(&table, &["dwf, mass 0.2, ls 4", "12 right-hand sides", "x,y,z,t = 1,0,1,2", "GFlop/s"]);
}

#[test]
fn no_convergence_is_exit_code_1_and_no_file() {
    let folder = folder();
    let error = folder.fails(1, &format!("{PROPAGATOR} wilson --device cpu --max-iterations 2"));
    assert_contains(&error, &["no convergence in 2 iterations"]);
    assert_eq!(folder.names(), ["gauge.nersc"]);
}

#[test]
fn the_checkpoint_of_another_source_is_refused() {
    let folder = folder();
    folder.succeeds(
        "propagator --config gauge.nersc --source wall:2 --operator wilson --mass 9 --device cpu --output columns.npy",
    );
    let run = |rest: &str| {
        format!(
            "propagator --config gauge.nersc --output p.npy --mass 0.2 --operator wilson --device cpu --checkpoint state {rest}"
        )
    };
    folder.fails(1, &run("--source point:1,0,1,2 --checkpoint-every 2 --max-iterations 4"));
    for (source, is) in [
        ("point:1,0,1,3", "1,0,1,3"),
        ("wall:2", "wall:2"),
        ("z2:4,2", "z2:4,2"),
        ("columns.npy", "SHA-256"),
        ("point:1,0,1,2 --smear-source 0.25,3", "smeared by 0.25,3"),
    ] {
        folder.refuses(&run(&format!("--resume --source {source}")), &["another solve", "its source is", is]);
    }
    assert!(!folder.path("p.npy").exists());
    folder.succeeds(&run("--resume --source point:1,0,1,2"));
}

#[test]
fn numbers_that_underflow_are_told_or_refused() {
    let folder = folder();
    let output =
        folder.ends(0, &PROPAGATOR.replace("0.2", "1e60").replace("--operator", "--operator wilson --device cpu"));
    let lost = "the propagator is 0, or its square is out of range, at t = 2 to 4 from the source";
    assert_contains(&text(&output.stderr), &[&format!("warning: {lost}: check the mass and the precision")]);
    folder.refuses(
        "correlator --propagator p.npy --device cpu",
        &["the propagator at t = 2 from the source has Σ |S|² = 0"],
    );
    // In space too, |S|³ of the nucleon is the first to go.
    let measure =
        "spectrum measure --config gauge.nersc --source point:1,0,1,2 --operator wilson --device cpu --output s.json";
    folder.refuses(
        &format!("{measure} --mass 1e60 --hadrons nucleon,pion"),
        &["nucleon has no correlator", "the propagator at t = 1 from the source", "check the mass and the precision"],
    );
    folder.refuses(&format!("{measure} --mass 1e60 --hadrons pion"), &["pion has no correlator", "at t = 2"]);
    assert!(!folder.path("s.json").exists());
}

#[test]
fn misuse_of_propagator_is_refused_with_what_would_be_right() {
    let folder = folder();
    let fails = |what: &str| folder.fails(2, &format!("propagator --config gauge.nersc --device cpu {what}"));
    let at = |point: &str| format!("--source point:{point} --operator wilson --mass 0.2 --output p.npy");
    assert_contains(&fails(&at("0,0,0,6")), &["t = 6 of the point source is outside 0 to 5 on 4.2.2.6"]);
    let error = folder.misused(&format!("propagator --config gauge.nersc {}", at("0,0,0,0,1,1")));
    assert_contains(&error, &["leave spin and colour out"]);
    let from = "--source point:0,0,0,0 --output";
    for operator in on_colour_vectors() {
        let error = fails(&format!("{from} p.npy --operator {operator} --mass 0.2"));
        let parts = ["a propagator needs an operator on spinors", "expected wilson, twisted-mass, clover, dwf, mobius"];
        assert_contains(&error, &[&format!("invalid operator '{operator}'"), parts[0], parts[1]]);
    }
    assert_contains(&fails(&format!("{from} p.npy --operator wilson")), &["needs --mass"]);
    assert_contains(&fails(&format!("{from} p.npy --operator wilson --mass 1 --ls 4")), &["--ls is for"]);
    assert_contains(&fails(&format!("{from} p.npy --operator wilson --mass -4")), &["--unpreconditioned"]);
    let same =
        "propagator --config p.npy --device cpu --source point:0,0,0,0 --output p.npy --operator wilson --mass 1";
    assert_contains(&folder.fails(2, same), &["name the same file"]);
    assert_contains(&fails(&format!("{from} absent/p.npy --operator wilson --mass 1")), &["absent/p.npy"]);
    assert_eq!(folder.names(), ["gauge.nersc"]);
}

#[test]
fn a_file_that_is_no_propagator_is_refused() {
    let folder = with_propagator();
    let fails = |what: &str| folder.fails(2, &format!("correlator --device cpu --propagator {what}"));
    folder.succeeds("apply --operator hop --config gauge.nersc --source gauss:1 --device cpu --output spinor.npy");
    let parts = ["failed to read spinor.npy", "(6, 2, 2, 4, 4, 3)", "propagator (T, Z, Y, X, 4, 4, 3, 3)"];
    assert_contains(&fails("spinor.npy --origin-time 0"), &parts);
    assert_contains(&fails("absent.npy"), &["absent.npy"]);
    std::fs::copy(folder.path("p.npy"), folder.path("undescribed.npy")).unwrap();
    assert_contains(&fails("undescribed.npy --origin-time 6"), &["time slice 6", "outside 0 to 5 on 4.2.2.6"]);
    std::fs::remove_file(folder.path("undescribed.npy")).unwrap();
    assert_contains(&fails("p.npy --csv same.svg --plot same.svg"), &["name the same file"]);
    assert_contains(&fails("p.npy --csv p.npy"), &["name the same file"]);
    let refused = folder.misused("correlator --device cpu --propagator p.npy --plot p.gif");
    assert_contains(&refused, &["cannot write p.gif: expected .svg, .pdf or .png"]);
    assert_eq!(folder.names(), ["gauge.nersc", "p.npy", "p.npy.json", "spinor.npy", "spinor.npy.json"]);
}

/// Of examples-py/free-invert.log of Qlattice, by Fourier transform, for an infinite fifth dimension: 4³×8, mass 0.05, M5 = 1, periodic.
#[test]
fn the_free_domain_wall_propagator_has_the_norm_that_qlattice_prints() {
    let folder = Folder::new();
    folder.succeeds("config generate unit --lattice 4.4.4.8 --output unit.nersc");
    let quark = "--operator dwf --mass 0.05 --m5 1 --ls 32 --boundary 1,1,1,1 --tolerance 1e-14";
    folder.succeeds(&format!(
        "propagator --config unit.nersc --source point:0,0,0,0 {quark} --output s.npy --device cpu"
    ));
    let norm = folder.json("reduce --op norm2 --input s.npy --device cpu")["values"][0]["re"].as_f64().unwrap();
    assert!((norm / 9.736817294647487 - 1.0).abs() < 1e-13, "{norm}");
}

#[test]
fn sources_of_all_kinds_have_sidecars_and_a_file_of_columns_is_the_source_that_it_holds() {
    let folder = Folder::with_gauge_on("4.4.4.4");
    let propagator = |source: &str, more: &str| {
        let run = format!(
            "propagator --config gauge.nersc --operator wilson --mass 0.5 --device cpu --source {source} {more}"
        );
        folder.succeeds(&format!("{run} --output p.npy"))
    };
    let sidecar = || -> serde_json::Value { serde_json::from_slice(&folder.read("p.npy.json")).unwrap() };
    assert_contains(&propagator("wall:1", ""), &["source", "wall:1"]);
    assert_eq!(sidecar()["inputs"]["source"], serde_json::json!({"kind": "wall", "momentum": [0, 0, 0], "time": 1}));
    propagator("z2:7,1", "--smear-source 0.25,2 --smear-links spatial-ape:0.5,2");
    let noise = serde_json::json!({
        "kind": "z2", "seed": 7, "nrhs": 1, "time": 1, "smearing": "0.25,2", "smear_links": "spatial-ape:0.5,2"
    });
    assert_eq!(sidecar()["inputs"]["source"], noise);
    let of_kind = folder.read("p.npy");
    // The same links from a file.
    folder.succeeds("smear --config gauge.nersc --kind spatial-ape:0.5,2 --output smooth.npy --device cpu");
    propagator("z2:7,1", "--smear-source 0.25,2 --smear-links smooth.npy");
    assert!(folder.read("p.npy") == of_kind, "the links of a file are others");
    // A wall in twelve columns.
    propagator("momentum:1,0,0,1", "");
    let of_name = folder.read("p.npy");
    let columns: Vec<npy::ComplexArray> = (0..12)
        .map(|k| {
            let component = format!("{},{}", k / 3, k % 3);
            folder.succeeds(&format!("source momentum:1,0,0,1,{component} --lattice 4.4.4.4 --output c.npy"));
            npy::read_complex(&folder.path("c.npy")).unwrap()
        })
        .collect();
    let all: Vec<_> = columns.into_iter().flat_map(|column| column.values.into_f64()).collect();
    npy::write_complex(&folder.path("columns.npy"), &[12, 4, 4, 4, 4, 4, 3], &all).unwrap();
    propagator("columns.npy", "");
    assert!(folder.read("p.npy") == of_name, "the columns of the file are others");
    assert_eq!(
        (&sidecar()["inputs"]["source"]["kind"], &sidecar()["inputs"]["source"]["time"]),
        (&"file".into(), &1.into())
    );
    let refused = |more: &str| {
        text(
            &folder
                .ends(2, &format!("propagator --config gauge.nersc --operator wilson --mass 0.5 --output q.npy {more}"))
                .stderr,
        )
    };
    assert_contains(&refused("--source c.npy"), &["twelve columns", "`lanefield solve` accepts a single spinor field"]);
    assert_contains(&refused("--source wall:4"), &["t = 4 of the wall source is outside 0 to 3"]);
    assert_contains(&refused("--source z2:7"), &["no time slice", "z2:7,0"]);
    assert_contains(&refused("--source gauss:7,0"), &["use z2:SEED,t or z4:SEED,t"]);
    assert_contains(
        &refused("--source wall:0 --smear-links smooth.npy"),
        &["add --smear-source, or leave out --smear-links"],
    );
    assert_contains(&refused("--source wall:0,1,2"), &["leave spin and colour out"]);
}
