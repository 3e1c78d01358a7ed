//! Conjugate gradients (Hestenes and Stiefel 1952), with the recurrence, the rounding and the stopping rule of
//! `docs/arithmetic.md` §10, which are Grid's.

use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::hop::Dagger;
use thiserror::Error;

use super::recurrence::{Recurrence, SavedState, Start, Stopped, Watcher, may_go_on, place, run, watch};
use crate::backend::{Backend, BackendError, Sum};
use crate::operator::Operator;

/// When to stop.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CgParams {
    /// Stop when |r|² ≤ tolerance² · |b|².
    pub tolerance: f64,
    /// Give up after so many iterations.
    pub max_iterations: usize,
    /// Give up after so many iterations in which |r|² reached no new low.
    pub patience: usize,
    /// How sums over sites are taken. Exact sums give the same history everywhere; that of a tree depends on its plan and on the lane width.
    pub sum: Sum,
}

impl CgParams {
    /// The default for a precision: 1e-10 for f64, 1e-6 for f32; 10000 iterations, 1000 of patience; exact sums.
    pub fn auto<R: Vectors>() -> Self {
        let tolerance = if R::BITS == 64 { 1e-10 } else { 1e-6 };
        Self { tolerance, max_iterations: 10_000, patience: 1000, sum: Sum::Exact }
    }
}

/// What happened.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CgInfo {
    /// Number of iterations.
    pub iterations: usize,
    /// |r|² of the recurrence after each iteration, that of the guess first.
    pub history: Vec<f64>,
    /// |b|².
    pub source_norm2: f64,
}

impl CgInfo {
    /// |r| / |b| of the recurrence at the end; 0 where b is.
    pub fn relative_residual(&self) -> f64 {
        match self.history.last() {
            Some(&last) if self.source_norm2 > 0.0 => (last / self.source_norm2).sqrt(),
            _ => 0.0,
        }
    }

    pub(super) fn push(&mut self, residual_norm2: f64) {
        self.iterations += usize::from(!self.history.is_empty());
        self.history.push(residual_norm2);
    }

    /// What the history looks like, in a few words.
    fn shape(&self) -> String {
        let relative = |c: f64| if self.source_norm2 > 0.0 { (c / self.source_norm2).sqrt() } else { c.sqrt() };
        let least = self.history.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1));
        match (self.history.first(), least, self.history.last()) {
            (Some(&first), Some((at, &least)), Some(&last)) => format!(
                "|r|/|b| was {:.3e} at first, {:.3e} at its least, after {at} iterations, and {:.3e} at the end",
                relative(first),
                relative(least),
                relative(last)
            ),
            _ => "there was no iteration yet".to_owned(),
        }
    }
}

/// Why there is no solution. Messages are fragments; each carries what happened until then.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CgError {
    /// The tolerance was not reached.
    #[error(
        "no convergence in {} iterations: |r|/|b| is {:.3e}, not {tolerance:e}; allow more iterations, or ask for less ({})",
        info.iterations, info.relative_residual(), info.shape()
    )]
    NotConverged {
        /// The tolerance asked for.
        tolerance: f64,
        /// Until then.
        info: CgInfo,
    },
    /// The residual no longer gets smaller.
    #[error(
        "the solve stands still: no new low of |r| in {patience} iterations, up to iteration {} ({}); ask for less, or compute in a higher \
         precision", info.iterations, info.shape()
    )]
    Stagnation {
        /// Iterations that it was given.
        patience: usize,
        /// Until then.
        info: CgInfo,
    },
    /// ⟨p, A p⟩ is not positive.
    #[error(
        "the operator is not positive definite: <p, A p> = {curvature:e} in iteration {} ({})", info.iterations + 1, info.shape()
    )]
    Indefinite {
        /// ⟨p, A p⟩.
        curvature: f64,
        /// Until then.
        info: CgInfo,
    },
    /// A divisor of the recurrence is zero.
    #[error(
        "the recurrence broke down: {quantity} is 0 in iteration {} ({}); take another source or guess, or conjugate gradients",
        info.iterations + 1, info.shape()
    )]
    Breakdown {
        /// Which scalar.
        quantity: &'static str,
        /// Until then.
        info: CgInfo,
    },
    /// A scalar of the recurrence is NaN or infinite.
    #[error(
        "{quantity} is {value} in iteration {}: the source, the links or the mass hold something that is no finite number, \
         or f32 overflowed ({})", info.iterations + 1, info.shape()
    )]
    NotFinite {
        /// Which scalar.
        quantity: &'static str,
        /// Its value.
        value: f64,
        /// Until then.
        info: CgInfo,
    },
    /// A saved state that is not of this solve.
    #[error("the state cannot be gone on from: {what}")]
    WrongState {
        /// Where it differs.
        what: String,
    },
    /// Whoever watched the solve ended it.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// The backend failed.
    #[error(transparent)]
    Backend(#[from] BackendError),
}

impl CgError {
    /// What happened until then, where there was a recurrence.
    pub fn info(&self) -> Option<&CgInfo> {
        match self {
            Self::NotConverged { info, .. }
            | Self::Stagnation { info, .. }
            | Self::Indefinite { info, .. }
            | Self::Breakdown { info, .. }
            | Self::NotFinite { info, .. } => Some(info),
            Self::WrongState { .. } | Self::Stopped(_) | Self::Backend(_) => None,
        }
    }
}

/// Conjugate gradients, step by step. ψ is the caller's: the guess, then the last iterate.
pub struct ConjugateGradients<'a, B: Backend, R: Vectors, A: Operator<B, R>> {
    operator: &'a mut A,
    params: CgParams,
    psi: &'a mut B::Field<R, A::Object>,
    residual: B::Field<R, A::Object>,
    direction: B::Field<R, A::Object>,
    product: B::Field<R, A::Object>,
    /// |r|².
    c: f64,
    stop: f64,
    info: CgInfo,
}

impl<'a, B: Backend, R: Vectors, A: Operator<B, R>> ConjugateGradients<'a, B, R, A> {
    /// The start of A ψ = b, where A is Hermitian and positive definite.
    ///
    /// # Errors
    /// [`CgError::NotFinite`] for a source or a guess that is no finite number; what the backend reports.
    pub fn new(
        operator: &'a mut A,
        source: &B::Field<R, A::Object>,
        psi: &'a mut B::Field<R, A::Object>,
        params: CgParams,
    ) -> Result<Self, CgError> {
        let Start { residual, product, c, stop, info } = Start::new(operator, source, psi, &params)?;
        let mut direction = operator.zeros()?;
        operator.backend().copy(&mut direction, &residual)?;
        Ok(Self { operator, params, psi, residual, direction, product, c, stop, info })
    }
}

impl<B: Backend, R: Vectors, A: Operator<B, R>> Recurrence for ConjugateGradients<'_, B, R, A> {
    fn name(&self) -> &'static str {
        "conjugate gradients"
    }
    fn info(&self) -> &CgInfo {
        &self.info
    }
    fn is_done(&self) -> bool {
        self.c <= self.stop
    }

    fn step(&mut self, watcher: &mut dyn Watcher) -> Result<(), CgError> {
        let Self { operator, params, psi, residual, direction, product, c, info, .. } = self;
        may_go_on(params, info)?;
        operator.apply(product, direction, Dagger::No)?;
        let backend = operator.backend();
        let curvature = backend.inner_product(direction, product, params.sum)?.re;
        watch(watcher, (0, "<p, A p>"), curvature, info)?;
        if curvature <= 0.0 {
            return Err(CgError::Indefinite { curvature, info: info.clone() });
        }
        let a = *c / curvature;
        let next = watch(watcher, (0, "|r|²"), backend.axpy_norm(-a, product, residual, params.sum)?, info)?;
        backend.cg_update(psi, direction, residual, a, next / *c)?;
        *c = next;
        info.push(next);
        Ok(())
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

    fn restore(&mut self, state: &SavedState) -> Result<(), CgError> {
        state.check_name(self.name())?;
        let info = state.get_info("system")?;
        check_source(&self.info, &info)?;
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

/// Refuses the state of a solve of another source, or by another operator, as far as |b|² tells.
pub(super) fn check_source(ours: &CgInfo, saved: &CgInfo) -> Result<(), CgError> {
    match ours.source_norm2.to_bits() == saved.source_norm2.to_bits() {
        true => Ok(()),
        false => Err(CgError::WrongState {
            what: format!(
                "its source has |b|² = {:e}, and that of this solve {:e}: configuration, source, mass and operator must be the same",
                saved.source_norm2, ours.source_norm2
            ),
        }),
    }
}

/// Solves A ψ = b, where A is Hermitian and positive definite; ψ is the guess, then the solution. `watcher` may be a function that is told
/// the iteration and |r|² each time.
///
/// # Errors
/// [`CgError`]; ψ then holds the last iterate.
pub fn conjugate_gradient<B: Backend, R: Vectors, A: Operator<B, R>>(
    operator: &mut A,
    source: &B::Field<R, A::Object>,
    psi: &mut B::Field<R, A::Object>,
    params: CgParams,
    mut watcher: impl Watcher,
) -> Result<CgInfo, CgError> {
    let mut recurrence = ConjugateGradients::new(operator, source, psi, params)?;
    run(&mut recurrence, &mut watcher)?;
    Ok(recurrence.info)
}
