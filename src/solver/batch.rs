//! Conjugate gradients with several right-hand sides in one batch: links are read once for all of them. Each right-hand side follows the recurrence
//! of `cg.rs` with its own scalars, and has the bits of its own solve. A right-hand side that has converged leaves the batch.

use lanefield_reference::field::Repeated;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::hop::Dagger;

use super::recurrence::{Recurrence, Watcher, check_source, may_go_on, place, require_zeros, run, stop, watch};
use super::{SavedState, SolverError, SolverInfo, SolverParams};
use crate::backend::{Backend, BackendError, FieldOn};
use crate::kernel::prelude::*;
use crate::operator::DynOperator;

/// The solutions of all right-hand sides in one field, and the [`SolverInfo`] of each.
pub type BatchSolution<B, R, K> = (FieldOn<B, R, K>, Vec<SolverInfo>);

/// One right-hand side.
struct Active {
    /// Its number in the batch.
    number: usize,
    /// |r|².
    c: f64,
    stop: f64,
}

/// Conjugate gradients on all right-hand sides of a field.
pub struct BatchConjugateGradients<'a, B: Backend, R: Vectors, K: Repeated> {
    operator: &'a mut DynOperator<'a, B, R, K>,
    params: SolverParams,
    parts_per_rhs: usize,
    /// Right-hand sides that have not converged, in the order in which they are stored in the fields.
    active: Vec<Active>,
    psi: FieldOn<B, R, K>,
    residual: FieldOn<B, R, K>,
    direction: FieldOn<B, R, K>,
    product: FieldOn<B, R, K>,
    infos: Vec<SolverInfo>,
    /// By the number of the right-hand side.
    solutions: Vec<Option<FieldOn<B, R, K>>>,
    longest: usize,
}

impl<'a, B: Backend, R: Vectors, K: Repeated> BatchConjugateGradients<'a, B, R, K> {
    /// Starts A ψ = b for each of the `rhs` right-hand sides of `source`, from the guess zero.
    ///
    /// # Errors
    /// [`SolverError::NotFinite`] if the source is not finite; backend errors.
    pub fn new(
        operator: &'a mut DynOperator<'a, B, R, K>,
        source: &FieldOn<B, R, K>,
        rhs: usize,
        params: SolverParams,
    ) -> Result<Self, SolverError> {
        Self::from_guess(operator, source, rhs, None, params)
    }

    /// The same from a guess for all of them.
    ///
    /// # Errors
    /// As [`Self::new`], also if the guess is not finite.
    pub(crate) fn from_guess(
        operator: &'a mut DynOperator<'a, B, R, K>,
        source: &FieldOn<B, R, K>,
        rhs: usize,
        guess: Option<FieldOn<B, R, K>>,
        params: SolverParams,
    ) -> Result<Self, SolverError> {
        let quiet = &mut |_, _| ();
        let parts_per_rhs = operator.object(1).parts();
        let norms = operator.backend().rhs_products(source, source, parts_per_rhs, params.sum)?;
        require_zeros(operator.backend(), source, &norms)?;
        let zeros = |operator: &DynOperator<B, R, K>| operator.zeros_of(rhs);
        let mut product = zeros(operator)?;
        let (mut residual, mut direction) = (zeros(operator)?, zeros(operator)?);
        operator.backend().copy(&mut residual, source)?;
        let (psi, left) = match guess {
            None => (zeros(operator)?, norms.clone()),
            Some(psi) => {
                operator.apply(&mut product, &psi, Dagger::No)?;
                let left = operator.backend().rhs_axpy_norm(&vec![-1.0; rhs], &product, &mut residual, params.sum)?;
                (psi, left)
            }
        };
        operator.backend().copy(&mut direction, &residual)?;
        let mut infos = Vec::with_capacity(rhs);
        let mut active = Vec::with_capacity(rhs);
        for (number, (source_norm2, c)) in norms.into_iter().zip(left).enumerate() {
            let mut info = SolverInfo { source_norm2, ..SolverInfo::default() };
            watch(quiet, (number, "|b|²"), source_norm2, &info)?;
            watch(quiet, (number, "|r|²"), c, &info)?;
            info.push(c);
            active.push(Active { number, c, stop: stop(params.tolerance, &info)? });
            infos.push(info);
        }
        let solutions = (0..rhs).map(|_| None).collect();
        let mut batch = Self {
            operator,
            params,
            parts_per_rhs,
            active,
            psi,
            residual,
            direction,
            product,
            infos,
            solutions,
            longest: 0,
        };
        batch.retire()?;
        Ok(batch)
    }

    /// Takes converged right-hand sides out of the batch.
    fn retire(&mut self) -> Result<(), SolverError> {
        let is_done = |rhs: &Active| rhs.c <= rhs.stop;
        if !self.active.iter().any(is_done) {
            return Ok(());
        }
        let backend = self.operator.backend();
        for (at, rhs) in self.active.iter().enumerate().filter(|(_, rhs)| is_done(rhs)) {
            self.solutions[rhs.number] = Some(backend.take_rhs(&self.psi, &[at], self.parts_per_rhs)?);
        }
        let stay: Vec<usize> = (0..self.active.len()).filter(|&at| !is_done(&self.active[at])).collect();
        self.active.retain(|rhs| !is_done(rhs));
        if stay.is_empty() {
            return Ok(());
        }
        for field in [&mut self.psi, &mut self.residual, &mut self.direction, &mut self.product] {
            *field = backend.take_rhs(field, &stay, self.parts_per_rhs)?;
        }
        Ok(())
    }

    /// The solutions of all right-hand sides in one field, and the [`SolverInfo`] of each.
    ///
    /// # Errors
    /// [`SolverError::NotConverged`] unless all have converged; backend errors.
    pub(crate) fn into_solution(self) -> Result<BatchSolution<B, R, K>, SolverError> {
        let Self { operator, params, parts_per_rhs, solutions, infos, .. } = self;
        let mut all = operator.zeros_of(solutions.len())?;
        for (number, (solution, info)) in solutions.iter().zip(&infos).enumerate() {
            let unfinished = || SolverError::NotConverged { tolerance: params.tolerance, info: info.clone() };
            let solution = solution.as_ref().ok_or_else(unfinished)?;
            operator.backend().put_rhs(&mut all, solution, &[number], parts_per_rhs)?;
        }
        Ok((all, infos))
    }
}

impl<B: Backend, R: Vectors, K: Repeated> Recurrence for BatchConjugateGradients<'_, B, R, K> {
    fn name(&self) -> &'static str {
        "conjugate gradients in a batch"
    }
    fn info(&self) -> &SolverInfo {
        &self.infos[self.longest]
    }
    fn infos(&self) -> &[SolverInfo] {
        &self.infos
    }
    fn is_done(&self) -> bool {
        self.active.is_empty()
    }

    fn step(&mut self, watcher: &mut dyn Watcher) -> Result<(), SolverError> {
        let Self { operator, params, parts_per_rhs, active, psi, residual, direction, product, infos, .. } = self;
        for rhs in active.iter() {
            may_go_on(params, &infos[rhs.number])?;
        }
        operator.apply(product, direction, Dagger::No)?;
        let backend = operator.backend();
        let curvatures = backend.rhs_products(direction, product, *parts_per_rhs, params.sum)?;
        let mut steps = Vec::with_capacity(active.len());
        for (rhs, &curvature) in active.iter().zip(&curvatures) {
            let info = &infos[rhs.number];
            watch(watcher, (rhs.number, "<p, A p>"), curvature, info)?;
            if curvature <= 0.0 {
                return Err(SolverError::Indefinite { curvature, info: info.clone() });
            }
            steps.push(rhs.c / curvature);
        }
        let back: Vec<f64> = steps.iter().map(|a| -a).collect();
        let norms = backend.rhs_axpy_norm(&back, product, residual, params.sum)?;
        let mut ratios = Vec::with_capacity(active.len());
        for (rhs, &next) in active.iter_mut().zip(&norms) {
            watch(watcher, (rhs.number, "|r|²"), next, &infos[rhs.number])?;
            ratios.push(next / rhs.c);
            rhs.c = next;
            infos[rhs.number].push(next);
            self.longest = rhs.number;
        }
        backend.rhs_cg_update(psi, direction, residual, &steps, &ratios)?;
        self.retire()
    }

    fn save(&self) -> Result<SavedState, BackendError> {
        let backend = self.operator.backend();
        let mut state = SavedState::new(self.name());
        let numbers: Vec<f64> = self.active.iter().map(|rhs| rhs.number as f64).collect();
        state.scalars("active", &numbers);
        for (number, info) in self.infos.iter().enumerate() {
            state.info(&format!("rhs {number}"), info);
            if let Some(solution) = &self.solutions[number] {
                state.field::<R, B, _>(backend, &format!("solution {number}"), solution)?;
            }
        }
        if !self.active.is_empty() {
            state.field::<R, B, _>(backend, "psi", &self.psi)?;
            state.field::<R, B, _>(backend, "r", &self.residual)?;
            state.field::<R, B, _>(backend, "p", &self.direction)?;
        }
        Ok(state)
    }

    fn restore(&mut self, state: &SavedState) -> Result<(), SolverError> {
        state.check_name(self.name())?;
        let backend = self.operator.backend();
        let (lattice, sites, _) = place::<B, R, _>(&self.psi);
        let numbers: Vec<usize> = state.get_scalars("active")?.iter().map(|&number| number as usize).collect();
        for (number, ours) in self.infos.iter_mut().enumerate() {
            let info = state.get_info(&format!("rhs {number}"))?;
            check_source(ours, &info)?;
            *ours = info;
            self.solutions[number] = match numbers.contains(&number) {
                true => None,
                false => {
                    let one = (lattice, sites, self.operator.object(1));
                    Some(state.get_field(backend, &format!("solution {number}"), one)?)
                }
            };
        }
        let tolerance = self.params.tolerance;
        let rhs = |&number: &usize| {
            let info = self.infos.get(number)?;
            let c = info.history.last().copied()?;
            Some(Active { number, c, stop: tolerance * tolerance * info.source_norm2 })
        };
        let Some(active) = numbers.iter().map(rhs).collect() else {
            return Err(SolverError::WrongState {
                what: format!("it has the right-hand sides {numbers:?}, and this batch does not"),
            });
        };
        self.active = active;
        if !numbers.is_empty() {
            self.longest = numbers[numbers.len() - 1];
            let many = (lattice, sites, self.operator.object(numbers.len()));
            self.psi = state.get_field(backend, "psi", many)?;
            self.residual = state.get_field(backend, "r", many)?;
            self.direction = state.get_field(backend, "p", many)?;
            self.product = backend.zeros(lattice, sites, many.2)?;
        }
        Ok(())
    }
}

/// Solves A ψ = b for each of the `rhs` right-hand sides of `source`, from the guess zero. Each has the bits of its own solve.
///
/// # Errors
/// The [`SolverError`] of the first right-hand side that fails.
pub fn conjugate_gradient_batch<B: Backend, R: Vectors, K: Repeated>(
    operator: &mut DynOperator<'_, B, R, K>,
    source: &FieldOn<B, R, K>,
    rhs: usize,
    params: SolverParams,
    mut watcher: impl Watcher,
) -> Result<BatchSolution<B, R, K>, SolverError> {
    let mut recurrence = BatchConjugateGradients::new(operator, source, rhs, params)?;
    run(&mut recurrence, &mut watcher)?;
    recurrence.into_solution()
}
