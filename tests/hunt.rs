//! Hunts for differences: none where there is none, and planted ones found and shrunk to a few operations.

use std::process::Command;
use std::sync::RwLock;

use lanefield::__private::{PlainImplementation, launch_plain, reduce_plain};
use lanefield::backend::opencl::{OpenCl, Tuning};
use lanefield::body::program::Operation;
use lanefield::hunt::least::Least;
use lanefield::hunt::{HuntOptions, HuntReport, Suspect, hunt};
use lanefield::kernel::interpreter::run_with;
use lanefield::kernel::{Case, HostFunction, Outcome, PlainLinks};
use lanefield::prelude::*;
use lanefield::twin::PlainCall;

use crate::common::backends::opencl;

fn hunted(suspect: &mut dyn Suspect, seed: u64, bodies: u32) -> HuntReport {
    let cpu = Cpu::new(None).unwrap();
    hunt(suspect, &cpu, HuntOptions { seed, bodies }, &|| true).unwrap()
}

/// What a twin gives of a case.
fn run_as<T: PlainImplementation>(
    cpu: &Cpu,
    case: &Case,
    links: &PlainLinks<'_>,
    sum: Sum,
) -> Result<Outcome, BackendError> {
    let plain = match case.kernel().sums() {
        true => HostFunction::Reduce(reduce_plain::<T> as _),
        false => HostFunction::Launch(launch_plain::<T> as _),
    };
    case.run_plain(cpu, plain, links, sum)
}

/// A device that makes zeros of numbers that are subnormal in f32.
struct Flushing(Cpu);

fn flush(_: &Operation, right: Complex<f64>) -> Complex<f64> {
    let flushed = |x: f64| if x.abs() < f64::from(f32::MIN_POSITIVE) { 0.0 * x } else { x };
    Complex::new(flushed(right.re), flushed(right.im))
}

impl PlainImplementation for Flushing {
    fn run<R: Vectors>(call: &mut PlainCall<'_, R>) {
        run_with(call, Some(flush));
    }
}

impl Suspect for Flushing {
    fn takes(&self, _: Precision) -> bool {
        true
    }

    fn run(&mut self, case: &Case, links: &PlainLinks<'_>, _: Tuning, sum: Sum) -> Result<Outcome, BackendError> {
        run_as::<Self>(&self.0, case, links, sum)
    }

    fn run_least(&mut self, least: &Least) -> Result<Complex<f64>, BackendError> {
        Ok(least.with_fault(flush))
    }
}

#[test]
fn flushed_subnormal_numbers_are_found_and_shrunk_to_one_operation() {
    let find = hunted(&mut Flushing(Cpu::new(None).unwrap()), 1, 400).find.expect("numbers are flushed");
    assert_eq!(find.wrong, "the device");
    assert!(find.body.lines().count() <= 5, "{find}");
    let program = find.program.as_deref().expect("operations differ by themselves");
    // One operation, and its operands.
    let lines: Vec<&str> = program.lines().filter(|line| line.contains("    const ")).collect();
    let operations = lines.iter().filter(|line| !line.contains("in[")).count();
    assert!(operations == 1 && lines.len() <= 5, "{program}");
}

#[test]
#[ignore = "test-all: a build for each body"]
fn nothing_is_found_where_nothing_is_wrong() {
    let Some(mut device) = opencl() else { return };
    let report = hunted(&mut device, 2, 12);
    assert_eq!((report.bodies, report.find), (12, None));
    assert!(report.components > 1000, "{}", report.components);
}

#[test]
#[ignore = "test-all: a build for each body"]
fn numbers_that_a_driver_flushes_are_found_and_shrunk_to_a_program_that_shows_it() {
    let Some(mut device) = opencl() else { return };
    let options = "-cl-denorms-are-zero";
    device.set_build_options(options);
    let find = hunted(&mut device, 3, 200).find.expect("subnormal numbers are zeros");
    let program = find.program.as_ref().unwrap_or_else(|| panic!("the operations differ by themselves: {find}"));
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    std::fs::write(path("least.c"), program).unwrap();
    let compiled =
        Command::new("cc").arg("-o").args([path("least"), path("least.c")]).arg("-l:libOpenCL.so.1").output();
    let compiled = compiled.unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let run = |options: &[&str]| Command::new(path("least")).args(options).status().unwrap().code();
    assert_eq!((run(&["0"]), run(&["0", options])), (Some(0), Some(1)));
}

/// A CPU on which one kind of operation gives another number, so that a hunt ends with a body that has it. The few operations run on the device.
struct Planted {
    cpu: Cpu,
    device: OpenCl,
    ran: usize,
}

/// The operation that [`Planted`] spoils, by its name.
static SPOILED: RwLock<&str> = RwLock::new("");

fn spoil(operation: &Operation, right: Complex<f64>) -> Complex<f64> {
    let text = format!("{operation:?}");
    let is_it = text.split('(').next() == Some(*SPOILED.read().unwrap());
    if is_it { Complex::new(1.0 - right.re, right.im) } else { right }
}

impl PlainImplementation for Planted {
    fn run<R: Vectors>(call: &mut PlainCall<'_, R>) {
        run_with(call, Some(spoil));
    }
}

impl Suspect for Planted {
    fn takes(&self, _: Precision) -> bool {
        true
    }

    fn run(&mut self, case: &Case, links: &PlainLinks<'_>, _: Tuning, sum: Sum) -> Result<Outcome, BackendError> {
        run_as::<Self>(&self.cpu, case, links, sum)
    }

    fn run_least(&mut self, least: &Least) -> Result<Complex<f64>, BackendError> {
        self.ran += 1;
        least.run_on(&self.device)
    }
}

#[test]
#[ignore = "test-all: a build for each operation"]
fn every_operation_runs_by_itself_and_gives_the_bits_of_the_cpu() {
    let Some(device) = opencl() else { return };
    let mut suspect = Planted { cpu: Cpu::new(None).unwrap(), device, ran: 0 };
    // Those of random bodies, loads apart.
    let operations = [
        "Constant",
        "Add",
        "Sub",
        "Mul",
        "Div",
        "Neg",
        "MulAdd",
        "Scaled",
        "ScaledAdd",
        "New",
        "Re",
        "Im",
        "TimesI",
        "Conj",
        "Sqrt",
        "Abs",
        "Less",
        "AtMost",
        "Not",
        "Select",
    ];
    for operation in operations {
        *SPOILED.write().unwrap() = operation;
        let ran = suspect.ran;
        // Where it is the sum alone that differs, nothing is run by itself.
        for seed in 0..8 {
            let find =
                hunted(&mut suspect, seed, 400).find.unwrap_or_else(|| panic!("{operation} gives another number"));
            assert_eq!((find.wrong.as_str(), &find.program), ("the device", &None), "{operation}: {find}");
            if suspect.ran > ran {
                break;
            }
        }
        assert!(suspect.ran > ran, "{operation} did not run by itself");
    }
}
