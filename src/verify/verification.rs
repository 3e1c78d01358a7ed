//! A verification in units, and their results.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::case::CasePlan;
use super::error::VerifyError;
use super::kernels::KernelChecks;
use super::options::VerifyOptions;
use super::report::{Row, Subject, UnitError, VerifyReport};
use super::rows::ReportRows;
use super::solve::{self, SolveCheck};
use super::sums::{self, SumCases};
use super::tested::{Against, Tested};
use crate::backend::Cpu;
use crate::backend::opencl::Tuning;
use crate::dynamic::AnyBackend;
use crate::kernel::{self, Kernel};

/// The progress of a verification.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// Units done.
    pub done: usize,
    /// Units in all.
    pub units: usize,
    /// Real numbers compared.
    pub components: u64,
    /// Rows that are complete.
    pub finished: &'a [Row],
}

/// A verification in units that run independently: one process may run some of them, and another one the rest.
pub struct Verification<'o> {
    plan: CasePlan<'o>,
    solves: Vec<SolveCheck>,
    sums: SumCases<'o>,
    units: Vec<Unit>,
}

/// A piece of work that runs as a whole.
struct Unit {
    case: u64,
    work: UnitWork,
    /// The group of rows to which it contributes: those of a family of kernels, or of a solve.
    rows: String,
}

/// The kernels of a family on a random case, a random sum, or a solve; the last two by their index.
#[derive(Clone, Copy)]
enum UnitWork {
    Kernels(&'static str),
    Sum(u64),
    Solve(usize),
}

/// The result of a unit.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct UnitReport {
    /// Its rows.
    pub rows: Vec<Row>,
    /// Why it ended early, if it did.
    pub error: Option<UnitError>,
}

impl<'o> Verification<'o> {
    /// The units of a run; families that compile quickly come first. `can_retire`: [`Tested::can_retire`].
    pub fn new(options: &'o VerifyOptions, can_retire: bool) -> Result<Self, VerifyError> {
        let plan = CasePlan::new(options)?;
        let solves = solves(options)?;
        let sums = SumCases::new(options, plan.widths(), can_retire);
        let kernels = plan.numbers();
        let first_sum = kernels.end + solves.len() as u64;
        let random_sums = if options.sums_and_solves { u64::from(options.sums) } else { 0 };
        let cases = first_sum + random_sums;
        if let Some(number) = options.only.filter(|&number| number >= cases) {
            return Err(VerifyError::NoSuchCase { number, last: cases.saturating_sub(1) });
        }
        let of_stencils = |family: &&str| {
            let mut kernels = options.kernels.iter().filter(|kernel| kernel.family == *family);
            kernels.any(|kernel| matches!(kernel.geometry, kernel::Geometry::Stencil { .. }))
        };
        let mut families: Vec<&str> = Vec::new();
        for kernel in &options.kernels {
            if !families.contains(&kernel.family) {
                families.push(kernel.family);
            }
        }
        families.sort_by_key(of_stencils);
        // Random sums contribute to the rows of all families that have kernels for them.
        let sums_are = |family: &str| sums::kernels().any(|kernel| kernel.family == family);
        let mut units = Vec::new();
        for family in families {
            let rows = if sums_are(family) { "sums" } else { family };
            let unit = |case| Unit { case, work: UnitWork::Kernels(family), rows: rows.to_owned() };
            units.extend(kernels.clone().map(unit));
            if family == kernel::reduce::SUM.family {
                let unit = |k| Unit { case: first_sum + k, work: UnitWork::Sum(k), rows: rows.to_owned() };
                units.extend((0..random_sums).map(unit));
            }
        }
        for (k, solve) in solves.iter().enumerate() {
            let Subject { kernel, precision, reconstruct } = solve.subject();
            let rows = format!("{kernel} {precision} {reconstruct:?}");
            units.push(Unit { case: kernels.end + k as u64, work: UnitWork::Solve(k), rows });
        }
        units.retain(|unit| options.only.is_none_or(|only| only == unit.case));
        Ok(Self { plan, solves, sums, units })
    }

    /// The number of units.
    pub fn units(&self) -> usize {
        self.units.len()
    }

    /// Runs a unit: compares `tested` with `against`. The threads of `host`, which is also the CPU reference, create and compare the data.
    pub fn run(&self, unit: usize, tested: &mut AnyBackend, against: Against, host: &Cpu) -> UnitReport {
        // Compiled here once, instead of in each program.
        self.run_on(unit, tested, against, host)
    }

    fn run_on<B: Tested>(&self, unit: usize, tested: &mut B, against: Against, host: &Cpu) -> UnitReport {
        let mut rows = ReportRows::default();
        let outcome =
            self.units.get(unit).map_or(Ok(()), |unit| self.run_unit(unit, tested, (against, host), &mut rows));
        let error = outcome.err().map(|error| UnitError { case: self.units[unit].case, error: error.to_string() });
        UnitReport { rows: rows.rows, error }
    }

    fn run_unit<B: Tested>(
        &self,
        unit: &Unit,
        tested: &mut B,
        (against, host): (Against, &Cpu),
        rows: &mut ReportRows,
    ) -> Result<(), VerifyError> {
        let accelerator_threads = self.plan.options().accelerator_threads;
        let usual = Tuning { accelerator_threads, ..Tuning::OPEN };
        match unit.work {
            UnitWork::Kernels(family) => {
                let case = self.plan.case(unit.case)?;
                tested.set_tuning(case.tuning)?;
                let thorough = self.plan.is_thorough(&case);
                let (one_format, takes_turns) = (self.plan.options().few_programs, self.plan.takes_turns());
                let kernels = self.plan.options().kernels.iter().copied();
                let kernels: Vec<&Kernel> = kernels.filter(|kernel| kernel.family == family).collect();
                let checks =
                    KernelChecks { tested: &*tested, against, host, case: &case, thorough, one_format, takes_turns };
                checks.run(&kernels, rows).map_err(|error| in_case(&case, error))
            }
            UnitWork::Sum(index) => {
                let case = self.sums.case(unit.case, index)?;
                tested.set_tuning(usual)?;
                case.run(tested, against, host, rows).map_err(|error| in_case(&case, error))
            }
            UnitWork::Solve(k) => {
                let solve = &self.solves[k];
                tested.set_tuning(usual)?;
                solve.run(unit.case, &*tested, against, host, rows).map_err(|error| in_case(solve, error))
            }
        }
    }

    /// The report of a unit that could not be completed, for example because its process crashed.
    pub fn failed(&self, unit: usize, error: String) -> UnitReport {
        let error = self
            .units
            .get(unit)
            .map(|Unit { case, rows, .. }| UnitError { case: *case, error: format!("case {case} of {rows}: {error}") });
        UnitReport { error, ..UnitReport::default() }
    }

    /// Empty findings, to which results of units are added.
    pub fn findings(&self, tested: String, against: Against, seed: u64) -> Findings<'_> {
        let mut left = HashMap::new();
        for unit in &self.units {
            *left.entry(&unit.rows[..]).or_default() += 1;
        }
        let report = VerifyReport { tested, reference: against.name(), seed, rows: Vec::new(), errors: Vec::new() };
        Findings { units: &self.units, left, done: 0, of_group: HashMap::new(), report }
    }
}

/// The results of the units that are done, in any order.
pub struct Findings<'v> {
    units: &'v [Unit],
    /// For each group of rows, the number of units that are not done.
    left: HashMap<&'v str, usize>,
    done: usize,
    of_group: HashMap<&'v str, Vec<Row>>,
    report: VerifyReport,
}

impl Findings<'_> {
    /// Adds the result of a unit, and returns the progress.
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

    /// The report, and the rows that are incomplete if some units are not done.
    pub fn end(mut self) -> (VerifyReport, Vec<Row>) {
        self.report.rows.sort_by_cached_key(Row::place);
        self.report.errors.sort_by_key(|error| error.case);
        let mut unfinished: Vec<Row> = self.of_group.into_values().flatten().collect();
        unfinished.sort_by_cached_key(Row::place);
        (self.report, unfinished)
    }
}

/// Compares `tested` with `against` on every case of `options`, as in [`Verification`]. `observe` is called after each unit. Options that no run can
/// have are an error; different bits, and cases that could not be run, are in the report.
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

/// The rows of a verification, without running anything: each kernel in each precision that it supports, and each solve.
pub fn rows(options: &VerifyOptions) -> Result<Vec<Subject>, VerifyError> {
    let kernels = options.kernels.iter().copied().flat_map(|kernel| {
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
    if options.sums_and_solves { solve::solves(options) } else { Ok(Vec::new()) }
}

fn in_case(case: &impl ToString, source: VerifyError) -> VerifyError {
    VerifyError::Case { case: case.to_string(), source: Box::new(source) }
}
