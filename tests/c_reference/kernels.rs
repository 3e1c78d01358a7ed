//! Every kernel of the list in C: random cases against the plain loops, the SIMD reference and OpenCL; and every compiler.

use std::collections::HashMap;
use std::time::Instant;

use lanefield::in_precision;
use lanefield::kernel::{
    self, Case, CaseOptions, FieldContents, Geometry, Kernel, KernelArgument, Links, Numbers, PlainLinks, TestData,
};
use lanefield::prelude::*;
use lanefield_reference::layout::{Checkerboard, Direction, LegOrder, TreePlan};
use lanefield_reference::links::DoubledGauge;

use super::library::{CReference, compilers, flags};
use super::{Draws, IN_FOUR_LANES, IN_ONE_LANE, IN_TWO_LANES, lattice, precision};
use crate::common::backends::{assert_same_outcome, host, opencl};

/// Cases of each kernel on all four implementations, ten of a precision. Operators, which call the kernels, have many more (`operators.rs`).
const CASES: u64 = 30;
/// And with any order of legs, format of links and lanes, without OpenCL.
const WITHOUT_OPENCL: u64 = 150;
/// Cases of each kernel in `make test`, and of each further compiler and optimisation.
const FEW: u64 = 12;

const LINKS: [Links; 4] = [
    Links::Hot,
    Links::Arbitrary(Numbers::Ordinary),
    Links::Arbitrary(Numbers::Wide),
    Links::Arbitrary(Numbers::Special),
];

/// Who computes, and the configurations that were made.
struct Bench<'a> {
    c: &'a CReference,
    cpu: &'a Cpu,
    device: Option<&'a OpenCl>,
    configurations: HashMap<([usize; 4], usize, u64), Configuration>,
}

/// The format that OpenCL takes in a precision: each is another program.
fn format_on_opencl(precision: Precision) -> LinkFormat {
    match precision {
        Precision::F32 => LinkFormat::Full,
        Precision::F64 => LinkFormat::TwoRows,
        Precision::Half => LinkFormat::Eight,
    }
}

/// Cases of `kernel` with these numbers. The first ones differ in precision, then in sites.
fn check(bench: &mut Bench<'_>, kernel: &'static Kernel, numbers: std::ops::Range<u64>) {
    let precisions: Vec<Precision> = (0..3).map(precision).filter(|&precision| kernel.takes(precision)).collect();
    for number in numbers {
        let precision = precisions[number as usize % precisions.len()];
        check_case(bench, kernel, precision, number);
    }
}

fn check_case(bench: &mut Bench<'_>, kernel: &'static Kernel, precision: Precision, number: u64) {
    let subject = kernel.name.bytes().fold(17_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    let mut draws = Draws::new(subject, number);
    let on_opencl = bench.device.is_some();
    let (extents, nsimd) = match (on_opencl, draws.below(3)) {
        (true, _) | (_, 0) => (draws.one_of(&IN_TWO_LANES), 2),
        (_, 1) => (draws.one_of(&IN_ONE_LANE), 1),
        _ => (draws.one_of(&IN_FOUR_LANES), 4),
    };
    let lattice = lattice(extents, nsimd, precision.scalar());
    let sites = match lattice.checkerboard() {
        _ if kernel.is_full_only() => Sites::Full,
        Checkerboard::FullOnly if kernel.is_onto_parity_only() => return,
        Checkerboard::FullOnly => Sites::Full,
        Checkerboard::RedBlack => {
            let parities = [Sites::Parity(Parity::Even), Sites::Parity(Parity::Odd), Sites::Full];
            draws.one_of(&parities[..if kernel.is_onto_parity_only() { 2 } else { 3 }])
        }
    };
    let format = if on_opencl { format_on_opencl(precision) } else { draws.one_of(&LinkFormat::ALL) };
    let possible: Vec<usize> = (0..LINKS.len()).filter(|&k| LINKS[k].formats().contains(&format)).collect();
    let links = draws.one_of(&possible);
    let boundary = draws.boundary();
    let (parts, rhs_parts, ls) = match kernel.geometry {
        Geometry::AlongS => (4, 1, Some(draws.one_of(&[1, 2, 4]))),
        _ if kernel.is_of_right_hand_sides() => (6, draws.one_of(&[1, 2, 3]), None),
        _ => (draws.one_of(&[1, 2, 3].map(|parts| if kernel.takes_parts(parts) { parts } else { 3 })), 1, None),
    };
    let parts = if kernel.takes_parts(parts) { parts } else { 1 };
    let has = |wanted: fn(&KernelArgument) -> bool| kernel.arguments.iter().any(wanted);
    let converts = kernel.fields().any(|role| role.holds == FieldContents::Converted);
    let from = Precision::ALL.into_iter().filter(|from| lattice.in_scalar(from.scalar()).is_ok()).collect::<Vec<_>>();
    let seed = (links + 4 * draws.below(3)) as u64;
    let reads_links =
        kernel.fields().any(|role| matches!(role.holds, FieldContents::DoubledLinks | FieldContents::Links));
    let configuration = bench
        .configurations
        .entry((extents, precision as usize, seed))
        .or_insert_with(|| {
            let data = TestData::new(seed);
            in_precision!(precision, R => data.configuration::<R>(lattice.extents(), LINKS[links]).unwrap())
        })
        .clone();
    let options = CaseOptions {
        from: converts.then(|| draws.one_of(&from)),
        ls,
        matrix_dagger: has(|argument| matches!(argument, KernelArgument::Matrix(_))) && draws.below(2) == 1,
        rhs_parts,
        listed: if has(|argument| matches!(argument, KernelArgument::Fields(..))) { 1 + draws.below(3) } else { 1 },
        configuration: reads_links.then_some(&configuration),
        legs: if on_opencl || draws.below(3) == 0 { LegOrder::DEFAULT } else { draws.legs() },
        direction: draws.one_of(&Direction::ALL),
        numbers: draws.one_of(&Numbers::ALL),
        data: TestData::new(number),
        ..CaseOptions::new(lattice, sites, precision, DoubledGauge { format, boundary }, parts)
    };
    let sum = match kernel.sums() && draws.below(3) == 0 {
        true => Sum::Tree(TreePlan::with_warp(32, 4, 8).unwrap()),
        false => Sum::Exact,
    };
    let what = format!(
        "{kernel} in {precision}, case {number}: {sites} sites of {} in {nsimd} lanes, {format} reals, boundary {boundary}, legs {}, {parts} components, \
         {} numbers, {} links, {sum}",
        lattice.extents(),
        options.legs,
        options.numbers,
        LINKS[links],
    );

    let case = Case::new(kernel, &options).unwrap_or_else(|error| panic!("{what}: {error}"));
    let expected = case.run(bench.cpu, sum).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(!expected.fields.is_empty() || !expected.sums.is_empty(), "{what}: nothing to compare");
    bench.c.assert_gives(&case, sum, &expected, &what);
    let plain = PlainLinks { configuration: &configuration, boundary };
    let mut others = vec![("plain loops", case.in_plain_loops(bench.cpu, &plain, sum).unwrap())];
    if let Some(device) = bench.device {
        others.push(("OpenCL", case.run(device, sum).unwrap_or_else(|error| panic!("{what}: {error}"))));
    }
    for (backend, found) in others {
        assert_same_outcome(&found, &expected, &format!("{what}: {backend}"));
    }
}

/// The kernels that are there in C.
fn kernels() -> impl Iterator<Item = &'static Kernel> {
    kernel::all().filter(|kernel| kernel.is_launched() && kernel::is_in_plain_c(kernel))
}

/// The kernels of a quarter of the list, each with all its cases.
fn a_quarter_of_the_kernels(quarter: usize) {
    let (cpu, device, c) = (host(), opencl(), CReference::usual());
    for kernel in kernels().skip(quarter).step_by(4) {
        let start = Instant::now();
        let mut bench = Bench { c, cpu: &cpu, device: device.as_ref(), configurations: HashMap::new() };
        check(&mut bench, kernel, 0..CASES);
        bench.device = None;
        check(&mut bench, kernel, CASES..CASES + WITHOUT_OPENCL);
        println!("{kernel}: {} cases in {:.1} s", CASES + WITHOUT_OPENCL, start.elapsed().as_secs_f64());
    }
}

#[test]
fn every_kernel_of_the_list_is_there_in_c() {
    let c = CReference::usual();
    let missing: Vec<&str> = kernels().filter(|kernel| !c.has(kernel.name)).map(|kernel| kernel.name).collect();
    let others = kernel::all().filter(|kernel| kernel.is_launched() && !kernel::is_in_plain_c(kernel));
    let there: Vec<&str> = others.filter(|kernel| c.has(kernel.name)).map(|kernel| kernel.name).collect();
    assert!(
        there.is_empty(),
        "{} are there in C: write `in C` in the line of their family in crates/kernels/src/kernel/list.rs",
        there.join(", ")
    );
    assert!(
        missing.is_empty(),
        "crates/capi/reference/lanefield_reference_golden.c has no {}, although their families are `in C`",
        missing.join(", ")
    );
    assert!(!c.has("no_such_kernel") && !c.has("copy_dagger") && !c.has("copy_many"));
}

#[test]
fn kernels_have_the_same_bits_in_c_in_vectors_and_in_plain_loops() {
    let (cpu, c) = (host(), CReference::usual());
    for kernel in kernels() {
        let mut bench = Bench { c, cpu: &cpu, device: None, configurations: HashMap::new() };
        check(&mut bench, kernel, 0..FEW);
    }
}

#[test]
#[ignore = "test-all: many cases, and OpenCL"]
fn kernels_1_of_4_have_the_same_bits_in_four_implementations() {
    a_quarter_of_the_kernels(0);
}

#[test]
#[ignore = "test-all: many cases, and OpenCL"]
fn kernels_2_of_4_have_the_same_bits_in_four_implementations() {
    a_quarter_of_the_kernels(1);
}

#[test]
#[ignore = "test-all: many cases, and OpenCL"]
fn kernels_3_of_4_have_the_same_bits_in_four_implementations() {
    a_quarter_of_the_kernels(2);
}

#[test]
#[ignore = "test-all: many cases, and OpenCL"]
fn kernels_4_of_4_have_the_same_bits_in_four_implementations() {
    a_quarter_of_the_kernels(3);
}

#[test]
#[ignore = "test-all: all compilers"]
fn every_compiler_at_every_optimisation_gives_the_same_bits() {
    let cpu = host();
    for compiler in compilers() {
        for optimisation in ["-O0", "-O1", "-O2", "-O3"] {
            let c = CReference::compile(compiler, &[&flags(compiler)[..], &[optimisation]].concat());
            assert_eq!(c.check(), None, "{}", c.command);
            let mut bench = Bench { c: &c, cpu: &cpu, device: None, configurations: HashMap::new() };
            for kernel in kernels() {
                check(&mut bench, kernel, 0..FEW);
            }
        }
    }
}

/// What breaks the rules is named, with the flag that mends it. What a compiler makes of a flag depends on its version, so that here the check and the
/// bits of products must agree with each other.
#[test]
#[ignore = "test-all: all compilers"]
fn the_check_of_the_compiler_names_what_breaks_the_rules() {
    for compiler in compilers() {
        // A library that was linked with -ffast-math makes the thread that loads it flush subnormal numbers: so a thread of its own.
        let fast = std::thread::scope(|scope| {
            let check = || {
                let fast = CReference::compile(compiler, &["-std=c99", "-O2", "-ffast-math", "-DLFR_TRY_FAST_MATH"]);
                (fast.check(), fast.command.clone())
            };
            scope.spawn(check).join().unwrap()
        });
        assert!(fast.0.is_some(), "{}", fast.1);
        if cfg!(target_arch = "x86_64") && std::arch::is_x86_feature_detected!("fma") {
            let contracted = CReference::compile(compiler, &["-std=gnu99", "-O2", "-mfma", "-ffp-contract=fast"]);
            let said = contracted.check().unwrap_or_default();
            assert!(said.contains("-ffp-contract=off"), "{}: {said}", contracted.command);
        }
    }
}
