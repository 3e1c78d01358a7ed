//! A solve from configuration and source to solution: any operator, even-odd preconditioned or not, in any of the solvers, with the true
//! residual computed in f64 at the end.

use std::time::Instant;

use lanefield_reference::field::{Field, FieldError, SiteObject as _};
use lanefield_reference::gauge::Configuration;
use lanefield_reference::half::Half;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::hop::Dagger;
use lanefield_reference::layout::{Checkerboard, LaneChoice, Lattice, LatticeOptions, LayoutError, Parity, Sites};
use lanefield_reference::real::Real;
use num_complex::Complex;
use thiserror::Error;

use super::recurrence::{Recurrence, Watcher, run};
use super::{
    BatchConjugateGradients, BiCgStab, ConjugateGradients, MixedConjugateGradients, SavedState, SolverError,
    SolverInfo, SolverParams,
};
use crate::backend::{Backend, BackendError, FieldOn, Sum};
use crate::kernel::prelude::*;
use crate::operator::{ActsOn as _, EvenOdd as _, Model, Operator, SchurComplement, System, WilsonParameters};

/// Whether the even-odd Schur complement or the operator itself is solved.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Preconditioning {
    /// Mpc on the odd sites: about half the iterations, at half the cost each.
    #[default]
    EvenOdd,
    /// M on the full lattice.
    None,
}

/// The recurrence.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Method {
    /// Conjugate gradients, on the normal equations unless the operator is positive.
    #[default]
    ConjugateGradients,
    /// The same in f64 with reliable updates of a recurrence in f32; only in f64.
    MixedF32,
    /// The same with half precision.
    MixedHalf,
    /// BiCGStab, on the operator itself.
    BiCgStab,
}

/// What to solve, and how.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Solve<M> {
    /// The operator.
    pub operator: M,
    /// Even-odd or not.
    pub preconditioning: Preconditioning,
    /// The recurrence.
    pub method: Method,
    /// When to stop.
    pub params: SolverParams,
    /// Lane width.
    pub lanes: LaneChoice,
}

/// A solve of the Wilson operator.
pub type WilsonSolve = Solve<WilsonParameters>;

/// Solutions, and what they took.
#[derive(Clone, Debug)]
pub struct SolveReport<R> {
    /// ψ with M ψ = η, in site order; the words of all right-hand sides at each site.
    pub solution: Vec<Complex<R>>,
    /// Each right-hand side.
    pub rhs: Vec<SolvedRhs>,
    /// Wall time of the recurrence, in seconds.
    pub seconds: f64,
    /// Floating-point operations of the recurrence.
    pub flops: u64,
    /// Bytes that the recurrence has to move at least.
    pub bytes: u64,
    /// The lattice as it was laid out.
    pub lattice: Lattice,
    /// Why the true residuals could not be computed, if they could not: the device had no room for the operator in f64, say.
    pub unchecked: Option<String>,
}

/// One solution.
#[derive(Clone, PartialEq, Debug)]
pub struct SolvedRhs {
    /// Iterations and history of the system that was solved.
    pub info: SolverInfo,
    /// |b − Aψ| / |b| of that system, computed anew in f64; NaN where it could not be computed.
    pub true_residual: f64,
    /// |η − Mψ| / |η| on the full lattice, in f64; NaN where it could not be computed.
    pub solution_residual: f64,
}

/// What is left of a source.
#[derive(Clone, Copy, Debug)]
struct Residuals {
    /// |b − Aψ| / |b|.
    system: f64,
    /// |η − Mψ| / |η|.
    solution: f64,
}

/// The residuals of each right-hand side, if they could be computed.
type Checked = Result<Vec<Residuals>, SolveError>;

impl<R> SolveReport<R> {
    /// Iterations and history of the first right-hand side: of the only one, where there is no batch.
    pub fn info(&self) -> &SolverInfo {
        &self.rhs[0].info
    }
}

/// Why a solve failed. Messages are fragments.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SolveError {
    /// The recurrence failed.
    #[error(transparent)]
    Recurrence(#[from] SolverError),
    /// The solution is not one: the recurrence's residual went astray.
    #[error(
        "the true residual is {true_residual:.3e}, over ten times the tolerance {tolerance:e}, though the recurrence says \
         {recurrence:.3e} after {iterations} iterations: rounding has the better of {precision}; \
         ask for less, or use f64"
    )]
    TrueResidual {
        /// Computed anew in f64.
        true_residual: f64,
        /// What the recurrence says.
        recurrence: f64,
        /// The tolerance asked for.
        tolerance: f64,
        /// The precision of the solve.
        precision: &'static str,
        /// Iterations taken.
        iterations: usize,
        /// The whole history.
        history: Vec<f64>,
    },
    /// A source whose length is no multiple of that of one right-hand side.
    #[error("a source of {length} complex numbers has no whole number of right-hand sides of {of_one} each")]
    RightHandSides {
        /// Length given.
        length: usize,
        /// Complex numbers of one right-hand side.
        of_one: usize,
    },
    /// A batch by a solver that takes one right-hand side.
    #[error("{method:?} takes one right-hand side, not {rhs}: solve them one by one, or by conjugate gradients")]
    NoBatch {
        /// The solver.
        method: Method,
        /// Right-hand sides given.
        rhs: usize,
    },
    /// Mixed precision in a precision that has nothing below.
    #[error("mixed precision computes solutions in f64, not in {precision}")]
    NotMixed {
        /// The precision asked for.
        precision: &'static str,
    },
    /// The backend failed.
    #[error(transparent)]
    Backend(#[from] BackendError),
}

impl From<FieldError> for SolveError {
    fn from(error: FieldError) -> Self {
        Self::Backend(error.into())
    }
}

impl From<LayoutError> for SolveError {
    fn from(error: LayoutError) -> Self {
        Self::Backend(error.into())
    }
}

impl SolveError {
    /// The residual history until the failure, where there is one.
    pub fn history(&self) -> Option<&[f64]> {
        match self {
            Self::Recurrence(error) => error.info().map(|info| &info.history[..]),
            Self::TrueResidual { history, .. } => Some(history),
            _ => None,
        }
    }
}

impl<M> Solve<M> {
    /// The lattice of fields of precision `R` as the solve lays it out.
    ///
    /// # Errors
    /// [`LayoutError`] where it does not fit.
    pub fn lattice<R: Vectors>(&self, configuration: &Configuration) -> Result<Lattice, LayoutError> {
        let checkerboard = match self.preconditioning {
            Preconditioning::EvenOdd => Checkerboard::RedBlack,
            Preconditioning::None => Checkerboard::FullOnly,
        };
        let options = LatticeOptions { lanes: self.lanes, nodes: None, checkerboard };
        Lattice::new(configuration.extents(), R::COMPLEX, options)
    }
}

/// A source in site order, of some right-hand sides.
struct Source<'a, M> {
    configuration: &'a Configuration,
    eta: &'a [Complex<f64>],
    rhs: usize,
    solve: &'a Solve<M>,
}

/// Solves M ψ = η for each right-hand side of η. `eta` is in site order over the whole lattice, the words of all right-hand
/// sides at each site, in f64, and is rounded to `R`. The recurrence is shown to `watcher`, and goes on from the state `resume` where there is one.
///
/// # Errors
/// [`SolveError`], also when a true residual exceeds ten times the tolerance.
pub fn solve<R: Vectors, B: Backend, M: Model>(
    backend: &B,
    configuration: &Configuration,
    eta: &[Complex<f64>],
    solve: &Solve<M>,
    mut watcher: impl Watcher,
) -> Result<SolveReport<R>, SolveError> {
    solve_from(backend, configuration, eta, solve, &mut watcher, None)
}

/// [`solve`], from a saved state on where there is one.
///
/// # Errors
/// As [`solve`]; [`SolverError::WrongState`].
pub fn solve_from<R: Vectors, B: Backend, M: Model>(
    backend: &B,
    configuration: &Configuration,
    eta: &[Complex<f64>],
    solve: &Solve<M>,
    watcher: &mut dyn Watcher,
    resume: Option<&SavedState>,
) -> Result<SolveReport<R>, SolveError> {
    let of_one = configuration.extents().volume() * solve.operator.object(1).words();
    if eta.is_empty() || !eta.len().is_multiple_of(of_one) {
        return Err(SolveError::RightHandSides { length: eta.len(), of_one });
    }
    let rhs = eta.len() / of_one;
    let is_mixed = matches!(solve.method, Method::MixedF32 | Method::MixedHalf);
    if rhs > 1 && solve.method != Method::ConjugateGradients {
        return Err(SolveError::NoBatch { method: solve.method, rhs });
    }
    if is_mixed && R::BITS != 64 {
        return Err(SolveError::NotMixed { precision: R::NAME });
    }
    let source = Source { configuration, eta, rhs, solve };
    let lattice = solve.lattice::<R>(configuration)?;
    let (solution, ran, checked) = match solve.method {
        Method::ConjugateGradients | Method::BiCgStab => source.run::<R, B>(backend, lattice, (watcher, resume))?,
        Method::MixedF32 => in_precision(source.run_mixed::<f32, B>(backend, lattice, (watcher, resume))?),
        Method::MixedHalf => in_precision(source.run_mixed::<Half, B>(backend, lattice, (watcher, resume))?),
    };
    let checked = checked.unwrap_or_else(|| source.check_in_f64::<R, B>(backend, &solution));
    let Ran { infos, seconds, flops, bytes } = ran;
    let solved = |info| SolvedRhs { info, true_residual: f64::NAN, solution_residual: f64::NAN };
    let mut rhs: Vec<SolvedRhs> = infos.into_iter().map(solved).collect();
    let unchecked = match checked {
        Ok(residuals) => {
            for (solved, Residuals { system, solution }) in rhs.iter_mut().zip(residuals) {
                (solved.true_residual, solved.solution_residual) = (system, solution);
            }
            refuse_wrong::<R>(&mut rhs, solve.params.tolerance)?;
            None
        }
        Err(error) => Some(error.to_string()),
    };
    Ok(SolveReport { solution, rhs, seconds, flops, bytes, lattice, unchecked })
}

/// Refuses solutions whose true residual is far from the tolerance.
fn refuse_wrong<R: Vectors>(rhs: &mut [SolvedRhs], tolerance: f64) -> Result<(), SolveError> {
    // NaN must fail too.
    let is_wrong = |rhs: &&mut SolvedRhs| rhs.true_residual.is_nan() || rhs.true_residual > 10.0 * tolerance;
    match rhs.iter_mut().find(is_wrong) {
        None => Ok(()),
        Some(rhs) => Err(SolveError::TrueResidual {
            true_residual: rhs.true_residual,
            recurrence: rhs.info.relative_residual(),
            tolerance,
            precision: R::NAME,
            iterations: rhs.info.iterations,
            history: std::mem::take(&mut rhs.info.history),
        }),
    }
}

/// What a recurrence took.
struct Ran {
    infos: Vec<SolverInfo>,
    seconds: f64,
    flops: u64,
    bytes: u64,
}

/// A solution in site order, what it took, and what is left of the source where the solve itself was in f64.
type Solved<R> = (Vec<Complex<R>>, Ran, Option<Checked>);

/// A solution of mixed precision, which is f64, in the precision that was asked for: f64.
fn in_precision<R: Vectors>((solution, ran, checked): Solved<f64>) -> Solved<R> {
    (solution.iter().map(|c| Complex::new(R::from_f64(c.re), R::from_f64(c.im))).collect(), ran, checked)
}

type Watched<'a> = (&'a mut dyn Watcher, Option<&'a SavedState>);

impl<M: Model> Source<'_, M> {
    /// The source on some sites, in some precision.
    fn on<R: Vectors, B: Backend>(
        &self,
        backend: &B,
        lattice: Lattice,
        sites: Sites,
    ) -> Result<FieldOn<B, R, M::Object>, SolveError> {
        Ok(backend.upload(self.field(lattice, sites, self.eta)?)?)
    }

    fn field<R: Vectors>(
        &self,
        lattice: Lattice,
        sites: Sites,
        values: &[Complex<f64>],
    ) -> Result<Field<R, M::Object>, FieldError> {
        let kind = self.solve.operator.object(self.rhs);
        let words = kind.words();
        Field::from_sites(lattice, sites, kind, |site, object| {
            for (word, value) in object.iter_mut().zip(&values[site * words..]) {
                *word = Complex::new(R::from_f64(value.re), R::from_f64(value.im));
            }
        })
    }

    /// M on all sites, or its normal equations.
    fn full<'b, R: Vectors, B: Backend>(
        &self,
        backend: &'b B,
        lattice: Lattice,
    ) -> Result<FullSystem<'b, B, R, M>, BackendError> {
        System::new(self.solve.operator.full(backend, self.configuration, lattice)?, self.is_normal())
    }

    /// Mpc, or its normal equations.
    fn schur<'b, R: Vectors, B: Backend>(
        &self,
        backend: &'b B,
        lattice: Lattice,
    ) -> Result<SchurSystem<'b, B, R, M>, BackendError> {
        let pieces = self.solve.operator.even_odd(backend, self.configuration, lattice)?;
        System::new(SchurComplement::new(pieces)?, self.is_normal())
    }

    fn is_normal(&self) -> bool {
        let even_odd = self.solve.preconditioning == Preconditioning::EvenOdd;
        self.solve.method != Method::BiCgStab && !self.solve.operator.is_positive(even_odd)
    }

    /// The solution in site order, by a recurrence in one precision.
    fn run<R: Vectors, B: Backend>(
        &self,
        backend: &B,
        lattice: Lattice,
        watched: Watched<'_>,
    ) -> Result<Solved<R>, SolveError> {
        match self.solve.preconditioning {
            Preconditioning::None => {
                let mut system = self.full::<R, B>(backend, lattice)?;
                self.on_all_sites(backend, &mut system, |system, b| self.iterate(system, b, watched))
            }
            Preconditioning::EvenOdd => {
                let mut system = self.schur::<R, B>(backend, lattice)?;
                self.by_even_and_odd(backend, &mut system, |system, b| self.iterate(system, b, watched))
            }
        }
    }

    /// The same by a recurrence in `S` inside f64.
    fn run_mixed<S: Vectors, B: Backend>(
        &self,
        backend: &B,
        lattice: Lattice,
        watched: Watched<'_>,
    ) -> Result<Solved<f64>, SolveError> {
        let low_lattice = lattice.in_scalar(S::COMPLEX)?;
        match self.solve.preconditioning {
            Preconditioning::None => {
                let mut system = self.full::<f64, B>(backend, lattice)?;
                let mut low = self.full::<S, B>(backend, low_lattice)?;
                self.on_all_sites(backend, &mut system, |system, b| self.iterate_mixed((system, &mut low), b, watched))
            }
            Preconditioning::EvenOdd => {
                let mut system = self.schur::<f64, B>(backend, lattice)?;
                let mut low = self.schur::<S, B>(backend, low_lattice)?;
                self.by_even_and_odd(backend, &mut system, |system, b| {
                    self.iterate_mixed((system, &mut low), b, watched)
                })
            }
        }
    }

    fn on_all_sites<R: Vectors, B: Backend, D: Operator<B, R, Object = M::Object>>(
        &self,
        backend: &B,
        system: &mut System<B, R, D>,
        iterate: impl FnOnce(&mut System<B, R, D>, &FieldOn<B, R, M::Object>) -> Result<Iterated<B, R, M>, SolveError>,
    ) -> Result<Solved<R>, SolveError> {
        let mut b = system.zeros_of(self.rhs)?;
        let eta = self.on(backend, system.lattice(), Sites::Full)?;
        system.source(&mut b, &eta)?;
        let (psi, ran) = iterate(system, &b)?;
        drop(b);
        let solution = backend.download(&psi)?.to_site_order();
        let checked = is_f64::<R>().then(|| self.check_on_all_sites(backend, system, &eta, &psi));
        Ok((solution, ran, checked))
    }

    fn by_even_and_odd<'b, R: Vectors, B: Backend>(
        &self,
        backend: &'b B,
        system: &mut SchurSystem<'b, B, R, M>,
        iterate: impl FnOnce(
            &mut SchurSystem<'b, B, R, M>,
            &FieldOn<B, R, M::Object>,
        ) -> Result<Iterated<B, R, M>, SolveError>,
    ) -> Result<Solved<R>, SolveError> {
        let lattice = system.lattice();
        let [even, odd] = Parity::BOTH.map(Sites::Parity);
        let [eta_even, eta_odd] = [self.on(backend, lattice, even)?, self.on(backend, lattice, odd)?];
        let mut source = system.zeros_of(self.rhs)?;
        system.operator().odd_source(&mut source, &eta_even, &eta_odd)?;
        let mut b = system.zeros_of(self.rhs)?;
        system.source(&mut b, &source)?;
        let (psi_odd, ran) = iterate(system, &b)?;
        drop((source, b));
        let mut psi_even = backend.zeros(lattice, even, system.object(self.rhs))?;
        system.operator().even_solution(&mut psi_even, &eta_even, &psi_odd)?;
        let mut solution = backend.download(&psi_odd)?.to_site_order();
        backend.download(&psi_even)?.put_into_site_order(&mut solution);
        let checked = is_f64::<R>()
            .then(|| self.check_even_and_odd(backend, system, [&eta_even, &eta_odd], [&psi_even, &psi_odd]));
        Ok((solution, ran, checked))
    }

    /// The recurrence from the guess zero, or from where it was left, timed.
    fn iterate<R: Vectors, B: Backend, A: Operator<B, R, Object = M::Object>>(
        &self,
        system: &mut A,
        b: &FieldOn<B, R, M::Object>,
        watched: Watched<'_>,
    ) -> Result<Iterated<B, R, M>, SolveError> {
        let (params, rhs) = (self.solve.params, self.rhs);
        if rhs > 1 {
            let start = Instant::now();
            let mut batch = BatchConjugateGradients::new(system, b, rhs, params)?;
            go(&mut batch, watched)?;
            let seconds = start.elapsed().as_secs_f64();
            let (psi, infos) = batch.into_solution()?;
            return Ok((psi, Ran::new(system, 1, infos, seconds)));
        }
        let mut psi = system.zeros()?;
        system.backend().finish()?;
        let start = Instant::now();
        let info = match self.solve.method {
            Method::BiCgStab => {
                let mut recurrence = BiCgStab::new(system, b, &mut psi, params)?;
                go(&mut recurrence, watched)?;
                recurrence.info().clone()
            }
            _ => {
                let mut recurrence = ConjugateGradients::new(system, b, &mut psi, params)?;
                go(&mut recurrence, watched)?;
                recurrence.info().clone()
            }
        };
        system.backend().finish()?;
        let seconds = start.elapsed().as_secs_f64();
        let applications = if self.solve.method == Method::BiCgStab { 2 } else { 1 };
        let ran = Ran::new(system, applications, vec![info], seconds);
        Ok((psi, ran))
    }

    /// The same in mixed precision.
    fn iterate_mixed<S: Vectors, B: Backend, A, L>(
        &self,
        (system, low): (&mut A, &mut L),
        b: &FieldOn<B, f64, M::Object>,
        watched: Watched<'_>,
    ) -> Result<Iterated<B, f64, M>, SolveError>
    where
        A: Operator<B, f64, Object = M::Object>,
        L: Operator<B, S, Object = M::Object>,
    {
        let mut psi = system.zeros()?;
        system.backend().finish()?;
        let start = Instant::now();
        let mut recurrence = MixedConjugateGradients::new((system, low), b, &mut psi, self.solve.params)?;
        go(&mut recurrence, watched)?;
        let info = recurrence.info().clone();
        low.backend().finish()?;
        let seconds = start.elapsed().as_secs_f64();
        let ran = Ran::new(low, 1, vec![info], seconds);
        Ok((psi, ran))
    }

    /// The residuals of a solution in a precision below f64: the operator is made anew, in f64.
    fn check_in_f64<R: Vectors, B: Backend>(&self, backend: &B, solution: &[Complex<R>]) -> Checked {
        let lattice = self.solve.lattice::<f64>(self.configuration)?;
        let psi: Vec<Complex<f64>> = solution.iter().map(|c| Complex::new(c.re.to_f64(), c.im.to_f64())).collect();
        let on = |sites, values: &[Complex<f64>]| -> Result<FieldOn<B, f64, M::Object>, SolveError> {
            Ok(backend.upload(self.field(lattice, sites, values)?)?)
        };
        match self.solve.preconditioning {
            Preconditioning::None => {
                let mut system = self.full::<f64, B>(backend, lattice)?;
                let [eta, psi] = [on(Sites::Full, self.eta)?, on(Sites::Full, &psi)?];
                self.check_on_all_sites(backend, &mut system, &eta, &psi)
            }
            Preconditioning::EvenOdd => {
                let mut system = self.schur::<f64, B>(backend, lattice)?;
                let [even, odd] = Parity::BOTH.map(Sites::Parity);
                let [eta_even, eta_odd] = [on(even, self.eta)?, on(odd, self.eta)?];
                let [psi_even, psi_odd] = [on(even, &psi)?, on(odd, &psi)?];
                self.check_even_and_odd(backend, &mut system, [&eta_even, &eta_odd], [&psi_even, &psi_odd])
            }
        }
    }

    /// The residuals on all sites: b − Aψ = η − Mψ, or M†(η − Mψ).
    fn check_on_all_sites<R: Vectors, B: Backend, D: Operator<B, R, Object = M::Object>>(
        &self,
        backend: &B,
        system: &mut System<B, R, D>,
        eta: &FieldOn<B, R, M::Object>,
        psi: &FieldOn<B, R, M::Object>,
    ) -> Checked {
        let [mut residual, mut image] = [system.zeros_of(self.rhs)?, system.zeros_of(self.rhs)?];
        system.operator().apply(&mut image, psi, Dagger::No)?;
        backend.copy(&mut residual, eta)?;
        backend.axpy(-1.0, &image, &mut residual)?;
        let [left_of_eta, norms_of_eta] = [self.norms(backend, &residual)?, self.norms(backend, eta)?];
        system.source(&mut image, eta)?;
        let norms_of_b = self.norms(backend, &image)?;
        system.source(&mut image, &residual)?;
        let left_of_b = self.norms(backend, &image)?;
        Ok(residuals((left_of_b, norms_of_b), (left_of_eta, norms_of_eta)))
    }

    /// The residuals on even and odd sites.
    fn check_even_and_odd<'b, R: Vectors, B: Backend>(
        &self,
        backend: &'b B,
        system: &mut SchurSystem<'b, B, R, M>,
        [eta_even, eta_odd]: [&FieldOn<B, R, M::Object>; 2],
        [psi_even, psi_odd]: [&FieldOn<B, R, M::Object>; 2],
    ) -> Checked {
        let (mut left_of_eta, mut norms_of_eta) = (vec![0.0; self.rhs], vec![0.0; self.rhs]);
        for (eta, [psi, other]) in [(eta_even, [psi_even, psi_odd]), (eta_odd, [psi_odd, psi_even])] {
            let zeros = || backend.zeros(*eta.lattice(), eta.sites(), eta.kind());
            let [mut residual, mut image]: [FieldOn<B, R, M::Object>; 2] = [zeros()?, zeros()?];
            let pieces = system.operator().pieces();
            backend.copy(&mut residual, eta)?;
            pieces.mooee(&mut image, psi, Dagger::No)?;
            backend.axpy(-1.0, &image, &mut residual)?;
            pieces.meooe(&mut image, other, Dagger::No)?;
            backend.axpy(-1.0, &image, &mut residual)?;
            add(&mut left_of_eta, &self.norms(backend, &residual)?);
            add(&mut norms_of_eta, &self.norms(backend, eta)?);
        }
        let [mut source, mut image] = [system.zeros_of(self.rhs)?, system.zeros_of(self.rhs)?];
        system.operator().odd_source(&mut source, eta_even, eta_odd)?;
        system.source(&mut image, &source)?;
        let norms_of_b = self.norms(backend, &image)?;
        // The residual first, then M†: the other way round would lose digits.
        system.operator().apply(&mut image, psi_odd, Dagger::No)?;
        backend.axpy(-1.0, &image, &mut source)?;
        system.source(&mut image, &source)?;
        let left_of_b = self.norms(backend, &image)?;
        Ok(residuals((left_of_b, norms_of_b), (left_of_eta, norms_of_eta)))
    }

    /// |x|² of each right-hand side.
    fn norms<R: Vectors, B: Backend>(
        &self,
        backend: &B,
        x: &FieldOn<B, R, M::Object>,
    ) -> Result<Vec<f64>, BackendError> {
        backend.rhs_products(x, x, self.solve.operator.object(1).parts(), Sum::Exact)
    }
}

/// Whether `R` is f64, so that residuals need no other operator.
fn is_f64<R: Real>() -> bool {
    R::BITS == 64
}

/// Residuals of each right-hand side, from the squared norms of what is left and of the whole.
fn residuals(system: (Vec<f64>, Vec<f64>), solution: (Vec<f64>, Vec<f64>)) -> Vec<Residuals> {
    let ratios = |(left, whole): (Vec<f64>, Vec<f64>)| left.into_iter().zip(whole).map(|(l, w)| relative(l, w));
    let both = ratios(system).zip(ratios(solution));
    both.map(|(system, solution)| Residuals { system, solution }).collect()
}

fn add(to: &mut [f64], values: &[f64]) {
    to.iter_mut().zip(values).for_each(|(to, value)| *to += value);
}

type Iterated<B, R, M> = (FieldOn<B, R, <M as Model>::Object>, Ran);
type FullSystem<'b, B, R, M> = System<B, R, <M as Model>::Full<'b, B, R>>;
type SchurSystem<'b, B, R, M> = System<B, R, SchurComplement<B, R, <M as Model>::Pieces<'b, B, R>>>;

/// Runs a recurrence from its start, or from where it was left.
fn go(recurrence: &mut dyn Recurrence, (watcher, resume): Watched<'_>) -> Result<(), SolverError> {
    if let Some(state) = resume {
        recurrence.restore(state)?;
    }
    run(recurrence, watcher)
}

impl Ran {
    /// `applications` of the operator an iteration, each with its vector operations. The updates of mixed precision are not counted.
    fn new<R: Vectors, B: Backend, A: Operator<B, R>>(
        operator: &A,
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

/// Floating-point operations a complex word of an iteration beside the operator: an inner product, an axpy with norm, and the double
/// update, 4 for each fused multiply-add or product with sum (8 for the complex inner product).
const ITERATION_FLOPS: u64 = 8 + 8 + 8;
/// Fields read or written in an iteration beside the operator: 2 by the inner product, 3 by axpy with norm, 5 by the update.
const ITERATION_FIELDS: u64 = 10;

/// √(part / whole), and 0 where both are.
fn relative(part: f64, whole: f64) -> f64 {
    if part == 0.0 { 0.0 } else { (part / whole).sqrt() }
}
