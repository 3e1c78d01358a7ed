//! The accuracy of a propagator on each time slice. Far from the source the propagator is smaller than the solver's tolerance, and the residual on
//! the whole lattice does not show it.

use lanefield_reference::field::{ComplexNumber, Field, Repeated};
use lanefield_reference::gauge::Configuration;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::hop::Dagger;
use lanefield_reference::layout::{Direction, Sites};
use libm::scalbn;
use num_complex::Complex;

use super::operators::{Operators, OperatorsTask, with_operators};
use super::solve_error::SolveError;
use super::{Preconditioning, Solve};
use crate::backend::{Backend, Sum};
use crate::kernel::prelude::*;
use crate::operator::ModelChoice;

/// An estimate of the relative error of ψ on each time slice, starting with that of the source, in f64: the largest of the right-hand sides.
///
/// δψ = M⁻¹ r is on a slice about Σ_t' |r(t')| g(|t − t'|), with g the norms of ψ / |η| on time slices, as of a propagator. (The residual divided by
/// ψ at the same time would miss the errors that come from other times.) The result is [`f64::MAX`] if ψ is 0, or if its square is out of range.
///
/// # Errors
/// Errors of the backend.
pub(crate) fn relative_errors<R: Vectors, B: Backend, M: ModelChoice>(
    backend: &B,
    configuration: &Configuration,
    (eta, origin): (&[Complex<f64>], usize),
    solve: &Solve<M>,
    (solution, powers): (&[Complex<R>], &[i32]),
) -> Result<Vec<f64>, SolveError> {
    let on_all_sites = Solve { preconditioning: Preconditioning::None, ..*solve };
    with_operators::<R, _, _, _>(backend, configuration, &on_all_sites, Errors { eta, origin, solution, powers })
}

struct Errors<'a, R> {
    eta: &'a [Complex<f64>],
    /// The time slice of the source.
    origin: usize,
    solution: &'a [Complex<R>],
    /// The powers of two that scale the right-hand sides, without which squares of very small or large numbers would be out of range.
    powers: &'a [i32],
}

impl<B: Backend, R: Vectors> OperatorsTask<B, R> for Errors<'_, R> {
    type Output = Result<Vec<f64>, SolveError>;

    fn run<K: Repeated>(self, operators: &Operators<'_, B, R, K>) -> Self::Output {
        let Self { eta, origin, solution, powers } = self;
        let &Operators { configuration, backend_in_f64: backend, one, .. } = operators;
        let lattice = operators.how.lattice::<f64>(configuration)?;
        let rhs = eta.len() / (configuration.extents().volume() * one.words());
        let all = operators.object(rhs);
        let words = all.words();
        let scaled = |w: usize, re: f64, im: f64| {
            let power = powers[w / one.words() % rhs];
            Complex::new(scalbn(re, power), scalbn(im, power))
        };
        let eta = |w: usize| scaled(w, eta[w].re, eta[w].im);
        let solution = |w: usize| scaled(w, solution[w].re.to_f64(), solution[w].im.to_f64());
        let psi = Field::from_sites(lattice, Sites::Full, all, |site, object| {
            (site * words..).zip(object).for_each(|(w, word)| *word = solution(w));
        })?;
        let mut operator = operators.full(backend, operators.in_f64, lattice)?;
        let mut image = operator.zeros_of(rhs)?;
        operator.apply(&mut image, &backend.upload(psi)?, Dagger::No)?;
        let image = backend.download(&image)?.try_to_site_order()?;
        let mut largest = vec![0.0_f64; configuration.extents().global()[3]];
        // Norms on the time slices, starting with that of the source: at each site, of the sum of the parts of a complex number.
        let norms = |squares: &(dyn Fn(usize) -> Complex<f64> + Sync)| -> Result<Vec<[f64; 2]>, SolveError> {
            let field =
                Field::from_sites(lattice, Sites::Full, ComplexNumber, |site, object| object[0] = squares(site))?;
            let mut sums = backend.slice_sums(&backend.upload(field)?, Direction::T, Sum::Exact)?.concat();
            sums.rotate_left(origin);
            Ok(sums.into_iter().map(|sum| [sum.re.sqrt(), sum.im.sqrt()]).collect())
        };
        for k in 0..rhs {
            let of_site = |site: usize| site * words + k * one.words()..site * words + (k + 1) * one.words();
            let left = norms(&|site| {
                let squares = |w| Complex::new((eta(w) - image[w]).norm_sqr(), solution(w).norm_sqr());
                of_site(site).map(squares).sum()
            })?;
            let source = norms(&|site| of_site(site).map(|w| Complex::from(eta(w).norm_sqr())).sum())?;
            let source = source.iter().map(|[eta, _]| eta * eta).sum::<f64>().sqrt();
            let times = left.len();
            // The larger of both ways around the lattice; with a fixed boundary there is one.
            let after = |time: usize| left[time][1].max(left[(times - time) % times][1]);
            for (t, largest) in largest.iter_mut().enumerate() {
                let error: f64 = (0..times).map(|from| left[from][0] * after(t.abs_diff(from))).sum();
                // Numbers whose squares are out of range have no known digits.
                let norm2 = left[t][1] * left[t][1];
                if source > 0.0 && !norm2.is_normal() {
                    *largest = f64::MAX;
                } else if error > 0.0 {
                    *largest = largest.max(error / source / left[t][1]).min(f64::MAX);
                }
            }
        }
        Ok(largest)
    }
}
