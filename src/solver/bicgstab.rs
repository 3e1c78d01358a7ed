//! BiCGStab (van der Vorst 1992) for operators that are not Hermitian, such as M itself: two applications per iteration, and no normal equations.
//! `docs/arithmetic.md` §10 defines it.

use lanefield_reference::field::Repeated;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::hop::Dagger;
use num_complex::Complex;

use super::recurrence::{Recurrence, Start, Watcher, check_source, may_go_on, place, run, watch};
use super::{SavedState, SolverError, SolverInfo, SolverParams};
use crate::backend::{Backend, BackendError, FieldOn};
use crate::kernel::prelude::*;
use crate::operator::DynOperator;

/// BiCGStab, step by step. The caller owns ψ, which holds the guess, then the last iterate.
pub struct BiCgStab<'a, B: Backend, R: Vectors, K: Repeated> {
    operator: &'a mut DynOperator<'a, B, R, K>,
    params: SolverParams,
    psi: &'a mut FieldOn<B, R, K>,
    residual: FieldOn<B, R, K>,
    /// The first residual r̂, with which inner products of all others are taken.
    shadow: FieldOn<B, R, K>,
    direction: FieldOn<B, R, K>,
    /// A p and A s.
    products: [FieldOn<B, R, K>; 2],
    /// ⟨r̂, r⟩.
    rho: Complex<f64>,
    /// |r|².
    c: f64,
    stop: f64,
    info: SolverInfo,
}

impl<'a, B: Backend, R: Vectors, K: Repeated> BiCgStab<'a, B, R, K> {
    /// Starts A ψ = b.
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
        let (mut shadow, mut direction) = (operator.zeros()?, operator.zeros()?);
        operator.backend().copy(&mut shadow, &residual)?;
        operator.backend().copy(&mut direction, &residual)?;
        let products = [product, operator.zeros()?];
        Ok(Self {
            operator,
            params,
            psi,
            residual,
            shadow,
            direction,
            products,
            rho: Complex::new(c, 0.0),
            c,
            stop,
            info,
        })
    }
}

/// Passes both parts of a scalar to the watcher.
fn watch_complex(
    watcher: &mut dyn Watcher,
    quantities: [&'static str; 2],
    value: Complex<f64>,
    info: &SolverInfo,
) -> Result<Complex<f64>, SolverError> {
    watch(watcher, (0, quantities[0]), value.re, info)?;
    watch(watcher, (0, quantities[1]), value.im, info)?;
    Ok(value)
}

/// a / b as (a · conj b) / |b|²: in f64, with each product and sum rounded.
fn divide(a: Complex<f64>, b: Complex<f64>) -> Complex<f64> {
    let norm = b.re * b.re + b.im * b.im;
    Complex::new((a.re * b.re + a.im * b.im) / norm, (a.im * b.re - a.re * b.im) / norm)
}

fn times(a: Complex<f64>, b: Complex<f64>) -> Complex<f64> {
    Complex::new(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re)
}

impl<B: Backend, R: Vectors, K: Repeated> Recurrence for BiCgStab<'_, B, R, K> {
    fn name(&self) -> &'static str {
        "BiCGStab"
    }
    fn info(&self) -> &SolverInfo {
        &self.info
    }
    fn is_done(&self) -> bool {
        self.c <= self.stop
    }

    fn step(&mut self, watcher: &mut dyn Watcher) -> Result<(), SolverError> {
        let Self { operator, params, psi, residual, shadow, direction, products: [v, t], rho, info, .. } = self;
        may_go_on(params, info)?;
        let broken = |quantity, info: &SolverInfo| SolverError::Breakdown { quantity, info: info.clone() };
        let zero = Complex::new(0.0, 0.0);

        operator.apply(v, direction, Dagger::No)?;
        let overlap = operator.backend().inner_product(shadow, v, params.sum)?;
        watch_complex(watcher, ["Re <r0, A p>", "Im <r0, A p>"], overlap, info)?;
        if overlap == zero {
            return Err(broken("<r0, A p>", info));
        }
        let alpha = divide(*rho, overlap);
        operator.backend().complex_axpy(-alpha, v, residual)?;
        operator.apply(t, residual, Dagger::No)?;
        let backend = operator.backend();
        let t_norm2 = watch(watcher, (0, "|A s|²"), backend.norm2(t, params.sum)?, info)?;
        let t_s = backend.inner_product(t, residual, params.sum)?;
        watch_complex(watcher, ["Re <A s, s>", "Im <A s, s>"], t_s, info)?;
        // s = 0: the step along p alone reached the solution.
        let omega = if t_norm2 == 0.0 { zero } else { t_s / t_norm2 };
        backend.complex_axpy(alpha, direction, psi)?;
        backend.complex_axpy(omega, residual, psi)?;
        backend.complex_axpy(-omega, t, residual)?;
        let next = watch(watcher, (0, "|r|²"), backend.norm2(residual, params.sum)?, info)?;
        self.c = next;
        info.push(next);
        if next <= self.stop {
            return Ok(());
        }
        let next_rho = backend.inner_product(shadow, residual, params.sum)?;
        watch_complex(watcher, ["Re <r0, r>", "Im <r0, r>"], next_rho, info)?;
        if omega == zero {
            return Err(broken("<A s, s>", info));
        }
        if next_rho == zero {
            return Err(broken("<r0, r>", info));
        }
        let beta = times(divide(next_rho, *rho), divide(alpha, omega));
        backend.complex_axpy(-omega, v, direction)?;
        backend.complex_xpay(residual, beta, direction)?;
        *rho = next_rho;
        Ok(())
    }

    fn save(&self) -> Result<SavedState, BackendError> {
        let backend = self.operator.backend();
        let mut state = SavedState::new(self.name());
        state.info("system", &self.info);
        state.scalars("rho", &[self.rho.re, self.rho.im]);
        for (name, field) in [("psi", &*self.psi), ("r", &self.residual), ("r0", &self.shadow), ("p", &self.direction)]
        {
            state.field::<R, B, _>(backend, name, field)?;
        }
        Ok(state)
    }

    fn restore(&mut self, state: &SavedState) -> Result<(), SolverError> {
        state.check_name(self.name())?;
        let info = state.get_info("system")?;
        check_source(&self.info, &info)?;
        let &[re, im] = state.get_scalars("rho")? else {
            return Err(SolverError::WrongState { what: "its rho is not a complex number".to_owned() });
        };
        let backend = self.operator.backend();
        let place = place::<B, R, _>(self.psi);
        *self.psi = state.get_field(backend, "psi", place)?;
        self.residual = state.get_field(backend, "r", place)?;
        self.shadow = state.get_field(backend, "r0", place)?;
        self.direction = state.get_field(backend, "p", place)?;
        self.rho = Complex::new(re, im);
        self.c = info.history.last().copied().unwrap_or(self.c);
        self.info = info;
        Ok(())
    }
}

/// Solves A ψ = b; ψ is the guess, then the solution.
///
/// # Errors
/// [`SolverError`]; ψ then holds the last iterate.
pub fn bicgstab<B: Backend, R: Vectors, K: Repeated>(
    operator: &mut DynOperator<'_, B, R, K>,
    source: &FieldOn<B, R, K>,
    psi: &mut FieldOn<B, R, K>,
    params: SolverParams,
    mut watcher: impl Watcher,
) -> Result<SolverInfo, SolverError> {
    let mut recurrence = BiCgStab::new(operator, source, psi, params)?;
    run(&mut recurrence, &mut watcher)?;
    Ok(recurrence.info)
}
