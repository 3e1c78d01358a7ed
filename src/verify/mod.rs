//! Bit-for-bit comparison of a backend with the reference, on random awkward lattices and on whole solves: the main job of
//! `lanefield verify`, and the tools with which the author of a port compares fields of their own ([`compare_fields`]).
//!
//! | file | subject |
//! |---|---|
//! | `case.rs` | random lattices, layouts and parameters |
//! | `kernels.rs` | every kernel of the list on one case |
//! | `sums.rs`, `solve.rs` | sums in every form; the history and the solution of solves of every operator by every method |
//! | `parts.rs` | solves on random decompositions, held against one rank |
//! | `compare.rs`, `report.rs` | what differs, where, by how much; rows |

mod case;
mod compare;
mod kernels;
mod parts;
mod report;
mod solve;
mod sums;

use std::collections::HashMap;
use std::time::Instant;

use lanefield_reference::field::FieldError;
use lanefield_reference::gauge::{Configuration, GaugeError};
use lanefield_reference::layout::{AcceleratorThreads, LaneChoice, LayoutError, LegOrder};
use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use case::RandomCase;
pub use compare::{Difference, FieldMismatch, Mismatch, Part, compare_fields, compare_histories, compare_host_fields};
pub use parts::{PartsCase, PartsOutcome};
pub use report::{Failure, Lacking, Row, Subject, UnitError, VerifyReport};

use crate::backend::opencl::{DeviceError, Retirement, SumOptions, Tuning};
use crate::backend::{Backend, BackendError, Cpu, Threads};
use crate::body::BodyError;
use crate::dynamic::AnyBackend;
use crate::kernel::{self, Kernel};
use crate::solver::{SolveError, SolverError};
use case::Plan;
use kernels::KernelChecks;
use solve::SolveCheck;
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
    /// Only these kernels, and neither random sums nor solves.
    pub kernels: Option<Vec<&'static Kernel>>,
    /// Only the case of this number.
    pub only: Option<u64>,
    /// Two lane widths for each precision, one work-group size for each of them, and one link format a case: few programs to build.
    pub few_programs: bool,
    /// The default lane width and build of each kernel alone, one link format, and few solves.
    pub defaults_only: bool,
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
    /// Whether a kernel is compared.
    fn compares(&self, kernel: &Kernel) -> bool {
        self.kernels.as_ref().is_none_or(|kernels| kernels.iter().any(|known| known.name == kernel.name))
    }

    /// Whether random sums and solves are compared, too: those of the library's kernels, unless kernels are named.
    fn compares_all(&self) -> bool {
        self.kernels.is_none() && !kernel::are_own()
    }

    /// A full run: 10⁹ real numbers and more.
    pub fn full(seed: u64) -> Self {
        Self {
            seed,
            cases: 48,
            sums: 2400,
            kernels: None,
            only: None,
            few_programs: false,
            defaults_only: false,
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

    /// The usual run: few programs, no large lattices.
    pub fn standard(seed: u64) -> Self {
        Self { cases: 6, sums: 120, few_programs: true, few_cuts: true, large_lattices: false, ..Self::full(seed) }
    }

    /// Every kernel once, in its default build.
    pub fn smoke(seed: u64) -> Self {
        Self { cases: 1, sums: 16, defaults_only: true, ..Self::standard(seed) }
    }
}

/// Why a verification could not be carried out; that bits differ is no error. Messages are fragments.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum VerifyError {
    /// A backend failed, in some case.
    #[error("{case}: {source}")]
    Case { case: String, source: Box<VerifyError> },
    /// A backend failed.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// A kernel whose body is not valid.
    #[error(transparent)]
    Body(#[from] BodyError),
    /// A solve failed otherwise than by not converging.
    #[error(transparent)]
    Solve(Box<SolveError>),
    /// Links that are no configuration.
    #[error(transparent)]
    Gauge(#[from] GaugeError),
    /// Ranks that do not agree.
    #[error("{case}: rank {rank} has another history than rank 0")]
    Ranks { case: String, rank: usize },
    /// More ranks than small lattices have room for.
    #[error("{ranks} ranks have no room on lattices of up to {sites} sites: start fewer")]
    TooManyRanks { ranks: usize, sites: usize },
    /// No lane width goes with the work-groups asked for.
    #[error(
        "{threads} accelerator threads with lanes of {lanes} bytes do not fit a device that takes {most_work_items} \
         work-items a group; use fewer threads, or narrower lanes"
    )]
    Group { lanes: LaneChoice, threads: usize, most_work_items: usize },
    /// A case number that the run does not have.
    #[error("there is no case {number}: this run has the cases 0 to {last}")]
    NoSuchCase { number: u64, last: u64 },
}

impl VerifyError {
    /// What the device lacks, where that is the error: then nothing failed.
    fn of_lacking(&self) -> Option<String> {
        let backend = match self {
            Self::Case { source, .. } => return source.of_lacking(),
            Self::Backend(error) => error,
            Self::Solve(error) => match &**error {
                SolveError::Backend(error) | SolveError::Recurrence(SolverError::Backend(error)) => error,
                _ => return None,
            },
            _ => return None,
        };
        let error = backend.of_device::<DeviceError>()?;
        matches!(
            error,
            DeviceError::NoDoubles { .. } | DeviceError::NoRoundedDivision { .. } | DeviceError::BodyDivides { .. }
        )
        .then(|| error.to_string())
    }
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
    fn set_tuning(&mut self, tuning: Tuning) -> Result<(), BackendError>;
    /// Takes sums in the way of a case; a backend that knows only one goes on as before.
    fn set_sum_options(&mut self, options: SumOptions);
    /// Whether sums can be finished by retirement count.
    fn can_retire(&self) -> bool;
}

impl Tested for Cpu {
    fn set_tuning(&mut self, tuning: Tuning) -> Result<(), BackendError> {
        *self = with_threads(tuning)?;
        Ok(())
    }

    fn set_sum_options(&mut self, _: SumOptions) {}

    fn can_retire(&self) -> bool {
        false
    }
}

impl Tested for AnyBackend {
    fn set_tuning(&mut self, tuning: Tuning) -> Result<(), BackendError> {
        match self.opencl_mut() {
            Some(device) => device.set_tuning(tuning),
            None => *self = with_threads(tuning)?.into(),
        }
        Ok(())
    }

    fn set_sum_options(&mut self, options: SumOptions) {
        if let Some(device) = self.opencl_mut() {
            device.set_sum_options(options);
        }
    }

    fn can_retire(&self) -> bool {
        let info = self.opencl().map(|device| device.context().info());
        info.is_some_and(|info| !matches!(info.retirement, Retirement::Unsupported { .. }))
    }
}

/// The CPU reference with the threads of a case. More than eight would only wait for each other on small lattices.
fn with_threads(tuning: Tuning) -> Result<Cpu, BackendError> {
    let threads = tuning.accelerator_threads.unwrap_or_default();
    Cpu::new(Threads::new(threads.get().min(8)))
}

/// How far a verification has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// Units done.
    pub done: usize,
    /// Units in all.
    pub units: usize,
    /// Real numbers compared.
    pub components: u64,
    /// Rows to which nothing will be added.
    pub finished: &'a [Row],
}

/// A verification in units, each of which runs on its own: a process may take some of them, and another the rest.
pub struct Verification<'o> {
    plan: Plan<'o>,
    solves: Vec<SolveCheck>,
    sums: SumCases<'o>,
    units: Vec<Unit>,
}

/// What runs at a time.
struct Unit {
    case: u64,
    work: Work,
    /// The rows that it is part of, as a whole: those of a family of kernels, or of a solve.
    rows: String,
}

/// The kernels of a family on a random case, a random sum, or a solve: the latter two by their place among them.
#[derive(Clone, Copy)]
enum Work {
    Kernels(&'static str),
    Sum(u64),
    Solve(usize),
}

/// What a unit gave.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct UnitReport {
    /// Its rows.
    pub rows: Vec<Row>,
    /// What the device lacks.
    #[serde(default)]
    pub lacking: Vec<Lacking>,
    /// Why it ended early, if it did.
    pub error: Option<UnitError>,
}

impl<'o> Verification<'o> {
    /// The units of a run; those of families that compilers are quick with come first. `can_retire`: [`Tested::can_retire`].
    ///
    /// # Errors
    /// Options that no run can have.
    pub fn new(options: &'o VerifyOptions, can_retire: bool) -> Result<Self, VerifyError> {
        let plan = Plan::new(options)?;
        let solves = solves(options)?;
        let sums = SumCases::new(options, plan.widths(), can_retire);
        let kernels = plan.numbers();
        let first_sum = kernels.end + solves.len() as u64;
        let random_sums = if options.compares_all() { u64::from(options.sums) } else { 0 };
        let cases = first_sum + random_sums;
        if let Some(number) = options.only.filter(|&number| number >= cases) {
            return Err(VerifyError::NoSuchCase { number, last: cases.saturating_sub(1) });
        }
        let of_stencils = |family: &&str| {
            let mut kernels = kernel::all().filter(|kernel| kernel.family == *family);
            kernels.any(|kernel| matches!(kernel.geometry, kernel::Geometry::Stencil { .. }))
        };
        let has_kernels =
            |family: &&str| kernel::all().any(|kernel| kernel.family == *family && options.compares(kernel));
        let mut families: Vec<&str> = kernel::families().filter(has_kernels).collect();
        families.sort_by_key(of_stencils);
        // Random sums add to the rows of all families that have kernels for them.
        let sums_are = |family: &str| sums::kernels().any(|kernel| kernel.family == family);
        let mut units = Vec::new();
        for family in families {
            let rows = if sums_are(family) { "sums" } else { family };
            let unit = |case| Unit { case, work: Work::Kernels(family), rows: rows.to_owned() };
            units.extend(kernels.clone().map(unit));
            if family == kernel::reduce::SUM.family {
                let unit = |k| Unit { case: first_sum + k, work: Work::Sum(k), rows: rows.to_owned() };
                units.extend((0..random_sums).map(unit));
            }
        }
        for (k, solve) in solves.iter().enumerate() {
            let Subject { kernel, precision, reconstruct } = solve.subject();
            let rows = format!("{kernel} {precision} {reconstruct:?}");
            units.push(Unit { case: kernels.end + k as u64, work: Work::Solve(k), rows });
        }
        units.retain(|unit| options.only.is_none_or(|only| only == unit.case));
        Ok(Self { plan, solves, sums, units })
    }

    /// How many units there are.
    pub fn units(&self) -> usize {
        self.units.len()
    }

    /// Runs a unit: compares `tested` with `against`. Data are made and compared on the threads of `host`, which also is the CPU reference.
    pub fn run(&self, unit: usize, tested: &mut AnyBackend, against: Against, host: &Cpu) -> UnitReport {
        // Compiled here, and not again in each program.
        self.run_on(unit, tested, against, host)
    }

    fn run_on<B: Tested>(&self, unit: usize, tested: &mut B, against: Against, host: &Cpu) -> UnitReport {
        let mut rows = Rows::default();
        let outcome =
            self.units.get(unit).map_or(Ok(()), |unit| self.run_unit(unit, tested, (against, host), &mut rows));
        let error = outcome.err().map(|error| UnitError { case: self.units[unit].case, error: error.to_string() });
        UnitReport { rows: rows.rows, lacking: rows.lacking, error }
    }

    fn run_unit<B: Tested>(
        &self,
        unit: &Unit,
        tested: &mut B,
        (against, host): (Against, &Cpu),
        rows: &mut Rows,
    ) -> Result<(), VerifyError> {
        let accelerator_threads = self.plan.options().accelerator_threads;
        let usual = Tuning { accelerator_threads, ..Tuning::OPEN };
        match unit.work {
            Work::Kernels(family) => {
                let case = self.plan.case(unit.case)?;
                tested.set_tuning(case.tuning)?;
                let thorough = self.plan.is_thorough(&case);
                let (one_format, takes_turns) = (self.plan.options().few_programs, self.plan.takes_turns());
                let kernels: Vec<&Kernel> = kernel::all()
                    .filter(|kernel| kernel.family == family && self.plan.options().compares(kernel))
                    .collect();
                let checks =
                    KernelChecks { tested: &*tested, against, host, case: &case, thorough, one_format, takes_turns };
                checks.run(&kernels, rows).map_err(|error| in_case(&case, error))
            }
            Work::Sum(index) => {
                let case = self.sums.case(unit.case, index)?;
                tested.set_tuning(usual)?;
                case.run(tested, against, host, rows).map_err(|error| in_case(&case, error))
            }
            Work::Solve(k) => {
                let solve = &self.solves[k];
                tested.set_tuning(usual)?;
                solve.run(unit.case, &*tested, against, host, rows).map_err(|error| in_case(solve, error))
            }
        }
    }

    /// What a unit that could not be run to its end leaves: a process that died of it, say.
    pub fn failed(&self, unit: usize, error: String) -> UnitReport {
        let error = self.units.get(unit).map(|unit| UnitError { case: unit.case, error });
        UnitReport { error, ..UnitReport::default() }
    }

    /// Findings of none of the units yet.
    pub fn findings(&self, tested: String, against: Against, seed: u64) -> Findings<'_> {
        let mut left = HashMap::new();
        for unit in &self.units {
            *left.entry(&unit.rows[..]).or_default() += 1;
        }
        let report = VerifyReport {
            tested,
            reference: against.name(),
            seed,
            rows: Vec::new(),
            lacking: Vec::new(),
            errors: Vec::new(),
        };
        Findings { units: &self.units, left, done: 0, of_group: HashMap::new(), report }
    }
}

/// What the units that are done gave, in whichever order they come.
pub struct Findings<'v> {
    units: &'v [Unit],
    /// Units that are not done, of each group of rows.
    left: HashMap<&'v str, usize>,
    done: usize,
    of_group: HashMap<&'v str, Vec<Row>>,
    report: VerifyReport,
}

impl Findings<'_> {
    /// Takes what a unit gave, and tells how far this is.
    pub fn take(&mut self, unit: usize, found: UnitReport) -> Progress<'_> {
        let group = &self.units[unit].rows[..];
        let rows = self.of_group.entry(group).or_default();
        for row in found.rows {
            match rows.iter_mut().find(|known| known.subject() == row.subject()) {
                Some(known) => known.add(row),
                None => rows.push(row),
            }
        }
        self.report.errors.extend(found.error);
        for lacking in found.lacking {
            if !self.report.lacking.contains(&lacking) {
                self.report.lacking.push(lacking);
            }
        }
        self.done += 1;
        let first = self.report.rows.len();
        if let Some(left) = self.left.get_mut(group) {
            *left -= 1;
            if *left == 0 {
                let mut rows = self.of_group.remove(group).unwrap_or_default();
                rows.sort_by_cached_key(Row::place);
                self.report.rows.append(&mut rows);
            }
        }
        let unfinished = self.of_group.values().flatten().map(|row| row.components).sum::<u64>();
        let components = self.report.components() + unfinished;
        Progress { done: self.done, units: self.units.len(), components, finished: &self.report.rows[first..] }
    }

    /// The report, and the rows that are not finished, if some units are not done.
    pub fn end(mut self) -> (VerifyReport, Vec<Row>) {
        self.report.rows.sort_by_cached_key(Row::place);
        self.report.errors.sort_by_key(|error| error.case);
        let mut unfinished: Vec<Row> = self.of_group.into_values().flatten().collect();
        unfinished.sort_by_cached_key(Row::place);
        (self.report, unfinished)
    }
}

/// Compares `tested` with `against` on every case of `options`, as [`Verification`] says. `observe` is told after each unit.
///
/// # Errors
/// Options that no run can have. Bits that differ are in the report, and so are cases that could not be run.
pub fn verify<B: Tested>(
    tested: &mut B,
    against: Against,
    host: &Cpu,
    options: &VerifyOptions,
    mut observe: impl FnMut(Progress<'_>),
) -> Result<VerifyReport, VerifyError> {
    let verification = Verification::new(options, tested.can_retire())?;
    let mut findings = verification.findings(tested.describe(), against, options.seed);
    for unit in 0..verification.units() {
        let found = verification.run_on(unit, tested, against, host);
        observe(findings.take(unit, found));
    }
    Ok(findings.end().0)
}

/// The rows that a verification has, without running anything: each kernel in each precision that it takes, and each solve.
///
/// # Errors
/// Options that no run can have.
pub fn rows(options: &VerifyOptions) -> Result<Vec<Subject>, VerifyError> {
    let kernels = kernel::all().filter(|kernel| options.compares(kernel)).flat_map(|kernel| {
        let of_precision = move |precision| Subject::of_kernel(kernel, precision, None);
        kernel.precisions.iter().copied().map(of_precision)
    });
    let solves = solves(options)?;
    let mut rows: Vec<Subject> = Vec::new();
    for row in kernels.chain(solves.iter().map(|solve| solve.subject())) {
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    Ok(rows)
}

/// The solves of a run.
fn solves(options: &VerifyOptions) -> Result<Vec<SolveCheck>, VerifyError> {
    if options.compares_all() { solve::solves(options) } else { Ok(Vec::new()) }
}

fn in_case(case: &impl ToString, source: VerifyError) -> VerifyError {
    VerifyError::Case { case: case.to_string(), source: Box::new(source) }
}

/// The rows so far.
#[derive(Default)]
struct Rows {
    rows: Vec<Row>,
    lacking: Vec<Lacking>,
}

/// What one comparison gave.
struct Compared {
    components: u64,
    mismatch: Option<Mismatch>,
}

impl Rows {
    /// Runs one check, and enters its time and its outcome into the row that it belongs to; none where the device lacks what it takes.
    fn check(
        &mut self,
        subject: &Subject,
        (number, description): (u64, &dyn Fn() -> String),
        check: impl FnOnce() -> Result<Compared, VerifyError>,
    ) -> Result<Option<&mut Row>, VerifyError> {
        let start = Instant::now();
        let Compared { components, mismatch } = match check() {
            Ok(compared) => compared,
            Err(error) => {
                let Some(reason) = error.of_lacking() else { return Err(error) };
                let Subject { kernel, precision, .. } = subject.clone();
                self.lacking.push(Lacking { kernel, precision, reason });
                return Ok(None);
            }
        };
        let seconds = start.elapsed().as_secs_f64();
        let known = self.rows.iter().position(|row| row.subject() == *subject);
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
        Ok(Some(row))
    }
}

#[cfg(test)]
mod tests {
    use lanefield_reference::real::Precision;

    use super::*;

    #[test]
    fn what_a_device_lacks_is_listed_and_other_errors_stay_errors() {
        let mut rows = Rows::default();
        let subject = Subject { kernel: "halve".to_owned(), precision: Precision::F32, reconstruct: None };
        let mut check = |error: DeviceError| {
            let failing = || Err(VerifyError::from(BackendError::from(error)));
            rows.check(&subject, (0, &String::new), failing).map(|row| row.is_some())
        };
        let device = "Test CPU".to_owned();
        assert!(matches!(check(DeviceError::BodyDivides { device: device.clone(), kernel: "halve" }), Ok(false)));
        assert!(check(DeviceError::NoBinary { device, kernel: "halve".to_owned() }).is_err());
        assert!(rows.rows.is_empty());
        let [Lacking { kernel, precision, reason }] = &rows.lacking[..] else { panic!("{:?}", rows.lacking) };
        assert_eq!((kernel.as_str(), *precision), ("halve", Precision::F32));
        assert!(reason.contains("does not round f32 division"), "{reason}");
    }
}
