//! Fields of several columns, such as the right-hand sides of a batch: each column gets the bits that it would get alone, on every backend
//! and in every precision. And fields in another precision. The kernels are `reference/src/kernels/{columns,convert}.rs`,
//! `cl/{columns,convert}.cl`.

use lanefield::backend::opencl::SiteOrder;
use lanefield::backend::{Backend, BackendError, Sum};
use lanefield::verify::{Numbers, TestData, compare_fields};
use lanefield_reference::field::{Field, FieldError, Spinors};
use lanefield_reference::kernels::{Vectors, columns};
use lanefield_reference::layout::{Extents, LaneChoice, LaneWidth, Lattice, LatticeOptions, Parity, Sites, TreePlan};
use lanefield_reference::real::Real as _;
use lanefield_reference::sixteen::Sixteen;

use crate::common::backends::{cpu, on_every_backend, opencl};

const ODD: Sites = Sites::Parity(Parity::Odd);
/// Two spinors a column, three columns.
const COLUMN_PARTS: usize = 2;
const COLUMNS: usize = 3;
const SUMS: [fn() -> Sum; 2] = [|| Sum::Exact, || Sum::Tree(TreePlan::with_warp(32, 4, 8).unwrap())];

fn lattice<R: Vectors>() -> Lattice {
    Lattice::new(Extents::new([4, 4, 2, 6]).unwrap(), R::COMPLEX, LatticeOptions::default()).unwrap()
}

fn field<R: Vectors>(number: u32) -> Field<R, Spinors> {
    let kind = Spinors::new(COLUMN_PARTS * COLUMNS);
    TestData::new(3).field(lattice::<R>(), ODD, kind, Numbers::Ordinary, number).unwrap()
}

fn column<R: Vectors>(field: &Field<R, Spinors>, number: usize) -> Field<R, Spinors> {
    columns::take_columns(field, &[number], COLUMN_PARTS).unwrap()
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

fn columns_are_taken_in_any_order<B: Backend>(backend: &B) {
    fn check<R: Vectors, B: Backend>(backend: &B) {
        let x = field::<R>(0);
        let taken = backend.take_columns(&backend.upload(x.clone()).unwrap(), &[2, 0], COLUMN_PARTS).unwrap();
        let taken = backend.download(&taken).unwrap();
        assert_same(&column(&taken, 0), &column(&x, 2));
        assert_same(&column(&taken, 1), &column(&x, 0));
    }
    in_every_precision(backend, [check::<f32, B>, check::<f64, B>, check::<Sixteen, B>]);
}

fn a_column_that_is_not_there_is_refused<B: Backend>(backend: &B) {
    let x = backend.upload(field::<f32>(0)).unwrap();
    let Err(error) = backend.take_columns(&x, &[0, 3], COLUMN_PARTS) else { panic!("column 3 of 3 was taken") };
    assert!(matches!(error, BackendError::Field(FieldError::Columns { .. })), "{error}");
    assert!(error.to_string().contains("no columns [0, 3] of 2 parts each"), "{error}");
}

fn products_of_columns_are_those_of_each_alone<B: Backend>(backend: &B) {
    fn check<R: Vectors, B: Backend>(backend: &B) {
        let (x, y) = (field::<R>(0), field::<R>(1));
        let [held_x, held_y] = [&x, &y].map(|field| backend.upload(field.clone()).unwrap());
        for sum in SUMS.map(|sum| sum()) {
            let found = backend.column_products(&held_x, &held_y, COLUMN_PARTS, sum).unwrap();
            let norms = backend.column_products(&held_x, &held_x, COLUMN_PARTS, sum).unwrap();
            for number in 0..COLUMNS {
                let [x, y] = [&x, &y].map(|field| backend.upload(column(field, number)).unwrap());
                let expected = backend.inner_product(&x, &y, sum).unwrap().re;
                assert_eq!(found[number].to_bits(), expected.to_bits(), "{sum}, column {number}");
                assert_eq!(norms[number].to_bits(), backend.norm2(&x, sum).unwrap().to_bits());
            }
        }
    }
    in_every_precision(backend, [check::<f32, B>, check::<f64, B>, check::<Sixteen, B>]);
}

fn updates_of_columns_are_those_of_each_alone<B: Backend>(backend: &B) {
    fn check<R: Vectors, B: Backend>(backend: &B) {
        let (a, b) = ([0.3, -1.7, 1e-3], [0.9, 0.1, -0.7]);
        let hold = |number: u32| backend.upload(field::<R>(number)).unwrap();
        let alone = |number: u32, k: usize| backend.upload(column(&field::<R>(number), k)).unwrap();
        let (x, mut y) = (hold(0), hold(1));
        let norms = backend.column_axpy_norm(&a, &x, &mut y, Sum::Exact).unwrap();
        let (mut psi, mut p) = (hold(2), hold(3));
        backend.column_cg_update(&mut psi, &mut p, &x, &a, &b).unwrap();
        let [y, psi, p] = [&y, &psi, &p].map(|field| backend.download(field).unwrap());
        for k in 0..COLUMNS {
            let (x, mut y_alone) = (alone(0, k), alone(1, k));
            let norm2 = backend.axpy_norm(a[k], &x, &mut y_alone, Sum::Exact).unwrap();
            assert_eq!(norms[k].to_bits(), norm2.to_bits(), "column {k}");
            let (mut psi_alone, mut p_alone) = (alone(2, k), alone(3, k));
            backend.cg_update(&mut psi_alone, &mut p_alone, &x, a[k], b[k]).unwrap();
            for (together, alone) in [(&y, &y_alone), (&psi, &psi_alone), (&p, &p_alone)] {
                assert_same(&column(together, k), &backend.download(alone).unwrap());
            }
        }
    }
    in_every_precision(backend, [check::<f32, B>, check::<f64, B>, check::<Sixteen, B>]);
}

fn scalars_that_do_not_divide_the_parts_are_refused<B: Backend>(backend: &B) {
    let [x, mut y] = [0, 1].map(|number| backend.upload(field::<f32>(number)).unwrap());
    let error = backend.column_axpy_norm(&[1.0; 4], &x, &mut y, Sum::Exact).unwrap_err();
    assert!(error.to_string().contains("4 scalars does not match fields of 6 spinors"), "{error}");
}

fn lanes_that_hold_other_sites_are_not_converted<B: Backend>(backend: &B) {
    let narrow = LatticeOptions { lanes: LaneChoice::Width(LaneWidth::new(16).unwrap()), ..LatticeOptions::default() };
    let narrow = Lattice::new(lattice::<f64>().extents(), f64::COMPLEX, narrow).unwrap();
    let kind = Spinors::new(COLUMN_PARTS * COLUMNS);
    let mut out = backend.zeros::<f64, _>(narrow, ODD, kind).unwrap();
    let error = backend.convert(&mut out, &backend.upload(field::<f32>(0)).unwrap()).unwrap_err();
    assert!(error.to_string().starts_with("converting a field: f32 6 spinors field"), "{error}");
}

on_every_backend!(
    columns_are_taken_in_any_order,
    a_column_that_is_not_there_is_refused,
    products_of_columns_are_those_of_each_alone,
    updates_of_columns_are_those_of_each_alone,
    scalars_that_do_not_divide_the_parts_are_refused,
    lanes_that_hold_other_sites_are_not_converted,
);

/// A lattice of `R` whose lanes hold the same sites as those of f32 lanes of 32 bytes.
fn same_cut<R: Vectors>() -> Lattice {
    let extents = lattice::<f32>().extents();
    let bytes = if R::BITS == 64 { 64 } else { 32 };
    let lanes = LaneChoice::Width(LaneWidth::new(bytes).unwrap());
    Lattice::new(extents, R::COMPLEX, LatticeOptions { lanes, ..LatticeOptions::default() }).unwrap()
}

fn converted<R: Vectors, S: Vectors>() {
    let Some(device) = opencl() else { return };
    let cpu = cpu();
    for numbers in Numbers::ALL {
        let kind = Spinors::new(2);
        let x: Field<R, Spinors> = TestData::new(5).field(same_cut::<R>(), ODD, kind, numbers, 0).unwrap();
        let mut expected = cpu.zeros::<S, _>(same_cut::<S>(), ODD, kind).unwrap();
        cpu.convert(&mut expected, &x).unwrap();
        let mut found = device.zeros::<S, _>(same_cut::<S>(), ODD, kind).unwrap();
        device.convert(&mut found, &device.upload(x).unwrap()).unwrap();
        assert_same(&device.download(&found).unwrap(), &expected);
    }
}

#[test]
fn columns_do_not_depend_on_the_order_of_sites_in_memory() {
    let Some(mut device) = opencl() else { return };
    device.set_site_order(SiteOrder::Subdomains([1, 2, 1, 3])).unwrap();
    columns_are_taken_in_any_order(&device);
    products_of_columns_are_those_of_each_alone(&device);
    updates_of_columns_are_those_of_each_alone(&device);
}

#[test]
fn conversions_are_bitwise_equal_to_reference() {
    converted::<f64, f32>();
    converted::<f32, f64>();
    converted::<f64, Sixteen>();
    converted::<f32, Sixteen>();
    converted::<Sixteen, f32>();
    converted::<Sixteen, f64>();
    converted::<Sixteen, Sixteen>();
}
