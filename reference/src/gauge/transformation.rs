//! Random gauge transformations for tests of operators: ψ(x) → g(x) ψ(x) and U_μ(x) → g(x) U_μ(x) g(x + μ)† turn D ψ into g D ψ if D is covariant.

use num_complex::Complex;

use super::colour_matrix::{ColourMatrix, multiply};
use super::configuration::Configuration;
use crate::layout::Leg;
use crate::random::su3_random;

/// A random SU(3) matrix at each site of a whole lattice.
#[derive(Clone, Copy, Debug)]
pub struct GaugeTransformation {
    /// The seed of the random numbers.
    pub seed: u64,
}

impl GaugeTransformation {
    /// The matrix of a site, row by row.
    pub fn at(&self, site: usize) -> ColourMatrix {
        su3_random(self.seed, site as u64, 0)
    }

    /// The links g(x) U_μ(x) g(x + μ)†.
    pub fn of_links(&self, configuration: &Configuration) -> Configuration {
        let extents = configuration.extents();
        Configuration::from_links(extents, |site, direction| {
            let (site, mu) = (site as usize, direction as usize);
            let next = self.at(extents.site(extents.neighbour(extents.coordinate(site), Leg::forward(mu))));
            let adjoint: ColourMatrix = std::array::from_fn(|i| next[3 * (i % 3) + i / 3].conj());
            multiply(&multiply(&self.at(site), configuration.link(site, mu)), &adjoint)
        })
    }

    /// g(x) ψ(x), for each colour vector of a field in site order with `words` complex numbers at a site.
    pub fn of_field(&self, words: usize, psi: &[Complex<f64>]) -> Vec<Complex<f64>> {
        let turned = |(site, object): (usize, &[Complex<f64>])| {
            let g = self.at(site);
            let word = |k: usize| (0..3).map(|b| g[3 * (k % 3) + b] * object[k - k % 3 + b]).sum();
            (0..words).map(word).collect::<Vec<_>>()
        };
        psi.chunks_exact(words).enumerate().flat_map(turned).collect()
    }
}
