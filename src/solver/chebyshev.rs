//! Chebyshev polynomials T_n of a Hermitian operator, with a range of eigenvalues mapped linearly to −1 … 1. In the range, the polynomial stays
//! within ±1; below it, the polynomial grows fast. `docs/arithmetic.md` §10 defines them.

use lanefield_reference::field::Repeated;
use lanefield_reference::kernels::hop::Dagger;

use crate::backend::{Backend, BackendError, FieldOn};
use crate::kernel::prelude::*;
use crate::operator::DynOperator;

/// T_n((2 A − (a + b)) / (b − a)), up to a sign.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Chebyshev {
    /// The range a … b that is suppressed.
    pub above: f64,
    pub below: f64,
    /// n, at least 1.
    pub degree: usize,
}

impl Chebyshev {
    /// The degree whose polynomial is about 10 at eigenvalue 0: cosh(2 n √(a/b)) with 2 n √(a/b) = 3. Larger degrees need fewer restarts, but more
    /// applications of A in all.
    pub(super) fn usual_degree(above: f64, below: f64) -> usize {
        ((1.5 * (below / above).sqrt()).ceil() as usize).clamp(4, 400)
    }

    /// Applies the polynomial to v. `other` and `image` are temporary fields. At the end `other` holds the result, and v the vector before it.
    ///
    /// With s_0 = v, s_1 = c·A v + d·v, c = 2/(b − a), d = −(a + b)/(b − a): s_k+1 = ±2(c·A s_k + d·s_k) + s_k−1. The sign alternates, − first, so
    /// that the update is an addition and s_k is T_k up to a sign.
    pub(super) fn apply<B: Backend, K: Repeated>(
        &self,
        operator: &mut DynOperator<'_, B, f64, K>,
        v: &mut FieldOn<B, f64, K>,
        other: &mut FieldOn<B, f64, K>,
        image: &mut FieldOn<B, f64, K>,
    ) -> Result<(), BackendError> {
        let Self { above, below, degree } = *self;
        let (c, d) = (2.0 / (below - above), -((above + below) / (below - above)));
        operator.apply(image, v, Dagger::No)?;
        operator.backend().scale(other, d, v)?;
        operator.backend().axpy(c, image, other)?;
        let mut sign = -1.0;
        for _ in 1..degree {
            operator.apply(image, other, Dagger::No)?;
            let backend = operator.backend();
            backend.axpy(sign * 2.0 * c, image, v)?;
            backend.axpy(sign * 2.0 * d, other, v)?;
            std::mem::swap(v, other);
            sign = -sign;
        }
        Ok(())
    }
}
