//! Compares the map of this crate with plain loops bit for bit, on the CPU and on an OpenCL device, and runs the tools on it.

use lanefield::backend::Cpu;
use lanefield_example_outside::plane::PlaneLaplacian;
use lanefield_maps::prelude::*;

const EXTENTS: [[usize; 2]; 4] = [[1, 1], [5, 97], [33, 2], [16, 64]];

fn numbers([n, m]: [usize; 2]) -> Vec<f64> {
    (0..n * m).map(|k| (k as f64 * 0.37).fract() / 3.0 - 0.1).collect()
}

fn on<B: MapBackend>(backend: &B, extents: [usize; 2]) -> Result<Vec<f64>, MapError> {
    let a = backend.array(extents, &numbers(extents))?;
    let mut out = backend.zero_array(extents)?;
    PlaneLaplacian { out: &mut out, a: &a }.launch(backend, extents)?;
    out.read(backend)
}

fn by_loops([n, m]: [usize; 2]) -> Vec<f64> {
    let a = numbers([n, m]);
    let at = |i: usize, j: usize| if i < n && j < m { a[i * m + j] } else { 0.0 };
    let element = |k: usize| {
        let (i, j) = (k / m, k % m);
        let along = at(i + 1, j) + at(i.wrapping_sub(1), j);
        let across = at(i, j + 1) + at(i, j.wrapping_sub(1));
        (-4f64).mul_add(at(i, j), along + across)
    };
    (0..n * m).map(element).collect()
}

#[test]
fn the_laplacian_of_a_plane_has_the_bits_of_plain_loops() {
    let cpu = Cpu::new(None).unwrap();
    for extents in EXTENTS {
        assert_eq!(on(&cpu, extents).unwrap(), by_loops(extents), "{extents:?}");
    }
}

#[test]
fn the_laplacian_of_a_plane_has_the_same_bits_on_a_device() {
    if let Some(device) = lanefield::check::device() {
        for extents in EXTENTS {
            assert_eq!(on(&device, extents).unwrap(), by_loops(extents), "{extents:?}");
        }
    }
}

/// The output of this crate's program, on standard output and standard error, and its exit code.
fn run(arguments: &str) -> (String, Option<i32>) {
    let mut program = std::process::Command::new(env!("CARGO_BIN_EXE_lanefield-example-outside"));
    let output = program.args(arguments.split(' ')).args(["--device", "cpu"]).output().unwrap();
    (String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned(), output.status.code())
}

#[test]
fn tools_take_maps_and_kernels_of_this_crate_beside_those_of_the_library() {
    for (arguments, code, expected) in [
        ("verify --kernel maps", 0, &["plane_laplacian: ", "same bits"][..]),
        ("bench --kernel maps --samples 2", 0, &["plane_laplacian", "block = [4, 32]"]),
        ("tune --kernel plane_laplacian", 0, &["schedule = Sequential", "same bits"]),
        ("tune --kernel maps --json", 0, &["\"compared\"", "\"fastest\""]),
        ("doctor --kernel maps --samples 2 --json", 0, &["\"maps\"", "\"remarks\""]),
        ("bench --kernel wilson_hop,hop --lattice 4.4.4.4 --precision f64 --samples 2", 0, &["wilson_hop", " hop "]),
        ("bench --kernel plane_laplacian,hop", 2, &["hop is not a map: name kernels or maps, not both"]),
        ("bench --kernel dslash", 2, &["unknown kernel 'dslash'", "covariant_sum", "or a map: plane_laplacian"]),
    ] {
        let (printed, ended) = run(arguments);
        assert_eq!(ended, Some(code), "{arguments}: {printed}");
        assert!(expected.iter().all(|text| printed.contains(text)), "{arguments}: {printed}");
    }
}
