//! `lanefield apply` and `lanefield solve` with every operator: Grid's files, the same bytes everywhere, and columns of a batch.

use std::path::Path;

use lanefield::io::npy;
use lanefield::operator::ParameterKind;
use lanefield::reference::random::Stream;
use num_complex::Complex;

use super::{Folder, assert_contains, on_colour_vectors, opencl, text};

/// With Grid's hot configuration and its fields.
fn with_grid() -> Folder {
    let folder = Folder::new();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/hot-4x4x4x4");
    for name in ["gauge.nersc", "src.npy", "src5.npy"] {
        std::fs::copy(data.join(name), folder.path(name)).unwrap();
    }
    folder
}

fn grid(name: &str) -> Vec<Complex<f64>> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/hot-4x4x4x4");
    npy::read_complex(&data.join(format!("{name}.npy"))).unwrap().values.into_f64()
}

fn array(folder: &Folder, name: &str) -> (Vec<usize>, Vec<Complex<f64>>) {
    let array = npy::read_complex(&folder.path(name)).unwrap();
    (array.shape, array.values.into_f64())
}

/// |a − b| / |b|.
fn distance(a: &[Complex<f64>], b: &[Complex<f64>]) -> f64 {
    assert_eq!(a.len(), b.len());
    let part: f64 = a.iter().zip(b).map(|(a, b)| (a - b).norm_sqr()).sum();
    (part / b.iter().map(|b| b.norm_sqr()).sum::<f64>()).sqrt()
}

const PERIODIC: &str = "--config gauge.nersc --boundary 1,1,1,1 --device cpu";
const CLOVER: &str = "--operator clover --mass 0.1 --csw 1.3";
const DWF: &str = "--operator dwf --mass 0.05 --ls 8";

#[test]
fn apply_gives_what_grid_gives_for_every_operator_and_piece() {
    let folder = with_grid();
    let cases = [
        ("wilson_M_p", "--operator wilson --mass 0.1 --source src.npy".to_owned()),
        ("wilson_Meo_p", "--operator wilson --mass 0.1 --piece meooe --parity even --source src.npy".to_owned()),
        ("clover_M_p", format!("{CLOVER} --source src.npy")),
        ("clover_Mdag_p", format!("{CLOVER} --dagger --source src.npy")),
        ("clover_Mpc_odd_p", format!("{CLOVER} --piece mpc --source src.npy")),
        ("clover_MpcDag_odd_p", format!("{CLOVER} --piece mpc --parity odd --dagger --source src.npy")),
        ("dwf_M_p", format!("{DWF} --source src5.npy")),
        ("dwf_Mdag_p", format!("{DWF} --dagger --source src5.npy")),
        ("dwf_Meo_p", format!("{DWF} --piece meooe --parity even --source src5.npy")),
        ("dwf_Mooee_even", format!("{DWF} --piece mooee --parity even --source src5.npy")),
        ("dwf_MooeeInv_even", format!("{DWF} --piece mooeeinv --parity even --source src5.npy")),
        ("dwf_MooeeInvDag_even", format!("{DWF} --piece mooeeinv --dagger --parity even --source src5.npy")),
    ];
    for (name, what) in cases {
        folder.succeeds(&format!("apply {what} {PERIODIC} --output o.npy"));
        let distance = distance(&array(&folder, "o.npy").1, &grid(name));
        assert!(distance < 1e-13, "{name}: {distance:e}");
    }
    folder.succeeds(&format!(
        "apply {CLOVER} --piece mooeeinv --parity odd --source src.npy --config gauge.nersc --device cpu --output o.npy"
    ));
    let distance = distance(&array(&folder, "o.npy").1, &grid("clover_MooeeInv_odd_ap"));
    assert!(distance < 1e-13, "{distance:e}");
}

#[test]
fn mobius_with_b_1_and_c_0_is_dwf() {
    let folder = with_grid();
    let arguments = format!("--mass 0.05 --ls 4 --source gauss:3 {PERIODIC} --output");
    folder.succeeds(&format!("apply --operator dwf {arguments} dwf.npy"));
    folder.succeeds(&format!("apply --operator mobius --b 1 --c 0 {arguments} mobius.npy"));
    assert_eq!(folder.read("dwf.npy"), folder.read("mobius.npy"));
}

#[test]
fn components_are_those_of_single_ones() {
    on_colour_vectors().for_each(components_of_an_operator_are_those_of_single_ones);
}

fn components_of_an_operator_are_those_of_single_ones(operator: &str) {
    let folder = with_grid();
    let apply = format!("apply --operator {operator} --mass 0.5 {PERIODIC}");
    folder.succeeds(&format!("{apply} --components 2 --source point:1,2,3,0,1,2 --output two.npy"));
    folder.succeeds(&format!("{apply} --source point:1,2,3,0,0,2 --output one.npy"));
    let ((two_shape, two), (one_shape, one)) = (array(&folder, "two.npy"), array(&folder, "one.npy"));
    assert_eq!((two_shape, one_shape), (vec![4, 4, 4, 4, 2, 3], vec![4, 4, 4, 4, 1, 3]));
    for (two, one) in two.chunks(6).zip(one.chunks(3)) {
        assert!(two[..3].iter().all(|z| *z == Complex::default()) && two[3..] == *one);
    }
    // An array without the axis of components is read as one, too.
    npy::write_complex(&folder.path("flat.npy"), &[4, 4, 4, 4, 3], &one).unwrap();
    folder.succeeds(&format!("{apply} --source flat.npy --output from_flat.npy"));
    folder.succeeds(&format!("{apply} --source one.npy --output from_one.npy"));
    assert_eq!(folder.read("from_flat.npy"), folder.read("from_one.npy"));
}

#[test]
fn the_staggered_operator_is_its_mass_and_its_hop() {
    let folder = with_grid();
    let arguments = format!("{PERIODIC} --source gauss:3 --output");
    folder.succeeds(&format!("apply --operator staggered --mass -0.25 {arguments} full.npy"));
    for (parity, name) in [("", "hop.npy"), ("--parity even", "even.npy"), ("--parity odd", "odd.npy")] {
        folder.succeeds(&format!("apply --operator staggered_hop {parity} {arguments} {name}"));
    }
    let [(shape, full), (_, hop), (_, even), (_, odd)] =
        ["full.npy", "hop.npy", "even.npy", "odd.npy"].map(|name| array(&folder, name));
    assert_eq!(shape, [4, 4, 4, 4, 1, 3]);
    for (k, z) in full.iter().enumerate() {
        let (site, word) = (k as u64 / 3, k as u32 % 3);
        let (re, im) = lanefield::reference::random::gaussian_pair(3, Stream::SpinorSource, site, word);
        assert_eq!([z.re, z.im], [(-0.25f64).mul_add(re, hop[k].re), (-0.25f64).mul_add(im, hop[k].im)], "word {k}");
        assert_eq!(hop[k], even[k] + odd[k], "word {k}");
    }
    // There is no kernel of the conjugate, which is −1 times the hop; the operator has one.
    let error = folder.fails(2, &format!("apply --operator staggered_hop --dagger {arguments} o.npy"));
    assert_contains(&error, &["--dagger", "staggered_hop"]);
    folder.succeeds(&format!("apply --operator staggered --mass 0 --dagger {arguments} dagger.npy"));
    let (_, dagger) = array(&folder, "dagger.npy");
    assert!(dagger.iter().zip(&hop).all(|(dagger, hop)| *dagger == -hop));
}

#[test]
fn kappa_and_negative_counts_are_refused_with_what_would_be_right() {
    let folder = Folder::new();
    for command in ["solve --operator clover", "eigen --operator wilson", "compare a.npy b.npy"] {
        folder.misuses(&format!("{command} --kappa 0.125"), &["--kappa", "mass = 1 / (2 kappa) - 4, here --mass 0"]);
    }
    folder.misuses("eigen --operator wilson --kappa 1e-300", &["here --mass 4.9999999999999995e299"]);
    folder.misuses(
        "source --source gauss:1 --lattice 4.4.4.4 --output x.npy",
        &["unexpected argument '--source'", "<KIND:NUMBERS> is given without '--source' here"],
    );
    for (line, meant) in [
        ("solve --operator TWISTED_MASS", "did you mean 'twisted-mass'?"),
        ("solve --operator tm", "did you mean 'twisted-mass'?"),
        ("solve --precision double", "did you mean 'f64'?"),
        ("solve --operator clover --clover 1", "'--clover' is called '--csw' here"),
        ("solve --nrhs 4", "'--nrhs' is called '--batch' here"),
    ] {
        folder.misuses(line, &[meant]);
    }
    folder.misuses("solve --operator wilson --m 0.1", &["'--m' is called '--mass' here"]);
    let expected = |what: &str| format!("expected a {what}");
    for (line, what) in [
        ("config generate heatbath --thermalise -2", "whole number that is not negative"),
        ("compare a.npy b.npy --ulps -1", "whole number that is not negative"),
        ("correlator --origin-time x", "whole number"),
    ] {
        folder.misuses(line, &["invalid value '", &expected(what)]);
    }
    folder.misuses("solve --operator wilson --max-iterations -5", &["invalid value '-5' for '--max-iterations"]);
    folder
        .misuses("solve --source gaussian:1", &["no source 'gaussian': expected gauss:SEED", "did you mean 'gauss'?"]);
}

#[test]
fn solutions_of_grid_are_found_for_clover_and_five_dimensional_sources() {
    let folder = with_grid();
    for (name, what) in [
        ("clover_schur_solve_p", format!("{CLOVER} --source src.npy")),
        ("dwf_schur_solve_p", format!("{DWF} --source src5.npy")),
    ] {
        folder.succeeds(&format!("solve {what} {PERIODIC} --output x.npy"));
        let distance = distance(&array(&folder, "x.npy").1, &grid(name));
        assert!(distance < 1e-8, "{name}: {distance:e}");
    }
}

/// M of −μ on γ5 ψ is γ5 M† of μ on ψ; without μ M is Wilson's.
#[test]
fn the_twisted_mass_operator_has_its_flavours() {
    let folder = with_grid();
    let arguments = format!("{PERIODIC} --source gauss:3 --mass -0.25");
    for (operator, name) in [
        ("twisted-mass --mu 0", "none"),
        ("twisted-mass --mu 0.5", "up"),
        ("twisted-mass --mu -0.5", "down"),
        ("wilson", "wilson"),
    ] {
        let json = folder.json(&format!("apply --operator {operator} {arguments} --output {name}.npy"));
        assert_contains(&json["operator"].to_string(), &[&operator.replace(" --", ", mass -0.25, ")]);
    }
    let [(shape, none), (_, up), (_, down), (_, wilson)] =
        ["none.npy", "up.npy", "down.npy", "wilson.npy"].map(|name| array(&folder, name));
    assert_eq!(shape, [4, 4, 4, 4, 4, 3]);
    assert!(none == wilson);
    for (k, ((up, down), wilson)) in up.iter().zip(&down).zip(&wilson).enumerate() {
        assert!((up + down - 2.0 * wilson).norm() < 1e-13, "word {k}");
        let (re, im) =
            lanefield::reference::random::gaussian_pair(3, Stream::SpinorSource, k as u64 / 12, k as u32 % 12);
        let chirality = if k % 12 < 6 { 1.0 } else { -1.0 };
        assert!((up - down - chirality * Complex::new(-im, re)).norm() < 1e-13, "word {k}");
    }
    let pieces = "apply --operator twisted-mass --mu 0.5 --parity even";
    folder.succeeds(&format!("{pieces} --piece mooee {arguments} --output mee.npy"));
    folder.succeeds(&format!("{pieces} --piece mooeeinv --mass -0.25 {PERIODIC} --source mee.npy --output one.npy"));
    let (one, volume) = (array(&folder, "one.npy").1, 256);
    for site in (0..volume).filter(|site| (site + site / 4 + site / 16 + site / 64) % 2 == 0) {
        let (re, im) = lanefield::reference::random::gaussian_pair(3, Stream::SpinorSource, site as u64, 5);
        assert!((one[12 * site + 5] - Complex::new(re, im)).norm() < 1e-14, "site {site}");
    }
}

/// Every operator, with a value of each parameter; where there is none here, that of its `verified`.
fn every_operator() -> impl Iterator<Item = (&'static str, String)> {
    let value = |operator: &lanefield::operator::Definition, name| match name {
        "mass" => "0.3",
        "mu" => "0.2",
        "csw" => "1.2",
        "csw-t" => "0.9",
        "ls" => "4",
        "m5" => "1.8",
        "b" => "1.25",
        "c" => "0.25",
        "components" => "2",
        "naik-epsilon" => "-0.1",
        other => {
            let known = operator.verified.iter().find(|(name, _)| *name == other);
            known.unwrap_or_else(|| panic!("{}: a value of {other}", operator.name)).1
        }
    };
    lanefield::operator::definitions().map(move |operator| {
        let given = operator.parameters.iter().map(|known| match known.kind {
            ParameterKind::Choice(words) => {
                format!("--{} {} ", known.name, words[usize::from(operator.name == "mobius")])
            }
            _ => format!("--{} {} ", known.name, value(operator, known.name)),
        });
        (operator.name, given.collect())
    })
}

#[test]
fn every_operator_is_solved_by_every_solver() {
    let folder = Folder::with_gauge();
    for (operator, parameters) in every_operator() {
        for solver in ["cg", "mixed-f32", "mixed-half", "bicgstab", "cg --unpreconditioned"] {
            // Domain wall operators have eigenvalues around zero: BiCGStab stagnates there, and says so.
            if solver == "bicgstab" && parameters.contains("--ls") {
                continue;
            }
            let what = format!("solve --operator {operator} {parameters} --solver {solver}");
            let json =
                folder.json(&format!("{what} --config gauge.nersc --source gauss:4 --device cpu --output x.npy"));
            assert_eq!(json["operator"], operator, "{what}");
            assert_eq!(json["parameters"]["mass"], 0.3, "{what}");
            assert_eq!(json["solver"], solver.split(' ').next().unwrap(), "{what}");
            assert!(json["converged"] == true && json["iterations"].as_u64().unwrap() > 1, "{what}");
            assert!(json["solution_residual"].as_f64().unwrap() < 1e-8, "{what}: {json}");
            assert_eq!(json["rhs"].as_array().unwrap().len(), 1, "{what}");
        }
    }
}

#[test]
#[ignore = "test-all: four operators on a device"]
fn histories_of_all_kinds_of_operators_are_the_same_file_on_cpu_and_opencl() {
    let Some(device) = opencl() else { return };
    let folder = Folder::with_gauge();
    for (operator, source) in [
        ("clover --csw 1.3", "gauss:4"),
        ("dwf --ls 4", "point:0,1,2,3,2,1"),
        ("staggered", "gauss:5"),
        ("twisted-mass --mu -0.1", "gauss:6"),
    ] {
        let solve = format!("solve --operator {operator} --mass 0.2 --config gauge.nersc --source {source}");
        folder.succeeds(&format!("{solve} --device cpu --threads 1 --lanes 16 --history h.csv --output x.npy"));
        folder.succeeds(&format!("{solve} {device} --history opencl.csv --output opencl.npy"));
        assert!(folder.read("h.csv") == folder.read("opencl.csv"), "{operator}: the histories differ");
        assert!(folder.read("x.npy") == folder.read("opencl.npy"), "{operator}: the solutions differ");
    }
}

#[test]
fn right_hand_sides_of_a_batch_are_those_of_single_solves() {
    let folder = Folder::with_gauge();
    for (operator, parameters) in every_operator() {
        let solve = format!("solve --operator {operator} {parameters} --config gauge.nersc --device cpu");
        let json = folder.json(&format!("{solve} --source gauss:4 --batch 3 --history batch.csv --output batch.npy"));
        let (shape, batch) = array(&folder, "batch.npy");
        let history = text(&folder.read("batch.csv"));
        assert!(history.starts_with("rhs,iteration,residual,residual_bits\n"));
        for rhs in 0..3 {
            folder.succeeds(&format!("{solve} --source gauss:{} --history h.csv --output x.npy", 4 + rhs));
            let (single_shape, single) = array(&folder, "x.npy");
            assert_eq!(shape, [&[3], &single_shape[..]].concat(), "{operator}");
            assert!(batch[rhs * single.len()..][..single.len()] == single, "{operator}, right-hand side {rhs}");
            let of_rhs: Vec<&str> = history.lines().filter_map(|line| line.strip_prefix(&format!("{rhs},"))).collect();
            assert_eq!(of_rhs, text(&folder.read("h.csv")).lines().skip(1).collect::<Vec<_>>(), "{operator}");
            assert_eq!(json["rhs"][rhs]["iterations"], of_rhs.len() - 1, "{operator}");
        }
    }
}

fn shifts_are_solved_at_once(operators: &[&str], device: Option<String>) {
    for operator in operators {
        let folder = Folder::with_gauge();
        let solve =
            format!("solve --operator {operator} --mass 0.3 --config gauge.nersc --source gauss:4 --shifts 0,0.5");
        let json = folder.json(&format!("{solve} --device cpu --history h.csv --output x.npy"));
        assert_eq!(json["shifts"], serde_json::json!([0.0, 0.5]), "{operator}");
        let (shape, _) = array(&folder, "x.npy");
        assert_eq!(shape[0], 2, "{operator}");
        let iterations = |k: usize| json["rhs"][k]["iterations"].as_u64().unwrap();
        assert!(iterations(1) < iterations(0) && iterations(0) == json["iterations"].as_u64().unwrap(), "{operator}");
        for rhs in json["rhs"].as_array().unwrap() {
            assert!(rhs["true_residual"].as_f64().unwrap() < 2e-10, "{operator}: {rhs}");
        }
        let history = text(&folder.read("h.csv"));
        let lines = |k: usize| history.lines().filter(|line| line.starts_with(&format!("{k},"))).count() as u64;
        assert_eq!([lines(0), lines(1)], [iterations(0) + 1, iterations(1) + 1], "{operator}");
        if let Some(device) = &device {
            folder
                .succeeds(&format!("{solve} {device} --history opencl.csv --output opencl.npy --record record.jsonl"));
            assert!(folder.read("h.csv") == folder.read("opencl.csv"), "{operator}: the histories differ");
            assert!(folder.read("x.npy") == folder.read("opencl.npy"), "{operator}: the solutions differ");
            folder.succeeds(&format!("{solve} --device cpu --verify record.jsonl"));
        }
        let few = iterations(0) - 1;
        folder.fails(
            1,
            &format!("{solve} --device cpu --checkpoint state --checkpoint-every {few} --max-iterations {few}"),
        );
        folder.succeeds(&format!("{solve} --device cpu --checkpoint state --resume --output resumed.npy"));
        assert!(folder.read("x.npy") == folder.read("resumed.npy"), "{operator}: the resumed solutions differ");
    }
}

#[test]
fn shifts_are_solved_at_once_and_go_on_from_a_checkpoint_to_the_same_bytes() {
    shifts_are_solved_at_once(&["staggered"], None);
}

#[test]
#[ignore = "test-all: four operators on a device"]
fn shifts_of_other_operators_are_solved_at_once_on_every_device() {
    shifts_are_solved_at_once(&["staggered", "hisq", "wilson", "dwf --ls 4"], opencl());
}

#[test]
fn a_physical_source_gives_a_physical_solution() {
    let folder = Folder::with_gauge();
    let solve = "solve --operator mobius --ls 4 --mass 0.3 --config gauge.nersc --device cpu --output";
    folder.succeeds(&format!("{solve} point.npy --source point:1,0,2,3,1,0"));
    let (shape, point) = array(&folder, "point.npy");
    assert_eq!(shape, [8, 4, 4, 4, 4, 3]);
    // The same source from a file.
    let mut eta = vec![Complex::new(0.0, 0.0); point.len()];
    eta[(((3 * 4 + 2) * 4) * 4 + 1) * 12 + 3].re = 1.0;
    npy::write_complex(&folder.path("eta.npy"), &shape, &eta).unwrap();
    folder.succeeds(&format!("{solve} file.npy --source eta.npy"));
    assert_eq!(folder.read("point.npy"), folder.read("file.npy"));
}

#[test]
fn misuse_is_refused_with_what_would_be_right() {
    let folder = with_grid();
    let fails = |what: &str| folder.fails(2, &format!("{what} --config gauge.nersc --device cpu"));
    let apply = |what: &str| fails(&format!("apply --output o.npy --source gauss:1 {what}"));
    let solve = |what: &str| fails(&format!("solve --source gauss:1 --mass 0.1 {what}"));
    assert_contains(&apply("--operator clover --mass 1 --piece mooee"), &["mooee needs --parity even or odd"]);
    assert_contains(&apply("--operator clover --mass 1 --piece mpc --parity even"), &["mpc acts on the odd sites"]);
    assert_contains(&apply("--operator hop --piece mooee --parity even"), &["--piece mooee", "hop has none"]);
    assert_contains(&apply("--operator wilson --mass 1 --csw 1"), &["--csw is for --operator clover; wilson has none"]);
    assert_contains(&apply("--operator hop --ls 4"), &["--ls is for --operator dwf and mobius; hop has none"]);
    assert_contains(&solve("--operator dwf --b 1.5"), &["--b is for --operator mobius; dwf has none"]);
    let mixed = solve("--solver mixed-f32 --precision f32");
    assert_contains(&mixed, &["mixed-f32 computes solutions in f64", "leave out --precision f32"]);
    assert_contains(&solve("--solver bicgstab --batch 2"), &["--batch is for --solver cg"]);
    assert_contains(&solve("--solver mixed-f32 --shifts 0,1"), &["--shifts is for --solver cg; mixed-f32 solves one"]);
    let batch = fails("solve --source src.npy --mass 0.1 --batch 2");
    assert_contains(&batch, &["--source gauss:SEED", "src.npy"]);
    let ls = fails("solve --operator dwf --ls 4 --source src5.npy --mass 0.1");
    assert_contains(&ls, &["has Ls 8, and the operator has 4"]);
    let shape = fails("apply --operator dwf --ls 8 --source src.npy --mass 0.1 --output o.npy");
    assert_contains(&shape, &["src.npy", "it has 6 axes, not 7"]);
    for operator in on_colour_vectors() {
        let components = fails(&format!("solve --operator {operator} --components 2 --source src.npy --mass 0.1"));
        assert_contains(&components, &["--components 2 needs (T, Z, Y, X, 2, 3)"]);
    }
    assert_eq!(folder.names(), ["gauge.nersc", "src.npy", "src5.npy"]);
}
