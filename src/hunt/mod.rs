//! A hunt for differences between a device and the CPU: random bodies on random fields and lattices, laid out, built and launched in random ways. The
//! recording of a body on plain numbers says which of the two is wrong. What differs is shrunk: first the case ([`expression`]), then the one number that differs
//! to the fewest operations that still give another one on the device ([`least`]), as a program of its own.

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

/// Shrinking ends after so many tries: each builds a kernel.
const MOST_TRIES: u32 = 2000;

/// Whose results are held against the CPU's.
pub trait Suspect {
    /// Whether it computes in a precision.
    fn takes(&self, precision: Precision) -> bool;

    /// What the kernel of a case gives, with fields laid out and the kernel built and launched as `tuning` says. `links`: those of which the case was made.
    fn run(&mut self, case: &Case, links: &PlainLinks<'_>, tuning: Tuning, sum: Sum) -> Result<Outcome, BackendError>;

    /// What the few operations give of themselves.
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

/// How far a hunt goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HuntOptions {
    /// Where the bodies and the numbers come from: the same seed, the same hunt.
    pub seed: u64,
    /// Bodies.
    pub bodies: u32,
}

/// A difference.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Find {
    /// Who is wrong: "the device" where the CPU has the bits of the recording on plain numbers, "the CPU" where it has not.
    pub wrong: String,
    /// What differs, of the least case.
    pub difference: String,
    /// The least case: lattice, lanes, numbers, and how the kernel was built.
    pub case: String,
    /// The lines of the least body.
    pub body: String,
    /// A program in C with the few operations that differ by themselves; none where they do not.
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

/// What a hunt did.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct HuntReport {
    /// Bodies that were compared.
    pub bodies: u64,
    /// Real numbers that were compared.
    pub components: u64,
    /// What differed first.
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

/// Hunts. Until `goes_on` says no, that many bodies are compared; the first that differs ends the hunt.
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
                Ok(()) => "it differs once, and not again".to_owned(),
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

/// Compares the device, the CPU, and plain numbers.
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

/// The fewest operations that give another number than they should on the device, of those that give the one that differs; `None` if they do not differ by
/// themselves.
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
    // With one operation less, as long as there is one without which it differs.
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

/// The operations of the word that differs.
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
