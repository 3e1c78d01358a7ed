//! The Laplacian in plain loops (`docs/arithmetic.md` §15). A field of n colour vectors a site is a slice in site order over the whole
//! lattice: word 3n · site + 3k + colour.

use num_complex::Complex;

use super::{COLOURS, Colour, ScalarWilson, axpy, matrix_times_vector, real_times, step};
use crate::layout::{Coordinate, Leg, Sites};
use crate::real::Real;

impl ScalarWilson<'_> {
    /// §15: laplace_hop at `sites` (zero elsewhere), of a ψ of `vectors` colour vectors a site that is read at their neighbours.
    ///
    /// # Panics
    /// If `psi` has not 3 · `vectors` words for each site of the lattice.
    pub fn laplace_hop<R: Real>(&self, psi: &[Complex<R>], vectors: usize, sites: Sites) -> Vec<Complex<R>> {
        let (extents, words) = (self.configuration.extents(), COLOURS * vectors);
        assert_eq!(psi.len(), words * extents.volume(), "complex numbers of {vectors} colour vectors on {extents}");
        let mut result = vec![Complex::default(); psi.len()];
        for site in 0..extents.volume() {
            let x = extents.coordinate(site);
            if !sites.contain(x) {
                continue;
            }
            for k in 0..vectors {
                let [first, rest @ ..] = self.legs.legs();
                let mut sum = self.colour_leg(psi, vectors, k, x, first);
                for leg in rest {
                    let term = self.colour_leg(psi, vectors, k, x, leg);
                    for colour in 0..COLOURS {
                        sum[colour] = sum[colour] + term[colour];
                    }
                }
                for colour in 0..COLOURS {
                    result[words * site + COLOURS * k + colour] = real_times(R::from_f64(2.0), sum[colour]);
                }
            }
        }
        result
    }

    /// V_ℓ(x) times vector number `k` of the neighbour x + ℓ.
    pub(super) fn colour_leg<R: Real>(
        &self,
        psi: &[Complex<R>],
        vectors: usize,
        k: usize,
        x: Coordinate,
        leg: Leg,
    ) -> Colour<R> {
        let extents = self.configuration.extents();
        let (there, _) = step(extents, x, leg);
        let first = COLOURS * (vectors * extents.site(there) + k);
        matrix_times_vector(&self.link(x, leg), &[psi[first], psi[first + 1], psi[first + 2]])
    }

    /// §15: A ψ, of `vectors` colour vectors a site.
    ///
    /// # Panics
    /// As [`Self::laplace_hop`].
    pub fn laplace<R: Real>(&self, psi: &[Complex<R>], vectors: usize, mass: f64) -> Vec<Complex<R>> {
        let mut result = self.laplace_hop(psi, vectors, Sites::Full);
        axpy(8.0 + mass * mass, psi, &mut result);
        result
    }
}
