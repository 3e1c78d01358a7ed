//! The map of this crate against plain loops, on the CPU and on an OpenCL device, bit for bit.

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
