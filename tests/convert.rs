//! Fields in another precision: the same bits on OpenCL and on the CPU reference.

use lanefield::kernel::{Numbers, TestData};
use lanefield::prelude::*;
use lanefield_reference::half::Half;
use lanefield_reference::layout::LaneWidth;
use lanefield_reference::real::Real as _;

use crate::common::backends::{cpu, on_every_backend, opencl};
use lanefield::verify::compare_fields;

const ODD: Sites = Sites::Parity(Parity::Odd);

fn lanes_that_hold_other_sites_are_not_converted<B: Backend>(backend: &B) {
    let narrow = LatticeOptions { lanes: LaneChoice::Width(LaneWidth::new(16).unwrap()), ..LatticeOptions::default() };
    let narrow = Lattice::new(same_cut::<f64>().extents(), f64::COMPLEX, narrow).unwrap();
    let mut out = backend.zeros::<f64, _>(narrow, ODD, Spinors::new(6)).unwrap();
    let x = backend.zeros::<f32, _>(same_cut::<f32>(), ODD, Spinors::new(6)).unwrap();
    let error = backend.convert(&mut out, &x).unwrap_err();
    assert!(matches!(error, BackendError::Argument { kernel: "convert", .. }), "{error}");
    assert!(error.to_string().starts_with("argument x of convert is an f32 6 spinors field"), "{error}");
}

on_every_backend!(lanes_that_hold_other_sites_are_not_converted);

/// A lattice of `R` whose lanes hold the same sites as those of f32 lanes of 32 bytes.
fn same_cut<R: Vectors>() -> Lattice {
    let extents = Extents::new([4, 4, 2, 6]).unwrap();
    let bytes = if R::BITS == 64 { 64 } else { 32 };
    let lanes = LaneChoice::Width(LaneWidth::new(bytes).unwrap());
    Lattice::new(extents, R::COMPLEX, LatticeOptions { lanes, ..LatticeOptions::default() }).unwrap()
}

fn convert_on<R: Vectors, S: Vectors, B: Backend>(backend: &B, x: Field<R, Spinors>) -> Field<S, Spinors> {
    let mut out = backend.zeros::<S, _>(same_cut::<S>(), ODD, x.kind()).unwrap();
    backend.convert(&mut out, &backend.upload(x).unwrap()).unwrap();
    backend.download(&out).unwrap()
}

fn converted<R: Vectors, S: Vectors>() {
    let Some(device) = opencl() else { return };
    let cpu = cpu();
    for numbers in Numbers::ALL {
        let kind = Spinors::new(2);
        let x: Field<R, Spinors> = TestData::new(5).field(same_cut::<R>(), ODD, kind, numbers, 0).unwrap();
        let expected = convert_on::<R, S, _>(&cpu, x.clone());
        let found = convert_on::<R, S, _>(&device, x);
        if let Some(mismatch) = compare_fields(&found, &expected).unwrap() {
            panic!("{numbers}, {}: {mismatch}", expected.describe());
        }
    }
}

#[test]
fn conversions_are_bitwise_equal_to_reference() {
    converted::<f64, f32>();
    converted::<f32, f64>();
    converted::<f64, Half>();
    converted::<f32, Half>();
    converted::<Half, f32>();
    converted::<Half, f64>();
    converted::<Half, Half>();
}
