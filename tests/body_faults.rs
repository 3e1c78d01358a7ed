//! Checks of kernels find the faults that are planted, and functions that no kernel can be are refused by name.

use lanefield::__private::PlainImplementation;
use lanefield::body::prelude::*;
use lanefield::check::IdentityFields;
use lanefield::kernel::{Kernel, KernelSource};
use lanefield::twin::PlainCall;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::layout::{Leg, LegOrder};
use lanefield_reference::scalar::mul;
use num_complex::Complex;

use crate::body::{COVARIANT_SUM, failure, link_times, sum_of};

/// A covariant sum with a fault: the product of each leg and part as `fault` has it.
fn with_fault<R: Vectors>(
    call: &mut PlainCall<'_, R>,
    fault: impl Fn(&PlainCall<'_, R>, usize, usize, usize) -> [Complex<R>; 3],
) {
    call.each(|call, site, part| {
        let sum = sum_of((0..8).map(|k| fault(call, site, k, part)));
        call.write("sum", site, part, &sum);
    });
}

fn product<R: Vectors>(
    call: &PlainCall<'_, R>,
    site: usize,
    [of_link, of_phi]: [usize; 2],
    part: usize,
) -> [Complex<R>; 3] {
    let [link, phi] = [of_link, of_phi].map(|k| call.legs()[k]);
    link_times(call, site, link, call.neighbour(site, phi), part)
}

struct WrongSign;
impl PlainImplementation for WrongSign {
    fn run<R: Vectors>(call: &mut PlainCall<'_, R>) {
        with_fault(call, |call, site, k, part| {
            let product = product(call, site, [k, k], part);
            if k == 3 { product.map(|x| -x) } else { product }
        });
    }
}

struct WrongLeg;
impl PlainImplementation for WrongLeg {
    fn run<R: Vectors>(call: &mut PlainCall<'_, R>) {
        with_fault(call, |call, site, k, part| product(call, site, if k == 5 { [5, 6] } else { [k, k] }, part));
    }
}

/// Products that are rounded before they are added.
struct NotFused;
impl PlainImplementation for NotFused {
    fn run<R: Vectors>(call: &mut PlainCall<'_, R>) {
        with_fault(call, |call, site, k, part| {
            let leg = call.legs()[k];
            let phi = call.read("phi", call.neighbour(site, leg), part);
            call.link(site, leg).map(|row| mul(row[2], phi[2]) + (mul(row[1], phi[1]) + mul(row[0], phi[0])))
        });
    }
}

#[test]
fn planted_faults_are_found_and_shrunk_to_small_lattices() {
    let faults = [
        failure(|| lanefield::check::twin::<WrongSign>(&COVARIANT_SUM)),
        failure(|| lanefield::check::twin::<WrongLeg>(&COVARIANT_SUM)),
        failure(|| lanefield::check::twin::<NotFused>(&COVARIANT_SUM)),
        // The body is right, and is no Hermitian operator where links are doubled and a forward leg is not a backward one's conjugate.
        failure(|| lanefield::check::anti_hermitian(&COVARIANT_SUM, IdentityFields::ALL)),
    ];
    for fault in &faults {
        assert!(
            fault.starts_with("covariant_sum: ") && fault.contains("the smallest case that fails: lattice "),
            "{fault}"
        );
    }
    for fault in &faults[..3] {
        let extents = fault.split("lattice ").nth(1).and_then(|rest| rest.split(',').next()).unwrap();
        let volume: usize = extents.split('.').map(|extent| extent.parse::<usize>().unwrap()).product();
        assert!(fault.contains("field sum differs: ") && volume <= 32, "{fault}");
    }
}

/// A body that is another one each time.
#[lane_kernel]
fn impure<S: Site>(out: Write<S, ColourVectors>, phi: Read<S, ColourVectors>) {
    static CALLS: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let calls = CALLS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    out.write(phi.here().scaled(S::Real::constant(f64::from(calls))));
}

/// A body of more statements than are taken.
#[lane_kernel]
fn endless<S: Site>(out: Write<S, ColourVectors>, phi: Read<S, ColourVectors>) {
    let mut sum = phi.here();
    for _ in 0..lanefield::body::recording::MOST_STATEMENTS {
        sum += phi.here();
    }
    out.write(sum);
}

/// A body that names a leg that there is not.
#[lane_kernel]
fn astray<S: Site>(out: Write<S, ColourVectors>, phi: Neighbours<S, ColourVectors>) {
    out.write(phi.at(Leg::forward(9)));
}

/// A body that leaves one of its outputs.
#[lane_kernel]
fn forgetful<S: Site>(out: Write<S, ColourVectors>, more: Write<S, ColourVectors>, phi: Read<S, ColourVectors>) {
    let _ = more;
    out.write(phi.here());
}

/// A body that adds nothing to one of its sums.
#[lane_kernel]
fn sparing<S: Site>(phi: Read<S, ColourVectors>, norm: ExactSum<S>, more: ComplexSum<S>) {
    let _ = more;
    norm.add(phi.here().norm2());
}

/// A body that writes the first word alone of whatever its output holds.
#[lane_kernel]
fn partial<S: Site>(site: S, out: Write<S, Any>, x: Read<S, Any>) {
    site.repeat(out.words(), (), |word, ()| out.write_word(site.count(0), x.word(word)));
}

#[test]
fn bodies_that_are_none_are_refused_by_name() {
    let refusal = |kernel: &'static Kernel| match kernel.source {
        KernelSource::Body(body) => body.program(kernel.name, LegOrder::DEFAULT).unwrap_err().to_string(),
        _ => unreachable!("kernels of this file have bodies"),
    };
    assert!(refusal(&IMPURE).starts_with("the body of impure did not do the same when it was recorded twice"));
    let astray = refusal(&ASTRAY);
    assert_eq!(astray, "the body of astray panicked: a leg goes along dimension 0, 1, 2 or 3");
    assert_eq!(
        [&FORGETFUL, &SPARING].map(refusal),
        ["forgetful", "sparing"].map(|kernel| format!(
            "the body of {kernel} never writes more: write it, add to it if it is a sum, or leave the argument out"
        ))
    );
    assert_eq!(
        refusal(&PARTIAL),
        "the body of partial does not write every word of out: write them within `site.repeat(out.words(), …)`, or make it an Update"
    );
    let long = refusal(&ENDLESS);
    assert!(long.starts_with("the body of endless has ") && long.contains("at most 100000"), "{long}");
}
