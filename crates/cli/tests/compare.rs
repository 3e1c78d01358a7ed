//! `lanefield compare` and `lanefield convert`: what they print for faults that were planted, their exit codes, the map, and what they refuse.

use lanefield::io::npy::{self, RawArray};
use lanefield::prelude::*;
use lanefield::reference::layout::{Checkerboard, LaneWidth};

use super::{Folder, assert_contains, text};

const SHAPE: [usize; 6] = [8, 4, 4, 4, 4, 3];

/// A folder with `a.npy`, a hop antiperiodic in time; `gauge.nersc` is what it is of.
fn folder() -> Folder {
    let folder = Folder::with_gauge();
    apply(&folder, "--output a.npy");
    folder
}

fn apply(folder: &Folder, rest: &str) {
    folder.succeeds(&format!("apply --operator hop --config gauge.nersc --source gauss:7 --device cpu {rest}"));
}

fn numbers(folder: &Folder) -> Vec<Complex<f64>> {
    npy::read_complex(&folder.path("a.npy")).unwrap().values.into_f64()
}

/// Writes `b.npy`, which is a.npy with something done to it.
fn plant(folder: &Folder, change: impl FnOnce(&mut Vec<Complex<f64>>)) {
    let mut values = numbers(folder);
    change(&mut values);
    write(folder, &SHAPE, &values);
}

fn change(folder: &Folder, change: impl FnOnce(&mut Vec<Complex<f64>>)) {
    let array = npy::read_complex(&folder.path("b.npy")).unwrap();
    let mut values = array.values.into_f64();
    change(&mut values);
    write(folder, &array.shape, &values);
}

/// Writes `b.npy`, which its sidecar no longer describes.
fn write(folder: &Folder, shape: &[usize], values: &[Complex<f64>]) {
    npy::write_complex(&folder.path("b.npy"), shape, values).unwrap();
    std::fs::remove_file(folder.path("b.npy.json")).ok();
}

/// What the comparison of a.npy and b.npy prints, which must differ.
fn differs(folder: &Folder, options: &str) -> String {
    let output = folder.ends(1, &format!("compare a.npy b.npy {options}"));
    assert!(output.stderr.is_empty(), "{}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn the_same_bits_are_one_line_and_exit_code_0() {
    let folder = folder();
    insta::assert_snapshot!(folder.succeeds("compare a.npy a.npy"), @"same bits: 12 288 real numbers (spinor on 4.4.4.8, f64)");
}

#[test]
fn planted_faults_are_named() {
    let folder = folder();
    apply(&folder, "--boundary 1,1,1,1 --output b.npy");
    insta::assert_snapshot!("compare_boundary", differs(&folder, ""));
    plant(&folder, |values| values[4000].im = f64::from_bits(values[4000].im.to_bits() ^ 1 << 40));
    insta::assert_snapshot!("compare_flipped_bit", differs(&folder, ""));
    plant(&folder, |values| {
        for spinor in values.chunks_exact_mut(12) {
            (0..3).for_each(|colour| spinor.swap(colour, 3 + colour));
        }
    });
    insta::assert_snapshot!("compare_spins", differs(&folder, ""));
    let options = LatticeOptions {
        lanes: LaneChoice::Width(LaneWidth::new(64).unwrap()),
        nodes: None,
        checkerboard: Checkerboard::RedBlack,
    };
    let extents = Extents::new([4, 4, 4, 8]).unwrap();
    let lattice = Lattice::new(extents, Scalar::ComplexF, options).unwrap();
    plant(&folder, |values| {
        for (site, spinor) in values.chunks_exact_mut(12).enumerate() {
            if lattice.place(Sites::Full, extents.coordinate(site)).lane == 3 {
                spinor.iter_mut().for_each(|z| *z *= Complex::new(1.25, 0.5));
            }
        }
    });
    insta::assert_snapshot!("compare_lane", differs(&folder, ""));
}

#[test]
fn rounding_is_named_and_accepted_if_that_is_wanted() {
    let folder = folder();
    apply(&folder, "--legs +x+y+z+t-x-y-z-t --output b.npy");
    let said = differs(&folder, "");
    assert_contains(&said, &["contracted or uncontracted products", "by ulp"]);
    let hop = "--config gauge.nersc --source gauss:7";
    let said_of_hop = differs(&folder, hop);
    assert_contains(&said_of_hop, &["cause    the legs are added in the order", "-x-y-z-t, not -t-y-z+t+y+z-x+x"]);
    let largest = said.lines().find_map(|line| line.strip_prefix("largest")).unwrap();
    let ulps: String = largest.split("ulp").next().unwrap().chars().filter(char::is_ascii_digit).collect();
    let within = folder.succeeds(&format!("compare a.npy b.npy --ulps {ulps}"));
    assert!(within.starts_with(&format!("within {ulps} ulp: ")), "{within}");
}

#[test]
fn arrays_go_through_hdf5_with_their_bytes() {
    let folder = Folder::with_gauge();
    folder.succeeds("apply --operator hop --config gauge.nersc --source gauss:3 --output a.npy --device cpu");
    folder.succeeds("convert a.npy a.h5");
    folder.succeeds("convert a.h5 back.npy");
    assert!(folder.read("back.npy") == folder.read("a.npy"));
    folder.succeeds("compare a.npy a.h5");
    folder.succeeds("convert a.npy b.hdf5 --to-dataset fields/psi --to-order even-odd --precision f32");
    folder.succeeds("convert b.hdf5 b.npy --from-dataset fields/psi --from-order even-odd");
    folder.succeeds("compare a.npy b.npy");
    let refused = |arguments: &str, expected: &[&str]| folder.refuses(arguments, expected);
    refused("convert b.hdf5 c.npy --from-dataset phi", &["no dataset \"phi\"", "fields/psi: "]);
    refused("convert a.npy c.npy --from-dataset psi", &["--from-dataset psi is for HDF5 files, and a.npy is not one"]);
    refused("convert a.npy c.npy --to-dataset psi", &["--to-dataset psi is for HDF5 files, and c.npy is not one"]);
    refused("reduce --op norm2 --input a.h5 --device cpu", &["an HDF5 file", "lanefield convert a.h5 FILE.npy"]);
}

#[test]
fn arrays_of_other_programs_are_converted_there_and_back() {
    let folder = folder();
    folder.succeeds("config convert gauge.nersc gauge.npy");
    for order in ["even-odd", "milc", "qdp", "quda"] {
        let said = folder.succeeds(&format!("convert gauge.npy theirs.npy --to-order {order}"));
        assert!(said.contains(&format!("{order} order")), "{said}");
        folder.succeeds(&format!("compare gauge.npy theirs.npy --order {order}"));
        folder.succeeds(&format!("convert theirs.npy back.npy --from-order {order}"));
        assert_eq!(folder.read("back.npy"), folder.read("gauge.npy"), "{order}");
    }
    folder.succeeds("convert a.npy b.npy --to-order quda --to-gamma chiral --to-inner colour-spin");
    folder.succeeds("compare a.npy b.npy --order quda --gamma chiral --inner colour-spin");
    folder.succeeds("compare b.npy a.npy --a-order quda --a-gamma chiral --a-inner colour-spin");
    // One that has roots, in the other precision.
    folder.succeeds("convert a.npy b.npy --to-gamma ukqcd --precision f32");
    let said = differs(&folder, "");
    assert_contains(&said, &["A is f64 and was rounded to f32", "B is in the basis ukqcd", "--gamma ukqcd"]);
    // Three sums of two numbers, each rounded; where they cancel, many ulp.
    let said = differs(&folder, "--gamma ukqcd");
    assert_contains(&said, &["all differ by"]);
}

#[test]
fn an_array_that_has_the_shape_of_another_order_is_not_scrambled() {
    let folder = folder();
    folder.succeeds("config convert gauge.nersc gauge.npy");
    for order in ["quda", "milc", "gpt"] {
        folder.succeeds(&format!("convert gauge.npy {order}.npy --to-order {order}"));
    }
    folder.succeeds("convert a.npy eo.npy --to-order even-odd");
    for (arguments, says) in [
        (
            "quda.npy out.npy --from-order milc",
            "is that of quda order: it has the direction of links before the sites, unlike milc order: use --from-order quda",
        ),
        ("quda.npy out.npy", "use --from-order quda, or --from-order lexicographic if it is not so"),
        (
            "milc.npy out.npy --to-order quda",
            "is that of milc order: it has an axis of parities, unlike lexicographic order: use --from-order milc",
        ),
        ("eo.npy out.npy", "use --from-order even-odd, or --from-order lexicographic"),
        ("gpt.npy out.npy", "use --from-order gpt"),
        (
            "gauge.npy out.npy --from-order qdp",
            "it has the links of a site together, unlike qdp order: use --from-order lexicographic",
        ),
    ] {
        let said = folder.fails(2, &format!("convert {arguments}"));
        assert_contains(&said, &["failed to read", says]);
    }
    assert!(!folder.path("out.npy").exists());
    // Five dimensions with Ls = 2, if that is said.
    let said = folder.succeeds("convert eo.npy out.npy --from-order lexicographic");
    assert_contains(
        &said,
        &["eo.npy: complex128 (2, 8, 4, 4, 2, 4, 3), read as five-dimensional fermion on 2.4.4.8, Ls 2"],
    );
    let said = folder.succeeds("convert quda.npy out.npy --from-order quda");
    assert_contains(
        &said,
        &["quda.npy: complex128 (4, 2, 8, 4, 4, 2, 3, 3), read as links on 4.4.4.8, quda order\nout.npy: "],
    );
    folder.refuses("compare gauge.npy milc.npy --order quda", &["unlike quda order: use --order milc"]);
    folder.refuses("compare quda.npy gauge.npy --a-order milc", &["unlike milc order: use --a-order quda"]);
    let said = folder.fails(2, "compare gauge.npy quda.npy");
    assert_contains(&said, &["B has the direction of links first, then parities and X/2: read it with --order quda"]);
    let said = folder.succeeds("compare eo.npy eo.npy");
    assert_contains(
        &said,
        &["same bits", "note: both arrays are read as five-dimensional fermion", "--order even-odd"],
    );
}

#[test]
fn what_hop_the_arrays_are_is_said_also_where_they_are_the_same() {
    let folder = folder();
    let hop = "--config gauge.nersc --source gauss:7";
    let said = folder.succeeds(&format!("compare a.npy a.npy {hop}"));
    assert!(said.trim_end().ends_with("A and B are the hop of this source, links and boundary, bit for bit"), "{said}");
    let said = folder.succeeds("compare a.npy a.npy --config gauge.nersc --source gauss:8");
    assert_contains(&said, &["same bits", "neither A nor B is the hop of this source", "check --config, --source"]);
    apply(&folder, "--boundary 1,1,1,1 --output b.npy");
    let said = differs(&folder, hop);
    assert_contains(
        &said,
        &[
            "hop      B is not the hop of this source, links and boundary; A is, bit for bit",
            "cause    there is no boundary phase in t",
        ],
    );
    let said = differs(&folder, &format!("{hop} --mass 0.1"));
    assert_contains(&said, &["neither A nor B is M = 4 + mass + hop of this source, links and boundary"]);
    let output = folder
        .run(&format!("compare a.npy b.npy --json --gamma degrand_rossi --inner Spin-Color {hop} --boundary 1,1,1,1"));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["hop"], serde_json::json!({"a": "another", "b": "same bits", "operator": "the hop"}));
    assert_eq!(
        json["read_b"],
        serde_json::json!({"order": "lexicographic", "gamma": "degrand-rossi", "inner": "spin-colour"})
    );
    assert_eq!((&json["hop_of"]["source"], &json["hop_of"]["config"]), (&"gauss:7".into(), &"gauge.nersc".into()));
    let kinds: Vec<_> =
        json["causes"].as_array().unwrap().iter().map(|cause| cause["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds[..2], ["right", "hop"]);
}

#[test]
fn files_of_other_types_are_refused_with_what_reads_or_writes_them() {
    let folder = folder();
    let said = folder.fails(2, "convert gauge.nersc out.npy");
    assert_contains(
        &said,
        &["failed to read gauge.nersc", "convert it to an array with lanefield config convert gauge.nersc FILE.npy"],
    );
    folder.succeeds("config convert gauge.nersc gauge.lime");
    folder.refuses("compare gauge.lime a.npy", &["lanefield config convert gauge.lime FILE.npy"]);
    // Configurations that are not read, and what reads them.
    folder.write("milc", &[&53546u32.to_le_bytes()[..], &[0; 400]].concat());
    folder.write("bridge", "1.25e-01\n-0.5e+00\n".repeat(100).as_bytes());
    for (file, is) in [
        ("milc", ["it is a configuration of MILC of 1996", "saves it in version 5 (save_serial)"]),
        (
            "bridge",
            ["it is a text of numbers, as Bridge++ writes them", "saves an array of shape (T, Z, Y, X, 4, 3, 3)"],
        ),
    ] {
        folder.refuses(&format!("compare {file} a.npy"), &is);
        folder.refuses(&format!("convert {file} out.npy"), &is);
        folder.refuses(
            &format!("config info {file}"),
            &[is[0], is[1], "configurations are read in the formats of NERSC"],
        );
    }
    let said = folder.misused("convert a.npy out.nersc");
    assert_contains(&said, &["invalid name 'out.nersc': expected one that ends in .npy, .h5 or .hdf5"]);
    let said = folder.misused("source gauss:7 --lattice 4.4.4.8 --output q.txt");
    assert_contains(&said, &["'q.txt' of an array: expected one that ends in .npy"]);
    let bytes = folder.read("a.npy");
    let header = String::from_utf8_lossy(&bytes[..128]).replace("<c16", ">c16");
    let big = [&bytes[..10], &header.as_bytes()[header.len() - 118..], &bytes[128..]].concat();
    folder.write("big.npy", &big);
    folder.refuses("compare a.npy big.npy", &["a.astype('<c16') converts it to little-endian numbers", ">c16"]);
}

#[test]
fn arrays_of_real_and_whole_numbers_are_compared() {
    let folder = Folder::new();
    let write = |name: &str, array: RawArray| folder.write(name, &array.to_file().unwrap());
    write("sums.npy", RawArray::f64(&[3], &[1.0, f64::NAN, -2.5]));
    write("other.npy", RawArray::f64(&[3], &[1.0, -f64::NAN, -2.5000000000000004]));
    write("whole.npy", RawArray::i16(&[2, 2], &[1, -2, 3, 4]));
    write("int64.npy", RawArray::i64(&[1], &[i64::MAX]));
    let said = folder.ends(1, "compare sums.npy other.npy");
    assert_contains(
        &text(&said.stdout),
        &[
            "DIFFERENT: 1 of 3 real numbers (list of numbers, f64)",
            "axis 0 2: A -2.5 (c004000000000000)",
            "1 ulp apart",
        ],
    );
    folder.says("compare whole.npy whole.npy", &["same bits: 4 real numbers"]);
    folder.refuses("compare sums.npy whole.npy", &["whole numbers (2, 2)", "only compared with the same kind"]);
    folder.refuses("compare int64.npy sums.npy", &["int64.npy holds whole numbers above 2^53"]);
}

#[test]
fn json_has_bits_and_causes() {
    let folder = folder();
    plant(&folder, |values| values[7].re = -values[7].re);
    let output = folder.ends(1, "compare a.npy b.npy --json");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let a = numbers(&folder)[7].re;
    assert_eq!(json["verdict"], "DIFFERENT");
    assert_eq!(json["first"]["a_bits"], format!("{:016x}", a.to_bits()));
    assert_eq!(json["first"]["b"], -a);
    assert_eq!(json["first"]["at"][0], serde_json::json!({"axis": "spin", "index": 2}));
    assert_eq!(json["causes"][0]["kind"], "flipped_bit");
    assert_eq!((&json["differing"], &json["numbers"]), (&1.into(), &12288.into()));
}

#[test]
fn the_map_has_a_square_for_each_slice_and_the_sites_that_differ() {
    let folder = folder();
    apply(&folder, "--boundary 1,1,1,1 --output b.npy");
    let said = differs(&folder, "--plot map.svg");
    let map = text(&folder.read("map.svg"));
    assert!(said.ends_with("\nmap      map.svg\n"), "{said}");
    // The cause is on as many lines as it needs.
    let cause = said.lines().find_map(|line| line.strip_prefix("cause    ")).unwrap();
    let first = said.lines().next().unwrap();
    assert_contains(&map, &["<svg", "t = 7", "z = 3", first, &cause[..60], &cause[cause.len() - 20..]]);
    // Grey squares, one for each z and t, and one in the legend.
    assert_eq!(map.matches("#eceef1").count(), 4 * 8 + 1);
}

#[test]
fn what_cannot_be_compared_is_exit_code_2_and_says_why() {
    let folder = folder();
    folder.succeeds("config convert gauge.nersc gauge.npy");
    let said = folder.fails(2, "compare a.npy gauge.npy");
    assert_contains(&said, &["cannot compare a.npy (A) with gauge.npy (B): the shapes differ", "6 axes and 7"]);
    folder.refuses("compare a.npy nowhere.npy", &["cannot read nowhere.npy"]);
    let said = folder.fails(2, "compare a.npy gauge.npy --gamma ukqcd");
    assert_contains(&said, &["failed to read gauge.npy", "has no spins whose basis could be converted"]);
    folder.refuses("compare a.npy gauge.npy --config gauge.nersc --source gauss:7", &["the shapes differ"]);
    folder.misuses("compare a.npy a.npy --config gauge.nersc", &["--source"]);
    let said = folder.misused("compare a.npy a.npy --order grid");
    assert_contains(&said, &["expected one of lexicographic, even-odd, odd-even, milc, qdp, quda, gpt"]);
    folder.refuses("convert a.npy a.npy --to-order quda", &["OUT and IN name the same file"]);
    folder.refuses("convert a.npy c.npy --precision half", &["--precision half has no NumPy type"]);
}

/// A solution of the system, and one to a looser tolerance.
fn solved(system: &str) -> Folder {
    let folder = Folder::with_gauge();
    for (tolerance, name) in [("1e-13", "a"), ("1e-8", "b")] {
        folder.succeeds(&format!(
            "solve --config gauge.nersc --source z4:3 --device cpu {system} --tolerance {tolerance} --output {name}.npy"
        ));
    }
    folder
}

#[test]
fn residuals_tell_a_tolerance_from_another_system() {
    let folder = solved("--operator twisted-mass --mass 0.4 --mu 0.3");
    let system = |more: &str| format!("--operator twisted-mass --config gauge.nersc --source z4:3 {more}");
    let said = differs(&folder, &system("--mass 0.4 --mu 0.3"));
    assert_contains(
        &said,
        &["cause    both solve the system, to", "allows", "system   of twisted-mass, mass 0.4, mu 0.3"],
    );
    assert!(!said.contains("single precision"), "{said}");
    // The sign of μ, a boundary phase, a factor: of B alone.
    let other = |options: &str| {
        folder.succeeds(&format!(
            "solve --config gauge.nersc --source z4:3 --device cpu --operator twisted-mass --mass 0.4 {options} --output b.npy"
        ));
        differs(&folder, &system("--mass 0.4 --mu 0.3"))
    };
    assert_contains(
        &other("--mu -0.3"),
        &["cause    A solves the system, residual", "B is the solution with −μ, residual"],
    );
    let said = other("--mu 0.3 --boundary 1,1,1,1");
    assert_contains(&said, &["B is the solution with boundary phases 1,1,1,1 instead of 1,1,1,-1, residual"]);
    folder.succeeds(
        "solve --config gauge.nersc --source z4:3 --device cpu --operator twisted-mass --mass 0.41 --mu 0.3 --output b.npy",
    );
    assert_contains(
        &differs(&folder, &system("--mass 0.4 --mu 0.3")),
        &["B is the solution with mass 0.41 instead of 0.4, residual"],
    );
    let said = other("--mu 0.7");
    assert_contains(&said, &["likely   A solves the system", "B solves neither the system nor one near it"]);
    plant(&folder, |values| values.iter_mut().for_each(|z| *z *= 0.25));
    assert_contains(&differs(&folder, &system("--mass 0.4 --mu 0.3")), &["B is the solution times 0.25"]);
    let output = folder.run(&format!("compare a.npy b.npy --json {}", system("--mass 0.4 --mu 0.3")));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let residuals = &json["residuals"];
    assert_eq!((&json["hop_of"], residuals["b"]["factor"][0].as_f64()), (&serde_json::Value::Null, Some(0.25)));
    assert!(residuals["a"]["residual"].as_f64().unwrap() < 1e-12, "{json}");
    let solve = |boundary: &str, name: &str| {
        folder.succeeds(&format!(
            "solve --config gauge.nersc --source z4:3 --device cpu --operator twisted-mass --mass 0.4 --mu 0.3 --boundary {boundary} --output {name}.npy"
        ));
    };
    solve("0.25pi,1,1,-1", "a");
    solve("-0.25pi,1,1,-1", "b");
    let said = differs(&folder, &system("--mass 0.4 --mu 0.3 --boundary 0.25pi,1,1,-1"));
    assert_contains(
        &said,
        &["B is the solution with boundary phases -0.25pi,1,1,-1 (angles of the other sign), residual"],
    );
}

#[test]
fn a_solution_of_the_dagger_is_named() {
    // M† is γ5 M γ5, of twisted mass with −μ.
    for [system, other] in [
        ["--operator wilson --mass 0.4", "--operator wilson --mass 0.4"],
        ["--operator twisted-mass --mass 0.4 --mu 0.3", "--operator twisted-mass --mass 0.4 --mu -0.3"],
    ] {
        let folder = solved(system);
        let times_gamma5 = |name: &str| {
            let mut values = npy::read_complex(&folder.path(name)).unwrap().values.into_f64();
            values.chunks_exact_mut(12).for_each(|spinor| spinor[6..].iter_mut().for_each(|z| *z = -*z));
            npy::write_complex(&folder.path(name), &SHAPE, &values).unwrap();
            std::fs::remove_file(folder.path(&format!("{name}.json"))).ok();
        };
        folder.succeeds("source z4:3 --lattice 4.4.4.8 --output eta.npy");
        times_gamma5("eta.npy");
        folder.succeeds(&format!(
            "solve --config gauge.nersc --source eta.npy --device cpu {other} --tolerance 1e-13 --output b.npy"
        ));
        times_gamma5("b.npy");
        let said = differs(&folder, &format!("{system} --config gauge.nersc --source z4:3"));
        assert_contains(&said, &["cause    A solves the system, residual", "B is the solution with M†, residual"]);
    }
}

#[test]
fn residuals_of_any_scale_are_those_of_the_system() {
    let folder = solved("--operator wilson --mass 0.4");
    folder.succeeds("source z4:3 --lattice 4.4.4.8 --output one.npy");
    let columns = ["one", "a", "b"].map(|name| npy::read_complex(&folder.path(&format!("{name}.npy"))).unwrap());
    for power in [-560, -1000, 560, 1000] {
        for (name, column) in ["eta.npy", "a.npy", "b.npy"].iter().zip(&columns) {
            let numbers = column.values.clone().into_f64();
            let scaled: Vec<_> = numbers.into_iter().map(|z| z * 2f64.powi(power)).collect();
            npy::write_complex(&folder.path(name), &column.shape, &scaled).unwrap();
            std::fs::remove_file(folder.path(&format!("{name}.json"))).ok();
        }
        let said = differs(&folder, "--operator wilson --mass 0.4 --config gauge.nersc --source eta.npy");
        assert_contains(&said, &["cause    both solve the system, to"]);
    }
}

#[test]
fn a_small_mu_and_a_momentum_of_the_other_sign_are_named_and_nothing_else_is() {
    let folder = Folder::with_gauge();
    let solve = |source: &str, mu: &str, name: &str| {
        folder.succeeds(&format!(
            "solve --config gauge.nersc --source {source} --device cpu --operator twisted-mass --mass 0.4 --mu {mu} --tolerance 1e-12 --output {name}.npy"
        ));
    };
    let system = "--operator twisted-mass --config gauge.nersc --mass 0.4 --mu 1e-4 --source momentum:1,0,0,0,0,0";
    solve("momentum:1,0,0,0,0,0", "1e-4", "a");
    // M x is near b with either sign.
    solve("momentum:1,0,0,0,0,0", "-0.0001", "b");
    assert_contains(
        &differs(&folder, system),
        &["A solves the system, residual", "B is the solution with −μ, residual"],
    );
    solve("momentum:-1,0,0,0,0,0", "1e-4", "b");
    let said = differs(&folder, system);
    assert_contains(&said, &["B is the solution with b* in place of b, a momentum of the other sign, residual"]);
    solve("momentum:0,1,0,0,0,0", "1e-4", "b");
    assert_contains(&differs(&folder, system), &["B solves neither the system nor one near it"]);
}

/// A solution of another program: its basis, its sign of μ, its normalisation, together.
#[test]
fn a_solution_that_differs_in_basis_and_system_is_named_with_both() {
    let folder = Folder::with_gauge();
    let system = "--operator twisted-mass --config gauge.nersc --mass 0.4 --mu 0.2 --source point:0,0,0,0,1,2";
    let run = |command: &str, mu: &str, name: &str| {
        let source = if command == "solve" { "point:0,0,0,0,1,2" } else { "point:0,0,0,0" };
        folder.succeeds(&format!(
            "{command} --config gauge.nersc --source {source} --device cpu --operator twisted-mass --mass 0.4 --mu {mu} --tolerance 1e-12 --output {name}.npy"
        ));
    };
    run("solve", "0.2", "a");
    run("solve", "-0.2", "down");
    folder.succeeds("convert down.npy b.npy --to-gamma chiral");
    change(&folder, |values| values.iter_mut().for_each(|z| *z *= 0.25));
    let basis = "B is the solution with the basis chiral of the γ matrices and −μ times 0.25";
    assert_contains(&differs(&folder, system), &["cause    A solves the system", basis]);
    // A point source in a spin of the other basis.
    folder.succeeds("source point:0,0,0,0,1,2 --lattice 4.4.4.8 --output eta.npy");
    folder.succeeds("convert eta.npy eta_ours.npy --from-gamma dirac-pauli");
    folder.succeeds(
        "solve --config gauge.nersc --source eta_ours.npy --device cpu --operator twisted-mass --mass 0.4 --mu 0.2 --tolerance 1e-12 --output x.npy",
    );
    folder.succeeds("convert x.npy b.npy --to-gamma dirac-pauli");
    assert_contains(
        &differs(&folder, system),
        &["the basis dirac-pauli of the γ matrices and the spins of b in that basis, too"],
    );
    run("solve", "-0.2", "b");
    change(&folder, |values| values.iter_mut().for_each(|z| *z = z.conj()));
    assert_contains(&differs(&folder, system), &["B is the solution with complex conjugation and −μ, residual"]);
    run("propagator", "0.2", "a");
    run("propagator", "-0.2", "b");
    change(&folder, |values| {
        let old = values.clone();
        let from = |k: usize| k / 144 * 144 + k / 9 % 4 * 36 + k / 36 % 4 * 9 + k % 9;
        (0..values.len()).for_each(|k| values[k] = old[from(k)]);
    });
    let spins = "B is the solution with the spins of source and sink exchanged and −μ, residual";
    assert_contains(&differs(&folder, system), &["cause    A solves the system", spins]);
    // The column that is tried is right, and others are not.
    run("propagator", "0.2", "b");
    change(&folder, |values| values.iter_mut().skip(1).step_by(3).for_each(|z| *z = -*z));
    let said = differs(&folder, system);
    assert_contains(
        &said,
        &["both solve the system in column 1,2 (spin, colour)", "other columns, which were not tried, differ by more"],
    );
    assert!(!said.contains("nearly zero"), "{said}");
}

/// MILC's staggered phases begin with t, its operator is twice ours, and it may be periodic.
#[test]
fn a_staggered_solution_of_milc_is_named_with_its_phases_and_boundary() {
    let folder = Folder::with_gauge();
    let solve = |boundary: &str, source: &str, name: &str| {
        folder.succeeds(&format!(
            "solve --config gauge.nersc --source {source} --device cpu --operator staggered --mass 0.3 --boundary {boundary} --tolerance 1e-12 --output {name}.npy"
        ));
    };
    let signed = |k: usize, z: Complex<f64>| {
        let [x, y, z_, t] = [k / 3 % 4, k / 12 % 4, k / 48 % 4, k / 192];
        if t * (x + y + z_) % 2 == 1 { -z } else { z }
    };
    let milc = |values: &mut Vec<Complex<f64>>| {
        values.iter_mut().enumerate().for_each(|(k, z)| *z = signed(k, *z) * 0.5);
    };
    let phases = "with staggered phases in the order t, x, y, z, as MILC's";
    for source in ["point:0,0,0,0,0,1", "gauss:5"] {
        solve("1,1,1,-1", source, "a");
        let system = format!("--operator staggered --config gauge.nersc --mass 0.3 --source {source}");
        // D of those phases is G D G with these signs, and its source is b: ours is G b.
        folder.succeeds(&format!("source {source} --components 1 --lattice 4.4.4.8 --output b.npy"));
        change(&folder, |values| values.iter_mut().enumerate().for_each(|(k, z)| *z = signed(k, *z)));
        std::fs::rename(folder.path("b.npy"), folder.path("eta.npy")).unwrap();
        let _ = std::fs::remove_file(folder.path("b.npy.json"));
        for (boundary, and) in [("1,1,1,-1", ""), ("1,1,1,1", " and boundary phases 1,1,1,1 instead of 1,1,1,-1")] {
            solve(boundary, "eta.npy", "b");
            change(&folder, milc);
            assert_contains(&differs(&folder, &system), &[&format!("B is the solution {phases}{and} times 0.5")]);
        }
    }
}

#[test]
fn an_operator_that_cannot_be_tried_is_refused() {
    let folder = folder();
    let refused = |options: &str| text(&folder.ends(2, &format!("compare a.npy a.npy {options}")).stderr);
    let input = "--config gauge.nersc --source gauss:7";
    assert_contains(
        &refused("--operator wilson --mass 0.1"),
        &["--operator and its parameters need --config and --source"],
    );
    assert_contains(&refused(&format!("--csw 1 {input}")), &["--csw is for --operator clover; hop has none"]);
    assert_contains(&refused(&format!("--operator clover {input}")), &["--operator clover needs --mass"]);
    assert_contains(
        &refused(&format!("--operator mobius --mass 0.1 {input}")),
        &["cannot take A for a solution", "complex128"],
    );
}
