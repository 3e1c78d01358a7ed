//! The vector operations of conjugate gradients on OpenCL and on the CPU reference: the same bits, also of the norm that one returns.

use lanefield::kernel::{Numbers, TestData};
use lanefield::prelude::*;
use lanefield::reference::half::Half;
use lanefield::reference::real::Real as _;
use lanefield::verify::{Difference, compare_fields};

use crate::common::backends::opencl_with;

/// Scalars, among them some that f32 rounds, and some that are hard.
const SCALARS: [f64; 9] = [0.1, -1.0, 0.0, -0.0, 1e-300, 3e38, f64::INFINITY, f64::NAN, 5e-324];

fn lattice<R: Vectors>(extents: [usize; 4], lanes: &str) -> Lattice {
    let options = LatticeOptions { lanes: lanes.parse().unwrap(), ..LatticeOptions::default() };
    Lattice::new(Extents::new(extents).unwrap(), R::COMPLEX, options).unwrap()
}

#[track_caller]
fn assert_same_field<R: Vectors>(what: &str, found: &Field<R, Spinors>, expected: &Field<R, Spinors>) {
    if let Some(mismatch) = compare_fields(found, expected).unwrap() {
        panic!("{what}, {}: {mismatch}", expected.describe());
    }
}

/// What every operation gives: fields, and a norm.
fn all_operations<R: Vectors, B: Backend>(
    backend: &B,
    fields: &[Field<R, Spinors>; 3],
    a: f64,
    b: f64,
) -> (Vec<Field<R, Spinors>>, f64) {
    let hold = |k: usize| backend.upload(fields[k].clone()).unwrap();
    let (x, z) = (hold(0), hold(2));
    let (mut copy, mut scaled) = (hold(1), hold(1));
    backend.copy(&mut copy, &x).unwrap();
    backend.scale(&mut scaled, a, &x).unwrap();
    let (mut axpy, mut axpy_norm) = (hold(1), hold(1));
    backend.axpy(a, &x, &mut axpy).unwrap();
    let norm2 = backend.axpy_norm(b, &x, &mut axpy_norm, Sum::Exact).unwrap();
    let (mut psi, mut p) = (hold(1), hold(0));
    backend.cg_update(&mut psi, &mut p, &z, a, b).unwrap();
    let (mut complex_axpy, mut complex_xpay) = (hold(1), hold(1));
    backend.complex_axpy(Complex::new(a, b), &x, &mut complex_axpy).unwrap();
    backend.complex_xpay(&x, Complex::new(b, a), &mut complex_xpay).unwrap();
    let fields = [copy, scaled, axpy, axpy_norm, psi, p, complex_axpy, complex_xpay];
    (fields.iter().map(|field| backend.download(field).unwrap()).collect(), norm2)
}

const OPERATIONS: [&str; 8] =
    ["copy", "scale", "axpy", "axpy_norm", "cg_update's psi", "cg_update's p", "complex_axpy", "complex_xpay"];

fn compare<R: Vectors>(device: &OpenCl, extents: [usize; 4], lanes: &str, numbers: Numbers) {
    let cpu = Cpu::new(None).unwrap();
    let lattice = lattice::<R>(extents, lanes);
    let data = TestData::new(7);
    for sites in [Sites::Full, Sites::Parity(Parity::Even), Sites::Parity(Parity::Odd)] {
        let fields = [0, 1, 2].map(|field| data.spinor::<R>(lattice, sites, numbers, field).unwrap());
        for (k, a) in SCALARS.into_iter().enumerate() {
            let b = SCALARS[(k + 1) % SCALARS.len()];
            let (found, found_norm2) = all_operations(device, &fields, a, b);
            let (expected, expected_norm2) = all_operations(&cpu, &fields, a, b);
            for ((what, found), expected) in OPERATIONS.iter().zip(&found).zip(&expected) {
                assert_same_field(&format!("{what} with {a:e}, {b:e}"), found, expected);
            }
            assert_eq!(Difference::between(found_norm2, expected_norm2), None, "norm of axpy_norm with {b:e}");
        }
    }
}

#[test]
#[ignore = "test-all: all precisions"]
fn vector_operations_are_bitwise_equal_to_reference() {
    let Some(device) = opencl_with(8) else { return };
    for numbers in Numbers::ALL {
        compare::<f32>(&device, [2, 2, 2, 2], "8", numbers);
        compare::<f32>(&device, [6, 4, 2, 10], "8", numbers);
        compare::<f32>(&device, [4, 4, 4, 6], "64", numbers);
        compare::<f64>(&device, [2, 6, 4, 4], "64", numbers);
        compare::<Half>(&device, [4, 4, 4, 6], "64", numbers);
    }
}

#[test]
#[ignore = "test-all: another build"]
fn vector_operations_are_bitwise_equal_to_reference_for_another_work_group() {
    let Some(device) = opencl_with(3) else { return };
    compare::<f64>(&device, [2, 6, 4, 4], "64", Numbers::Wide);
}

#[test]
fn scalars_are_rounded_to_the_precision_of_the_field() {
    let Some(device) = opencl_with(8) else { return };
    let lattice = lattice::<f32>([4, 4, 4, 6], "64");
    let x = TestData::new(1).spinor::<f32>(lattice, Sites::Full, Numbers::Ordinary, 0).unwrap();
    let mut out = device.zeros(lattice, Sites::Full, Spinors::ONE).unwrap();
    device.scale(&mut out, 0.1, &device.upload(x.clone()).unwrap()).unwrap();
    let found = device.download(&out).unwrap();
    let product = |x: &f32| 0.1f32 * x;
    assert!(found.reals().iter().zip(x.reals().iter().map(product)).all(|(found, expected)| found.same_bits(expected)));
}
