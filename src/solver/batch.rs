//! Conjugate gradients with several right-hand sides in one batch: links are read once for all of them. Each column goes through the
//! recurrence of `cg.rs` with scalars of its own, and gets the bits of its own single solve; those that are done leave the batch.

use lanefield_reference::field::SiteObject as _;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::hop::Dagger;

use super::recurrence::{Recurrence, Watcher, check_source, may_go_on, place, run, watch};
use super::{SavedState, SolverError, SolverInfo, SolverParams};
use crate::backend::{Backend, BackendError, FieldOn};
use crate::kernel::prelude::*;
use crate::operator::{ActsOn, Operator};

/// The solutions of all columns in one field, and what each took.
pub type BatchSolution<B, R, A> = (FieldOn<B, R, <A as ActsOn<B>>::Object>, Vec<SolverInfo>);

/// One right-hand side.
struct Column {
    /// Its number in the batch.
    number: usize,
    /// |r|².
    c: f64,
    stop: f64,
}

/// Conjugate gradients on all columns of a field, from the guess zero.
pub struct BatchConjugateGradients<'a, B: Backend, R: Vectors, A: Operator<B, R>> {
    operator: &'a mut A,
    params: SolverParams,
    column_parts: usize,
    /// Those that still go on, in the order in which they lie in the fields.
    active: Vec<Column>,
    psi: FieldOn<B, R, A::Object>,
    residual: FieldOn<B, R, A::Object>,
    direction: FieldOn<B, R, A::Object>,
    product: FieldOn<B, R, A::Object>,
    infos: Vec<SolverInfo>,
    /// By number.
    solutions: Vec<Option<FieldOn<B, R, A::Object>>>,
    longest: usize,
}

impl<'a, B: Backend, R: Vectors, A: Operator<B, R>> BatchConjugateGradients<'a, B, R, A> {
    /// The start of A ψ = b for each of the `columns` columns of `source`.
    ///
    /// # Errors
    /// [`SolverError::NotFinite`] for a source that is no finite number; what the backend reports.
    pub fn new(
        operator: &'a mut A,
        source: &FieldOn<B, R, A::Object>,
        columns: usize,
        params: SolverParams,
    ) -> Result<Self, SolverError> {
        let quiet = &mut |_, _| ();
        let column_parts = operator.object(1).parts();
        let norms = operator.backend().rhs_products(source, source, column_parts, params.sum)?;
        let zeros = |operator: &A| operator.zeros_of(columns);
        let (psi, product) = (zeros(operator)?, zeros(operator)?);
        let (mut residual, mut direction) = (zeros(operator)?, zeros(operator)?);
        operator.backend().copy(&mut residual, source)?;
        operator.backend().copy(&mut direction, source)?;
        let mut infos = Vec::with_capacity(columns);
        let mut active = Vec::with_capacity(columns);
        for (number, c) in norms.into_iter().enumerate() {
            let mut info = SolverInfo { source_norm2: c, ..SolverInfo::default() };
            watch(quiet, (number, "|b|²"), c, &info)?;
            info.push(c);
            infos.push(info);
            active.push(Column { number, c, stop: params.tolerance * params.tolerance * c });
        }
        let solutions = (0..columns).map(|_| None).collect();
        let mut batch = Self {
            operator,
            params,
            column_parts,
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

    /// Takes the columns that are done out of the batch.
    fn retire(&mut self) -> Result<(), SolverError> {
        let is_done = |column: &Column| column.c <= column.stop;
        if !self.active.iter().any(is_done) {
            return Ok(());
        }
        let backend = self.operator.backend();
        for (at, column) in self.active.iter().enumerate().filter(|(_, column)| is_done(column)) {
            self.solutions[column.number] = Some(backend.take_rhs(&self.psi, &[at], self.column_parts)?);
        }
        let stay: Vec<usize> = (0..self.active.len()).filter(|&at| !is_done(&self.active[at])).collect();
        self.active.retain(|column| !is_done(column));
        if stay.is_empty() {
            return Ok(());
        }
        for field in [&mut self.psi, &mut self.residual, &mut self.direction, &mut self.product] {
            *field = backend.take_rhs(field, &stay, self.column_parts)?;
        }
        Ok(())
    }

    /// The solutions of all columns in one field, and what each took.
    ///
    /// # Errors
    /// [`SolverError::NotConverged`] before all are done; what the backend reports.
    pub fn into_solution(self) -> Result<BatchSolution<B, R, A>, SolverError> {
        let Self { operator, params, column_parts, solutions, infos, .. } = self;
        let mut all = operator.zeros_of(solutions.len())?;
        for (number, (solution, info)) in solutions.iter().zip(&infos).enumerate() {
            let unfinished = || SolverError::NotConverged { tolerance: params.tolerance, info: info.clone() };
            let solution = solution.as_ref().ok_or_else(unfinished)?;
            operator.backend().put_rhs(&mut all, solution, &[number], column_parts)?;
        }
        Ok((all, infos))
    }
}

impl<B: Backend, R: Vectors, A: Operator<B, R>> Recurrence for BatchConjugateGradients<'_, B, R, A> {
    fn name(&self) -> &'static str {
        "conjugate gradients in a batch"
    }
    fn info(&self) -> &SolverInfo {
        &self.infos[self.longest]
    }
    fn is_done(&self) -> bool {
        self.active.is_empty()
    }

    fn step(&mut self, watcher: &mut dyn Watcher) -> Result<(), SolverError> {
        let Self { operator, params, column_parts, active, psi, residual, direction, product, infos, .. } = self;
        for column in active.iter() {
            may_go_on(params, &infos[column.number])?;
        }
        operator.apply(product, direction, Dagger::No)?;
        let backend = operator.backend();
        let curvatures = backend.rhs_products(direction, product, *column_parts, params.sum)?;
        let mut steps = Vec::with_capacity(active.len());
        for (column, &curvature) in active.iter().zip(&curvatures) {
            let info = &infos[column.number];
            watch(watcher, (column.number, "<p, A p>"), curvature, info)?;
            if curvature <= 0.0 {
                return Err(SolverError::Indefinite { curvature, info: info.clone() });
            }
            steps.push(column.c / curvature);
        }
        let back: Vec<f64> = steps.iter().map(|a| -a).collect();
        let norms = backend.rhs_axpy_norm(&back, product, residual, params.sum)?;
        let mut ratios = Vec::with_capacity(active.len());
        for (column, &next) in active.iter_mut().zip(&norms) {
            watch(watcher, (column.number, "|r|²"), next, &infos[column.number])?;
            ratios.push(next / column.c);
            column.c = next;
            infos[column.number].push(next);
            self.longest = column.number;
        }
        backend.rhs_cg_update(psi, direction, residual, &steps, &ratios)?;
        self.retire()
    }

    fn save(&self) -> Result<SavedState, BackendError> {
        let backend = self.operator.backend();
        let mut state = SavedState::new(self.name());
        let numbers: Vec<f64> = self.active.iter().map(|column| column.number as f64).collect();
        state.scalars("active", &numbers);
        for (number, info) in self.infos.iter().enumerate() {
            state.info(&format!("column {number}"), info);
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
            let info = state.get_info(&format!("column {number}"))?;
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
        let column = |&number: &usize| {
            let info = self.infos.get(number)?;
            let c = info.history.last().copied()?;
            Some(Column { number, c, stop: tolerance * tolerance * info.source_norm2 })
        };
        let Some(active) = numbers.iter().map(column).collect() else {
            return Err(SolverError::WrongState {
                what: format!("it has the columns {numbers:?}, which this batch has not"),
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

/// Solves A ψ = b for each of the `columns` columns of `source`, from the guess zero. Each has the bits of its own single solve.
///
/// # Errors
/// [`SolverError`] of the first column that has one.
pub fn conjugate_gradient_batch<B: Backend, R: Vectors, A: Operator<B, R>>(
    operator: &mut A,
    source: &FieldOn<B, R, A::Object>,
    columns: usize,
    params: SolverParams,
    mut watcher: impl Watcher,
) -> Result<BatchSolution<B, R, A>, SolverError> {
    let mut recurrence = BatchConjugateGradients::new(operator, source, columns, params)?;
    run(&mut recurrence, &mut watcher)?;
    recurrence.into_solution()
}
