//! A solve with shifts, from configuration and source to the solutions: (A + σ) ψ = η for several σ in one Krylov space, where A is the operator
//! that conjugate gradients invert for M. The true residual of each solution is computed in f64 at the end, with an operator that is created again.

use lanefield_reference::field::{Field, Repeated, list_of};
use lanefield_reference::gauge::Configuration;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::hop::Dagger;
use lanefield_reference::layout::{Parity, Sites};
use lanefield_reference::real::Real;
use num_complex::Complex;

use super::check::{Checked, Residuals, SolveInputs};
use super::multishift::MultiShiftConjugateGradients;
use super::operators::{Operators, OperatorsTask, with_operators};
use super::recurrence::Watcher;
use super::solve::{ITERATION_FIELDS, ITERATION_FLOPS, Ran, SolvedSystem, Watch, Watched, go};
use super::{Method, Preconditioning, SavedState, Solve, SolveError, SolveReport, SolverParams};
use crate::backend::{Backend, FieldOn, Sum};
use crate::kernel::prelude::*;
use crate::operator::{ActsOn as _, DynOperator, ModelChoice, Operator as _, Shifted, System};

/// Solves (A + σ) ψ = η for each σ of `shifts`. A is the operator that conjugate gradients invert for M:
///
/// - without preconditioning, M†M on all sites;
/// - with even-odd preconditioning, Mpc†Mpc on the odd sites. Only η on the odd sites is then read, and ψ is zero on the even ones;
/// - M or Mpc itself if it is Hermitian and positive definite, like Mpc of staggered fermions, mass² − Doe Deo.
///
/// `eta` is in site order over the whole lattice, in f64, and is rounded to `R`. The report has a right-hand side for each shift, in their order;
/// the solution has the words of all of them at each site. `watcher` sees the recurrence, which resumes from the state `resume` if there is one.
///
/// # Errors
/// [`SolveError`], also if a true residual exceeds ten times the tolerance, if memory lost bits, if the source has several right-hand sides, and for
/// methods other than conjugate gradients.
pub fn solve_with_shifts<R: Vectors, B: Backend, M: ModelChoice>(
    backend: &B,
    configuration: &Configuration,
    eta: &[Complex<f64>],
    shifts: &[f64],
    solve: &Solve<M>,
    watcher: &mut dyn Watcher,
    resume: Option<&SavedState>,
) -> Result<SolveReport<R>, SolveError> {
    with_operators::<R, _, _, _>(
        backend,
        configuration,
        solve,
        SolvingWithShifts { eta, shifts, watched: (watcher, resume) },
    )
}

/// A solve with shifts, for the operators of any model.
struct SolvingWithShifts<'a> {
    eta: &'a [Complex<f64>],
    shifts: &'a [f64],
    watched: Watched<'a>,
}

impl<B: Backend, R: Vectors> OperatorsTask<B, R> for SolvingWithShifts<'_> {
    type Output = Result<SolveReport<R>, SolveError>;

    fn run<K: Repeated>(self, operators: &Operators<'_, B, R, K>) -> Self::Output {
        let Self { eta, shifts, watched } = self;
        let &Operators { configuration, backend, backend_in_f64, how, one, normal, own, in_f64, .. } = operators;
        let of_one = configuration.extents().volume() * one.words();
        if eta.len() != of_one {
            return Err(SolveError::OneRightHandSide { length: eta.len(), of_one });
        }
        let &Solve { preconditioning, method, params, .. } = how;
        if method != Method::ConjugateGradients {
            return Err(SolveError::NoShifts { method });
        }
        let even_odd = preconditioning == Preconditioning::EvenOdd;
        let (extents, odd) = (configuration.extents(), Sites::Parity(Parity::Odd));
        let is_read = |site| !even_odd || odd.contain(extents.coordinate(site));
        let inputs = SolveInputs::new::<R, _>(backend, configuration, eta, (1, one.words()), false, is_read)?;
        let source = ShiftedSource { eta: &inputs.scaled, one, shifts, params, normal };
        let built_before = backend.building();
        let lattice = how.lattice::<R>(configuration)?;
        let solved = match even_odd {
            false => source.solve(&mut *operators.full(backend, own, lattice)?, watched),
            true => source.solve(&mut operators.schur(backend, own, lattice)?, watched),
        }?;
        let check = |solution: &[Complex<R>]| -> Checked {
            let lattice = how.lattice::<f64>(configuration)?;
            match even_odd {
                false => source.check(&mut *operators.full(backend_in_f64, in_f64, lattice)?, solution),
                true => source.check(&mut operators.schur(backend_in_f64, in_f64, lattice)?, solution),
            }
        };
        SolveReport::new(solved, &inputs, (&params, lattice), check, || backend.building() - built_before)
    }
}

/// The right-hand side, and its layout.
struct ShiftedSource<'a, K> {
    eta: &'a [Complex<f64>],
    one: K,
    shifts: &'a [f64],
    params: SolverParams,
    normal: bool,
}

impl<K: Repeated> ShiftedSource<'_, K> {
    /// Numbers in site order as a field on which an operator acts: from each site's `words` words, those from `first` on.
    fn on<R: Vectors, S: Real, B: Backend>(
        &self,
        operator: &DynOperator<'_, B, R, K>,
        (values, words, first): (&[Complex<S>], usize, usize),
    ) -> Result<FieldOn<B, R, K>, SolveError> {
        let field = Field::from_sites(operator.lattice(), operator.sites(), self.one, |site, object| {
            for (word, value) in object.iter_mut().zip(&values[site * words + first..]) {
                *word = Complex::new(R::from_f64(value.re.to_f64()), R::from_f64(value.im.to_f64()));
            }
        })?;
        Ok(operator.backend().upload(field)?)
    }

    /// Solves with an operator M; the solutions are in site order.
    fn solve<R: Vectors, B: Backend>(
        &self,
        operator: &mut DynOperator<'_, B, R, K>,
        watched: Watched<'_>,
    ) -> Result<SolvedSystem<R>, SolveError> {
        let words = self.one.words();
        let b = self.on(operator, (self.eta, words, 0))?;
        let mut system = System::new(operator, self.normal)?;
        system.backend().finish()?;
        let watch = Watch::start(system.backend());
        let mut recurrence = MultiShiftConjugateGradients::new(&mut system, &b, self.shifts, self.params)?;
        go(&mut recurrence, watched)?;
        let applications = recurrence.applications() as u64;
        let (solutions, infos) = recurrence.into_solutions()?;
        system.backend().finish()?;
        let seconds = watch.seconds(system.backend());
        let (all, zero) = (self.shifts.len() * words, Complex::new(R::default(), R::default()));
        let zeros = std::iter::repeat(zero);
        let length = system.lattice().extents().volume() * all;
        let mut solution = list_of(|| "the solutions in site order".to_owned(), length, zeros)?;
        for (number, psi) in solutions.iter().enumerate() {
            let psi = system.backend().download(psi)?.try_to_site_order()?;
            for (site, psi) in solution.chunks_exact_mut(all).zip(psi.chunks_exact(words)) {
                site[number * words..][..words].copy_from_slice(psi);
            }
        }
        // The work of each iteration, and the update of each shift that has not converged.
        let updates = infos.iter().map(|info| info.iterations as u64).sum::<u64>();
        let numbers = system.words(system.sites());
        let beside = applications * (ITERATION_FLOPS - UPDATE_FLOPS) + updates * UPDATE_FLOPS;
        let flops = applications * system.flops() + beside * numbers;
        let fields = applications * (ITERATION_FIELDS - UPDATE_FIELDS) + updates * UPDATE_FIELDS;
        let bytes = applications * system.bytes() + fields * numbers * 2 * u64::from(R::BITS) / 8;
        Ok((solution, Ran { infos, seconds, flops, bytes }))
    }

    /// |η − (A + σ)ψ| / |η| of each shift.
    fn check<S: Real, B: Backend>(
        &self,
        operator: &mut DynOperator<'_, B, f64, K>,
        solution: &[Complex<S>],
    ) -> Checked {
        let words = self.one.words();
        let b = self.on(operator, (self.eta, words, 0))?;
        let mut system = System::new(operator, self.normal)?;
        let norm2 = system.backend().norm2(&b, Sum::Exact)?;
        let [mut residual, mut image] = [system.zeros()?, system.zeros()?];
        let mut residuals = Vec::with_capacity(self.shifts.len());
        for (number, &shift) in self.shifts.iter().enumerate() {
            let all = self.shifts.len() * words;
            let psi = self.on(system.operator(), (solution, all, number * words))?;
            let mut shifted = Shifted::new(&mut system, shift);
            shifted.apply(&mut image, &psi, Dagger::No)?;
            shifted.backend().copy(&mut residual, &b)?;
            let left = shifted.backend().axpy_norm(-1.0, &image, &mut residual, Sum::Exact)?;
            let ratio = if left == 0.0 { 0.0 } else { (left / norm2).sqrt() };
            residuals.push(Residuals { system: ratio, solution: ratio, even: 0.0 });
        }
        Ok(residuals)
    }
}

/// Floating-point operations per complex word in the update of a shift.
const UPDATE_FLOPS: u64 = 8;
/// Fields that the update reads or writes.
const UPDATE_FIELDS: u64 = 5;
