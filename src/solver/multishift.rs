//! Conjugate gradients for several shifts of one operator at once (Jegerlehner, hep-lat/9612014): solves (A + σ_k) ψ_k = b for all k with as many
//! applications of A as the slowest one needs. All residuals are multiples of one, since the Krylov spaces are the same. `docs/arithmetic.md` §10
//! defines it.

use lanefield_reference::field::Repeated;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::hop::Dagger;

use super::recurrence::{Recurrence, Watcher, check_source, may_go_on, place, require_zeros, run, stop, watch};
use super::{SavedState, SolverError, SolverInfo, SolverParams};
use crate::backend::{Backend, BackendError, FieldOn};
use crate::kernel::prelude::*;
use crate::operator::{ActsOn as _, DynOperator, Operator as _, Shifted};

/// The solutions ψ_k, in the order of the shifts, and the [`SolverInfo`] of each.
pub type ShiftedSolutions<B, R, K> = (Vec<FieldOn<B, R, K>>, Vec<SolverInfo>);

/// One shift.
struct ShiftedSystem<B: Backend, R: Vectors, K: Repeated> {
    /// σ_k minus the smallest shift.
    shift: f64,
    psi: FieldOn<B, R, K>,
    /// p_k / ζ_k; `None` once it is frozen.
    direction: Option<FieldOn<B, R, K>>,
    /// r_k = ζ_k r.
    zeta: f64,
    /// ζ_k of the last iteration divided by that of the one before.
    ratio: f64,
}

/// Conjugate gradients on A + σ for all shifts σ, from the guess zero. The recurrence is that of the smallest shift, and has the bits of its own
/// solve. Each other shift follows with scalars of its own, and is frozen as soon as it has converged.
pub struct MultiShiftConjugateGradients<'a, B: Backend, R: Vectors, K: Repeated> {
    operator: Shifted<&'a mut DynOperator<'a, B, R, K>>,
    params: SolverParams,
    systems: Vec<ShiftedSystem<B, R, K>>,
    /// The index of the smallest shift.
    base: usize,
    residual: FieldOn<B, R, K>,
    product: FieldOn<B, R, K>,
    /// |r|² of the smallest shift.
    c: f64,
    stop: f64,
    /// β / a of the last iteration, 0 before the first.
    last: f64,
    infos: Vec<SolverInfo>,
}

impl<'a, B: Backend, R: Vectors, K: Repeated> MultiShiftConjugateGradients<'a, B, R, K> {
    /// Starts (A + σ) ψ = b for each σ of `shifts`, with A Hermitian, and A + σ positive definite for the smallest shift.
    ///
    /// # Errors
    /// [`SolverError::NoShifts`] and [`SolverError::Shift`]; [`SolverError::NotFinite`] if the source is not finite; backend errors.
    pub fn new(
        operator: &'a mut DynOperator<'a, B, R, K>,
        source: &FieldOn<B, R, K>,
        shifts: &[f64],
        params: SolverParams,
    ) -> Result<Self, SolverError> {
        if let Some(&value) = shifts.iter().find(|shift| !shift.is_finite()) {
            return Err(SolverError::Shift { value });
        }
        let least = (0..shifts.len()).min_by(|&a, &b| shifts[a].total_cmp(&shifts[b]));
        let base = least.ok_or(SolverError::NoShifts)?;
        let mut info =
            SolverInfo { source_norm2: operator.backend().norm2(source, params.sum)?, ..SolverInfo::default() };
        let c = watch(&mut |_, _| (), (0, "|b|²"), info.source_norm2, &info)?;
        require_zeros(operator.backend(), source, &[c])?;
        info.push(c);
        let stop = stop(params.tolerance, &info)?;
        let operator = Shifted::new(operator, shifts[base]);
        let (mut residual, product) = (operator.zeros()?, operator.zeros()?);
        operator.backend().copy(&mut residual, source)?;
        let mut systems = Vec::with_capacity(shifts.len());
        for &shift in shifts {
            let mut direction = operator.zeros()?;
            operator.backend().copy(&mut direction, source)?;
            let psi = operator.zeros()?;
            let shift = shift - shifts[base];
            systems.push(ShiftedSystem { shift, psi, direction: Some(direction), zeta: 1.0, ratio: 1.0 });
        }
        let infos = vec![info; shifts.len()];
        let mut recurrence = Self { operator, params, systems, base, residual, product, c, stop, last: 0.0, infos };
        recurrence.freeze();
        Ok(recurrence)
    }

    /// Freezes the shifts that have converged.
    fn freeze(&mut self) {
        for system in &mut self.systems {
            if system.zeta * system.zeta * self.c <= self.stop {
                system.direction = None;
            }
        }
    }

    /// The solutions, in the order of the shifts, and the [`SolverInfo`] of each.
    ///
    /// # Errors
    /// [`SolverError::NotConverged`] unless all have converged.
    pub fn into_solutions(self) -> Result<ShiftedSolutions<B, R, K>, SolverError> {
        let unfinished = self.systems.iter().position(|system| system.direction.is_some());
        if let Some(at) = unfinished {
            let info = self.infos[at].clone();
            return Err(SolverError::NotConverged { tolerance: self.params.tolerance, info });
        }
        Ok((self.systems.into_iter().map(|system| system.psi).collect(), self.infos))
    }

    /// Number of applications of A so far.
    pub fn applications(&self) -> usize {
        self.infos[self.base].iterations
    }
}

impl<B: Backend, R: Vectors, K: Repeated> Recurrence for MultiShiftConjugateGradients<'_, B, R, K> {
    fn name(&self) -> &'static str {
        "conjugate gradients with shifts"
    }
    /// The info of the smallest shift, which takes longest.
    fn info(&self) -> &SolverInfo {
        &self.infos[self.base]
    }
    /// One per shift.
    fn infos(&self) -> &[SolverInfo] {
        &self.infos
    }
    fn is_done(&self) -> bool {
        self.systems.iter().all(|system| system.direction.is_none())
    }

    fn step(&mut self, watcher: &mut dyn Watcher) -> Result<(), SolverError> {
        let Self { operator, params, systems, base, residual, product, c, last, infos, .. } = self;
        may_go_on(params, &infos[*base])?;
        // The smallest shift takes longest: 0 < ζ ≤ 1, also after rounding.
        let Some(direction) = &systems[*base].direction else { return Ok(()) };
        operator.apply(product, direction, Dagger::No)?;
        let backend = operator.backend();
        let curvature = backend.inner_product(direction, product, params.sum)?.re;
        watch(watcher, (0, "<p, A p>"), curvature, &infos[*base])?;
        if curvature <= 0.0 {
            return Err(SolverError::Indefinite { curvature, info: infos[*base].clone() });
        }
        let a = *c / curvature;
        let next = watch(watcher, (0, "|r|²"), backend.axpy_norm(-a, product, residual, params.sum)?, &infos[*base])?;
        let b = next / *c;
        for (system, info) in systems.iter_mut().zip(infos.iter_mut()) {
            let ShiftedSystem { shift, psi, direction, zeta, ratio } = system;
            let Some(direction) = direction else { continue };
            *ratio = 1.0 / ((1.0 + *shift * a) + (a * *last) * (1.0 - *ratio));
            let old = *zeta;
            *zeta *= *ratio;
            backend.cg_update(psi, direction, residual, (a * *ratio) * old, b * *ratio)?;
            info.push((*zeta * *zeta) * next);
        }
        (*c, *last) = (next, b / a);
        self.freeze();
        Ok(())
    }

    fn save(&self) -> Result<SavedState, BackendError> {
        let backend = self.operator.backend();
        let mut state = SavedState::new(self.name());
        state.scalars("shifts", &self.systems.iter().map(|system| system.shift).collect::<Vec<_>>());
        state.scalars("zeta", &self.systems.iter().map(|system| system.zeta).collect::<Vec<_>>());
        state.scalars("ratio", &self.systems.iter().map(|system| system.ratio).collect::<Vec<_>>());
        state.scalars("last", &[self.last]);
        state.field::<R, B, _>(backend, "r", &self.residual)?;
        for (number, (system, info)) in self.systems.iter().zip(&self.infos).enumerate() {
            state.info(&format!("shift {number}"), info);
            state.field::<R, B, _>(backend, &format!("psi {number}"), &system.psi)?;
            if let Some(direction) = &system.direction {
                state.field::<R, B, _>(backend, &format!("p {number}"), direction)?;
            }
        }
        Ok(state)
    }

    fn restore(&mut self, state: &SavedState) -> Result<(), SolverError> {
        state.check_name(self.name())?;
        let shifts = state.get_scalars("shifts")?;
        if !shifts.iter().copied().eq(self.systems.iter().map(|system| system.shift)) {
            let ours: Vec<f64> = self.systems.iter().map(|system| system.shift).collect();
            return Err(SolverError::WrongState {
                what: format!("its shifts, less the smallest, are {shifts:?}, and those of this solve {ours:?}"),
            });
        }
        let [zeta, ratio] = [state.get_scalars("zeta")?, state.get_scalars("ratio")?];
        if zeta.len() != shifts.len() || ratio.len() != shifts.len() {
            return Err(SolverError::WrongState { what: "it does not have one ζ per shift".to_owned() });
        }
        let backend = self.operator.backend();
        let place = place::<B, R, _>(&self.residual);
        self.residual = state.get_field(backend, "r", place)?;
        self.last = state.get_scalar("last")?;
        for (number, (system, ours)) in self.systems.iter_mut().zip(&mut self.infos).enumerate() {
            let info = state.get_info(&format!("shift {number}"))?;
            check_source(ours, &info)?;
            *ours = info;
            (system.zeta, system.ratio) = (zeta[number], ratio[number]);
            system.psi = state.get_field(backend, &format!("psi {number}"), place)?;
            let of_direction = format!("p {number}");
            system.direction = match state.fields.iter().any(|field| field.name == of_direction) {
                true => Some(state.get_field(backend, &of_direction, place)?),
                false => None,
            };
        }
        self.c = self.infos[self.base].history.last().copied().unwrap_or(self.c);
        Ok(())
    }
}

/// Solves (A + σ) ψ = b for each σ of `shifts`, with A Hermitian, and A + σ positive definite for the smallest shift, from the guess zero.
///
/// # Errors
/// [`SolverError`]. No shift counts as solved then.
pub fn multi_shift_conjugate_gradient<B: Backend, R: Vectors, K: Repeated>(
    operator: &mut DynOperator<'_, B, R, K>,
    source: &FieldOn<B, R, K>,
    shifts: &[f64],
    params: SolverParams,
    mut watcher: impl Watcher,
) -> Result<ShiftedSolutions<B, R, K>, SolverError> {
    let mut recurrence = MultiShiftConjugateGradients::new(operator, source, shifts, params)?;
    run(&mut recurrence, &mut watcher)?;
    recurrence.into_solutions()
}
