//! The Laplacian in the scalar reference (`docs/arithmetic.md` §15), on fields as in `colour_vectors.rs`.

use num_complex::Complex;

use super::{ScalarWilson, axpy, scale};
use crate::layout::Sites;
use crate::real::Real;

impl ScalarWilson<'_> {
    /// §15: laplace_hop at `sites` (zero elsewhere), of a ψ with `vectors` colour vectors at a site, which is read at their neighbours.
    ///
    /// # Panics
    /// If `psi` does not have 3 · `vectors` words for each site of the lattice.
    pub fn laplace_hop<R: Real>(&self, psi: &[Complex<R>], vectors: usize, sites: Sites) -> Vec<Complex<R>> {
        scale(2.0, &self.colour_hop(psi, vectors, sites, |_, _, product| product))
    }

    /// §15: A ψ, with `vectors` colour vectors at a site.
    ///
    /// # Panics
    /// Those of [`Self::laplace_hop`].
    pub fn laplace<R: Real>(&self, psi: &[Complex<R>], vectors: usize, mass: f64) -> Vec<Complex<R>> {
        let mut result = self.laplace_hop(psi, vectors, Sites::Full);
        axpy(8.0 + mass * mass, psi, &mut result);
        result
    }
}
