//! Captured launches: what is written to a directory is all that a launch depends on, since running it again from there gives the same bits.

use std::path::Path;

use lanefield::backend::opencl::{CapturedArgument, DeviceInfo, OpenCl, ScalarKind, SumForm, SumOptions, Tuning};
use lanefield::capture::{Capture, WorkEntry};
use lanefield::dynamic::HopKernel;
use lanefield::kernel::{self, Case, CaseOptions, Kernel};
use lanefield::prelude::*;
use lanefield_reference::links::DoubledGauge;

use crate::common;

const EVEN: Sites = Sites::Parity(Parity::Even);

/// A device whose memory is not overwritten: what a kernel does not write stays as it is, in a replay as in the launch.
fn device() -> Option<OpenCl> {
    Some(OpenCl::open(&common::opencl_device()?).unwrap())
}

fn kernel(name: &str) -> &'static Kernel {
    kernel::all().find(|kernel| kernel.name == name).unwrap()
}

fn lattice(device: &OpenCl, precision: Precision) -> Lattice {
    let lanes = device.lanes(LaneChoice::Auto);
    Lattice::new(
        Extents::new([4, 4, 4, 8]).unwrap(),
        precision.scalar(),
        LatticeOptions { lanes, ..LatticeOptions::default() },
    )
    .unwrap()
}

fn options(
    device: &OpenCl,
    (sites, precision): (Sites, Precision),
    format: LinkFormat,
    parts: usize,
) -> CaseOptions<'static> {
    let links = DoubledGauge { format, boundary: BoundaryPhases::ANTIPERIODIC_IN_TIME };
    CaseOptions::new(lattice(device, precision), sites, precision, links, parts)
}

/// Captures the launch of a kernel, writes it, reads it, and runs it again in a context of its own.
fn replayed(device: &OpenCl, kernel: &str, work: &mut dyn FnMut() -> Result<(), BackendError>) -> Capture {
    let launch = device.capture(kernel, work).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("launch");
    Capture::new(launch, device.context().info()).write(&directory, false).unwrap();
    replayed_from(device.context().info(), &directory)
}

fn replayed_from(info: &DeviceInfo, directory: &Path) -> Capture {
    let capture = Capture::read(directory).unwrap();
    assert!(capture.written() > 0, "{} writes nothing that it did not hold before", capture.launch.kernel);
    let other = OpenCl::open(info).unwrap();
    let found = other.context().replay(&capture.launch).unwrap();
    assert_eq!(capture.differences(&found), [], "{}", capture.launch.kernel);
    capture
}

/// The same of a case, whose first launch it is.
fn case_replayed(device: &OpenCl, name: &str, options: &CaseOptions<'_>) -> Capture {
    let case = Case::new(kernel(name), options).unwrap();
    let mut on = case.on(device).unwrap();
    replayed(device, name, &mut || on.launch(&case, device, Sum::Exact).map(drop))
}

fn scalars(capture: &Capture) -> Vec<ScalarKind> {
    let kinds = capture.launch.arguments.iter().filter_map(|argument| match argument {
        CapturedArgument::Scalar(kind, _) => Some(*kind),
        _ => None,
    });
    kinds.collect()
}

fn buffers(capture: &Capture) -> Vec<usize> {
    let numbers = capture.launch.arguments.iter().filter_map(|argument| match argument {
        CapturedArgument::Buffer(number) => Some(*number),
        _ => None,
    });
    numbers.collect()
}

#[test]
#[ignore = "test-all: all builds"]
fn a_captured_hop_has_the_same_bits_when_it_is_run_again_in_every_precision_and_link_format() {
    let Some(device) = device() else { return };
    for (precision, format) in
        [(Precision::F32, LinkFormat::Full), (Precision::F64, LinkFormat::TwoRows), (Precision::Half, LinkFormat::Full)]
    {
        let capture = case_replayed(&device, "hop", &options(&device, (EVEN, precision), format, 1));
        assert!(capture.launch.options.contains("-DPRECISION="), "{}", capture.launch.options);
        // The result alone is written: fields, links, tables are read.
        assert_eq!(capture.written(), 1);
        assert!(capture.launch.buffers.len() >= 5 && scalars(&capture).contains(&ScalarKind::Uint));
    }
}

#[test]
#[ignore = "test-all: all families"]
fn captured_kernels_of_other_families_have_the_same_bits_when_they_are_run_again() {
    let Some(device) = device() else { return };
    for (name, sites, precision, parts) in [
        ("clover_apply", Sites::Full, Precision::F32, 1),
        ("clover_apply", EVEN, Precision::Half, 1),
        ("eo_clover", EVEN, Precision::F64, 1),
        ("s_dense", Sites::Full, Precision::F64, 16),
        ("take_rhs", Sites::Full, Precision::F32, 4),
    ] {
        case_replayed(&device, name, &options(&device, (sites, precision), LinkFormat::Full, parts));
    }
    for hop in HopKernel::all().map(HopKernel::kernel) {
        let precision = if hop.takes(Precision::Half) { Precision::Half } else { Precision::F32 };
        for (precision, parts) in [(Precision::F32, 2), (precision, 1)] {
            let parts = if hop.takes_parts(parts) { parts } else { 1 };
            case_replayed(&device, hop.name, &options(&device, (EVEN, precision), LinkFormat::Full, parts));
        }
    }
}

#[test]
fn a_captured_update_keeps_what_its_buffer_held_before() {
    let Some(device) = device() else { return };
    for precision in [Precision::F32, Precision::F64, Precision::Half] {
        let capture = case_replayed(&device, "axpy", &options(&device, (Sites::Full, precision), LinkFormat::Full, 1));
        let changed = capture.launch.buffers.iter().find(|buffer| buffer.after.is_some()).unwrap();
        assert!(changed.before.iter().any(|&byte| byte != 0));
        let real = if precision == Precision::F64 { ScalarKind::Double } else { ScalarKind::Float };
        assert!(scalars(&capture).contains(&real), "{precision}");
    }
}

#[test]
#[ignore = "test-all: builds of sums"]
fn captured_sums_have_local_memory_and_the_same_partial_sums_when_they_are_run_again() {
    let Some(device) = device() else { return };
    for (name, precision) in [
        ("norm2", Precision::F32),
        ("sum", Precision::F64),
        ("axpy_norm", Precision::Half),
        ("slice_sums", Precision::F32),
    ] {
        let capture = case_replayed(&device, name, &options(&device, (Sites::Full, precision), LinkFormat::Full, 1));
        let local = |argument: &CapturedArgument| matches!(argument, CapturedArgument::Local(bytes) if *bytes > 0);
        assert!(capture.launch.arguments.iter().any(local), "{name}");
        assert_eq!(capture.launch.number, 1, "{name}");
    }
}

#[test]
fn a_buffer_that_is_given_several_times_is_captured_once() {
    let Some(device) = device() else { return };
    let two = CaseOptions { listed: 2, ..options(&device, (Sites::Full, Precision::F32), LinkFormat::Full, 1) };
    let capture = case_replayed(&device, "inner_products", &two);
    let numbers = buffers(&capture);
    let times = |number: usize| numbers.iter().filter(|&&other| other == number).count();
    assert!((0..capture.launch.buffers.len()).any(|number| times(number) > 1), "{numbers:?}");
    assert_eq!(numbers.iter().max().unwrap() + 1, capture.launch.buffers.len());
}

#[test]
fn the_launch_of_the_kernel_asked_for_is_captured_among_others() {
    let Some(mut device) = device() else { return };
    device.set_sum_options(SumOptions { form: Some(SumForm::Staged(4)), ..SumOptions::default() });
    let case = Case::new(kernel("sum"), &options(&device, (Sites::Full, Precision::F32), LinkFormat::Full, 1)).unwrap();
    let mut on = case.on(&device).unwrap();
    let capture = replayed(&device, "finish", &mut || on.launch(&case, &device, Sum::Exact).map(drop));
    // Three bundles of four words, packed and summed.
    assert_eq!((capture.launch.number, capture.launch.launches), (7, 7));
    let mut work = || on.launch(&case, &device, Sum::Exact).map(drop);
    let error = device.capture("hop", &mut work).unwrap_err().to_string();
    assert!(error.contains("hop was not among the 7 launches of the call"), "{error}");
    // Nothing waits for a launch any more.
    work().unwrap();
}

#[test]
fn a_tuning_and_another_place_of_the_launch_are_part_of_what_is_captured() {
    let Some(mut device) = device() else { return };
    let mut tuning = Tuning::OPEN;
    let parameter = |name: &str| Tuning::PARAMETERS.iter().find(|parameter| parameter.name == name).unwrap();
    parameter("accelerator-threads").set(&mut tuning, "2").unwrap();
    device.set_tuning(tuning);
    let of = options(&device, (EVEN, Precision::F32), LinkFormat::Full, 1);
    let capture = case_replayed(&device, "hop", &of);
    assert_eq!(capture.launch.launch.local[1], 2);
    let mut moved = capture.clone();
    moved.launch.offset[1] += 2;
    moved.launch.launch.global[1] -= 2;
    // The first two outer sites are not written to.
    let found = device.context().replay(&moved.launch).unwrap();
    let [difference] = &capture.differences(&found)[..] else { panic!("one buffer is written to") };
    assert_eq!(difference.byte / 4, 0);
    assert_eq!(capture.work, None::<WorkEntry>);
}

#[test]
fn a_replay_that_computes_something_else_is_found_out() {
    let Some(device) = device() else { return };
    let of = options(&device, (EVEN, Precision::F32), LinkFormat::Full, 1);
    let mut capture = case_replayed(&device, "hop", &of);
    let read = capture.launch.buffers.iter().position(|buffer| buffer.after.is_none() && buffer.before.len() > 10_000);
    // The sign of a number that is read.
    capture.launch.buffers[read.unwrap()].before[3] ^= 0x80;
    let found = device.context().replay(&capture.launch).unwrap();
    let differences = capture.differences(&found);
    assert!(differences.iter().any(|one| Some(one.buffer.0) != read), "{differences:?}");
    capture.launch.arguments.pop();
    let error = device.context().replay(&capture.launch).unwrap_err().to_string();
    assert!(error.contains("arguments, and"), "{error}");
}
