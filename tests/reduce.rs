//! Sums over sites on OpenCL and on the CPU reference: exact sums depend on nothing but their terms; tree sums on nothing but terms, plan and
//! lane width; and no way in which a device takes them changes a bit.

use lanefield::backend::Threads;
use lanefield::backend::opencl::{DeviceError, Finish, Retirement, SiteOrder, SumForm, SumOptions, Tuning};
use lanefield::kernel::{self, ArgumentValue, Arguments, Kernel, Numbers, TestData};
use lanefield::prelude::*;
use lanefield::reference::field::{Propagator, SiteObject, Words};
use lanefield::reference::kernels::reduce::{MergeError, PartialSums};
use lanefield::reference::layout::TreePlan;
use lanefield::verify::Difference;

use crate::common::backends::{on_every_backend, opencl};

const ALL_SITES: [Sites; 3] = [Sites::Full, Sites::Parity(Parity::Even), Sites::Parity(Parity::Odd)];

fn lattice<R: Vectors>(extents: [usize; 4], lanes: &str) -> Lattice {
    let options = LatticeOptions { lanes: lanes.parse().unwrap(), ..LatticeOptions::default() };
    Lattice::new(Extents::new(extents).unwrap(), R::COMPLEX, options).unwrap()
}

fn tree(threads: usize, blocks: usize) -> Sum {
    Sum::Tree(TreePlan::new(threads, blocks).unwrap())
}

fn field<R: Vectors, K: SiteObject>(
    lattice: Lattice,
    sites: Sites,
    object: K,
    numbers: Numbers,
    number: u32,
) -> Field<R, K> {
    TestData::new(2).field::<R, K>(lattice, sites, object, numbers, number).unwrap()
}

/// Every sum of two fields, one after the other.
fn sums<R: Vectors, K: SiteObject, B: Backend>(backend: &B, [x, y]: [&Field<R, K>; 2], sum: Sum) -> Vec<f64> {
    let [held_x, held_y] = [x, y].map(|field| backend.upload(field.clone()).unwrap());
    let parts = |numbers: Vec<Complex<f64>>| numbers.into_iter().flat_map(|number| [number.re, number.im]);
    let mut sums = vec![backend.norm2(&held_x, sum).unwrap()];
    sums.extend(parts(backend.inner_products(&[&held_x], &held_y, sum).unwrap()));
    sums.extend(parts(backend.sum(&held_x, sum).unwrap()));
    for direction in Direction::ALL {
        sums.extend(parts(backend.slice_sums(&held_x, direction, sum).unwrap().concat()));
    }
    let [mut updated, mut rescaled] = [y, y].map(|field| backend.upload(field.clone()).unwrap());
    sums.push(backend.axpy_norm(0.3, &held_x, &mut updated, sum).unwrap());
    sums.push(backend.axpby_norm(0.3, &held_x, -1.7, &mut rescaled, sum).unwrap());
    sums
}

#[track_caller]
fn assert_same(what: &str, found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (k, (found, expected)) in found.iter().zip(expected).enumerate() {
        if let Some(difference) = Difference::between(*found, *expected) {
            panic!("{what}: number {k} is {difference}");
        }
    }
}

fn compare<R: Vectors, K: SiteObject>(device: &OpenCl, extents: [usize; 4], lanes: &str, object: K, sum: Sum) {
    let cpu = Cpu::new(None).unwrap();
    let lattice = lattice::<R>(extents, lanes);
    for numbers in Numbers::ALL {
        for sites in ALL_SITES {
            let [x, y] = [0, 1].map(|number| field::<R, K>(lattice, sites, object, numbers, number));
            let what = format!("{numbers}, {}, {sum}", x.describe());
            assert_same(&what, &sums(device, [&x, &y], sum), &sums(&cpu, [&x, &y], sum));
        }
    }
}

#[test]
#[ignore = "test-all: builds for all objects"]
fn sums_are_bitwise_equal_to_reference() {
    let Some(device) = opencl() else { return };
    for sum in [Sum::Exact, tree(8, 3)] {
        compare::<f32, _>(&device, [2, 2, 2, 2], "8", Spinors::ONE, sum);
        compare::<f32, _>(&device, [6, 4, 2, 10], "8", Words(1), sum);
        compare::<f64, _>(&device, [2, 6, 4, 4], "64", Words(9), sum);
        compare::<f64, _>(&device, [2, 2, 4, 4], "64", Propagator, sum);
    }
    // More elements than all work-items of a small device hold at once.
    compare::<f64, _>(&device, [8, 12, 16, 16], "64", Words(3), Sum::Exact);
    compare::<f64, _>(&device, [8, 12, 16, 16], "64", Words(3), tree(64, 4));
}

/// The sums for which a device is built anew in each form.
fn sums_of_words<B: Backend>(backend: &B, x: &Field<f64, Words>, sum: Sum) -> Vec<f64> {
    let x = backend.upload(x.clone()).unwrap();
    let words = backend.sum(&x, sum).unwrap();
    let slices = backend.slice_sums(&x, Direction::T, sum).unwrap().concat();
    words.into_iter().chain(slices).flat_map(|number| [number.re, number.im]).collect()
}

#[test]
#[ignore = "test-all: all builds of sums"]
fn no_way_to_take_a_sum_changes_a_bit() {
    let Some(mut device) = opencl() else { return };
    let lattice = lattice::<f64>([4, 4, 6, 8], "64");
    let x = field::<f64, Words>(lattice, Sites::Full, Words(7), Numbers::Wide, 0);
    let retires = !matches!(device.context().info().retirement, Retirement::Unsupported { .. });
    let retire = retires.then_some(Finish::RetirementCount);
    let ways = [
        (Some(SumForm::Fused(1)), Some(Finish::SecondKernel), Some(24), None),
        (Some(SumForm::Fused(4)), retire, Some(1), None),
        (Some(SumForm::Staged(3)), retire, None, None),
        (Some(SumForm::SerialWords), Some(Finish::SecondKernel), None, None),
        (None, retire, Some(64), Some(true)),
    ];
    for sum in [Sum::Exact, tree(16, 5)] {
        let expected = sums_of_words(&Cpu::new(None).unwrap(), &x, sum);
        for (form, finish, group, specialised) in ways {
            let options = SumOptions { form, finish, group, specialised, ..SumOptions::default() };
            device.set_sum_options(options);
            assert_same(&format!("{sum}, {options:?}"), &sums_of_words(&device, &x, sum), &expected);
        }
    }
}

#[test]
#[ignore = "test-all: builds for another order"]
fn sums_do_not_depend_on_the_order_of_sites_in_memory() {
    let Some(mut device) = opencl() else { return };
    device.set_tuning(Tuning { site_order: Some(SiteOrder::Subdomains([3, 2, 1, 5])), ..Tuning::OPEN });
    for sum in [Sum::Exact, tree(8, 3)] {
        compare::<f32, _>(&device, [6, 4, 2, 10], "8", Spinors::new(2), sum);
    }
    let x = field::<f64, Words>(lattice::<f64>([4, 4, 6, 8], "64"), Sites::Full, Words(7), Numbers::Wide, 0);
    device.set_sum_options(SumOptions { form: Some(SumForm::Staged(3)), ..SumOptions::default() });
    let expected = sums_of_words(&Cpu::new(None).unwrap(), &x, tree(16, 5));
    assert_same("packed words", &sums_of_words(&device, &x, tree(16, 5)), &expected);
}

#[test]
fn several_inner_products_are_those_of_one_by_one() {
    let Some(device) = opencl() else { return };
    let lattice = lattice::<f32>([4, 4, 2, 6], "8");
    let fields: Vec<_> =
        (0..6).map(|number| field::<f32, Words>(lattice, Sites::Full, Words(3), Numbers::Wide, number)).collect();
    fn products<B: Backend>(backend: &B, fields: &[Field<f32, Words>], count: usize) -> Vec<Complex<f64>> {
        let held: Vec<_> = fields.iter().map(|field| backend.upload(field.clone()).unwrap()).collect();
        let xs: Vec<_> = held[..count].iter().collect();
        backend.inner_products(&xs, &held[5], Sum::Exact).unwrap()
    }
    // None, some of one pass, and more than one pass takes.
    for count in [0, 3, 5] {
        let found = products(&device, &fields, count);
        assert_eq!(found.len(), count);
        assert_eq!(found, products(&Cpu::new(None).unwrap(), &fields, count));
    }
}

#[test]
fn exact_sums_do_not_depend_on_lanes_or_threads() {
    let of = |lanes: &str| {
        let lattice = lattice::<f32>([4, 4, 8, 8], lanes);
        [0, 1].map(|number| field::<f32, Spinors>(lattice, Sites::Full, Spinors::ONE, Numbers::Wide, number))
    };
    let [x, y] = of("64");
    let expected = sums(&Cpu::new(Threads::new(1)).unwrap(), [&x, &y], Sum::Exact);
    for threads in [2, 5] {
        assert_same("threads", &sums(&Cpu::new(Threads::new(threads)).unwrap(), [&x, &y], Sum::Exact), &expected);
    }
    for lanes in ["8", "256"] {
        let [x, y] = of(lanes);
        assert_same(lanes, &sums(&Cpu::new(None).unwrap(), [&x, &y], Sum::Exact), &expected);
        if let Some(device) = opencl() {
            assert_same(lanes, &sums(&device, [&x, &y], Sum::Exact), &expected);
        }
    }
}

#[test]
fn trees_of_different_plans_differ_and_do_not_depend_on_threads() {
    let lattice = lattice::<f64>([4, 4, 8, 8], "64");
    let [x, y] =
        [0, 1].map(|number| field::<f64, Spinors>(lattice, Sites::Full, Spinors::ONE, Numbers::Ordinary, number));
    let of = |threads, sum| sums(&Cpu::new(Threads::new(threads)).unwrap(), [&x, &y], sum);
    assert_same("threads", &of(5, tree(32, 4)), &of(1, tree(32, 4)));
    assert_ne!(of(2, tree(32, 4)), of(2, tree(32, 8)));
    assert_ne!(of(2, tree(32, 4)), of(2, tree(64, 4)));
    assert_ne!(of(2, tree(32, 4)), of(2, Sum::Exact));
}

#[test]
fn a_plan_with_blocks_larger_than_work_groups_is_refused() {
    let Some(device) = opencl() else { return };
    if device.context().info().max_work_group_size >= TreePlan::MOST_THREADS {
        // Every plan fits.
        return;
    }
    let x =
        device.upload(field::<f32, Spinors>(lattice::<f32>([2; 4], "8"), Sites::Full, Spinors::ONE, Numbers::Tiny, 0));
    let error = device.norm2(&x.unwrap(), tree(TreePlan::MOST_THREADS, 1)).unwrap_err();
    assert!(matches!(error.of_device(), Some(DeviceError::PlanTooLarge { .. })), "{error}");
}

/// Two fields, zero but for the first word of a few sites: x = 1 there, and y such that site k contributes `terms[k]` to Re ⟨x, y⟩.
fn with_terms(lattice: Lattice, terms: &[f64]) -> [Field<f64, Spinors>; 2] {
    let field = |value: &(dyn Fn(usize) -> f64 + Sync)| {
        Field::from_sites(lattice, Sites::Full, Spinors::ONE, |site, words| {
            words.fill(Complex::new(0.0, 0.0));
            words[0].re = value(site);
        })
        .unwrap()
    };
    // Spread over the lattice, so that different lanes, work-items and groups meet them.
    let term = |site: usize| site.is_multiple_of(37).then(|| terms.get(site / 37)).flatten().copied();
    [field(&|site| if term(site).is_some() { 1.0 } else { 0.0 }), field(&|site| term(site).unwrap_or(0.0))]
}

#[test]
fn special_sums_are_those_of_the_definition() {
    const INF: f64 = f64::INFINITY;
    let cases: [(&str, &[f64], f64); 11] = [
        ("cancellation leaves what is small", &[1e300, 1.0, -1e300, 1e-300], 1.0),
        ("three scales at once", &[1e300, 1e-300, 1.0, -1e300, -1.0], 1e-300),
        ("what is left is rounded once", &[9007199254740992.0, 1.0, 1e-300], 9007199254740994.0),
        ("a tie rounds to even", &[9007199254740992.0, 1.0], 9007199254740992.0),
        ("partial sums may overflow", &[f64::MAX, f64::MAX, -f64::MAX], f64::MAX),
        ("a sum that overflows is infinite", &[f64::MAX, 1e300], INF),
        ("subnormals add up", &[5e-324, 5e-324, 5e-324], 1.5e-323),
        ("infinity wins", &[1.0, -INF, 3.0], -INF),
        ("infinities cancel to NaN", &[INF, -INF, 1.0], f64::NAN),
        ("NaN wins over all", &[INF, f64::NAN, 1.0], f64::NAN),
        ("an exact zero is positive", &[1e10, -1e10], 0.0),
    ];
    let device = opencl();
    let lattice = lattice::<f64>([2, 6, 4, 8], "64");
    fn product<B: Backend>(backend: &B, fields: &[Field<f64, Spinors>; 2]) -> f64 {
        let [x, y] = fields.each_ref().map(|field| backend.upload(field.clone()).unwrap());
        backend.inner_product(&x, &y, Sum::Exact).unwrap().re
    }
    for (what, terms, expected) in cases {
        let fields = with_terms(lattice, terms);
        let cpu = Cpu::new(None).unwrap();
        assert_eq!(Difference::between(product(&cpu, &fields), expected), None, "{what}, CPU reference");
        if let Some(device) = &device {
            assert_eq!(Difference::between(product(device, &fields), expected), None, "{what}, OpenCL");
        }
    }
}

#[test]
fn negative_zeros_alone_sum_to_negative_zero() {
    let lattice = lattice::<f64>([2, 6, 4, 4], "64");
    let field = |everywhere: bool| {
        Field::<f64, Spinors>::from_sites(lattice, Sites::Full, Spinors::ONE, |site, words| {
            words.fill(Complex::new(-0.0, 0.0));
            words[11].re = if everywhere || site != 17 { -0.0 } else { 0.0 };
        })
        .unwrap()
    };
    fn last_word<B: Backend>(backend: &B, field: &Field<f64, Spinors>) -> Complex<f64> {
        backend.sum(&backend.upload(field.clone()).unwrap(), Sum::Exact).unwrap()[11]
    }
    let device = opencl();
    for (everywhere, expected) in [(true, -0.0), (false, 0.0)] {
        let field = field(everywhere);
        let check = |name: &str, found: Complex<f64>| {
            assert_eq!(Difference::between(found.re, expected), None, "{name}, everywhere: {everywhere}");
            assert_eq!(Difference::between(found.im, 0.0), None, "{name}, the imaginary part");
        };
        check("CPU reference", last_word(&Cpu::new(None).unwrap(), &field));
        if let Some(device) = &device {
            check("OpenCL", last_word(device, &field));
        }
    }
}

/// Sums of a kernel that reads `x`, or `x` and `y`, before they are rounded.
fn partial<B: Backend>(
    backend: &B,
    kernel: &'static Kernel,
    fields: &[Field<f32, Spinors>; 2],
    sum: Sum,
) -> PartialSums {
    let [x, y] = fields.each_ref().map(|field| backend.upload(field.clone()).unwrap());
    let arguments = Arguments::<B>::new(kernel);
    let arguments = match kernel.fields().any(|role| role.name == "y") {
        true => arguments.value("xs", ArgumentValue::Reads(vec![x.any(), y.any()])).read("y", &y),
        false => arguments.read("x", &x),
    };
    backend.reduce(arguments.call().unwrap(), sum).unwrap()
}

/// Two fields on the whole lattice, and on two halves of it: the sites of either parity, or the time slices before and after the middle, as two
/// ranks have them.
type Two = [Field<f32, Spinors>; 2];

fn halves() -> (Two, [[Two; 2]; 2]) {
    let whole = lattice::<f32>([6, 4, 2, 8], "16");
    let number = |number| field::<f32, Spinors>(whole, Sites::Full, Spinors::ONE, Numbers::Wide, number);
    let fields = [0, 1].map(number);
    let in_order = fields.each_ref().map(|field| field.to_site_order());
    let of_parity = |parity| {
        in_order
            .each_ref()
            .map(|values| Field::from_site_order(whole, Sites::Parity(parity), Spinors::ONE, values).unwrap())
    };
    let block = lattice::<f32>([6, 4, 2, 4], "8");
    let slices = |rank: usize| {
        in_order.each_ref().map(|values| {
            let own = values.chunks_exact(values.len() / 2).nth(rank).unwrap();
            Field::from_site_order(block, Sites::Full, Spinors::ONE, own).unwrap()
        })
    };
    (fields, [Parity::BOTH.map(of_parity), [0, 1].map(slices)])
}

fn exact_sums_of_two_halves_merge_to_those_of_the_whole<B: Backend>(backend: &B) {
    let (whole, splits) = halves();
    for kernel in [&kernel::reduce::NORM2, &kernel::reduce::INNER_PRODUCTS, &kernel::reduce::SUM] {
        let expected = partial(backend, kernel, &whole, Sum::Exact);
        for [first, second] in &splits {
            let [first, second] = [first, second].map(|half| partial(backend, kernel, half, Sum::Exact));
            assert_ne!(first.round(), second.round(), "{kernel}: halves that show nothing");
            for (first, second) in [(&first, &second), (&second, &first)] {
                let mut merged = first.clone();
                merged.merge(second).unwrap();
                assert_same(&format!("{kernel} of two halves"), &merged.round(), &expected.round());
            }
        }
    }
}

fn halves_of_slices_in_time_are_the_slices_of_the_whole<B: Backend>(backend: &B) {
    let (whole, [_, ranks]) = halves();
    let slices = |x: &Field<f32, Spinors>, direction| {
        let x = backend.upload(x.clone()).unwrap();
        let arguments = Arguments::<B>::new(&kernel::reduce::SLICE_SUMS).read("x", &x).direction(direction);
        backend.reduce(arguments.call().unwrap(), Sum::Exact).unwrap()
    };
    // Across the direction that is cut, the slices of both, one after the other; across another, slice by slice their sums.
    let [[first, _], [second, _]] = &ranks;
    let both = [first, second].map(|x| slices(x, Direction::T).round()).concat();
    assert_same("slices in time", &both, &slices(&whole[0], Direction::T).round());
    let mut merged = slices(first, Direction::X);
    merged.merge(&slices(second, Direction::X)).unwrap();
    assert_same("slices in x", &merged.round(), &slices(&whole[0], Direction::X).round());
}

fn sums_that_cannot_be_merged_are_refused<B: Backend>(backend: &B) {
    let (whole, _) = halves();
    let norm2 = |sum| partial(backend, &kernel::reduce::NORM2, &whole, sum);
    for (mut one, other) in [
        (norm2(tree(8, 3)), norm2(tree(8, 3))),
        (norm2(Sum::Exact), norm2(tree(8, 3))),
        (norm2(tree(8, 3)), norm2(Sum::Exact)),
    ] {
        let before = one.round();
        assert_eq!(one.merge(&other).unwrap_err(), MergeError::Tree);
        assert_eq!(one.round(), before);
    }
    let mut one = norm2(Sum::Exact);
    let two = partial(backend, &kernel::reduce::INNER_PRODUCTS, &whole, Sum::Exact);
    assert_eq!((one.len(), two.len()), (1, 4));
    assert_eq!(one.merge(&two).unwrap_err(), MergeError::Count { left: 1, right: 4 });
}

on_every_backend!(
    exact_sums_of_two_halves_merge_to_those_of_the_whole,
    halves_of_slices_in_time_are_the_slices_of_the_whole,
    sums_that_cannot_be_merged_are_refused,
);
