//! Twisted mass fermions in the scalar reference (`docs/arithmetic.md` §17).

use num_complex::Complex;

use super::{EVEN, ODD, SPINOR_WORDS, ScalarWilson, axpy, complex, gather, madd, mul, spread};
use crate::kernels::hop::Dagger;
use crate::layout::Sites;
use crate::real::Real;

/// The factor of word `word` of a list of spinors: a for spins 0 and 1, its conjugate for spins 2 and 3.
fn of_spin<R: Real>(a: Complex<R>, word: usize) -> Complex<R> {
    if word % SPINOR_WORDS < SPINOR_WORDS / 2 { a } else { a.conj() }
}

/// §17: twist(a, ψ), for each spinor of a list.
pub fn twist<R: Real>(a: Complex<R>, psi: &[Complex<R>]) -> Vec<Complex<R>> {
    psi.iter().enumerate().map(|(word, &psi)| mul(of_spin(a, word), psi)).collect()
}

/// §17: twist_add(a, ψ, c), for each spinor of a list.
pub fn twist_add<R: Real>(a: Complex<R>, psi: &[Complex<R>], c: &[Complex<R>]) -> Vec<Complex<R>> {
    psi.iter().zip(c).enumerate().map(|(word, (&psi, &c))| madd(of_spin(a, word), psi, c)).collect()
}

/// §17: 1 / (dm + i·μ), in f64.
pub fn twist_inverse(Complex { re: dm, im: mu }: Complex<f64>) -> Complex<f64> {
    if mu.abs() <= dm.abs() {
        let r = mu / dm;
        let q = 1.0 / (dm + mu * r);
        Complex::new(q, -(r * q))
    } else {
        let r = dm / mu;
        let q = 1.0 / (mu + dm * r);
        Complex::new(r * q, -q)
    }
}

impl ScalarWilson<'_> {
    /// §17: M ψ or M† ψ.
    pub fn twisted_mass<R: Real>(&self, psi: &[Complex<R>], (mass, mu): (f64, f64), dagger: Dagger) -> Vec<Complex<R>> {
        let a = conjugated(Complex::new(4.0 + mass, mu), dagger);
        twist_add(complex(a.re, a.im), psi, &self.hop(psi, Sites::Full, dagger))
    }

    /// §17: Mpc ψ or Mpc† ψ. Reads ψ at the odd sites; zero at the even ones.
    pub fn twisted_mass_mpc<R: Real>(
        &self,
        psi: &[Complex<R>],
        (mass, mu): (f64, f64),
        dagger: Dagger,
    ) -> Vec<Complex<R>> {
        let extents = self.configuration.extents();
        let a = Complex::new(4.0 + mass, mu);
        let [diagonal, inverse] = [a, twist_inverse(a)].map(|a| conjugated(a, dagger)).map(|a| complex(a.re, a.im));
        let even = twist(inverse, &self.hop(psi, EVEN, dagger));
        let odd = gather(extents, ODD, SPINOR_WORDS, psi);
        let mut result = spread(extents, ODD, SPINOR_WORDS, &twist(diagonal, &odd));
        axpy(-1.0, &self.hop(&even, ODD, dagger), &mut result);
        result
    }
}

fn conjugated(a: Complex<f64>, dagger: Dagger) -> Complex<f64> {
    match dagger {
        Dagger::No => a,
        Dagger::Yes => a.conj(),
    }
}
