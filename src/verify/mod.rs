//! Bit-for-bit comparison of a backend with the reference, on random awkward lattices and on whole solves: the main job of
//! `lanefield verify`, and the tools with which the author of a port compares fields of their own ([`compare_fields`]).
//!
//! | file | subject |
//! |---|---|
//! | `case.rs` | random lattices, layouts and parameters |
//! | `kernels.rs` | every kernel of the list on one case |
//! | `sums.rs`, `solve.rs` | sums in every form; the history and the solution of solves of every operator by every method |
//! | `compare.rs`, `report.rs` | what differs, where, by how much; rows |

mod case;
mod compare;
mod kernels;
mod report;
mod solve;
mod sums;

use std::time::Instant;

use lanefield_reference::field::FieldError;
use lanefield_reference::gauge::{Configuration, GaugeError};
use lanefield_reference::layout::{AcceleratorThreads, LaneChoice, LayoutError, LegOrder};
use thiserror::Error;

pub use case::RandomCase;
pub use compare::{Difference, FieldMismatch, Mismatch, Part, compare_fields, compare_histories, compare_host_fields};
pub use report::{Failure, Row, Subject, VerifyReport};

use crate::backend::opencl::{Retirement, SumOptions, Tuning};
use crate::backend::{Backend, BackendError, Cpu, OpenCl, Threads};
use crate::kernel;
use crate::solver::SolveError;
use case::Plan;
use kernels::KernelChecks;
use sums::SumCases;

/// What to verify.
#[derive(Clone, Debug)]
pub struct VerifyOptions {
    /// Key of all random choices and data.
    pub seed: u64,
    /// Random cases for each precision: a lattice, a layout and data each, on which every kernel runs.
    pub cases: u32,
    /// Random cases of sums over sites, on each of which six operations run.
    pub sums: u32,
    /// Only the case of this number.
    pub only: Option<u64>,
    /// Two lane widths for each precision, and one work-group size for each of them: few programs to build.
    pub few_programs: bool,
    /// Whether one case in four is on a lattice of a hundred thousand sites and more.
    pub large_lattices: bool,
    /// One lane width instead of all.
    pub lanes: LaneChoice,
    /// One leg order instead of the default one with a few others.
    pub legs: Option<LegOrder>,
    /// One number of outer sites a work-group instead of several.
    pub accelerator_threads: Option<AcceleratorThreads>,
    /// Largest work-group of the device.
    pub most_work_items: usize,
    /// Local memory that a work-group of the device can take, in bytes.
    pub local_memory_bytes: u64,
    /// The largest that is drawn: 256 fit any GPU, also kernels that need many registers; a CPU has none to run out of.
    pub largest_group: usize,
    /// One cut into lanes for each lane width, and the default one, instead of one for each case: for devices whose programs are built for a cut
    /// ([`crate::backend::opencl::LaneForm::Vectors`]).
    pub few_cuts: bool,
    /// A configuration for solves, beside the hot one.
    pub configuration: Option<Configuration>,
}

impl VerifyOptions {
    /// A full run: 10⁹ real numbers and more.
    pub fn full(seed: u64) -> Self {
        Self {
            seed,
            cases: 48,
            sums: 2400,
            only: None,
            few_programs: false,
            large_lattices: true,
            lanes: LaneChoice::Auto,
            legs: None,
            accelerator_threads: None,
            most_work_items: 1024,
            local_memory_bytes: 32 << 10,
            largest_group: 256,
            few_cuts: false,
            configuration: None,
        }
    }

    /// A short run: few programs, few large lattices.
    pub fn quick(seed: u64) -> Self {
        Self { cases: 12, sums: 240, few_programs: true, few_cuts: true, ..Self::full(seed) }
    }
}

/// Why a verification could not be carried out; that bits differ is no error. Messages are fragments.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// A backend failed, in some case.
    #[error("{case}: {source}")]
    Case {
        /// The case in words.
        case: String,
        /// Why.
        source: Box<VerifyError>,
    },
    /// A backend failed.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// A solve failed otherwise than by not converging.
    #[error(transparent)]
    Solve(Box<SolveError>),
    /// Links that are no configuration.
    #[error(transparent)]
    Gauge(#[from] GaugeError),
    /// No lane width goes with the work-groups asked for.
    #[error(
        "{threads} accelerator threads with lanes of {lanes} bytes do not fit a device that takes {most_work_items} \
         work-items a group; use fewer threads, or narrower lanes"
    )]
    Group {
        /// Lane width asked for.
        lanes: LaneChoice,
        /// Outer sites a group.
        threads: usize,
        /// Largest work-group of the device.
        most_work_items: usize,
    },
    /// A case number that the run does not have.
    #[error("there is no case {number}: this run has the cases 0 to {last}")]
    NoSuchCase {
        /// The number as it was given.
        number: u64,
        /// The last case.
        last: u64,
    },
}

impl From<SolveError> for VerifyError {
    fn from(error: SolveError) -> Self {
        Self::Solve(Box::new(error))
    }
}

impl From<FieldError> for VerifyError {
    fn from(error: FieldError) -> Self {
        Self::Backend(error.into())
    }
}

impl From<LayoutError> for VerifyError {
    fn from(error: LayoutError) -> Self {
        Self::Backend(error.into())
    }
}

/// What a backend is compared with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Against {
    /// The CPU reference.
    Cpu,
    /// The plain loops, which know no layout: what the CPU reference itself is compared with.
    PlainLoops,
}

impl Against {
    /// What it is, for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "CPU reference",
            Self::PlainLoops => "plain scalar implementation",
        }
    }
}

/// A backend that can be put to the test in different configurations.
pub trait Tested: Backend {
    /// Lays fields out, and builds and launches kernels, in the way of a case; a backend that knows only one takes the number of threads.
    ///
    /// # Errors
    /// What the backend reports.
    fn set_tuning(&mut self, tuning: Tuning) -> Result<(), BackendError>;
    /// Takes sums in the way of a case; a backend that knows only one goes on as before.
    fn set_sum_options(&mut self, options: SumOptions);
    /// Whether sums can be finished by retirement count.
    fn can_retire(&self) -> bool;
}

impl Tested for OpenCl {
    fn set_tuning(&mut self, tuning: Tuning) -> Result<(), BackendError> {
        Self::set_tuning(self, tuning);
        Ok(())
    }

    fn set_sum_options(&mut self, options: SumOptions) {
        Self::set_sum_options(self, options);
    }

    fn can_retire(&self) -> bool {
        !matches!(self.context().info().retirement, Retirement::Unsupported { .. })
    }
}

impl Tested for Cpu {
    /// More than eight threads would only wait for each other on small lattices.
    fn set_tuning(&mut self, tuning: Tuning) -> Result<(), BackendError> {
        let threads = tuning.accelerator_threads.unwrap_or_default();
        *self = Self::new(Threads::new(threads.get().min(8)))?;
        Ok(())
    }

    fn set_sum_options(&mut self, _: SumOptions) {}

    fn can_retire(&self) -> bool {
        false
    }
}

/// How far a verification has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Cases done.
    pub done: u64,
    /// Cases in all.
    pub cases: u64,
    /// Real numbers compared.
    pub components: u64,
}

/// Compares `tested` with `against` on every case of `options`. Data are made and compared on the threads of `host`, which also is the CPU reference.
/// `observe` is told after each case.
///
/// # Errors
/// [`VerifyError`] where something could not be run. Bits that differ are in the report.
pub fn verify<B: Tested>(
    tested: &mut B,
    against: Against,
    host: &Cpu,
    options: &VerifyOptions,
    mut observe: impl FnMut(Progress),
) -> Result<VerifyReport, VerifyError> {
    let plan = Plan::new(options)?;
    let solves = solve::solves(options)?;
    let sums = SumCases::new(options, plan.widths(), tested.can_retire());
    let kernels = plan.numbers();
    let first_sum = kernels.end + solves.len() as u64;
    let cases = first_sum + u64::from(options.sums);
    let numbers: Vec<u64> = match options.only {
        None => (0..cases).collect(),
        Some(number) if number < cases => vec![number],
        Some(number) => return Err(VerifyError::NoSuchCase { number, last: cases.saturating_sub(1) }),
    };
    let usual = Tuning { accelerator_threads: options.accelerator_threads, ..Tuning::OPEN };
    let mut rows = Rows::default();
    for (done, &number) in (1..).zip(&numbers) {
        if kernels.contains(&number) {
            let case = plan.case(number)?;
            tested.set_tuning(case.tuning)?;
            let thorough = plan.is_thorough(&case);
            let checks = KernelChecks { tested: &*tested, against, host, case: &case, thorough };
            checks.run(&mut rows).map_err(|error| in_case(&case, error))?;
        } else if number >= first_sum {
            let case = sums.case(number, number - first_sum)?;
            tested.set_tuning(usual)?;
            case.run(tested, against, host, &mut rows).map_err(|error| in_case(&case, error))?;
        } else {
            let solve = &solves[(number - kernels.end) as usize];
            tested.set_tuning(usual)?;
            let outcome = solve.run(number, &*tested, against, host, &mut rows);
            outcome.map_err(|error| in_case(solve, error))?;
        }
        observe(Progress { done, cases: numbers.len() as u64, components: rows.components() });
    }
    let Rows { mut rows } = rows;
    rows.sort_by_key(|row| (row.place, row.precision, row.reconstruct));
    Ok(VerifyReport { tested: tested.describe(), reference: against.name(), seed: options.seed, rows })
}

/// The rows that a verification has, without running anything: each kernel in each precision that it takes, and each solve.
///
/// # Errors
/// Options that no run can have.
pub fn rows(options: &VerifyOptions) -> Result<Vec<Subject>, VerifyError> {
    let kernels = kernel::all().flat_map(|kernel| {
        let of_precision = move |precision| Subject::of_kernel(kernel, precision, None);
        kernel.precisions.iter().copied().map(of_precision)
    });
    let solves = solve::solves(options)?;
    let mut rows: Vec<Subject> = Vec::new();
    for row in kernels.chain(solves.iter().map(|solve| solve.subject())) {
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    Ok(rows)
}

fn in_case(case: &impl ToString, source: VerifyError) -> VerifyError {
    VerifyError::Case { case: case.to_string(), source: Box::new(source) }
}

/// The rows so far.
#[derive(Default)]
struct Rows {
    rows: Vec<Row>,
}

/// What one comparison gave.
struct Compared {
    components: u64,
    mismatch: Option<Mismatch>,
}

impl Rows {
    fn components(&self) -> u64 {
        self.rows.iter().map(|row| row.components).sum()
    }

    /// Runs one check, and enters its time and its outcome into the row that it belongs to.
    fn check(
        &mut self,
        subject: &Subject,
        (number, description): (u64, &dyn Fn() -> String),
        check: impl FnOnce() -> Result<Compared, VerifyError>,
    ) -> Result<&mut Row, VerifyError> {
        let start = Instant::now();
        let Compared { components, mismatch } = check()?;
        let seconds = start.elapsed().as_secs_f64();
        let known = self.rows.iter().position(|row| row.is_of(subject));
        let index = known.unwrap_or_else(|| {
            self.rows.push(Row::new(subject));
            self.rows.len() - 1
        });
        let row = &mut self.rows[index];
        row.comparisons += 1;
        row.components += components;
        row.seconds += seconds;
        if let Some(mismatch) = mismatch {
            row.different += 1;
            row.failure.get_or_insert_with(|| Failure { case: number, description: description(), mismatch });
        }
        Ok(row)
    }
}
