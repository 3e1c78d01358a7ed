//! Searches for differences between a device and the CPU. Random kernel functions run on random fields and lattices, with random layouts
//! and variants. The recording of a kernel function, evaluated on plain numbers, decides which of the two is wrong.
//!
//! A difference is shrunk in two stages: first the case ([`expression`]), then the number that differs, to the fewest operations that are
//! still wrong on the device ([`least`]). These become a separate program.

pub mod expression;
pub mod least;

use std::cell::{Cell, RefCell};
use std::fmt;

use lanefield_reference::field::FieldShape;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::real::Precision;
use num_complex::Complex;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use serde::{Deserialize, Serialize};

use crate::__private::{PlainCall, launch_plain, reduce_plain};
use crate::backend::opencl::{OpenCl, Tuning};
use crate::backend::{BackendError, Cpu, Sum};
use crate::check::{Drawn, any_case, compare, failed, run_tuned};
use crate::in_precision;
use crate::kernel::interpreter::{AtSite, Interpreted, evaluate};
use crate::kernel::{Case, HostFunction, Outcome, PlainLinks};
use crate::verify::{FieldMismatch, compare_host_fields};
use expression::Expression;
#[doc(hidden)]
pub use expression::KERNELS;
use least::Least;

/// Shrinking ends after this number of tries, each of which builds a kernel.
const MOST_TRIES: u32 = 2000;

/// A device under test, whose results are compared with the CPU's.
pub trait Suspect {
    /// Whether the device computes in this precision.
    fn takes(&self, precision: Precision) -> bool;

    /// Runs the kernel of a case with the given tuning. `links`: the links that the case was made from.
    fn run(&mut self, case: &Case, links: &PlainLinks<'_>, tuning: Tuning, sum: Sum) -> Result<Outcome, BackendError>;

    /// Runs the few operations of `least` by themselves.
    fn run_least(&mut self, least: &Least) -> Result<Complex<f64>, BackendError>;
}

impl Suspect for OpenCl {
    fn takes(&self, precision: Precision) -> bool {
        self.context().info().fp64 || precision != Precision::F64
    }

    fn run(&mut self, case: &Case, _: &PlainLinks<'_>, tuning: Tuning, sum: Sum) -> Result<Outcome, BackendError> {
        self.forget_programs();
        run_tuned(self, case, tuning, sum)
    }

    fn run_least(&mut self, least: &Least) -> Result<Complex<f64>, BackendError> {
        least.run_on(self)
    }
}

/// The options of a hunt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HuntOptions {
    /// The seed of the kernel functions and numbers. The same seed repeats the same hunt.
    pub seed: u64,
    /// The number of kernel functions.
    pub bodies: u32,
}

/// A difference that was found.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Find {
    /// Which one is wrong: "the device" if the CPU has the bits of the recording on plain numbers, "the CPU" otherwise.
    pub wrong: String,
    /// What differs in the smallest case.
    pub difference: String,
    /// The smallest case: lattice, lanes, numbers, and how the kernel was built.
    pub case: String,
    /// The lines of the smallest kernel function.
    pub body: String,
    /// A C program with the few operations that differ on their own; `None` if they do not.
    pub program: Option<String>,
}

impl fmt::Display for Find {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { wrong, difference, case, body, program } = self;
        writeln!(f, "{wrong} is wrong: {difference}")?;
        writeln!(f, "least case: {case}")?;
        for line in body.lines() {
            writeln!(f, "    {line}")?;
        }
        match program {
            Some(_) => write!(f, "the operations differ by themselves, too: there is a program of its own"),
            None => write!(f, "the operations by themselves do not differ: it takes the whole kernel"),
        }
    }
}

/// The result of a hunt.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct HuntReport {
    /// The number of kernel functions that were compared.
    pub bodies: u64,
    /// The number of reals that were compared.
    pub components: u64,
    /// The first difference.
    pub find: Option<Find>,
}

/// A case of a hunt.
#[derive(Clone)]
struct Hunted {
    expression: Expression,
    drawn: Drawn,
    sums: bool,
}

impl fmt::Debug for Hunted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n{}", self.drawn, self.expression)
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Wrong {
    who: &'static str,
    mismatch: Option<FieldMismatch>,
}

/// Compares `options.bodies` random kernel functions, while `goes_on` returns true. The first difference ends the hunt.
pub fn hunt(
    suspect: &mut dyn Suspect,
    cpu: &Cpu,
    options: HuntOptions,
    goes_on: &dyn Fn() -> bool,
) -> Result<HuntReport, HuntError> {
    let _alone = expression::alone();
    let HuntOptions { seed, bodies } = options;
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let config = Config {
        cases: bodies,
        max_shrink_iters: MOST_TRIES,
        max_local_rejects: u32::MAX,
        failure_persistence: None,
        ..Config::default()
    };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let taken: Vec<Precision> = Precision::ALL.into_iter().filter(|&precision| suspect.takes(precision)).collect();
    let [field, sum] = KERNELS.map(|kernel| {
        let taken = taken.clone();
        any_case(kernel, true).prop_filter("a precision of the device", move |drawn| taken.contains(&drawn.precision))
    });
    let drawn = prop_oneof![2 => field.prop_map(|drawn| (drawn, false)), 1 => sum.prop_map(|drawn| (drawn, true))];
    let cases = (Expression::any(), drawn).prop_map(|(expression, (drawn, sums))| Hunted { expression, drawn, sums });
    let (suspect, report, wrong) = (RefCell::new(suspect), RefCell::new(HuntReport::default()), RefCell::new(None));
    let found = Cell::new(false);
    let outcome = runner.run(&cases, |hunted| {
        if !goes_on() {
            return Ok(());
        }
        let mut report = report.borrow_mut();
        if !found.get() {
            report.bodies += 1;
        }
        let outcome = run(&hunted, &mut **suspect.borrow_mut(), cpu, &mut wrong.borrow_mut(), &mut report.components);
        found.set(found.get() || outcome.is_err());
        outcome
    });
    let (suspect, mut report) = (suspect.into_inner(), report.into_inner());
    match outcome {
        Ok(()) => Ok(report),
        Err(TestError::Abort(reason)) => Err(HuntError::Aborted { reason: reason.to_string() }),
        Err(TestError::Fail(_, mut hunted)) => {
            let mut wrong = None;
            let shorter = Hunted { expression: hunted.expression.without_unused(), ..hunted.clone() };
            if run(&shorter, suspect, cpu, &mut wrong, &mut 0).is_err() {
                hunted = shorter;
            }
            let reason = match run(&hunted, suspect, cpu, &mut wrong, &mut 0) {
                Err(TestCaseError::Fail(reason) | TestCaseError::Reject(reason)) => reason.to_string(),
                Ok(()) => "the difference cannot be reproduced".to_owned(),
            };
            let Some(Wrong { who, mismatch }) = wrong else {
                return Err(HuntError::Failed { case: format!("{hunted:?}"), reason });
            };
            let program = match (who, mismatch) {
                ("the device", Some(mismatch)) => shrunk(&hunted, suspect, cpu, &mismatch)?,
                _ => None,
            };
            report.find = Some(Find {
                wrong: who.to_owned(),
                difference: reason,
                case: hunted.drawn.to_string(),
                body: hunted.expression.to_string(),
                program: program.map(|least| least.program(&hunted.drawn.precision)),
            });
            Ok(report)
        }
    }
}

/// Why a hunt ended early. Messages are fragments.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum HuntError {
    #[error("the hunt was given up: {reason}")]
    Aborted { reason: String },
    #[error("a body could not be run: {reason}\n{case}")]
    Failed { case: String, reason: String },
    #[error("the least operations could not be run by themselves: {reason}")]
    Least { reason: String },
}

impl Hunted {
    fn kernel(&self) -> &'static crate::kernel::Kernel {
        KERNELS[usize::from(self.sums)]
    }
}

fn real_components(shape: &FieldShape) -> u64 {
    (2 * shape.osites() * shape.lattice.nsimd() * shape.object.words()) as u64
}

/// Compares the device, the CPU, and the recording on plain numbers.
fn run(
    hunted: &Hunted,
    suspect: &mut dyn Suspect,
    cpu: &Cpu,
    wrong: &mut Option<Wrong>,
    components: &mut u64,
) -> Result<(), TestCaseError> {
    expression::set(&hunted.expression);
    *wrong = None;
    let drawn = &hunted.drawn;
    let (case, configuration) = drawn.case(hunted.kernel())?;
    let links = PlainLinks { configuration: &configuration, boundary: drawn.boundary };
    let found = suspect.run(&case, &links, drawn.tuning, drawn.sum()).map_err(failed)?;
    let expected = case.run(cpu, drawn.sum()).map_err(failed)?;
    *components +=
        found.fields.iter().map(|(_, field)| real_components(&field.shape())).sum::<u64>() + found.sums.len() as u64;
    let twin = match hunted.sums {
        true => HostFunction::Reduce(reduce_plain::<Interpreted> as _),
        false => HostFunction::Launch(launch_plain::<Interpreted> as _),
    };
    let plain = case.run_plain(cpu, twin, &links, drawn.sum()).map_err(failed)?;
    if let Err(error) = compare(&expected, &plain) {
        *wrong = Some(Wrong { who: "the CPU", mismatch: None });
        return Err(error);
    }
    compare(&found, &expected).inspect_err(|_| {
        let [(_, found), ..] = &found.fields[..] else { return };
        let [(_, expected), ..] = &expected.fields[..] else { return };
        let mismatch = compare_host_fields(found, expected).ok().and_then(|(mismatch, _)| mismatch);
        *wrong = Some(Wrong { who: "the device", mismatch });
    })
}

/// The fewest operations with a wrong result on the device, out of those that compute the number that differs; `None` if they are right on
/// their own.
fn shrunk(
    hunted: &Hunted,
    suspect: &mut dyn Suspect,
    cpu: &Cpu,
    mismatch: &FieldMismatch,
) -> Result<Option<Least>, HuntError> {
    let error = |error: &dyn fmt::Display| HuntError::Least { reason: error.to_string() };
    let (case, configuration) = hunted.drawn.case(hunted.kernel()).map_err(|e| error(&e))?;
    let links = PlainLinks { configuration: &configuration, boundary: hunted.drawn.boundary };
    let mut least = in_precision!(hunted.drawn.precision, R => operations::<R>(&case, cpu, &links, mismatch))
        .map_err(|e| error(&e))?;
    let mut differs = |least: &Least| -> Result<bool, HuntError> {
        Ok(!least.is_right(suspect.run_least(least).map_err(|e| error(&e))?))
    };
    if !differs(&least)? {
        return Ok(None);
    }
    // Removes one operation at a time, as long as the result still differs.
    'less: loop {
        for less in least.less() {
            if differs(&less)? {
                least = less;
                continue 'less;
            }
        }
        break;
    }
    Ok(Some(least))
}

/// The operations that compute the word that differs.
fn operations<R: Vectors>(
    case: &Case,
    cpu: &Cpu,
    links: &PlainLinks<'_>,
    mismatch: &FieldMismatch,
) -> Result<Least, BackendError> {
    case.look(cpu, |call| {
        let (call, _) = PlainCall::<R>::of(call, links)?;
        let site = case.shape().lattice().extents().site(mismatch.coordinate);
        let done = evaluate(&call.program(), AtSite { call: &call, site, part: 0 }, None);
        Ok(Least::of(&done, mismatch.word))
    })
}
