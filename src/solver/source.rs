//! Sources of solves, for any operator.

use lanefield_reference::field::{Field, Repeated};
use lanefield_reference::kernels::Vectors;
use lanefield_reference::layout::{Lattice, Sites};
use lanefield_reference::real::Real;
use num_complex::Complex;

use super::SolverParams;
use super::eigenpairs::Eigenpairs;
use super::setup::Method;
use super::solve_error::SolveError;
use crate::backend::{Backend, FieldOn};

/// A source in site order, and how its system is solved. It is not generic in the operator, so that it is compiled once for all operators on `K`
/// objects.
pub(super) struct SolveSource<'a, K> {
    pub(super) eta: &'a [Complex<f64>],
    pub(super) rhs: usize,
    /// The object of fields of one right-hand side.
    pub(super) one: K,
    /// The object of fields of all right-hand sides.
    pub(super) all: K,
    pub(super) method: Method,
    pub(super) params: SolverParams,
    /// Whether the normal equations are solved.
    pub(super) normal: bool,
    /// Eigenpairs of the system.
    pub(super) deflation: Option<&'a Eigenpairs>,
}

impl<K: Repeated> SolveSource<'_, K> {
    /// Numbers in site order as a field on some sites, in some precision.
    pub(super) fn on<R: Vectors, S: Real, B: Backend>(
        &self,
        backend: &B,
        lattice: Lattice,
        sites: Sites,
        values: &[Complex<S>],
    ) -> Result<FieldOn<B, R, K>, SolveError> {
        let words = self.all.words();
        let field = Field::from_sites(lattice, sites, self.all, |site, object| {
            for (word, value) in object.iter_mut().zip(&values[site * words..]) {
                *word = Complex::new(R::from_f64(value.re.to_f64()), R::from_f64(value.im.to_f64()));
            }
        })?;
        Ok(backend.upload(field)?)
    }
}
