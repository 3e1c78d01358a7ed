//! Conjugate gradients in mixed precision with reliable updates (Clark et al., Comput. Phys. Commun. 181 (2010) 1517). The recurrence runs in a low
//! precision. From time to time its solution is added up in f64, and the residual is recomputed there. `docs/arithmetic.md` §10 defines it.

use lanefield_reference::field::Repeated;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::hop::Dagger;

use super::between::convert;
use super::queued_cg::{self, CgFields, Queueable, QueuedCg};
use super::recurrence::{Recurrence, Start, Watcher, check_source, may_go_on, place, run, watch};
use super::{SavedState, SolverError, SolverInfo, SolverParams};
use crate::backend::{Backend, BackendError, FieldOn, QueuedBounds, QueuedSums};
use crate::kernel::prelude::*;
use crate::operator::DynOperator;

/// The residual is recomputed when |r| falls below this fraction of its largest value since the last update. Each update costs an application in
/// f64; rounding in the low precision becomes visible only far below this fraction.
fn reliable_delta<S: Vectors>() -> f64 {
    if S::BITS == 16 { 3e-2 } else { 1e-3 }
}
/// Give up after this number of updates in a row without a new minimum of |r|.
const MOST_IDLE_UPDATES: usize = 10;

/// An operator in f64, and the same operator in precision `S`, on one backend or on two.
pub(super) type MixedOperators<'a, B, S, K> = (&'a mut DynOperator<'a, B, f64, K>, &'a mut DynOperator<'a, B, S, K>);

/// Conjugate gradients in precision `S` within a solve in f64.
pub struct MixedConjugateGradients<'a, B: Backend, S: Vectors, K: Repeated> {
    operator: &'a mut DynOperator<'a, B, f64, K>,
    low: &'a mut DynOperator<'a, B, S, K>,
    params: SolverParams,
    source: &'a FieldOn<B, f64, K>,
    psi: &'a mut FieldOn<B, f64, K>,
    /// Temporary fields in f64.
    residual: FieldOn<B, f64, K>,
    product: FieldOn<B, f64, K>,
    /// The change of ψ since the last update.
    low_psi: FieldOn<B, S, K>,
    low_residual: FieldOn<B, S, K>,
    direction: FieldOn<B, S, K>,
    low_product: FieldOn<B, S, K>,
    /// |r|² of the recurrence, and its largest value since the last update.
    c: f64,
    largest: f64,
    /// The lowest |r|² in f64 so far, and the number of updates since then.
    lowest: f64,
    idle: usize,
    stop: f64,
    info: SolverInfo,
    updates: usize,
    ahead: QueuedCg<B>,
}

impl<'a, B: Backend, S: Vectors, K: Repeated> MixedConjugateGradients<'a, B, S, K> {
    /// Starts A ψ = b; `low` is A in the low precision, on a lattice whose lanes hold the same sites.
    ///
    /// # Errors
    /// [`SolverError::NotFinite`] if the source or the guess is not finite; backend errors.
    pub fn new(
        (operator, low): MixedOperators<'a, B, S, K>,
        source: &'a FieldOn<B, f64, K>,
        psi: &'a mut FieldOn<B, f64, K>,
        params: SolverParams,
    ) -> Result<Self, SolverError> {
        let Start { residual, product, c: lowest, stop, info } = Start::new(operator, source, psi, &params)?;
        let (mut low_residual, mut direction) = (low.zeros()?, low.zeros()?);
        let backend = low.backend();
        convert((backend, &mut low_residual), (operator.backend(), &residual))?;
        backend.copy(&mut direction, &low_residual)?;
        let c = backend.norm2(&low_residual, params.sum)?;
        let (low_psi, low_product) = (low.zeros()?, low.zeros()?);
        Ok(Self {
            operator,
            low,
            params,
            source,
            psi,
            residual,
            product,
            low_psi,
            low_residual,
            direction,
            low_product,
            c,
            largest: c,
            lowest,
            idle: 0,
            stop,
            info,
            updates: 0,
            ahead: QueuedCg::default(),
        })
    }

    /// Number of reliable updates so far.
    pub fn updates(&self) -> usize {
        self.updates
    }

    /// Sets how many iterations are queued at a time, as for [`ConjugateGradients`](super::ConjugateGradients).
    pub fn set_iterations_ahead(&mut self, iterations: usize) {
        self.ahead.chosen = Some(iterations);
    }

    /// The |r|² below which the residual is recomputed, even if the solve is far from convergence.
    fn least_without_update(&self) -> f64 {
        reliable_delta::<S>() * reliable_delta::<S>() * self.largest
    }

    fn is_to_update(&self, next: f64) -> bool {
        next <= self.stop || next < self.least_without_update()
    }

    /// Adds up the solution, recomputes the residual in f64, and adapts the search direction to it. `before` is |r|² before this iteration.
    fn update(&mut self, a: f64, before: f64, watcher: &mut dyn Watcher) -> Result<(), SolverError> {
        let Self { operator, low, params, source, psi, residual, product, .. } = self;
        let Self { low_psi, low_residual, direction, info, .. } = self;
        let (backend, low) = (operator.backend(), low.backend());
        low.axpy(a, direction, low_psi)?;
        convert((backend, product), (low, low_psi))?;
        backend.axpy(1.0, product, psi)?;
        low.clear(low_psi)?;
        operator.apply(product, psi, Dagger::No)?;
        let backend = operator.backend();
        backend.copy(residual, source)?;
        let reliable = backend.axpy_norm(-1.0, product, residual, params.sum)?;
        watch(watcher, (0, "|r|² in f64"), reliable, info)?;
        info.push(reliable);
        self.idle = if reliable < self.lowest { 0 } else { self.idle + 1 };
        self.lowest = self.lowest.min(reliable);
        self.updates += 1;
        if reliable <= self.stop {
            return Ok(());
        }
        if self.idle >= MOST_IDLE_UPDATES {
            return Err(SolverError::IdleUpdates { updates: self.idle, info: self.info.clone() });
        }
        convert((low, low_residual), (backend, residual))?;
        let c = watch(watcher, (0, "|r|²"), low.norm2(low_residual, params.sum)?, &self.info)?;
        // The new residual is orthogonal to the old direction only within the low precision.
        let overlap = low.inner_product(low_residual, direction, params.sum)?.re;
        watch(watcher, (0, "<r, p>"), overlap, &self.info)?;
        low.axpy(-(overlap / c), low_residual, direction)?;
        low.axpby_norm(1.0, low_residual, c / before, direction, params.sum)?;
        self.c = c;
        self.largest = c;
        Ok(())
    }
}

impl<B: Backend, S: Vectors, K: Repeated> Queueable for MixedConjugateGradients<'_, B, S, K> {
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

    /// Queued iterations halt when an update is due, before solution and direction change, and after a new maximum of |r|², on which the next update
    /// depends.
    fn bounds(&self) -> QueuedBounds {
        let below = self.least_without_update().next_down();
        let low = if below > self.stop { below } else { self.stop };
        QueuedBounds { c: self.c, low, high: self.largest, keep: low }
    }

    fn queue(&mut self, bounds: QueuedBounds, iterations: usize) -> Result<Option<QueuedSums>, SolverError> {
        let Self { low, params, low_psi, low_residual, direction, low_product, ahead, .. } = self;
        let fields = CgFields { psi: low_psi, residual: low_residual, direction, product: low_product };
        queued_cg::queue(low, fields, ahead, (params.sum, bounds, iterations))
    }

    fn iterate(&mut self, known: &[f64], done: bool, watcher: &mut dyn Watcher) -> Result<bool, SolverError> {
        let Self { low, params, low_psi, low_residual, direction, low_product, info, .. } = self;
        let before = self.c;
        let fields = CgFields { psi: low_psi, residual: low_residual, direction, product: low_product };
        let [a, next] = queued_cg::scalars(low, fields, (before, params.sum), known, (watcher, info))?;
        if self.is_to_update(next) {
            return self.update(a, before, watcher).map(|()| false);
        }
        if !done {
            let Self { low, low_psi, low_residual, direction, .. } = self;
            low.backend().cg_update(low_psi, direction, low_residual, a, next / before)?;
        }
        Ok(self.follow(next))
    }

    fn follow(&mut self, next: f64) -> bool {
        if self.is_to_update(next) {
            return false;
        }
        let is_largest = next > self.largest;
        self.c = next;
        self.largest = self.largest.max(next);
        self.info.push(next);
        !is_largest
    }
}

impl<B: Backend, S: Vectors, K: Repeated> Recurrence for MixedConjugateGradients<'_, B, S, K> {
    fn name(&self) -> &'static str {
        "conjugate gradients in mixed precision"
    }
    fn info(&self) -> &SolverInfo {
        &self.info
    }
    fn is_done(&self) -> bool {
        self.lowest <= self.stop
    }

    fn step(&mut self, watcher: &mut dyn Watcher) -> Result<(), SolverError> {
        may_go_on(&self.params, &self.info)?;
        queued_cg::step(self, watcher)
    }

    fn save(&self) -> Result<SavedState, BackendError> {
        let backend = self.operator.backend();
        let mut state = SavedState::new(self.name());
        state.info("system", &self.info);
        state.scalars("recurrence", &[self.c, self.largest, self.lowest, self.idle as f64, self.updates as f64]);
        state.field::<f64, B, _>(backend, "psi", self.psi)?;
        let backend = self.low.backend();
        state.field::<S, B, _>(backend, "low psi", &self.low_psi)?;
        state.field::<S, B, _>(backend, "low r", &self.low_residual)?;
        state.field::<S, B, _>(backend, "low p", &self.direction)?;
        Ok(state)
    }

    fn restore(&mut self, state: &SavedState) -> Result<(), SolverError> {
        state.check_name(self.name())?;
        let info = state.get_info("system")?;
        check_source(&self.info, &info)?;
        self.ahead.forget();
        let &[c, largest, lowest, idle, updates] = state.get_scalars("recurrence")? else {
            return Err(SolverError::WrongState { what: "it does not have five scalars of the recurrence".to_owned() });
        };
        let backend = self.operator.backend();
        *self.psi = state.get_field(backend, "psi", place::<B, f64, _>(self.psi))?;
        let (backend, low) = (self.low.backend(), place::<B, S, _>(&self.low_psi));
        self.low_psi = state.get_field(backend, "low psi", low)?;
        self.low_residual = state.get_field(backend, "low r", low)?;
        self.direction = state.get_field(backend, "low p", low)?;
        (self.c, self.largest, self.lowest) = (c, largest, lowest);
        (self.idle, self.updates) = (idle as usize, updates as usize);
        self.info = info;
        Ok(())
    }
}

/// Solves A ψ = b in f64, with the recurrence in `S`; ψ is the guess, then the solution.
pub fn mixed_conjugate_gradient<'a, B: Backend, S: Vectors, K: Repeated>(
    operators: MixedOperators<'a, B, S, K>,
    source: &'a FieldOn<B, f64, K>,
    psi: &'a mut FieldOn<B, f64, K>,
    params: SolverParams,
    mut watcher: impl Watcher,
) -> Result<SolverInfo, SolverError> {
    let mut recurrence = MixedConjugateGradients::new(operators, source, psi, params)?;
    run(&mut recurrence, &mut watcher)?;
    Ok(recurrence.info)
}
