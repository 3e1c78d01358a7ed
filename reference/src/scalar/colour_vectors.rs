//! Code that operators on colour vectors share in the scalar reference. A field with n colour vectors at a site is a slice in site order over the
//! whole lattice: word 3n · site + 3k + colour.

use num_complex::Complex;

use super::{COLOURS, Colour, ScalarWilson, matrix_times_vector, step};
use crate::layout::{Coordinate, Leg, Sites};
use crate::real::Real;

impl ScalarWilson<'_> {
    /// The sum over the legs of `term(leg, x, product)` at the sites x in `sites`; zero elsewhere. The product is V_ℓ(x) times a colour vector of
    /// the neighbour x + ℓ.
    pub(super) fn colour_hop<R: Real>(
        &self,
        psi: &[Complex<R>],
        vectors: usize,
        sites: Sites,
        term: impl Fn(Leg, Coordinate, Colour<R>) -> Colour<R>,
    ) -> Vec<Complex<R>> {
        let (extents, words) = (self.configuration.extents(), COLOURS * vectors);
        assert_eq!(psi.len(), words * extents.volume(), "complex numbers of {vectors} colour vectors on {extents}");
        self.sum_over_legs(vectors, sites, |k, x, leg| {
            let first = words * extents.site(step(extents, x, leg).0) + COLOURS * k;
            let vector = [psi[first], psi[first + 1], psi[first + 2]];
            term(leg, x, matrix_times_vector(&self.link(x, leg), &vector))
        })
    }
}
