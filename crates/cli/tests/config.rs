//! `lanefield config`.

use lanefield::io::{nersc, npy};
use lanefield::prelude::*;

use super::{Folder, assert_contains};

#[test]
fn generate_writes_the_configuration_of_the_library() {
    let folder = Folder::new();
    let extents = Extents::new([4, 2, 6, 3]).unwrap();
    folder.succeeds("config generate hot --lattice 4.2.6.3 --seed 9 --output hot.nersc");
    assert_eq!(nersc::read(&folder.path("hot.nersc")).unwrap().configuration, Configuration::hot(extents, 9));
    folder.succeeds("config generate weak --lattice 4.2.6.3 --seed 9 --spread 0.25 --output weak.npy");
    assert_eq!(npy::read_gauge(&folder.path("weak.npy")).unwrap(), Configuration::weak(extents, 9, 0.25));
    folder.succeeds("config generate unit --lattice 4.2.6.3 --output unit.nersc");
    assert_eq!(nersc::read(&folder.path("unit.nersc")).unwrap().configuration, Configuration::unit(extents));
}

#[test]
fn the_same_seed_writes_the_same_file() {
    let folder = Folder::new();
    for name in ["a.nersc", "b.nersc"] {
        folder.succeeds(&format!("config generate hot --lattice 4.4.4.4 --seed 1 --output {name}"));
    }
    assert_eq!(folder.read("a.nersc"), folder.read("b.nersc"));
    assert_eq!(folder.names(), ["a.nersc", "b.nersc"]);
}

#[test]
fn info_prints_the_numbers_of_the_file() {
    let folder = Folder::new();
    folder.succeeds("config generate unit --lattice 2.4.2.6 --output unit.nersc");
    let table = folder.succeeds("config info unit.nersc");
    assert_eq!(
        table,
        "unit.nersc
  lattice                 2.4.2.6, 384 links
  plaquette               1
  link trace              1
  largest deviation       0
  checksum                b8000000
  numbers                 IEEE64BIG
  datatype                4D_SU3_GAUGE_3x3
  ensemble                LANEFIELD  1
  creator                 lanefield, unspecified
"
    );
}

#[test]
fn info_of_a_file_of_grid_agrees_with_grid() {
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/hot-4x4x4x4");
    let meta: serde_json::Value = serde_json::from_slice(&std::fs::read(format!("{data}/meta.json")).unwrap()).unwrap();
    let info = Folder::new().json(&format!("config info {data}/gauge.nersc"));
    assert_eq!(info["lattice"], serde_json::json!([4, 4, 4, 4]));
    assert_eq!(info["checksum"], meta["nersc"]["checksum_3x3_hex"]);
    for (name, in_grid) in [("plaquette", "avgPlaquette"), ("link_trace", "linkTrace")] {
        let (ours, grid) = (info[name].as_f64().unwrap(), meta["observables"][in_grid].as_f64().unwrap());
        assert!((ours - grid).abs() < 1e-13, "{name}: {ours} is not {grid}");
    }
    assert!(info["unitarity_defect"].as_f64().unwrap() < 1e-14);
}

#[test]
fn conversion_there_and_back_changes_nothing() {
    let folder = Folder::with_gauge();
    folder.succeeds("config convert gauge.nersc gauge.npy");
    folder.succeeds("config convert gauge.npy back.nersc");
    assert_eq!(folder.read("gauge.nersc"), folder.read("back.nersc"));
}

#[test]
fn conversion_writes_the_rows_and_numbers_asked_for() {
    let folder = Folder::with_gauge();
    for (format, rows, datatype) in [("IEEE32", "2", "4D_SU3_GAUGE"), ("ieee64little", "3", "4D_SU3_GAUGE_3x3")] {
        let info =
            folder.json(&format!("config convert gauge.nersc out.nersc --floating-point {format} --rows {rows}"));
        assert_eq!(info["floating_point"], format.to_uppercase().as_str());
        assert_eq!(info["datatype"], datatype);
    }
    // What is not asked for stays as it was.
    folder.succeeds("config convert gauge.nersc small.nersc --floating-point IEEE32BIG --rows 2");
    let info = folder.json("config convert small.nersc again.nersc");
    assert_eq!([&info["floating_point"], &info["datatype"]], ["IEEE32BIG", "4D_SU3_GAUGE"]);
    assert_eq!(folder.read("small.nersc"), folder.read("again.nersc"));
}

#[test]
fn misuse_is_refused_with_what_would_be_right() {
    let folder = Folder::new();
    let generate = |arguments: &str| folder.misused(&format!("config generate {arguments}"));
    assert_contains(&generate("hot --lattice 4.4.4.4 --output a"), &["required", "--seed"]);
    assert_contains(&generate("hot --lattice 4.4.4 --seed 1 --output a"), &["invalid lattice '4.4.4'", "X.Y.Z.T"]);
    assert_contains(&generate("hot --lattice 0.4.4.4 --seed 1 --output a"), &["at least 1"]);
    assert_contains(&generate("hot --lattice 4.4.4.4 --seed -1 --output a"), &["-1"]);
    assert_contains(&generate("hot --lattice 4.4.4.4 --seed x --output a"), &["invalid seed 'x'"]);
    assert_contains(&generate("cold --lattice 4.4.4.4 --seed 1 --output a"), &["'cold'", "--help"]);
    assert_contains(&generate("weak --lattice 4.4.4.4 --seed 1 --output a --spread NaN"), &["from 0 to 1000"]);
    assert_contains(&generate("unit --lattice 4.4.4.4 --output a --rows 4"), &["expected 2 or 3"]);
    assert_contains(&generate("unit --lattice 4.4.4.4 --output a --floating-point f16"), &["IEEE32BIG"]);
    assert_contains(&generate("hot --lattice 4.4.4.4 --seed 1 --output a --spread 1"), &["'--spread'"]);
    let fails = |arguments: &str| folder.fails(2, &format!("config generate {arguments}"));
    assert_contains(&fails("unit --lattice 4.4.4.4 --output a.lime --rows 2"), &["--rows is for NERSC files"]);
    assert_contains(&fails("unit --lattice 4.4.4.4 --output a.lime --floating-point IEEE32"), &["IEEE32BIG"]);
    assert_contains(&fails("unit --lattice 4.4.4.4 --output a.milc --floating-point IEEE64BIG"), &["IEEE32BIG"]);
    assert_contains(&fails("unit --lattice 4.4.4.4 --output a --lfn x"), &["--lfn is for ILDG files"]);
    assert_contains(&fails("unit --lattice 4.4.4.4 --output a.npy --format milc"), &["another extension than .npy"]);
    assert_contains(&fails("unit --lattice 4.4.4.4 --output a.cfg"), &["a.cfg does not say its format", "--format"]);
    assert_contains(&generate("unit --lattice 4.4.4.4 --output a --format openqcd"), &["'openqcd'", "nersc, ildg"]);
    assert_contains(&fails("unit --lattice 4.4.4.4 --output a.npy --rows 2"), &["--rows", "a.npy is a NumPy array"]);
    assert!(folder.names().is_empty());
}

#[test]
fn an_output_that_cannot_be_written_is_named() {
    let folder = Folder::new();
    let generate = "config generate unit --lattice 2.2.2.2 --output";
    folder.refuses(&format!("{generate} absent/unit.nersc"), &["absent/unit.nersc"]);
    folder.refuses(&format!("{generate} ."), &["directory"]);
    assert!(folder.names().is_empty());
}

#[test]
fn conversion_between_all_formats_and_back_changes_nothing() {
    let folder = Folder::with_gauge();
    for [from, to] in [
        ["gauge.nersc", "a.npy"],
        ["a.npy", "a.lime"],
        ["a.lime", "a.h5"],
        ["a.h5", "b.ildg"],
        ["b.ildg", "back.nersc"],
    ] {
        folder.succeeds(&format!("config convert {from} {to}"));
    }
    assert_eq!(folder.read("gauge.nersc"), folder.read("back.nersc"));
    assert_eq!(folder.read("a.lime"), folder.read("b.ildg"));
    assert_eq!(folder.json("config info a.h5")["format"], "hdf5");
    let several = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/hdf5/contiguous.h5");
    folder.refuses(
        &format!("config info {several}"),
        &["9 datasets of complex numbers are in the file; name one of", "ARRAY.npy --from-dataset NAME makes an array"],
    );
    let of = |file: &str| folder.json(&format!("config info {file}"))["provenance"]["ensemble_id"].clone();
    folder.succeeds("config convert gauge.nersc labelled.lime");
    assert_eq!(of("labelled.lime"), "LANEFIELD");
    assert_eq!(of("gauge.nersc"), "LANEFIELD");
    // MILC has 32 bits.
    for [from, to] in [["gauge.nersc", "a.milc"], ["a.milc", "c.lime"], ["c.lime", "b.milc"]] {
        folder.succeeds(&format!("config convert {from} {to}"));
    }
    assert_eq!(folder.read("a.milc"), folder.read("b.milc"));
    assert_eq!(folder.json("config info c.lime")["floating_point"], "IEEE32BIG");
}

#[test]
fn check_ends_with_1_where_there_are_defects() {
    let folder = Folder::with_gauge();
    folder.succeeds("config convert gauge.nersc a.lime --lfn mc://ldg/a");
    folder.says("config check a.lime", &["a.lime: no defects"]);
    assert_eq!(folder.json("config info a.lime")["lfn"], "mc://ldg/a");
    let mut bytes = folder.read("a.lime");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x40;
    folder.write("b.lime", &bytes);
    let output = folder.ends(1, "config check b.lime");
    assert_contains(&super::text(&output.stdout), &["scidac-checksum has"]);
    folder.refuses("config info b.lime", &["the file is damaged"]);
    folder.refuses("config check nowhere.lime", &["nowhere.lime"]);
}

#[test]
fn links_far_from_su3_are_projected_when_that_is_asked_for() {
    let folder = Folder::with_gauge();
    folder.succeeds("config convert gauge.nersc gauge.npy");
    let mut links = npy::read_complex(&folder.path("gauge.npy")).unwrap();
    if let npy::ComplexValues::F64(links) = &mut links.values {
        links.iter_mut().step_by(5).for_each(|z| *z *= 1.001);
        npy::write_complex(&folder.path("far.npy"), &links_shape(&folder), links).unwrap();
    }
    folder.refuses("config info far.npy", &["not in SU(3)", "--project"]);
    folder.refuses("solve --config far.npy --source gauss:1 --mass 0.5 --device cpu", &["not in SU(3)", "--project"]);
    for projection in ["polar", "max-re-tr"] {
        let near = folder.json(&format!("config project far.npy {projection}.nersc --projection {projection}"));
        assert!(near["unitarity_defect"].as_f64().unwrap() < 1e-14, "{near}");
        assert_eq!(near["provenance"]["ensemble_label"], format!("project:{projection}").as_str());
        let info = folder.json(&format!("config info far.npy --project --projection {projection}"));
        assert_eq!(info["plaquette"], near["plaquette"]);
    }
}

fn links_shape(folder: &Folder) -> Vec<usize> {
    npy::read_header(&folder.path("gauge.npy")).unwrap().shape
}

#[cfg(unix)]
#[test]
fn standard_output_and_pipes_are_files_too() {
    let folder = Folder::with_gauge();
    let run = |command: &str| {
        let program = assert_cmd::cargo::cargo_bin!("lanefield");
        let line = command.replace("lanefield", &program.display().to_string());
        let output = std::process::Command::new("bash").args(["-c", &line]).current_dir(folder.path(".")).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{command}: {}", super::text(&output.stderr));
        output
    };
    let piped = run("cat gauge.nersc | lanefield config convert /dev/stdin /dev/stdout --format ildg | cat");
    folder.succeeds("config convert gauge.nersc a.lime");
    assert!(piped.stdout == folder.read("a.lime"));
    let smeared =
        run("lanefield smear --smear ape:0.5,1 --config <(cat a.lime) --output /dev/stdout --device cpu | cat");
    folder.succeeds("smear --smear ape:0.5,1 --config gauge.nersc --output s.nersc --device cpu");
    assert!(smeared.stdout == folder.read("s.nersc"));
    assert!(super::text(&smeared.stderr).contains("plaquette before"));
    // Redirected into a file it is no other: nothing that is there goes lost, and nothing but the output follows.
    let solve = "solve --config gauge.nersc --source gauss:1 --mass 1 --device cpu --output";
    folder.succeeds(&format!("{solve} x.npy"));
    for (line, file) in [
        ("config convert gauge.nersc /dev/stdout --format ildg", "a.lime"),
        ("smear --smear ape:0.5,1 --config gauge.nersc --device cpu --output /dev/stdout", "s.nersc"),
        (&format!("{solve} /dev/stdout"), "x.npy"),
        ("convert <(cat x.npy) /dev/stdout", "x.npy"),
    ] {
        run(&format!("printf before > all; lanefield {line} >> all"));
        assert!(folder.read("all") == [b"before", &folder.read(file)[..]].concat(), "{line}");
    }
    assert!(!std::path::Path::new("/dev/stdout.json").exists());
}

#[test]
fn names_of_other_files_are_refused_for_arrays_and_eigenpairs() {
    let folder = Folder::with_gauge();
    for (line, says) in [
        ("solve --config gauge.nersc --source gauss:1 --mass 1 --output x.h5", "expected one that ends in .npy"),
        ("propagator --config gauge.nersc --source point:0,0,0,0 --mass 1 --output x.dat", "ends in .npy"),
        ("apply --operator hop --config gauge.nersc --source gauss:1 --output x.nersc", "ends in .npy"),
        (
            "eigen --config gauge.nersc --operator wilson --mass 1 --number 1 --output x.npy",
            "expected another extension, as in low.eigen",
        ),
    ] {
        assert_contains(&folder.misused(line), &[says]);
    }
}
