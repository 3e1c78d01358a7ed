//! Gauge transformations, for the tests of operators here and in the library: ψ(x) → g(x) ψ(x) and U_μ(x) → g(x) U_μ(x) g(x + μ)† turn a covariant
//! D ψ into g D ψ.

use lanefield_reference::gauge::Configuration;
use lanefield_reference::random::su3_random;
use num_complex::Complex;

type Matrix = [Complex<f64>; 9];

fn product(a: &Matrix, b: &Matrix) -> Matrix {
    std::array::from_fn(|i| (0..3).map(|k| a[3 * (i / 3) + k] * b[3 * k + i % 3]).sum())
}

fn adjoint(a: &Matrix) -> Matrix {
    std::array::from_fn(|i| a[3 * (i % 3) + i / 3].conj())
}

/// A random SU(3) matrix at each site.
pub struct GaugeTransformation {
    pub seed: u64,
}

impl GaugeTransformation {
    fn at(&self, site: usize) -> Matrix {
        su3_random(self.seed, site as u64, 0)
    }

    /// The matrix of a site, row by row.
    #[allow(dead_code, reason = "only the tests of some operators need it")]
    pub fn matrix(&self, site: usize) -> [[Complex<f64>; 3]; 3] {
        let words = self.at(site);
        std::array::from_fn(|row| std::array::from_fn(|column| words[3 * row + column]))
    }

    /// U_μ(x) → g(x) U_μ(x) g(x + μ)†.
    pub fn of_links(&self, configuration: &Configuration) -> Configuration {
        let extents = configuration.extents();
        let mut links = Vec::new();
        for site in 0..extents.volume() {
            for mu in 0..4 {
                let mut next = extents.coordinate(site);
                next[mu] = (next[mu] + 1) % extents[mu];
                let link: Matrix = configuration.link(site, mu).try_into().unwrap();
                links.extend(product(&product(&self.at(site), &link), &adjoint(&self.at(extents.site(next)))));
            }
        }
        Configuration::new(extents, links).unwrap()
    }

    /// ψ(x) → g(x) ψ(x), of each colour vector of `words` numbers a site in site order.
    pub fn of_field(&self, words: usize, psi: &[Complex<f64>]) -> Vec<Complex<f64>> {
        let sites = psi.chunks_exact(words).enumerate();
        let turned = |(site, object): (usize, &[Complex<f64>])| {
            let g = self.at(site);
            let word = |k: usize| (0..3).map(|b| g[3 * (k % 3) + b] * object[k - k % 3 + b]).sum();
            (0..words).map(word).collect::<Vec<_>>()
        };
        sites.flat_map(turned).collect()
    }
}
