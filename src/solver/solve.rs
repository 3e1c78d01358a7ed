//! A solve from configuration and source to solution: any operator, with or without even-odd preconditioning, by any method, with the true residual
//! computed in f64 at the end.

use std::time::{Duration, Instant};

use lanefield_reference::field::{FieldError, Repeated, list_of};
use lanefield_reference::gauge::Configuration;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::layout::{Lattice, Parity, Sites};
use lanefield_reference::real::Real;
use num_complex::Complex;

use super::check::{Checked, Checksum, Residuals, SolveInputs, checksum, rounding};
use super::eigenpairs::Deflation;
use super::mixed::MixedOperators;
use super::operators::{Operators, OperatorsTask, with_operators};
use super::recurrence::{Recurrence, Watcher, run};
use super::scale::Undone;
use super::setup::{Method, Preconditioning, Solve};
use super::solve_error::SolveError;
use super::source::SolveSource;
use super::{
    BatchConjugateGradients, BatchSolution, BiCgStab, BlockConjugateGradients, ConjugateGradients, Eigenpairs,
    MixedConjugateGradients, SavedState, SolverError, SolverInfo, SolverParams,
};
use crate::backend::{Backend, FieldOn, Memory};
use crate::operator::{ActsOn as _, DynOperator, Makes, ModelChoice, Operator as _, SchurComplement, System};

/// Solutions, and the cost of the solve.
#[derive(Clone, Debug)]
pub struct SolveReport<R> {
    /// ψ with M ψ = η, in site order; the words of all right-hand sides at each site.
    pub solution: Vec<Complex<R>>,
    /// Checksum of the solution that was checked ([`Self::require_intact`]).
    checksum: Checksum,
    /// One entry per right-hand side.
    pub rhs: Vec<SolvedRhs>,
    /// Wall time of the recurrence in seconds, without the time to build kernels.
    pub seconds: f64,
    /// Wall time in seconds to build kernels, from the start to the check of the solution. On PoCL it includes the first run of each kernel, which
    /// compiles it.
    pub building: f64,
    /// Floating-point operations of the recurrence.
    pub flops: u64,
    /// Least number of bytes that the recurrence moves.
    pub bytes: u64,
    /// The lattice with the layout that was used.
    pub lattice: Lattice,
    /// Why the true residuals could not be computed, if so: for example, the device had no room for the operator in f64.
    pub unchecked: Option<String>,
    /// The estimated relative error of ψ on each time slice, starting with that of the source: the largest of the right-hand sides
    /// (`docs/spectrum.md`). Only for propagators; empty if it could not be computed.
    pub relative_errors: Vec<f64>,
}

/// The result for one right-hand side.
#[derive(Clone, PartialEq, Debug)]
pub struct SolvedRhs {
    /// Iterations and history of the system that was solved.
    pub info: SolverInfo,
    /// |b − Aψ| / |b| of that system, recomputed in f64; NaN if it could not be computed.
    pub true_residual: f64,
    /// |η − Mψ| / |η| on the full lattice, in f64; NaN if it could not be computed.
    pub solution_residual: f64,
    /// The exponent of the power of two by which the source was multiplied for the solve; the history is scaled by its square. It is 0 unless the
    /// numbers are so small or so large that |b|² would be out of the range of f64. The solution is for the original source.
    pub source_scale: i32,
}

impl<R: Vectors> SolveReport<R> {
    /// Creates a report from the solutions of the scaled source. `check` computes the residuals of such solutions; it is called with the returned
    /// ones, scaled again.
    ///
    /// # Errors
    /// [`SolveError::Range`], [`SolveError::TrueResidual`], [`SolveError::EvenSites`] and [`SolveError::Changed`].
    pub(super) fn new(
        (solution, Ran { infos, seconds, flops, bytes }): SolvedSystem<R>,
        inputs: &SolveInputs<'_>,
        (params, lattice): (&SolverParams, Lattice),
        check: impl FnOnce(&[Complex<R>]) -> Checked,
        building: impl FnOnce() -> Duration,
    ) -> Result<Self, SolveError> {
        let scales = &inputs.scales;
        let Undone { returned, again, lossy } = scales.undo(solution)?;
        let multiplied = again.as_ref().unwrap_or(&returned);
        let of_checked = checksum(multiplied);
        let checked = check(multiplied);
        inputs.check()?;
        if checksum(multiplied) != of_checked {
            return Err(SolveError::Changed { what: "the solution in host memory" });
        }
        let checksum = again.as_ref().map_or(of_checked, |_| checksum(&returned));
        let solved = |(number, info)| {
            let source_scale = scales.power(number);
            SolvedRhs { info, true_residual: f64::NAN, solution_residual: f64::NAN, source_scale }
        };
        let mut rhs: Vec<SolvedRhs> = infos.into_iter().enumerate().map(solved).collect();
        let unchecked = match checked {
            Ok(residuals) => {
                for (solved, &Residuals { system, solution, .. }) in rhs.iter_mut().zip(&residuals) {
                    (solved.true_residual, solved.solution_residual) = (system, solution);
                }
                let lossy = |number: usize| lossy[number % lossy.len()];
                refuse_wrong::<R>(&mut rhs, params.tolerance, lossy)?;
                refuse_wrong_even::<R>(&residuals, &mut rhs, |number| lossy(number).is_some())?;
                None
            }
            Err(error) => Some(error.to_string()),
        };
        Ok(Self {
            solution: returned,
            checksum,
            rhs,
            seconds,
            building: building().as_secs_f64(),
            flops,
            bytes,
            lattice,
            unchecked,
            relative_errors: Vec::new(),
        })
    }
}

impl<R> SolveReport<R> {
    /// Checks that the solution is the one whose residuals were computed.
    ///
    /// # Errors
    /// [`SolveError::Changed`].
    pub fn require_intact(&self) -> Result<(), SolveError>
    where
        R: Real,
    {
        match checksum(&self.solution) == self.checksum {
            true => Ok(()),
            false => Err(SolveError::Changed { what: "the solution in host memory" }),
        }
    }

    /// Replaces the solution by numbers that were computed from it.
    #[must_use]
    pub fn with_solution(self, solution: Vec<Complex<R>>) -> Self
    where
        R: Real,
    {
        Self { checksum: checksum(&solution), solution, ..self }
    }

    /// Iterations and history of the first right-hand side, which is the only one unless there is a batch.
    pub fn info(&self) -> &SolverInfo {
        &self.rhs[0].info
    }
}

/// Solves M ψ = η for each right-hand side of η. `eta` is in site order over the whole lattice, with the words of all right-hand sides at each
/// site. It is in f64, and is rounded to `R`. `watcher` sees the recurrence.
///
/// # Errors
/// [`SolveError`], also if a true residual exceeds ten times the tolerance, and if memory lost bits.
pub fn solve<R: Vectors, B: Backend, M: ModelChoice>(
    backend: &B,
    configuration: &Configuration,
    eta: &[Complex<f64>],
    solve: &Solve<M>,
    mut watcher: impl Watcher,
) -> Result<SolveReport<R>, SolveError> {
    solve_from(backend, configuration, eta, solve, &mut watcher, None)
}

/// Like [`solve`]; resumes from a saved state, if there is one.
///
/// # Errors
/// As [`solve`]; [`SolverError::WrongState`].
pub fn solve_from<R: Vectors, B: Backend, M: ModelChoice>(
    backend: &B,
    configuration: &Configuration,
    eta: &[Complex<f64>],
    solve: &Solve<M>,
    watcher: &mut dyn Watcher,
    resume: Option<&SavedState>,
) -> Result<SolveReport<R>, SolveError> {
    solve_deflated(backend, configuration, eta, solve, None, watcher, resume)
}

/// Like [`solve_from`], from the guess Σ v ⟨v, b⟩ / λ if there are eigenpairs of the system.
///
/// # Errors
/// As [`solve_from`]; [`SolveError::NoDeflation`]; [`SolveError::Deflation`] for eigenpairs of another lattice or operator.
pub fn solve_deflated<R: Vectors, B: Backend, M: ModelChoice>(
    backend: &B,
    configuration: &Configuration,
    eta: &[Complex<f64>],
    solve: &Solve<M>,
    deflation: Option<&Eigenpairs>,
    watcher: &mut dyn Watcher,
    resume: Option<&SavedState>,
) -> Result<SolveReport<R>, SolveError> {
    with_operators::<R, _, _, _>(backend, configuration, solve, Solving { eta, deflation, watched: (watcher, resume) })
}

/// A solve for the operators of any model.
struct Solving<'a> {
    eta: &'a [Complex<f64>],
    deflation: Option<&'a Eigenpairs>,
    watched: Watched<'a>,
}

impl<B: Backend, R: Vectors> OperatorsTask<B, R> for Solving<'_> {
    type Output = Result<SolveReport<R>, SolveError>;

    fn run<K: Repeated>(self, operators: &Operators<'_, B, R, K>) -> Self::Output {
        let Self { eta, deflation, watched } = self;
        let &Operators { configuration, backend, one, .. } = operators;
        let of_one = configuration.extents().volume() * one.words();
        if eta.is_empty() || !eta.len().is_multiple_of(of_one) {
            return Err(SolveError::RightHandSides { length: eta.len(), of_one });
        }
        let rhs = eta.len() / of_one;
        let &Solve { method, params, .. } = operators.how;
        let is_mixed = method.is_mixed();
        let is_several = matches!(method, Method::ConjugateGradients | Method::BlockConjugateGradients);
        if rhs > 1 && !is_several {
            return Err(SolveError::NoBatch { method, rhs });
        }
        if is_mixed && R::BITS != 64 {
            return Err(SolveError::NotMixed { precision: R::NAME });
        }
        if deflation.is_some() && method == Method::BiCgStab {
            return Err(SolveError::NoDeflation { method });
        }
        let normal = method != Method::BiCgStab && operators.normal;
        let inputs = SolveInputs::new::<R, _>(backend, configuration, eta, (rhs, one.words()), is_mixed, |_| true)?;
        let all = operators.object(rhs);
        let source = &SolveSource { eta: &inputs.scaled, rhs, one, all, method, params, normal, deflation };
        let built_before = backend.building();
        let lattice = operators.how.lattice::<R>(configuration)?;
        let solved = match method {
            Method::ConjugateGradients | Method::BlockConjugateGradients | Method::BiCgStab => {
                operators.run(source, lattice, watched)?
            }
            Method::MixedF32 => in_precision(operators.run_mixed(operators.in_f32, source, lattice, watched)?)?,
            Method::MixedHalf => in_precision(operators.run_mixed(operators.in_half, source, lattice, watched)?)?,
        };
        let check = |solution: &[Complex<R>]| operators.check(source, solution);
        SolveReport::new(solved, &inputs, (&params, lattice), check, || backend.building() - built_before)
    }
}

/// Rejects solutions whose true residual is far above the tolerance.
fn refuse_wrong<R: Vectors>(
    rhs: &mut [SolvedRhs],
    tolerance: f64,
    lossy: impl Fn(usize) -> Option<f64>,
) -> Result<(), SolveError> {
    // NaN must fail too.
    let is_wrong = |rhs: &SolvedRhs| rhs.true_residual.is_nan() || rhs.true_residual > 10.0 * tolerance;
    let Some(number) = rhs.iter().position(is_wrong) else { return Ok(()) };
    let rhs = &mut rhs[number];
    if let Some(value) = lossy(number) {
        return Err(SolveError::Range { rhs: number, value, power: -rhs.source_scale, precision: R::NAME });
    }
    if rhs.info.source_norm2 == 0.0 {
        // The source is not 0, but the right-hand side of its system is, or its square is.
        return Err(SolverError::Underflow { source_norm2: 0.0 }.into());
    }
    Err(SolveError::TrueResidual {
        true_residual: rhs.true_residual,
        recurrence: rhs.info.relative_residual(),
        tolerance,
        precision: R::NAME,
        iterations: rhs.info.iterations,
        history: std::mem::take(&mut rhs.info.history),
    })
}

/// Rejects solutions whose even sites are not what rounded arithmetic computes from the odd ones, except numbers that became subnormal.
fn refuse_wrong_even<R: Real>(
    residuals: &[Residuals],
    rhs: &mut [SolvedRhs],
    is_lossy: impl Fn(usize) -> bool,
) -> Result<(), SolveError> {
    let bound = MOST_ROUNDINGS * rounding::<R>();
    // NaN must fail too.
    let is_wrong = |residuals: &Residuals| residuals.even.is_nan() || residuals.even > bound;
    let mut all = residuals.iter().zip(rhs).enumerate();
    let wrong = all.find(|(number, (residuals, _))| is_wrong(residuals) && !is_lossy(*number));
    wrong.map_or(Ok(()), |(_, (residuals, rhs))| {
        let history = std::mem::take(&mut rhs.info.history);
        Err(SolveError::EvenSites { residual: residuals.even, bound, history })
    })
}

/// The largest allowed residual on the even sites, in roundings; at most two were observed.
const MOST_ROUNDINGS: f64 = 32.0;

/// The cost and the history of a recurrence.
pub(super) struct Ran {
    pub(super) infos: Vec<SolverInfo>,
    pub(super) seconds: f64,
    pub(super) flops: u64,
    pub(super) bytes: u64,
}

/// A solution in site order, and its cost.
pub(super) type SolvedSystem<R> = (Vec<Complex<R>>, Ran);

/// Converts a solution of mixed precision, which is f64, to the requested precision, which is also f64.
fn in_precision<R: Vectors>((solution, ran): SolvedSystem<f64>) -> Result<SolvedSystem<R>, FieldError> {
    let numbers = solution.iter().map(|c| Complex::new(R::from_f64(c.re), R::from_f64(c.im)));
    Ok((list_of(|| "a solution in site order".to_owned(), solution.len(), numbers)?, ran))
}

pub(super) type Watched<'a> = (&'a mut dyn Watcher, Option<&'a SavedState>);

impl<B: Backend, R: Vectors, K: Repeated> Operators<'_, B, R, K> {
    /// The solution in site order, with the recurrence in one precision.
    fn run(
        &self,
        source: &SolveSource<'_, K>,
        lattice: Lattice,
        (watcher, resume): Watched<'_>,
    ) -> Result<SolvedSystem<R>, SolveError> {
        let iterate: Iterate<'_, B, R, K> = &mut |system, b| source.iterate(system, b, (&mut *watcher, resume));
        match self.how.preconditioning {
            Preconditioning::None => {
                source.on_all_sites(self.backend, &mut *self.full(self.backend, self.own, lattice)?, iterate)
            }
            Preconditioning::EvenOdd => {
                source.by_even_and_odd(self.backend, &mut self.schur(self.backend, self.own, lattice)?, iterate)
            }
        }
    }

    /// The same, with the recurrence in `S` within a solve in f64.
    fn run_mixed<S: Vectors>(
        &self,
        low: &dyn Makes<B, S, K>,
        source: &SolveSource<'_, K>,
        lattice: Lattice,
        (watcher, resume): Watched<'_>,
    ) -> Result<SolvedSystem<f64>, SolveError> {
        let (backend, backend_in_f64) = (self.backend, self.backend_in_f64);
        let low_lattice = lattice.in_scalar(S::COMPLEX)?;
        match self.how.preconditioning {
            Preconditioning::None => {
                let mut full = self.full(backend_in_f64, self.in_f64, lattice)?;
                let mut low = self.full(backend, low, low_lattice)?;
                let mut low = System::new(&mut *low as &mut DynOperator<'_, B, S, K>, source.normal)?;
                source.on_all_sites(backend_in_f64, &mut *full, &mut |system, b| {
                    source.iterate_mixed((system, &mut low), b, (&mut *watcher, resume))
                })
            }
            Preconditioning::EvenOdd => {
                let mut schur = self.schur(backend_in_f64, self.in_f64, lattice)?;
                let mut low = self.schur(backend, low, low_lattice)?;
                let mut low = System::new(&mut low as &mut DynOperator<'_, B, S, K>, source.normal)?;
                source.by_even_and_odd(backend_in_f64, &mut schur, &mut |system, b| {
                    source.iterate_mixed((system, &mut low), b, (&mut *watcher, resume))
                })
            }
        }
    }

    /// The residuals of a solution, with an operator that is created again in f64.
    fn check(&self, source: &SolveSource<'_, K>, solution: &[Complex<R>]) -> Checked {
        let (lattice, backend) = (self.how.lattice::<f64>(self.configuration)?, self.backend_in_f64);
        match self.how.preconditioning {
            Preconditioning::None => {
                source.check_on_all_sites(backend, &mut *self.full(backend, self.in_f64, lattice)?, solution)
            }
            Preconditioning::EvenOdd => {
                source.check_even_and_odd(backend, &mut self.schur(backend, self.in_f64, lattice)?, solution)
            }
        }
    }
}

impl<K: Repeated> SolveSource<'_, K> {
    /// The solution of M on all sites.
    fn on_all_sites<R: Vectors, B: Backend>(
        &self,
        backend: &B,
        operator: &mut DynOperator<'_, B, R, K>,
        iterate: Iterate<'_, B, R, K>,
    ) -> Result<SolvedSystem<R>, SolveError> {
        let mut b = operator.zeros_of(self.rhs)?;
        let eta = self.on(backend, operator.lattice(), Sites::Full, self.eta)?;
        let mut system = System::new(&mut *operator, self.normal)?;
        system.source(&mut b, &eta)?;
        drop(eta);
        let (psi, ran) = iterate(&mut system, &b)?;
        Ok((backend.download(&psi)?.try_to_site_order()?, ran))
    }

    /// The solution of Mpc on the odd sites, and from it the solution on the even ones.
    fn by_even_and_odd<R: Vectors, B: Backend>(
        &self,
        backend: &B,
        schur: &mut SchurComplement<'_, B, R, K>,
        iterate: Iterate<'_, B, R, K>,
    ) -> Result<SolvedSystem<R>, SolveError> {
        let lattice = schur.lattice();
        let [even, odd] = Parity::BOTH.map(Sites::Parity);
        let on = |sites| self.on(backend, lattice, sites, self.eta);
        let [eta_even, eta_odd] = [on(even)?, on(odd)?];
        let [mut source, mut b] = [schur.zeros_of(self.rhs)?, schur.zeros_of(self.rhs)?];
        schur.odd_source(&mut source, &eta_even, &eta_odd)?;
        let mut system = System::new(schur as &mut DynOperator<'_, B, R, K>, self.normal)?;
        system.source(&mut b, &source)?;
        drop((source, eta_odd));
        let (psi_odd, ran) = iterate(&mut system, &b)?;
        drop((system, b));
        let mut psi_even = backend.zeros(lattice, even, self.all)?;
        schur.even_solution(&mut psi_even, &eta_even, &psi_odd)?;
        let mut solution = backend.download(&psi_odd)?.try_to_site_order()?;
        backend.download(&psi_even)?.put_into_site_order(&mut solution);
        Ok((solution, ran))
    }

    /// Runs the recurrence from its guess or its saved state, and times it.
    fn iterate<R: Vectors, B: Backend>(
        &self,
        system: &mut DynOperator<'_, B, R, K>,
        b: &FieldOn<B, R, K>,
        watched: Watched<'_>,
    ) -> Result<Iterated<B, R, K>, SolveError> {
        let ((psi, infos), applications, watch) = self.by_recurrence(system, b, watched)?;
        system.backend().finish()?;
        let seconds = watch.seconds(system.backend());
        let ran = Ran::new(system, applications, infos, seconds);
        Ok((psi, ran))
    }

    /// The solutions, the info of each right-hand side, the number of operator applications per iteration, and the watch that was started.
    fn by_recurrence<R: Vectors, B: Backend>(
        &self,
        system: &mut DynOperator<'_, B, R, K>,
        b: &FieldOn<B, R, K>,
        watched: Watched<'_>,
    ) -> Result<Recurred<B, R, K>, SolveError> {
        let (params, rhs) = (self.params, self.rhs);
        let deflation = self.deflation_of(system)?;
        system.backend().finish()?;
        let watch = Watch::start(system.backend());
        let guess = deflation.map(|deflation| deflation.guess(system, b)).transpose()?;
        if self.method == Method::BlockConjugateGradients {
            let mut block = BlockConjugateGradients::new(system, b, rhs, guess, params)?;
            go(&mut block, watched)?;
            return Ok((block.into_solution()?, 1, watch));
        }
        if rhs > 1 {
            let mut batch = BatchConjugateGradients::from_guess(system, b, rhs, guess, params)?;
            go(&mut batch, watched)?;
            return Ok((batch.into_solution()?, 1, watch));
        }
        let mut psi = guess.map_or_else(|| system.zeros(), Ok)?;
        let (info, applications) = match self.method {
            Method::BiCgStab => {
                let mut recurrence = BiCgStab::new(system, b, &mut psi, params)?;
                go(&mut recurrence, watched)?;
                (recurrence.info().clone(), 2)
            }
            _ => {
                let mut recurrence = ConjugateGradients::new(system, b, &mut psi, params)?;
                go(&mut recurrence, watched)?;
                (recurrence.info().clone(), 1)
            }
        };
        Ok(((psi, vec![info]), applications, watch))
    }

    /// The eigenvectors of a system on its backend, if there are any.
    fn deflation_of<R: Vectors, B: Backend>(
        &self,
        system: &DynOperator<'_, B, R, K>,
    ) -> Result<Option<Deflation<B, K>>, SolveError> {
        self.deflation.map(|pairs| Deflation::new(system, pairs)).transpose()
    }

    /// The same in mixed precision.
    fn iterate_mixed<S: Vectors, B: Backend>(
        &self,
        (system, low): MixedOperators<'_, B, S, K>,
        b: &FieldOn<B, f64, K>,
        watched: Watched<'_>,
    ) -> Result<Iterated<B, f64, K>, SolveError> {
        let deflation = self.deflation_of(system)?;
        system.backend().finish()?;
        let watch = Watch::start(low.backend());
        let guess = deflation.map(|deflation| deflation.guess(system, b)).transpose()?;
        let mut psi = guess.map_or_else(|| system.zeros(), Ok)?;
        let mut recurrence = MixedConjugateGradients::new((system, low), b, &mut psi, self.params)?;
        go(&mut recurrence, watched)?;
        let info = recurrence.info().clone();
        low.backend().finish()?;
        let seconds = watch.seconds(low.backend());
        let ran = Ran::new(low, 1, vec![info], seconds);
        Ok((psi, ran))
    }
}

/// Solutions with the info of each, the number of operator applications per iteration, and the watch that was started.
type Recurred<B, R, K> = (BatchSolution<B, R, K>, u64, Watch);
type Iterated<B, R, K> = (FieldOn<B, R, K>, Ran);
/// Solves a system for its right-hand sides.
type Iterate<'a, B, R, K> =
    &'a mut dyn FnMut(&mut DynOperator<'_, B, R, K>, &FieldOn<B, R, K>) -> Result<Iterated<B, R, K>, SolveError>;

/// Times a recurrence.
pub(super) struct Watch {
    start: Instant,
    building: Duration,
}

impl Watch {
    pub(super) fn start<B: Memory>(backend: &B) -> Self {
        Self { start: Instant::now(), building: backend.building() }
    }

    /// Time since the start, without building kernels.
    pub(super) fn seconds<B: Memory>(&self, backend: &B) -> f64 {
        let building = backend.building() - self.building;
        self.start.elapsed().saturating_sub(building).as_secs_f64()
    }
}

/// Runs a recurrence from its start or from its saved state.
pub(super) fn go(recurrence: &mut dyn Recurrence, (watcher, resume): Watched<'_>) -> Result<(), SolverError> {
    if let Some(state) = resume {
        recurrence.restore(state)?;
    }
    run(recurrence, watcher)
}

impl Ran {
    /// The cost for `applications` of the operator per iteration, each with its vector operations. The updates of mixed precision are not counted.
    fn new<R: Vectors, B: Backend, K: Repeated>(
        operator: &DynOperator<B, R, K>,
        applications: u64,
        infos: Vec<SolverInfo>,
        seconds: f64,
    ) -> Self {
        let lattice = operator.lattice();
        let kind = operator.object(1);
        let words = (lattice.osites(operator.sites()) * lattice.nsimd() * kind.words()) as u64;
        let iterations = applications * infos.iter().map(|info| info.iterations as u64).sum::<u64>();
        let flops = iterations * (operator.flops() + ITERATION_FLOPS * words);
        let field = words * R::device_bytes(kind.words()) as u64 / kind.words() as u64;
        let bytes = iterations * (operator.bytes() + ITERATION_FIELDS * field);
        Self { infos, seconds, flops, bytes }
    }
}

/// Floating-point operations per complex word of an iteration, without the operator: an inner product, an axpy with norm, and the double update. A
/// fused multiply-add and a product with sum count as 4, the complex inner product as 8.
pub(super) const ITERATION_FLOPS: u64 = 8 + 8 + 8;
/// Fields read or written in an iteration, without the operator: 2 by the inner product, 3 by axpy with norm, 5 by the update.
pub(super) const ITERATION_FIELDS: u64 = 10;
