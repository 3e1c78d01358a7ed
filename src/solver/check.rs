//! Checks that a solution solves its equation: in f64, on all sites, from the numbers that are returned, with an operator and a source that are
//! created again from the inputs of the solve. It also checks that these inputs have not changed. A bit that memory lost is found this way, wherever
//! it matters.

use std::borrow::Cow;

use lanefield_reference::field::Repeated;
use lanefield_reference::gauge::Configuration;
use lanefield_reference::kernels::hop::Dagger;
use lanefield_reference::layout::{Parity, Sites};
use lanefield_reference::real::Real;
use lanefield_reference::tasks::{chunk, map};
use num_complex::Complex;
use sha2::{Digest as _, Sha256};

use super::scale::Scales;
use super::solve_error::SolveError;
use super::source::SolveSource;
use crate::backend::{Backend, BackendError, FieldOn, Sum};
use crate::kernel::prelude::*;
use crate::operator::{ActsOn as _, DynOperator, Operator as _, SchurComplement, System};

/// The true residuals of one right-hand side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Residuals {
    /// |b − Aψ| / |b|; equal to `solution` if b is 0, or so small that |b|² underflows.
    pub system: f64,
    /// |η − Mψ| / |η|.
    pub solution: f64,
    /// |η − Mψ| on the even sites, in units of |η| + |Mee ψ| + |Meo ψ| there. The solution on the even sites follows from that on the odd ones by
    /// rounded arithmetic.
    pub even: f64,
}

/// The residuals of each right-hand side, if they could be computed.
pub(super) type Checked = Result<Vec<Residuals>, SolveError>;

/// The largest relative error of rounding to `R`.
pub(super) fn rounding<R: Real>() -> f64 {
    match R::BITS {
        64 => f64::EPSILON / 2.0,
        32 => f64::from(f32::EPSILON) / 2.0,
        // The largest number of a site is between half a unit and one.
        _ => 2.0_f64.powi(-15),
    }
}

/// The inputs of a solve in host memory, and the source for which it solves.
pub(super) struct SolveInputs<'a> {
    configuration: &'a Configuration,
    eta: &'a [Complex<f64>],
    checksums: [Checksum; 2],
    pub scales: Scales,
    /// The source, multiplied by the scales.
    pub scaled: Cow<'a, [Complex<f64>]>,
}

fn checksums(configuration: &Configuration, eta: &[Complex<f64>]) -> [Checksum; 2] {
    [checksum(configuration.links()), checksum(eta)]
}

impl<'a> SolveInputs<'a> {
    /// Records the current inputs; arguments as for [`Scales::of`].
    ///
    /// # Errors
    /// The errors of [`Scales::of`].
    pub(super) fn new<R: Real, B: Backend>(
        backend: &B,
        configuration: &'a Configuration,
        eta: &'a [Complex<f64>],
        rhs_and_words: (usize, usize),
        is_mixed: bool,
        is_read: impl Fn(usize) -> bool + Sync,
    ) -> Result<Self, SolveError> {
        let scales = Scales::of::<R, _>(backend, eta, rhs_and_words, is_mixed, is_read)?;
        let scaled = scales.apply(eta);
        Ok(Self { configuration, eta, checksums: checksums(configuration, eta), scales, scaled })
    }

    /// Checks that the inputs have not changed.
    ///
    /// # Errors
    /// [`SolveError::Changed`].
    pub(super) fn check(&self) -> Result<(), SolveError> {
        let now = checksums(self.configuration, self.eta);
        match now.iter().zip(&self.checksums).position(|(now, before)| now != before) {
            Some(0) => Err(SolveError::Changed { what: "the configuration in host memory" }),
            Some(_) => Err(SolveError::Changed { what: "the source in host memory" }),
            None if self.scales.apply(self.eta) != self.scaled => {
                Err(SolveError::Changed { what: "the source in host memory" })
            }
            None => Ok(()),
        }
    }
}

/// SHA-256 of the SHA-256 of each task's numbers, as stored in memory. It uses all threads and is for comparison within a process; for files there
/// is [`crate::io::identity::digest_of_numbers`].
pub(super) fn checksum<R: Real>(values: &[Complex<R>]) -> Checksum {
    const A_TASK: usize = 1 << 16;
    let digest = |task| Sha256::digest(bytemuck::cast_slice(chunk(values, A_TASK, task)));
    Sha256::digest(map(values.len().div_ceil(A_TASK), digest).concat()).into()
}

/// The result of [`checksum`].
pub(super) type Checksum = [u8; 32];

impl<K: Repeated> SolveSource<'_, K> {
    /// The residuals on the full lattice: b − Aψ = η − Mψ, or M†(η − Mψ).
    pub(super) fn check_on_all_sites<S: Real, B: Backend>(
        &self,
        backend: &B,
        operator: &mut DynOperator<'_, B, f64, K>,
        solution: &[Complex<S>],
    ) -> Checked {
        let lattice = operator.lattice();
        let eta = self.on(backend, lattice, Sites::Full, self.eta)?;
        let psi = self.on(backend, lattice, Sites::Full, solution)?;
        let [mut residual, mut image] = [operator.zeros_of(self.rhs)?, operator.zeros_of(self.rhs)?];
        operator.apply(&mut image, &psi, Dagger::No)?;
        backend.copy(&mut residual, &eta)?;
        backend.axpy(-1.0, &image, &mut residual)?;
        let of_eta = ratios(&self.norms(backend, &residual)?, &self.norms(backend, &eta)?);
        let mut system = System::new(operator, self.normal)?;
        system.source(&mut image, &eta)?;
        let norms_of_b = self.norms(backend, &image)?;
        system.source(&mut image, &residual)?;
        let of_b = ratios(&self.norms(backend, &image)?, &norms_of_b);
        let system = |k: usize| if norms_of_b[k] == 0.0 { of_eta[k] } else { of_b[k] };
        let of_rhs = |k: usize| Residuals { system: system(k), solution: of_eta[k], even: 0.0 };
        Ok((0..self.rhs).map(of_rhs).collect())
    }

    /// The residuals on even and odd sites.
    pub(super) fn check_even_and_odd<S: Real, B: Backend>(
        &self,
        backend: &B,
        schur: &mut SchurComplement<'_, B, f64, K>,
        solution: &[Complex<S>],
    ) -> Checked {
        let (lattice, parities) = (schur.lattice(), Parity::BOTH.map(Sites::Parity));
        let [eta_even, eta_odd] = parities.map(|sites| self.on(backend, lattice, sites, self.eta));
        let [psi_even, psi_odd] = parities.map(|sites| self.on(backend, lattice, sites, solution));
        let (eta_even, eta_odd, psi_even, psi_odd) = (eta_even?, eta_odd?, psi_even?, psi_odd?);
        let (mut left, mut whole) = (vec![0.0; self.rhs], vec![0.0; self.rhs]);
        let mut even = Vec::new();
        for (eta, [psi, other]) in [(&eta_even, [&psi_even, &psi_odd]), (&eta_odd, [&psi_odd, &psi_even])] {
            let zeros = || backend.zeros(lattice, eta.sites(), eta.kind());
            let [mut residual, mut image]: [FieldOn<B, f64, K>; 2] = [zeros()?, zeros()?];
            let pieces = schur.pieces();
            backend.copy(&mut residual, eta)?;
            let mut terms = vec![self.norms(backend, eta)?];
            add(&mut whole, &terms[0]);
            pieces.mooee(&mut image, psi, Dagger::No)?;
            backend.axpy(-1.0, &image, &mut residual)?;
            terms.push(self.norms(backend, &image)?);
            pieces.meooe(&mut image, other, Dagger::No)?;
            backend.axpy(-1.0, &image, &mut residual)?;
            terms.push(self.norms(backend, &image)?);
            let here = self.norms(backend, &residual)?;
            add(&mut left, &here);
            if even.is_empty() {
                let of_terms = |rhs: usize| terms.iter().map(|norms| norms[rhs].sqrt()).sum::<f64>().powi(2);
                even = ratios(&here, &(0..self.rhs).map(of_terms).collect::<Vec<_>>());
            }
        }
        let [mut source, mut image] = [schur.zeros_of(self.rhs)?, schur.zeros_of(self.rhs)?];
        schur.odd_source(&mut source, &eta_even, &eta_odd)?;
        let mut system = System::new(schur as &mut DynOperator<'_, B, f64, K>, self.normal)?;
        system.source(&mut image, &source)?;
        let norms_of_b = self.norms(backend, &image)?;
        // The residual first, then M†: the other order would lose digits.
        system.operator().apply(&mut image, &psi_odd, Dagger::No)?;
        backend.axpy(-1.0, &image, &mut source)?;
        system.source(&mut image, &source)?;
        let of_b = ratios(&self.norms(backend, &image)?, &norms_of_b);
        let of_eta = ratios(&left, &whole);
        let system = |k: usize| if norms_of_b[k] == 0.0 { of_eta[k] } else { of_b[k] };
        let of_rhs = |k: usize| Residuals { system: system(k), solution: of_eta[k], even: even[k] };
        Ok((0..self.rhs).map(of_rhs).collect())
    }

    /// |x|² of each right-hand side.
    fn norms<B: Backend>(&self, backend: &B, x: &FieldOn<B, f64, K>) -> Result<Vec<f64>, BackendError> {
        backend.rhs_products(x, x, self.one.parts(), Sum::Exact)
    }
}

/// √(part / whole) of each; 0 if both are 0.
fn ratios(parts: &[f64], wholes: &[f64]) -> Vec<f64> {
    let ratio = |(&part, &whole): (&f64, &f64)| if part == 0.0 { 0.0 } else { (part / whole).sqrt() };
    parts.iter().zip(wholes).map(ratio).collect()
}

fn add(to: &mut [f64], values: &[f64]) {
    to.iter_mut().zip(values).for_each(|(to, value)| *to += value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bit_changes_the_checksum() {
        let mut values = vec![Complex::new(1.5_f64, -2.0); (1 << 16) + 3];
        let before = checksum(&values);
        for (at, bit) in [(0, 0), (7, 63), (1 << 16, 31), (values.len() - 1, 52)] {
            let of = values[at].im;
            values[at].im = f64::from_bits(of.to_bits() ^ 1 << bit);
            assert_ne!(checksum(&values), before, "bit {bit} of number {at}");
            values[at].im = of;
        }
        values.swap(1, 2);
        assert_eq!(checksum(&values), before, "they are equal");
        assert_ne!(checksum(&values[1..]), before);
    }
}
