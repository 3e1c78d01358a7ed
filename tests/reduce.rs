//! Sums over sites on OpenCL and on the CPU reference: exact and rounded once, so that they depend on nothing but their terms.

mod common;

use lanefield::backend::{Backend, Cpu, OpenCl, Sum, Threads};
use lanefield::reference::field::{Field, Spinor};
use lanefield::reference::kernels::Vectors;
use lanefield::reference::layout::{AcceleratorThreads, Extents, Lattice, LatticeOptions, Parity, Sites};
use lanefield::verify::{Difference, Numbers, TestData};
use num_complex::Complex;

fn lattice<R: Vectors>(extents: [usize; 4], lanes: &str) -> Lattice {
    let options = LatticeOptions { lanes: lanes.parse().unwrap(), ..LatticeOptions::default() };
    Lattice::new(Extents::new(extents).unwrap(), R::COMPLEX, options).unwrap()
}

fn open(threads: usize) -> Option<OpenCl> {
    Some(OpenCl::open(&common::opencl_device()?, AcceleratorThreads::new(threads).unwrap()).unwrap())
}

/// |x|², and both parts of ⟨x, y⟩.
fn sums<R: Vectors, B: Backend>(backend: &B, x: &Field<R, Spinor>, y: &Field<R, Spinor>) -> [f64; 3] {
    let [x, y] = [x, y].map(|field| backend.upload(field.clone()).unwrap());
    let product = backend.inner_product(&x, &y, Sum::Exact).unwrap();
    [backend.norm2(&x, Sum::Exact).unwrap(), product.re, product.im]
}

#[track_caller]
fn assert_same_sums(what: &str, found: [f64; 3], expected: [f64; 3]) {
    for (name, (found, expected)) in ["|x|²", "Re ⟨x, y⟩", "Im ⟨x, y⟩"].iter().zip(found.into_iter().zip(expected))
    {
        if let Some(difference) = Difference::between(found, expected) {
            panic!("{what}: {name} is {difference}");
        }
    }
}

fn compare<R: Vectors>(device: &OpenCl, extents: [usize; 4], lanes: &str) {
    let cpu = Cpu::new(None).unwrap();
    let lattice = lattice::<R>(extents, lanes);
    for numbers in Numbers::ALL {
        for sites in [Sites::Full, Sites::Parity(Parity::Even), Sites::Parity(Parity::Odd)] {
            let [x, y] = [0, 1].map(|field| TestData::new(2).spinor::<R>(lattice, sites, numbers, field).unwrap());
            assert_same_sums(&format!("{numbers}, {}", x.describe()), sums(device, &x, &y), sums(&cpu, &x, &y));
        }
    }
}

#[test]
fn sums_are_bitwise_equal_to_reference() {
    let Some(device) = open(8) else { return };
    compare::<f32>(&device, [2, 2, 2, 2], "8");
    compare::<f32>(&device, [6, 4, 2, 10], "8");
    compare::<f32>(&device, [4, 4, 4, 6], "64");
    compare::<f64>(&device, [2, 6, 4, 4], "64");
    // More outer sites than all work-groups of a small device hold at once.
    compare::<f64>(&device, [8, 12, 16, 16], "64");
}

#[test]
fn sums_do_not_depend_on_lanes_threads_or_work_groups() {
    let extents = [4, 4, 8, 8];
    let of = |lanes: &str| {
        let lattice = lattice::<f32>(extents, lanes);
        [0, 1].map(|field| TestData::new(3).spinor::<f32>(lattice, Sites::Full, Numbers::Wide, field).unwrap())
    };
    let [x, y] = of("64");
    let expected = sums(&Cpu::new(Threads::new(1)).unwrap(), &x, &y);
    for threads in [2, 5] {
        assert_same_sums("threads", sums(&Cpu::new(Threads::new(threads)).unwrap(), &x, &y), expected);
    }
    for lanes in ["8", "256"] {
        let [x, y] = of(lanes);
        assert_same_sums(lanes, sums(&Cpu::new(None).unwrap(), &x, &y), expected);
        if let Some(device) = open(8) {
            assert_same_sums(lanes, sums(&device, &x, &y), expected);
        }
    }
    for threads in [1, 3, 8] {
        let Some(device) = open(threads) else { return };
        assert_same_sums(&format!("{threads} accelerator threads"), sums(&device, &x, &y), expected);
    }
}

/// Two fields, zero but for the first word of a few sites: x = 1 there, and y such that site k contributes `terms[k]` to Re ⟨x, y⟩.
fn with_terms(lattice: Lattice, terms: &[f64]) -> [Field<f64, Spinor>; 2] {
    let field = |value: &(dyn Fn(usize) -> f64 + Sync)| {
        Field::from_sites(lattice, Sites::Full, Spinor, |site, words| {
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
    let cases: [(&str, &[f64], f64); 10] = [
        ("cancellation leaves what is small", &[1e300, 1.0, -1e300, 1e-300], 1.0),
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
    let device = open(8);
    let lattice = lattice::<f64>([2, 6, 4, 8], "64");
    for (what, terms, expected) in cases {
        let [x, y] = with_terms(lattice, terms);
        let cpu = Cpu::new(None).unwrap();
        assert_eq!(Difference::between(sums(&cpu, &x, &y)[1], expected), None, "{what}, CPU reference");
        if let Some(device) = &device {
            assert_eq!(Difference::between(sums(device, &x, &y)[1], expected), None, "{what}, OpenCL");
        }
    }
}

#[test]
fn negative_zeros_alone_sum_to_negative_zero() {
    // A site's contribution is −0 where a negative product underflows.
    let lattice = lattice::<f64>([2, 6, 4, 4], "64");
    let fields = |everywhere: bool| {
        [1e-300, -1e-300].map(|value| {
            Field::<f64, Spinor>::from_sites(lattice, Sites::Full, Spinor, |site, words| {
                words.fill(Complex::new(0.0, 0.0));
                words[11].im = if everywhere || site != 17 { value } else { 0.0 };
            })
            .unwrap()
        })
    };
    let device = open(8);
    for (everywhere, expected) in [(true, -0.0), (false, 0.0)] {
        let [x, y] = fields(everywhere);
        let check = |name: &str, found: [f64; 3]| {
            assert_eq!(Difference::between(found[1], expected), None, "{name}, everywhere: {everywhere}");
        };
        check("CPU reference", sums(&Cpu::new(None).unwrap(), &x, &y));
        if let Some(device) = &device {
            check("OpenCL", sums(device, &x, &y));
        }
    }
}
