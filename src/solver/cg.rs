//! Conjugate gradients (Hestenes and Stiefel 1952), with the recurrence, the rounding and the stopping rule of
//! `docs/arithmetic.md` §10, which are Grid's.

use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::hop::Dagger;
use thiserror::Error;

use crate::backend::{Backend, BackendError, Sum};
use crate::operator::Operator;

/// When to stop.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CgParams {
    /// Stop when |r|² ≤ tolerance² · |b|².
    pub tolerance: f64,
    /// Give up after so many iterations.
    pub max_iterations: usize,
    /// How sums over sites are taken. Exact sums give the same history everywhere; that of a tree depends on its plan and on the lane width.
    pub sum: Sum,
}

impl CgParams {
    /// The default for a precision: 1e-10 for f64, 1e-6 for f32; 10000 iterations; exact sums.
    pub fn auto<R: Vectors>() -> Self {
        Self { tolerance: if R::BITS == 32 { 1e-6 } else { 1e-10 }, max_iterations: 10_000, sum: Sum::Exact }
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
}

/// Why there is no solution. Messages are fragments; each carries what happened until then.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CgError {
    /// The tolerance was not reached.
    #[error(
        "no convergence in {} iterations: |r|/|b| is {:.3e}, not {tolerance:e}; allow more iterations, or ask for less",
        info.iterations, info.relative_residual()
    )]
    NotConverged {
        /// The tolerance asked for.
        tolerance: f64,
        /// Until then.
        info: CgInfo,
    },
    /// ⟨p, A p⟩ is not positive.
    #[error("the operator is not positive definite: <p, A p> = {curvature:e} in iteration {}", info.iterations + 1)]
    Indefinite {
        /// ⟨p, A p⟩.
        curvature: f64,
        /// Until then.
        info: CgInfo,
    },
    /// A scalar of the recurrence is NaN or infinite.
    #[error(
        "{quantity} is {value} in iteration {}: the source, the links or the mass hold something that is no finite number, \
         or f32 overflowed", info.iterations + 1
    )]
    NotFinite {
        /// Which scalar.
        quantity: &'static str,
        /// Its value.
        value: f64,
        /// Until then.
        info: CgInfo,
    },
    /// The backend failed.
    #[error(transparent)]
    Backend(#[from] BackendError),
}

/// Solves A ψ = b, where A is Hermitian and positive definite; ψ is the guess, then the solution. `observe` is told the iteration and
/// |r|² each time.
///
/// # Errors
/// [`CgError`]; ψ then holds the last iterate.
pub fn conjugate_gradient<B: Backend, R: Vectors, A: Operator<B, R>>(
    operator: &mut A,
    source: &B::Field<R, A::Object>,
    psi: &mut B::Field<R, A::Object>,
    params: CgParams,
    mut observe: impl FnMut(usize, f64),
) -> Result<CgInfo, CgError> {
    let mut info = CgInfo { source_norm2: operator.backend().norm2(source, params.sum)?, ..CgInfo::default() };
    finite("|b|²", info.source_norm2, &info)?;
    let stop = params.tolerance * params.tolerance * info.source_norm2;

    let mut residual = operator.zeros()?;
    operator.backend().copy(&mut residual, source)?;
    let mut product = operator.zeros()?;
    let guess_norm2 = operator.backend().norm2(psi, params.sum)?;
    finite("|guess|²", guess_norm2, &info)?;
    let mut c = if guess_norm2 == 0.0 {
        info.source_norm2
    } else {
        operator.apply(&mut product, psi, Dagger::No)?;
        operator.backend().axpy_norm(-1.0, &product, &mut residual, params.sum)?
    };
    let mut direction = operator.zeros()?;
    operator.backend().copy(&mut direction, &residual)?;
    finite("|r|²", c, &info)?;
    info.history.push(c);
    observe(0, c);

    while c > stop {
        if info.iterations == params.max_iterations {
            return Err(CgError::NotConverged { tolerance: params.tolerance, info });
        }
        operator.apply(&mut product, &direction, Dagger::No)?;
        let backend = operator.backend();
        let curvature = backend.inner_product(&direction, &product, params.sum)?.re;
        finite("<p, A p>", curvature, &info)?;
        if curvature <= 0.0 {
            return Err(CgError::Indefinite { curvature, info });
        }
        let a = c / curvature;
        let next = backend.axpy_norm(-a, &product, &mut residual, params.sum)?;
        finite("|r|²", next, &info)?;
        backend.cg_update(psi, &mut direction, &residual, a, next / c)?;
        c = next;
        info.iterations += 1;
        info.history.push(c);
        observe(info.iterations, c);
    }
    Ok(info)
}

fn finite(quantity: &'static str, value: f64, info: &CgInfo) -> Result<(), CgError> {
    match value.is_finite() {
        true => Ok(()),
        false => Err(CgError::NotFinite { quantity, value, info: info.clone() }),
    }
}
