//! Sums over sites agree with Grid's to rounding: norms, inner products, sums of each word, slice sums, of spinors and of a propagator,
//! exact and as a tree. What is compared is `reference/src/kernels/reduce.rs` and `cl/reduce.cl`.

use lanefield::prelude::*;
use lanefield_reference::field::{Propagator, SiteObject, Words};
use lanefield_reference::layout::{Direction, ReductionDevice, TreePlan, get_num_blocks_and_threads};
use lanefield_reference::real::Real;

use crate::common::backends::on_every_backend;
use crate::common::grid::{GridData, distance};

/// Relative distance from Grid that rounding can explain.
const TOLERANCE: f64 = 1e-13;

/// The exact sum; Grid's block sum as an H200 takes it; and one of small blocks.
fn sums() -> [Sum; 3] {
    let h200 = get_num_blocks_and_threads(192, &ReductionDevice::H200).unwrap();
    [Sum::Exact, Sum::Tree(h200), Sum::Tree(TreePlan::new(8, 4).unwrap())]
}

/// Numbers of a field in site order, and the field on a backend.
struct Held<B: Backend> {
    values: Vec<Complex<f64>>,
    words: usize,
    field: FieldOn<B, f64, Words>,
}

fn held<B: Backend>(backend: &B, data: &GridData, name: &str) -> Held<B> {
    let array = data.field(name);
    let (extents, words): (Extents, Words) = (array.extents, array.words);
    let lattice = Lattice::new(extents, f64::COMPLEX, LatticeOptions::default()).unwrap();
    let values = array.values.into_f64();
    let field = Field::from_site_order(lattice, Sites::Full, words, &values).unwrap();
    Held { words: words.words(), values, field: backend.upload(field).unwrap() }
}

impl<B: Backend> Held<B> {
    /// The most by which two sums of one word, each rounded at every addition, can differ: (n − 1) · 2⁻⁵³ · Σ|x| on either side.
    fn rounding(&self, word: usize) -> f64 {
        let terms = || self.values.iter().skip(word).step_by(self.words);
        let magnitude: f64 = terms().map(|z| z.re.abs().max(z.im.abs())).sum();
        terms().count() as f64 * f64::EPSILON * magnitude
    }
}

#[track_caller]
fn assert_agree(what: &str, found: &[Complex<f64>], expected: &[Complex<f64>], rounding: impl Fn(usize) -> f64) {
    let relative = distance(found, expected);
    assert!(relative <= TOLERANCE, "{what}: relative distance {relative:e}");
    for (k, (found, expected)) in found.iter().zip(expected).enumerate() {
        let difference = found - expected;
        let most = rounding(k);
        assert!(
            difference.re.abs() <= most && difference.im.abs() <= most,
            "{what}: number {k} is {found}, Grid's {expected}: more than {most:e} apart"
        );
    }
}

#[track_caller]
fn assert_close(what: &str, found: Complex<f64>, expected: Complex<f64>) {
    let relative = distance(&[found], &[expected]);
    assert!(relative <= TOLERANCE, "{what}: {found}, Grid's {expected}: relative distance {relative:e}");
}

fn norms_are_those_of_grid(backend: &impl Backend) {
    let (hot, tepid) = (GridData::hot(), GridData::tepid());
    let cases = [
        (&hot, "src", "scalars", "norm2_src"),
        (&hot, "chi", "scalars", "norm2_chi"),
        (&hot, "prop_random", "propagator", "norm2"),
        (&tepid, "src", "scalars", "norm2_src"),
    ];
    for (data, file, section, name) in cases {
        let x = held(backend, data, file);
        for sum in sums() {
            let norm2 = backend.norm2(&x.field, sum).unwrap();
            let what = format!("|{file}|², {}, {sum}", data.name());
            assert_close(&what, norm2.into(), data.number(section, name).into());
        }
    }
}

fn the_inner_product_is_that_of_grid(backend: &impl Backend) {
    let data = GridData::hot();
    let [src, chi] = ["src", "chi"].map(|name| held(backend, &data, name));
    for (name, x, y) in [("innerProduct_src_chi", &src, &chi), ("innerProduct_chi_src", &chi, &src)] {
        let expected = data.complex_numbers("scalars", name)[0];
        for sum in sums() {
            let found = backend.inner_product(&x.field, &y.field, sum).unwrap();
            assert_close(&format!("{name}, {sum}"), found, expected);
        }
    }
}

fn sums_of_each_word_are_those_of_grid(backend: &impl Backend) {
    let (hot, tepid) = (GridData::hot(), GridData::tepid());
    let cases = [
        (&hot, "src", "scalars", "sum_src_spin_colour"),
        (&hot, "prop_random", "propagator", "sum"),
        (&tepid, "src", "scalars", "sum_src_spin_colour"),
    ];
    for (data, file, section, name) in cases {
        let x = held(backend, data, file);
        let expected = data.complex_numbers(section, name);
        for sum in sums() {
            let found = backend.sum(&x.field, sum).unwrap();
            assert_agree(&format!("sum of {file}, {}, {sum}", data.name()), &found, &expected, |word| x.rounding(word));
        }
    }
}

/// Spin and colour indices are where Grid has them: a sum of other words would be another number.
fn the_trace_of_a_propagators_sum_is_that_of_grid(backend: &impl Backend) {
    let data = GridData::hot();
    let x = held(backend, &data, "prop_random");
    assert_eq!(x.words, Propagator::WORDS);
    let expected = data.complex_numbers("propagator", "trace_of_sum")[0];
    let found = backend.sum(&x.field, Sum::Exact).unwrap();
    let diagonal = (0..4).flat_map(|spin| (0..3).map(move |colour| (5 * spin * 3 + colour) * 3 + colour));
    assert_close("trace of the sum", diagonal.map(|word| found[word]).sum(), expected);
}

fn slice_sums_are_those_of_grid(backend: &impl Backend) {
    for data in [GridData::hot(), GridData::tepid()] {
        let x = held(backend, &data, "src");
        let expected = data.complex_numbers("scalars", "slicesum_t_src_spin0_colour0");
        for sum in sums() {
            let slices = backend.slice_sums(&x.field, Direction::T, sum).unwrap();
            let found: Vec<_> = slices.iter().map(|slice| slice[0]).collect();
            assert_agree(&format!("slices of {}, {sum}", data.name()), &found, &expected, |_| x.rounding(0));
        }
    }
}

on_every_backend! {
    norms_are_those_of_grid;
    in test-all:
    the_inner_product_is_that_of_grid,
    sums_of_each_word_are_those_of_grid,
    the_trace_of_a_propagators_sum_is_that_of_grid,
    slice_sums_are_those_of_grid,
}
