//! Staggered fermions in plain loops (`docs/arithmetic.md` §16). A field of n colour vectors a site is a slice in site order over the whole
//! lattice: word 3n · site + 3k + colour.

use num_complex::Complex;

use super::{COLOURS, Colour, ScalarWilson, axpy};
use crate::layout::{Coordinate, Leg, Sites};
use crate::real::Real;

/// §16: whether η_μ of the site is −1.
fn phase_is_negative([x, y, z, _]: Coordinate, mu: usize) -> bool {
    let exponent = match mu {
        0 => 0,
        1 => x,
        2 => x + y,
        _ => x + y + z,
    };
    exponent % 2 == 1
}

impl ScalarWilson<'_> {
    /// §16: staggered_hop at `sites` (zero elsewhere), of a ψ of `vectors` colour vectors a site that is read at their neighbours.
    ///
    /// # Panics
    /// If `psi` has not 3 · `vectors` words for each site of the lattice.
    pub fn staggered_hop<R: Real>(&self, psi: &[Complex<R>], vectors: usize, sites: Sites) -> Vec<Complex<R>> {
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
                let mut sum = self.staggered_leg(psi, vectors, k, x, first);
                for leg in rest {
                    let term = self.staggered_leg(psi, vectors, k, x, leg);
                    for colour in 0..COLOURS {
                        sum[colour] = sum[colour] + term[colour];
                    }
                }
                result[words * site + COLOURS * k..][..COLOURS].copy_from_slice(&sum);
            }
        }
        result
    }

    /// s_ℓ(x) times V_ℓ(x) times vector number `k` of the neighbour x + ℓ.
    fn staggered_leg<R: Real>(
        &self,
        psi: &[Complex<R>],
        vectors: usize,
        k: usize,
        x: Coordinate,
        leg: Leg,
    ) -> Colour<R> {
        let product = self.colour_leg(psi, vectors, k, x, leg);
        match phase_is_negative(x, leg.dimension()) == leg.is_forward() {
            true => product,
            false => product.map(|component| -component),
        }
    }

    /// §16: D ψ, of `vectors` colour vectors a site.
    ///
    /// # Panics
    /// As [`Self::staggered_hop`].
    pub fn staggered<R: Real>(&self, psi: &[Complex<R>], vectors: usize, mass: f64) -> Vec<Complex<R>> {
        let mut result = self.staggered_hop(psi, vectors, Sites::Full);
        axpy(mass, psi, &mut result);
        result
    }
}
