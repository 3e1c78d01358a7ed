//! `lanefield apply`: the same file on every backend, and the identities of the hop.

use lanefield::io::npy::{self, ComplexValues};
use lanefield::prelude::*;

use super::{Folder, assert_contains, hops, on_colour_vectors, opencl};

fn bits(values: &[Complex<f64>]) -> Vec<[u64; 2]> {
    values.iter().map(|z| [z.re.to_bits(), z.im.to_bits()]).collect()
}

fn spinor(folder: &Folder, name: &str) -> Vec<Complex<f64>> {
    npy::read_spinor(&folder.path(name)).unwrap().values.into_f64()
}

#[test]
fn even_and_odd_hop_together_are_the_full_hop() {
    let folder = Folder::with_gauge();
    let apply = "apply --operator hop --device cpu --config gauge.nersc --source gauss:5 --output";
    folder.succeeds(&format!("{apply} full.npy"));
    folder.succeeds(&format!("{apply} even.npy --parity even"));
    folder.succeeds(&format!("{apply} odd.npy --parity odd"));
    let [full, even, odd] = ["full.npy", "even.npy", "odd.npy"].map(|name| spinor(&folder, name));
    let extents = npy::read_spinor(&folder.path("full.npy")).unwrap().extents;
    for (site, words) in bits(&full).chunks_exact(12).enumerate() {
        let (here, elsewhere) = match Parity::of(extents.coordinate(site)) {
            Parity::Even => (&even, &odd),
            Parity::Odd => (&odd, &even),
        };
        assert_eq!(bits(&here[12 * site..][..12]), words);
        assert!(elsewhere[12 * site..][..12].iter().all(|z| *z == Complex::new(0.0, 0.0)));
    }
}

#[test]
fn wilson_is_the_hop_and_the_diagonal() {
    let folder = Folder::with_gauge();
    let arguments = "--device cpu --config gauge.nersc --source gauss:5 --dagger --boundary 1,-1,1,-1 --output";
    folder.succeeds(&format!("apply --operator hop {arguments} hop.npy"));
    folder.succeeds(&format!("apply --operator wilson --mass -0.25 {arguments} wilson.npy"));
    // The source, as the library makes it.
    let source = lanefield::reference::random::gaussian_pair;
    let stream = lanefield::reference::random::Stream::SpinorSource;
    let (hop, wilson) = (spinor(&folder, "hop.npy"), spinor(&folder, "wilson.npy"));
    let expected: Vec<Complex<f64>> = (0u64..)
        .zip(&hop)
        .map(|(i, h)| {
            let (re, im) = source(5, stream, i / 12, (i % 12) as u32);
            Complex::new(3.75f64.mul_add(re, h.re), 3.75f64.mul_add(im, h.im))
        })
        .collect();
    assert_eq!(bits(&wilson), bits(&expected));
}

#[test]
fn the_result_has_the_precision_asked_for() {
    let folder = Folder::with_gauge();
    let apply = "apply --operator hop --device cpu --config gauge.nersc --source point:1,2,3,4,3,2 --output";
    folder.succeeds(&format!("{apply} single.npy --precision f32"));
    folder.succeeds(&format!("{apply} double.npy"));
    let values = |name| npy::read_spinor(&folder.path(name)).unwrap().values;
    assert!(matches!(values("single.npy"), ComplexValues::F32(_)));
    assert!(matches!(values("double.npy"), ComplexValues::F64(_)));
}

#[test]
fn threads_lanes_and_format_of_the_configuration_change_no_bit() {
    let folder = Folder::with_gauge();
    folder.succeeds("config convert gauge.nersc gauge.npy");
    let apply = |name: &str, how: &str| {
        folder.succeeds(&format!(
            "apply --operator wilson --mass 0.1 --device cpu --precision f32 --source gauss:1 --output {name} {how}"
        ));
        folder.read(name)
    };
    let first = apply("a.npy", "--config gauge.nersc --threads 1 --lanes 8");
    for how in ["--threads 2 --lanes 64", "--lanes 256", "--lanes auto --accelerator-threads 3"] {
        assert_eq!(apply("b.npy", &format!("--config gauge.npy {how}")), first, "{how}");
    }
}

#[test]
fn the_number_of_memory_domains_changes_no_bit() {
    let folder = Folder::with_gauge();
    let applied = |domains: &str| {
        let arguments = "apply --operator wilson --mass 0.1 --device cpu --source gauss:1 --threads 4 --config gauge.nersc --output a.npy";
        folder.command(arguments).env("LANEFIELD_MEMORY_DOMAINS", domains).assert().success();
        folder.read("a.npy")
    };
    let first = applied("1");
    for domains in ["2", "3"] {
        assert_eq!(applied(domains), first, "{domains} domains");
    }
}

/// For so many operators.
fn opencl_writes_the_files_of_the_reference(number: usize) {
    let Some(device) = opencl() else { return };
    let folder = Folder::with_gauge();
    let chosen = [
        "--operator hop --precision f32 --boundary 0.3pi,1,0,-pi/3",
        "--operator hop --precision f64 --dagger --links 12 --boundary -1,1,1,-1",
        "--operator hop --precision f32 --parity even --links 12",
        "--operator hop --precision f32 --parity odd --links 8",
        "--operator hop --precision f64 --parity odd --dagger --lanes 32",
        "--operator wilson --precision f32 --mass 0.3 --lanes 16 --accelerator-threads 4",
        "--operator wilson --precision f64 --mass -0.3 --dagger",
        "--operator clover --precision f32 --mass 0.3 --csw 1.1 --piece mpc --lanes 16",
        "--operator mobius --precision f64 --mass 0.1 --ls 4 --dagger",
        "--operator twisted-mass --precision f32 --mass 0.3 --mu 0.2 --dagger --lanes 16",
        "--operator twisted-mass --precision f64 --mass -0.3 --mu -0.2 --piece mpc --links 8",
        "--operator staggered --precision f64 --mass -0.3 --components 2 --dagger",
        "--operator staggered_hop --precision f32 --parity even --reconstruct 8",
    ];
    let on_colour_vectors = on_colour_vectors().map(|name| format!("{name} --mass 0.3 --components 3"));
    let hops = hops().map(|name| format!("{name} --stores streaming --grid-stride on:2"));
    let in_f32 = on_colour_vectors.chain(hops).map(|what| format!("--operator {what} --precision f32"));
    for what in chosen.map(str::to_owned).into_iter().chain(in_f32).take(number) {
        let apply = format!("apply {what} --config gauge.nersc --source gauss:2");
        let cpu = folder.json(&format!("{apply} --output cpu.npy --device cpu"));
        let opencl = folder.json(&format!("{apply} --output opencl.npy {device}"));
        assert!(folder.read("cpu.npy") == folder.read("opencl.npy"), "{what}: the files differ");
        for norm in ["source_norm2_bits", "result_norm2_bits"] {
            assert_eq!(cpu[norm], opencl[norm], "{what}: {norm}");
        }
    }
}

#[test]
fn opencl_writes_the_file_of_the_reference() {
    opencl_writes_the_files_of_the_reference(1);
}

#[test]
#[ignore = "test-all: every operator on a device"]
fn opencl_writes_the_file_of_the_reference_for_every_operator() {
    opencl_writes_the_files_of_the_reference(usize::MAX);
}

#[test]
fn misuse_is_refused_with_what_would_be_right() {
    let folder = Folder::with_gauge();
    let arguments = "--device cpu --config gauge.nersc --output o.npy";
    let fails = |what: &str| folder.fails(2, &format!("apply {what} {arguments}"));
    let misused = |what: &str| folder.misused(&format!("apply {what} {arguments}"));
    assert_contains(&fails("--operator wilson --source gauss:1"), &["needs --mass"]);
    assert_contains(&fails("--operator hop --source gauss:1 --mass 1"), &["--mass is for --operator wilson"]);
    let error = fails("--operator wilson --source gauss:1 --mass 1 --parity even");
    assert_contains(&error, &["--parity is for hops and pieces"]);
    assert_contains(&fails("--operator hop --source point:4,0,0,0,0,0"), &["x = 4", "0 to 3", "4.4.4.8"]);
    assert_contains(&fails("--operator hop --source gauss:1 --precision f64 --lanes 8"), &["8 bytes", "at least 16"]);
    assert_contains(&fails("--operator wilson --mass 1e39 --precision f32 --source gauss:1"), &["beyond f32"]);
    let twisted = "--operator twisted-mass --mass 0.1 --source gauss:1";
    assert_contains(&fails(twisted), &["needs --mu", "twisted mass"]);
    assert_contains(&misused(&format!("{twisted} --mu nan")), &["invalid mu 'nan'", "a finite number"]);
    assert_contains(
        &fails(&format!("{twisted} --mu 1e39 --precision f32")),
        &["--mu 1e39 is beyond f32", "smaller mu"],
    );
    assert_contains(
        &fails("--operator wilson --mass 1 --mu 1 --source gauss:1"),
        &["--mu is for --operator twisted-mass"],
    );
    let beyond = fails("--operator wilson --mass 1e308 --source gauss:1");
    assert_contains(&beyond, &["the result holds ", "inf", "beyond f64", "power of two"]);
    assert_contains(&misused("--operator wilson --mass inf --source gauss:1"), &["finite number"]);
    assert_contains(&fails("--operator hop --source point:0,0,0,0,4,0"), &["spin 4", "0 to 3"]);
    assert_contains(&misused("--operator hop --source gauss:"), &["invalid seed ''"]);
    assert_contains(&misused("--operator hop --source gauss:1 --parity red"), &["expected even or odd"]);
    assert_contains(&misused("--operator hop --source gauss:1 --lanes 48"), &["8, 16, 32, 64, 128 or 256"]);
    assert_contains(&misused("--operator hop --source gauss:1 --links 9"), &["18 (full), 12 (two rows) or 8"]);
    for boundary in ["1,1,1", "1,1,1,2", "1,1,1,nanpi", "1,1,1,infpi", "1,1,1,pi/0", "1,1,1,exp(0.25pi)"] {
        let said = misused(&format!("--operator hop --source gauss:1 --boundary {boundary}"));
        assert_contains(&said, &[&format!("invalid boundary phases '{boundary}'"), "as in 1,1,1,-1 or 0.25pi"]);
    }
    for operator in ["hop", "wilson --mass 1"] {
        let twisted =
            fails(&format!("--operator {operator} --source gauss:1 --boundary 0.25pi,1,1,-1 --reconstruct 12"));
        assert_contains(&twisted, &["0.25pi,1,1,-1 need reconstruct 18: reconstruct 12"]);
    }
    assert_contains(&misused("--operator hop --source gauss:1 --legs +x"), &["each of -x +x"]);
    assert_contains(&misused("--operator hop --source gauss:1 --threads 0"), &["number of threads"]);
    assert_eq!(folder.names(), ["gauge.nersc"]);
}

#[test]
fn parities_of_an_odd_lattice_are_refused_by_dimension() {
    let folder = Folder::new();
    folder.succeeds("config generate unit --lattice 4.4.3.4 --output odd.nersc");
    let apply = "apply --operator hop --device cpu --config odd.nersc --source gauss:1 --output o.npy";
    assert_contains(&folder.fails(2, &format!("{apply} --parity even")), &["extent 3 of z is odd"]);
    folder.succeeds(apply);
}
