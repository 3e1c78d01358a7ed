//! Conjugate gradients (Hestenes and Stiefel 1952), with the recurrence, rounding and stopping criterion of `docs/arithmetic.md` §10, which are
//! Grid's.

use lanefield_reference::field::Repeated;
use lanefield_reference::kernels::Vectors;

use super::queued_cg::{self, CgFields, Queueable, QueuedCg};
use super::recurrence::{Recurrence, Start, Watcher, check_source, may_go_on, place, run};
use super::{SavedState, SolverError, SolverInfo, SolverParams};
use crate::backend::{Backend, BackendError, FieldOn, QueuedBounds, QueuedSums};
use crate::kernel::prelude::*;
use crate::operator::DynOperator;

/// Conjugate gradients, step by step. The caller owns ψ, which holds the guess, then the last iterate.
pub struct ConjugateGradients<'a, B: Backend, R: Vectors, K: Repeated> {
    operator: &'a mut DynOperator<'a, B, R, K>,
    params: SolverParams,
    psi: &'a mut FieldOn<B, R, K>,
    residual: FieldOn<B, R, K>,
    direction: FieldOn<B, R, K>,
    product: FieldOn<B, R, K>,
    /// |r|².
    c: f64,
    stop: f64,
    info: SolverInfo,
    ahead: QueuedCg<B>,
}

impl<'a, B: Backend, R: Vectors, K: Repeated> ConjugateGradients<'a, B, R, K> {
    /// Starts A ψ = b, with A Hermitian and positive definite.
    ///
    /// # Errors
    /// [`SolverError::NotFinite`] if the source or the guess is not finite; backend errors.
    pub fn new(
        operator: &'a mut DynOperator<'a, B, R, K>,
        source: &FieldOn<B, R, K>,
        psi: &'a mut FieldOn<B, R, K>,
        params: SolverParams,
    ) -> Result<Self, SolverError> {
        let Start { residual, product, c, stop, info } = Start::new(operator, source, psi, &params)?;
        let mut direction = operator.zeros()?;
        operator.backend().copy(&mut direction, &residual)?;
        let ahead = QueuedCg::default();
        Ok(Self { operator, params, psi, residual, direction, product, c, stop, info, ahead })
    }

    /// Sets how many iterations are queued at a time, if the backend queues them, regardless of the estimated number left; at most
    /// [`MOST_QUEUED`](crate::backend::MOST_QUEUED). No bit depends on it.
    pub fn set_iterations_ahead(&mut self, iterations: usize) {
        self.ahead.chosen = Some(iterations);
    }
}

impl<B: Backend, R: Vectors, K: Repeated> Queueable for ConjugateGradients<'_, B, R, K> {
    type Backend = B;

    fn params(&self) -> &SolverParams {
        &self.params
    }
    fn ahead(&self) -> &QueuedCg<B> {
        &self.ahead
    }
    fn ahead_mut(&mut self) -> &mut QueuedCg<B> {
        &mut self.ahead
    }
    fn bounds(&self) -> QueuedBounds {
        QueuedBounds { c: self.c, low: self.stop, high: f64::INFINITY, keep: f64::NEG_INFINITY }
    }

    fn queue(&mut self, bounds: QueuedBounds, iterations: usize) -> Result<Option<QueuedSums>, SolverError> {
        let Self { operator, params, psi, residual, direction, product, ahead, .. } = self;
        let fields = CgFields { psi, residual, direction, product };
        queued_cg::queue(operator, fields, ahead, (params.sum, bounds, iterations))
    }

    fn iterate(&mut self, known: &[f64], done: bool, watcher: &mut dyn Watcher) -> Result<bool, SolverError> {
        let Self { operator, params, psi, residual, direction, product, c, info, .. } = self;
        let fields = CgFields { psi, residual, direction, product };
        let [a, next] = queued_cg::scalars(operator, fields, (*c, params.sum), known, (watcher, info))?;
        if !done {
            operator.backend().cg_update(psi, direction, residual, a, next / *c)?;
        }
        Ok(self.follow(next))
    }

    fn follow(&mut self, next: f64) -> bool {
        self.c = next;
        self.info.push(next);
        !self.is_done()
    }
}

impl<B: Backend, R: Vectors, K: Repeated> Recurrence for ConjugateGradients<'_, B, R, K> {
    fn name(&self) -> &'static str {
        "conjugate gradients"
    }
    fn info(&self) -> &SolverInfo {
        &self.info
    }
    fn is_done(&self) -> bool {
        self.c <= self.stop
    }

    fn step(&mut self, watcher: &mut dyn Watcher) -> Result<(), SolverError> {
        may_go_on(&self.params, &self.info)?;
        queued_cg::step(self, watcher)
    }

    fn save(&self) -> Result<SavedState, BackendError> {
        let backend = self.operator.backend();
        let mut state = SavedState::new(self.name());
        state.info("system", &self.info);
        state.field::<R, B, _>(backend, "psi", self.psi)?;
        state.field::<R, B, _>(backend, "r", &self.residual)?;
        state.field::<R, B, _>(backend, "p", &self.direction)?;
        Ok(state)
    }

    fn restore(&mut self, state: &SavedState) -> Result<(), SolverError> {
        state.check_name(self.name())?;
        let info = state.get_info("system")?;
        check_source(&self.info, &info)?;
        self.ahead.forget();
        let backend = self.operator.backend();
        let place = place::<B, R, _>(self.psi);
        *self.psi = state.get_field(backend, "psi", place)?;
        self.residual = state.get_field(backend, "r", place)?;
        self.direction = state.get_field(backend, "p", place)?;
        self.c = info.history.last().copied().unwrap_or(self.c);
        self.info = info;
        Ok(())
    }
}

/// Solves A ψ = b, with A Hermitian and positive definite; ψ is the guess, then the solution. `watcher` may be a function: it is called with the
/// iteration and |r|² after each iteration.
///
/// # Errors
/// [`SolverError`]; ψ then holds the last iterate.
pub fn conjugate_gradient<B: Backend, R: Vectors, K: Repeated>(
    operator: &mut DynOperator<'_, B, R, K>,
    source: &FieldOn<B, R, K>,
    psi: &mut FieldOn<B, R, K>,
    params: SolverParams,
    mut watcher: impl Watcher,
) -> Result<SolverInfo, SolverError> {
    let mut recurrence = ConjugateGradients::new(operator, source, psi, params)?;
    run(&mut recurrence, &mut watcher)?;
    Ok(recurrence.info)
}
