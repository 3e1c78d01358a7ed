//! Staggered fermions in the scalar reference (`docs/arithmetic.md` §16), on fields as in `colour_vectors.rs`.

use num_complex::Complex;

use super::{ScalarWilson, axpy};
use crate::layout::{Coordinate, Sites};
use crate::real::Real;

/// §16: whether η_μ of the site is −1.
pub(super) fn phase_is_negative([x, y, z, _]: Coordinate, mu: usize) -> bool {
    let exponent = match mu {
        0 => 0,
        1 => x,
        2 => x + y,
        _ => x + y + z,
    };
    exponent % 2 == 1
}

impl ScalarWilson<'_> {
    /// §16: staggered_hop at `sites` (zero elsewhere), of a ψ with `vectors` colour vectors at a site, which is read at their neighbours.
    ///
    /// # Panics
    /// If `psi` does not have 3 · `vectors` words for each site of the lattice.
    pub fn staggered_hop<R: Real>(&self, psi: &[Complex<R>], vectors: usize, sites: Sites) -> Vec<Complex<R>> {
        self.colour_hop(psi, vectors, sites, |leg, x, product| {
            match phase_is_negative(x, leg.dimension()) == leg.is_forward() {
                true => product,
                false => product.map(|component| -component),
            }
        })
    }

    /// §16: D ψ, with `vectors` colour vectors at a site.
    ///
    /// # Panics
    /// Those of [`Self::staggered_hop`].
    pub fn staggered<R: Real>(&self, psi: &[Complex<R>], vectors: usize, mass: f64) -> Vec<Complex<R>> {
        let mut result = self.staggered_hop(psi, vectors, Sites::Full);
        axpy(mass, psi, &mut result);
        result
    }
}
