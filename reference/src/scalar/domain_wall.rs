//! §14 in the scalar reference: matrices along the fifth dimension, as loops over fermions of ls spinors. A field is a list of spinors, s fastest,
//! of any number of fermions: word 12 · (ls · fermion + s) + 3 · spin + colour. Only the tables of coefficients come from elsewhere
//! (`kernels/domain_wall/matrix.rs`); §14 defines their contents.

use num_complex::Complex;

use super::{SPINOR_WORDS, ScalarWilson, axpy, real_madd, real_times};
use crate::kernels::domain_wall::{MatrixForm, MobiusCoefficients, SMatrix};
use crate::kernels::hop::Dagger;
use crate::layout::Sites;
use crate::real::Real;

/// The neighbour of s on the ring that chirality + or − reads.
fn neighbour(s: usize, ls: usize, plus: bool, dagger: Dagger) -> usize {
    let down = plus == (dagger == Dagger::No);
    match (down, s) {
        (true, 0) => ls - 1,
        (true, _) => s - 1,
        (false, _) if s == ls - 1 => 0,
        (false, _) => s + 1,
    }
}

/// matrix · x for each fermion, or matrix · x + z with a tridiagonal matrix.
pub fn s_multiply<R: Real>(matrix: &SMatrix, x: &[Complex<R>], z: Option<&[Complex<R>]>) -> Vec<Complex<R>> {
    let (ls, dagger) = (matrix.ls(), matrix.dagger());
    let table: Vec<R> = matrix.table().iter().map(|&coefficient| R::from_f64(coefficient)).collect();
    let mut result = vec![Complex::default(); x.len()];
    for column in 0..x.len() / (SPINOR_WORDS * ls) {
        for word in 0..SPINOR_WORDS {
            let plus = word < SPINOR_WORDS / 2;
            let at = |s: usize| SPINOR_WORDS * (ls * column + s) + word;
            match matrix.form() {
                MatrixForm::Tridiagonal => {
                    let beside = if plus { &table[ls..2 * ls] } else { &table[2 * ls..] };
                    for s in 0..ls {
                        let first = match z {
                            None => real_times(table[s], x[at(s)]),
                            Some(z) => real_madd(table[s], x[at(s)], z[at(s)]),
                        };
                        result[at(s)] = real_madd(beside[s], x[at(neighbour(s, ls, plus, dagger))], first);
                    }
                }
                MatrixForm::Sweep => {
                    let table = if plus { &table[..3 * ls] } else { &table[3 * ls..] };
                    let [corner, step, reciprocal] = [0, 1, 2].map(|k| &table[k * ls..(k + 1) * ls]);
                    let ascending = plus == (dagger == Dagger::No);
                    let start = if ascending { 0 } else { ls - 1 };
                    let site = |k: usize| if ascending { k } else { ls - 1 - k };
                    let mut f = x[at(start)];
                    for k in 1..ls {
                        f = real_madd(corner[site(k)], x[at(site(k))], f);
                    }
                    result[at(start)] = real_times(reciprocal[start], f);
                    for k in 1..ls {
                        let (s, before) = (site(k), site(k - 1));
                        result[at(s)] = real_madd(step[s], result[at(before)], real_times(reciprocal[s], x[at(s)]));
                    }
                }
                MatrixForm::Dense => {
                    let rows = if plus { &table[..ls * ls] } else { &table[ls * ls..] };
                    for s in 0..ls {
                        let mut sum = real_times(rows[s * ls], x[at(0)]);
                        for from in 1..ls {
                            sum = real_madd(rows[s * ls + from], x[at(from)], sum);
                        }
                        result[at(s)] = sum;
                    }
                }
            }
        }
    }
    result
}

/// The domain wall or Möbius operator on a configuration.
#[derive(Clone, Copy, Debug)]
pub struct ScalarDomainWall<'a> {
    /// The four-dimensional hop.
    pub wilson: ScalarWilson<'a>,
    /// The matrices along s.
    pub coefficients: MobiusCoefficients,
}

impl ScalarDomainWall<'_> {
    /// M ψ or M† ψ, for each fermion of a site.
    pub fn m<R: Real>(&self, psi: &[Complex<R>], dagger: Dagger) -> Vec<Complex<R>> {
        let (input, walls) = (self.coefficients.input(), self.coefficients.walls());
        let dw = |psi: &[Complex<R>]| {
            let mut result = self.wilson.hop(psi, Sites::Full, dagger);
            axpy(self.coefficients.height(), psi, &mut result);
            result
        };
        match dagger {
            Dagger::No => {
                let z = match input {
                    Some(input) => dw(&s_multiply(&input.matrix(), psi, None)),
                    None => dw(psi),
                };
                s_multiply(&walls.matrix(), psi, Some(&z))
            }
            Dagger::Yes => {
                let z = match input {
                    Some(input) => s_multiply(&input.dagger().matrix(), &dw(psi), None),
                    None => dw(psi),
                };
                s_multiply(&walls.dagger().matrix(), psi, Some(&z))
            }
        }
    }
}
