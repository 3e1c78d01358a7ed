//! Fields of several right-hand sides: each gets the bits that it would get alone, on every backend and in every precision. The kernels are
//! `reference/src/kernels/rhs.rs` and `cl/rhs.cl`.

use lanefield::backend::opencl::{SiteOrder, Tuning};
use lanefield::kernel::{Numbers, TestData};
use lanefield::prelude::*;
use lanefield::verify::compare_fields;
use lanefield_reference::field::{FieldError, SiteObject as _};
use lanefield_reference::half::Half;
use lanefield_reference::kernels::{Vectors, rhs};
use lanefield_reference::layout::TreePlan;

use crate::common::backends::{on_every_backend, opencl};

const ODD: Sites = Sites::Parity(Parity::Odd);
/// Two spinors a right-hand side, three right-hand sides.
const RHS_PARTS: usize = 2;
const RHS: usize = 3;
const SUMS: [fn() -> Sum; 2] = [|| Sum::Exact, || Sum::Tree(TreePlan::with_warp(32, 4, 8).unwrap())];

fn lattice<R: Vectors>() -> Lattice {
    Lattice::new(Extents::new([4, 4, 2, 6]).unwrap(), R::COMPLEX, LatticeOptions::default()).unwrap()
}

fn field<R: Vectors>(number: u32) -> Field<R, Spinors> {
    let kind = Spinors::new(RHS_PARTS * RHS);
    TestData::new(3).field(lattice::<R>(), ODD, kind, Numbers::Ordinary, number).unwrap()
}

/// Right-hand side `number` of a field, as a field of its own.
fn one<R: Vectors>(field: &Field<R, Spinors>, number: usize) -> Field<R, Spinors> {
    let mut one = Field::zeros(*field.lattice(), field.sites(), Spinors::new(RHS_PARTS)).unwrap();
    rhs::take_rhs(&mut one, field, &[number], RHS_PARTS).unwrap();
    one
}

#[track_caller]
fn assert_same<R: Vectors>(found: &Field<R, Spinors>, expected: &Field<R, Spinors>) {
    if let Some(mismatch) = compare_fields(found, expected).unwrap() {
        panic!("{}: {mismatch}", expected.describe());
    }
}

fn in_every_precision<B: Backend>(backend: &B, check: [fn(&B); 3]) {
    check.into_iter().for_each(|check| check(backend));
}

fn right_hand_sides_are_taken_in_any_order<B: Backend>(backend: &B) {
    fn check<R: Vectors, B: Backend>(backend: &B) {
        let x = field::<R>(0);
        let taken = backend.take_rhs(&backend.upload(x.clone()).unwrap(), &[2, 0], RHS_PARTS).unwrap();
        let taken = backend.download(&taken).unwrap();
        assert_same(&one(&taken, 0), &one(&x, 2));
        assert_same(&one(&taken, 1), &one(&x, 0));
    }
    in_every_precision(backend, [check::<f32, B>, check::<f64, B>, check::<Half, B>]);
}

fn a_right_hand_side_that_is_not_there_is_refused<B: Backend>(backend: &B) {
    let x = backend.upload(field::<f32>(0)).unwrap();
    let Err(error) = backend.take_rhs(&x, &[0, 3], RHS_PARTS) else { panic!("right-hand side 3 of 3 was taken") };
    assert!(matches!(error, BackendError::Field(FieldError::RightHandSides { .. })), "{error}");
    assert!(error.to_string().contains("does not have right-hand sides [0, 3] of 2 components each"), "{error}");
}

fn products_of_right_hand_sides_are_those_of_each_alone<B: Backend>(backend: &B) {
    fn check<R: Vectors, B: Backend>(backend: &B) {
        let (x, y) = (field::<R>(0), field::<R>(1));
        let [held_x, held_y] = [&x, &y].map(|field| backend.upload(field.clone()).unwrap());
        for sum in SUMS.map(|sum| sum()) {
            let found = backend.rhs_products(&held_x, &held_y, RHS_PARTS, sum).unwrap();
            let norms = backend.rhs_products(&held_x, &held_x, RHS_PARTS, sum).unwrap();
            for number in 0..RHS {
                let [x, y] = [&x, &y].map(|field| backend.upload(one(field, number)).unwrap());
                let expected = backend.inner_product(&x, &y, sum).unwrap().re;
                assert_eq!(found[number].to_bits(), expected.to_bits(), "{sum}, right-hand side {number}");
                assert_eq!(norms[number].to_bits(), backend.norm2(&x, sum).unwrap().to_bits());
            }
        }
    }
    in_every_precision(backend, [check::<f32, B>, check::<f64, B>, check::<Half, B>]);
}

fn updates_of_right_hand_sides_are_those_of_each_alone<B: Backend>(backend: &B) {
    fn check<R: Vectors, B: Backend>(backend: &B) {
        let (a, b) = ([0.3, -1.7, 1e-3], [0.9, 0.1, -0.7]);
        let hold = |number: u32| backend.upload(field::<R>(number)).unwrap();
        let alone = |number: u32, k: usize| backend.upload(one(&field::<R>(number), k)).unwrap();
        let (x, mut y) = (hold(0), hold(1));
        let norms = backend.rhs_axpy_norm(&a, &x, &mut y, Sum::Exact).unwrap();
        let (mut psi, mut p) = (hold(2), hold(3));
        backend.rhs_cg_update(&mut psi, &mut p, &x, &a, &b).unwrap();
        let [y, psi, p] = [&y, &psi, &p].map(|field| backend.download(field).unwrap());
        for k in 0..RHS {
            let (x, mut y_alone) = (alone(0, k), alone(1, k));
            let norm2 = backend.axpy_norm(a[k], &x, &mut y_alone, Sum::Exact).unwrap();
            assert_eq!(norms[k].to_bits(), norm2.to_bits(), "right-hand side {k}");
            let (mut psi_alone, mut p_alone) = (alone(2, k), alone(3, k));
            backend.cg_update(&mut psi_alone, &mut p_alone, &x, a[k], b[k]).unwrap();
            for (together, alone) in [(&y, &y_alone), (&psi, &psi_alone), (&p, &p_alone)] {
                assert_same(&one(together, k), &backend.download(alone).unwrap());
            }
        }
    }
    in_every_precision(backend, [check::<f32, B>, check::<f64, B>, check::<Half, B>]);
}

fn scalars_that_do_not_divide_the_parts_are_refused<B: Backend>(backend: &B) {
    let [x, mut y] = [0, 1].map(|number| backend.upload(field::<f32>(number)).unwrap());
    let error = backend.rhs_axpy_norm(&[1.0; 4], &x, &mut y, Sum::Exact).unwrap_err();
    assert!(error.to_string().contains("4 scalars does not match fields of 6 spinors"), "{error}");
}

/// Two right-hand sides of another field.
fn two<R: Vectors>(number: u32) -> Field<R, Spinors> {
    let mut two = Field::zeros(lattice::<R>(), ODD, Spinors::new(2 * RHS_PARTS)).unwrap();
    rhs::take_rhs(&mut two, &field::<R>(number), &[2, 0], RHS_PARTS).unwrap();
    two
}

fn products_of_all_pairs_are_inner_products_of_each_two_alone<B: Backend>(backend: &B) {
    fn check<R: Vectors, B: Backend>(backend: &B) {
        let all = [field::<R>(0), two::<R>(1)];
        for (x, y) in [(0, 1), (1, 0), (0, 0)] {
            let [held_x, held_y] = [x, y].map(|k: usize| backend.upload(all[k].clone()).unwrap());
            for sum in SUMS.map(|sum| sum()) {
                let found = backend.rhs_gram(&held_x, &held_y, RHS_PARTS, sum).unwrap();
                let [n_x, n_y] = [x, y].map(|k| all[k].kind().parts() / RHS_PARTS);
                assert_eq!(found.len(), n_x * n_y);
                for (i, j) in (0..n_x).flat_map(|i| (0..n_y).map(move |j| (i, j))) {
                    let [x, y] = [(x, i), (y, j)].map(|(k, rhs)| backend.upload(one(&all[k], rhs)).unwrap());
                    let expected = backend.inner_product(&x, &y, sum).unwrap();
                    let bits = |z: Complex<f64>| [z.re.to_bits(), z.im.to_bits()];
                    assert_eq!(bits(found[i * n_y + j]), bits(expected), "{sum}, pair {i}, {j} of {n_x} × {n_y}");
                }
            }
        }
    }
    in_every_precision(backend, [check::<f32, B>, check::<f64, B>, check::<Half, B>]);
}

/// Of f32 and f64: half precision rounds once, where these would round each time.
fn multiply_adds_of_all_pairs_are_complex_axpys_one_after_the_other<B: Backend>(backend: &B) {
    fn check<R: Vectors, B: Backend>(backend: &B) {
        let all = [field::<R>(0), two::<R>(1)];
        for (x, y) in [(0, 1), (1, 0)] {
            let [n_x, n_y] = [x, y].map(|k: usize| all[k].kind().parts() / RHS_PARTS);
            let m: Vec<_> = (0..n_x * n_y).map(|k| Complex::new(0.3 - k as f64, 1.7 / (k + 1) as f64)).collect();
            let (held_x, mut held_y) =
                (backend.upload(all[x].clone()).unwrap(), backend.upload(all[y].clone()).unwrap());
            backend.rhs_madd(&m, &held_x, &mut held_y, RHS_PARTS).unwrap();
            let found = backend.download(&held_y).unwrap();
            for j in 0..n_y {
                let mut expected = backend.upload(one(&all[y], j)).unwrap();
                for i in 0..n_x {
                    let x = backend.upload(one(&all[x], i)).unwrap();
                    backend.complex_axpy(m[i * n_y + j], &x, &mut expected).unwrap();
                }
                assert_same(&one(&found, j), &backend.download(&expected).unwrap());
            }
        }
    }
    check::<f32, B>(backend);
    check::<f64, B>(backend);
}

fn a_matrix_of_another_size_is_refused<B: Backend>(backend: &B) {
    let (x, mut y) = (backend.upload(field::<f32>(0)).unwrap(), backend.upload(two::<f32>(1)).unwrap());
    let error = backend.rhs_madd(&[Complex::new(1.0, 0.0); 5], &x, &mut y, RHS_PARTS).unwrap_err().to_string();
    assert!(error.contains("10 numbers") && error.contains("3 × 2 pairs of right-hand sides, 12 numbers"), "{error}");
}

on_every_backend! {
    multiply_adds_of_all_pairs_are_complex_axpys_one_after_the_other;
    in test-all:
    products_of_all_pairs_are_inner_products_of_each_two_alone,
    a_matrix_of_another_size_is_refused,
    right_hand_sides_are_taken_in_any_order,
    a_right_hand_side_that_is_not_there_is_refused,
    products_of_right_hand_sides_are_those_of_each_alone,
    updates_of_right_hand_sides_are_those_of_each_alone,
    scalars_that_do_not_divide_the_parts_are_refused,
}

#[test]
#[ignore = "test-all: builds for other orders"]
fn right_hand_sides_do_not_depend_on_the_order_of_sites_in_memory() {
    let Some(mut device) = opencl() else { return };
    device.set_tuning(Tuning { site_order: Some(SiteOrder::Subdomains([1, 2, 1, 3])), ..Tuning::OPEN });
    right_hand_sides_are_taken_in_any_order(&device);
    products_of_right_hand_sides_are_those_of_each_alone(&device);
    updates_of_right_hand_sides_are_those_of_each_alone(&device);
    products_of_all_pairs_are_inner_products_of_each_two_alone(&device);
    multiply_adds_of_all_pairs_are_complex_axpys_one_after_the_other(&device);
}
