//! §13 in the scalar reference: field strength, clover term, its inverse, and the operator. Field strengths are lists of 54 words for a site, blocks
//! of 36.

use num_complex::Complex;

use super::{COLOURS, EVEN, ODD, SPINOR_WORDS, ScalarWilson, axpy, complex, madd, mul, real_times, step};
use crate::kernels::hop::Dagger;
use crate::layout::{Coordinate, Leg, Sites, gather, spread};
use crate::links::Phase;
use crate::real::Real;

/// Complex words of the field strengths of a site: six planes of 3×3 elements.
pub(crate) const STRENGTH_WORDS: usize = 54;
/// Complex words of the blocks of a site: two blocks of 18.
pub const CLOVER_WORDS: usize = 36;
const BLOCK_WORDS: usize = 18;
const ROWS: usize = 6;

type ScalarMatrix = [[Complex<f64>; COLOURS]; COLOURS];
/// All 36 elements. Those below the diagonal are not used.
type Block6 = [[Complex<f64>; ROWS]; ROWS];

fn to_f64<R: Real>(a: Complex<R>) -> Complex<f64> {
    Complex::new(a.re.to_f64(), a.im.to_f64())
}

fn matrix_product(a: &ScalarMatrix, b: &ScalarMatrix) -> ScalarMatrix {
    let mut c = ScalarMatrix::default();
    for i in 0..COLOURS {
        for j in 0..COLOURS {
            let first = mul(a[i][0], b[0][j]);
            let second = madd(a[i][1], b[1][j], first);
            c[i][j] = madd(a[i][2], b[2][j], second);
        }
    }
    c
}

fn hermitian_conjugate(a: &ScalarMatrix) -> ScalarMatrix {
    let mut c = ScalarMatrix::default();
    for i in 0..COLOURS {
        for j in 0..COLOURS {
            c[i][j] = a[j][i].conj();
        }
    }
    c
}

/// The position of element (i, j), i < j, among the 18 words of a block: after three words of the diagonal, row by row.
fn word_of(i: usize, j: usize) -> usize {
    let rows_before: usize = (0..i).map(|row| ROWS - 1 - row).sum();
    3 + rows_before + (j - i - 1)
}

fn load<R: Real>(words: &[Complex<R>]) -> Block6 {
    let mut block = Block6::default();
    for i in 0..ROWS {
        let pair = to_f64(words[i / 2]);
        block[i][i] = Complex::new(if i % 2 == 0 { pair.re } else { pair.im }, 0.0);
        for j in i + 1..ROWS {
            block[i][j] = to_f64(words[word_of(i, j)]);
        }
    }
    block
}

fn store<R: Real>(block: &Block6, words: &mut [Complex<R>]) {
    for k in 0..3 {
        words[k] = complex(block[2 * k][2 * k].re, block[2 * k + 1][2 * k + 1].re);
    }
    for i in 0..ROWS {
        for j in i + 1..ROWS {
            words[word_of(i, j)] = complex(block[i][j].re, block[i][j].im);
        }
    }
}

/// The clover operator: a Wilson operator's hop, a mass and two coefficients.
#[derive(Clone, Copy, Debug)]
pub struct ScalarClover<'a> {
    /// Configuration, boundary phases, link format and leg order.
    pub wilson: ScalarWilson<'a>,
    /// Bare quark mass.
    pub mass: f64,
    /// Coefficient of the planes xy, xz, yz.
    pub csw_r: f64,
    /// Coefficient of the planes xt, yt, zt.
    pub csw_t: f64,
}

impl ScalarClover<'_> {
    fn link<R: Real>(&self, x: Coordinate, d: usize) -> ScalarMatrix {
        let extents = self.wilson.configuration.extents();
        let mut u = ScalarMatrix::default();
        if self.wilson.boundary.phase(d) == Phase::Fixed && x[d] == extents[d] - 1 {
            return u;
        }
        let words = self.wilson.configuration.link(extents.site(x), d);
        for i in 0..COLOURS {
            for j in 0..COLOURS {
                let element = words[3 * i + j];
                u[i][j] = to_f64::<R>(complex(element.re, element.im));
            }
        }
        u
    }

    /// F_μν(x), before it is rounded.
    fn strength_at<R: Real>(&self, x: Coordinate, mu: usize, nu: usize) -> ScalarMatrix {
        let extents = self.wilson.configuration.extents();
        let up = |y: Coordinate, d: usize| step(extents, y, Leg::forward(d)).0;
        let down = |y: Coordinate, d: usize| step(extents, y, Leg::backward(d)).0;
        let u = |y: Coordinate, d: usize| self.link::<R>(y, d);
        let u_dagger = |y: Coordinate, d: usize| hermitian_conjugate(&self.link::<R>(y, d));
        let leaf = |a: ScalarMatrix, b: ScalarMatrix, c: ScalarMatrix, d: ScalarMatrix| {
            matrix_product(&matrix_product(&matrix_product(&a, &b), &c), &d)
        };

        let leaves = [
            leaf(u(x, mu), u(up(x, mu), nu), u_dagger(up(x, nu), mu), u_dagger(x, nu)),
            leaf(u(x, nu), u_dagger(up(down(x, mu), nu), mu), u_dagger(down(x, mu), nu), u(down(x, mu), mu)),
            leaf(
                u_dagger(down(x, mu), mu),
                u_dagger(down(down(x, mu), nu), nu),
                u(down(down(x, mu), nu), mu),
                u(down(x, nu), nu),
            ),
            leaf(u_dagger(down(x, nu), nu), u(down(x, nu), mu), u(up(down(x, nu), mu), nu), u_dagger(x, mu)),
        ];
        let s = |i: usize, j: usize| ((leaves[0][i][j] + leaves[1][i][j]) + leaves[2][i][j]) + leaves[3][i][j];
        let f = |i, j| real_times(0.125, s(i, j) - s(j, i).conj());
        std::array::from_fn(|i| std::array::from_fn(|j| f(i, j)))
    }

    /// The field strengths of all sites.
    pub fn field_strength<R: Real>(&self) -> Vec<Complex<R>> {
        let extents = self.wilson.configuration.extents();
        let mut result = Vec::with_capacity(STRENGTH_WORDS * extents.volume());
        for site in 0..extents.volume() {
            for mu in 0..4 {
                for nu in mu + 1..4 {
                    let f = self.strength_at::<R>(extents.coordinate(site), mu, nu);
                    result.extend(f.iter().flatten().map(|f| complex::<R>(f.re, f.im)));
                }
            }
        }
        result
    }

    /// The clover term of these field strengths.
    pub fn term<R: Real>(&self, strength: &[Complex<R>]) -> Vec<Complex<R>> {
        let (dm, c_s, c_t) = (4.0 + self.mass, self.csw_r / 2.0, self.csw_t / 2.0);
        let mut result = vec![Complex::default(); strength.len() / STRENGTH_WORDS * CLOVER_WORDS];
        for (strength, term) in strength.chunks_exact(STRENGTH_WORDS).zip(result.chunks_exact_mut(CLOVER_WORDS)) {
            let f = |plane: usize, i: usize, j: usize| to_f64(strength[9 * plane + 3 * i + j]);
            let [xy, xz, xt, yz, yt, zt] = [0, 1, 2, 3, 4, 5];
            for (b, words) in term.chunks_exact_mut(BLOCK_WORDS).enumerate() {
                let sigma = if b == 0 { -1.0 } else { 1.0 };
                let fused = |space: Complex<f64>, s: f64, time: Complex<f64>| {
                    Complex::new(c_s.fused(space.re, s * time.re), c_s.fused(space.im, s * time.im))
                };
                let mut block = Block6::default();
                for i in 0..COLOURS {
                    for j in 0..COLOURS {
                        let a = fused(f(xy, i, j), sigma * c_t, f(zt, i, j));
                        let b = fused(f(xz, i, j), -sigma * c_t, f(yt, i, j));
                        let g = fused(f(yz, i, j), sigma * c_t, f(xt, i, j));
                        block[i][j + 3] = b + Complex::new(-g.im, g.re);
                        if i == j {
                            block[i][i].re = dm - a.im;
                            block[i + 3][i + 3].re = dm + a.im;
                        } else if i < j {
                            block[i][j] = Complex::new(-a.im, a.re);
                            block[i + 3][j + 3] = Complex::new(a.im, -a.re);
                        }
                    }
                }
                store(&block, words);
            }
        }
        result
    }

    /// M ψ or M† ψ: C ψ plus the hop of ψ.
    pub fn m<R: Real>(&self, psi: &[Complex<R>], dagger: Dagger) -> Vec<Complex<R>> {
        let mut result = clover_apply(&self.term(&self.field_strength()), psi);
        axpy(1.0, &self.wilson.hop(psi, Sites::Full, dagger), &mut result);
        result
    }

    /// Mpc ψ or Mpc† ψ. Reads ψ at the odd sites; zero at the even ones.
    pub fn mpc<R: Real>(&self, psi: &[Complex<R>], dagger: Dagger) -> Vec<Complex<R>> {
        let extents = self.wilson.configuration.extents();
        let only = |sites: Sites, field: &[Complex<R>]| {
            spread(extents, sites, SPINOR_WORDS, &gather(extents, sites, SPINOR_WORDS, field))
        };
        let term = self.term(&self.field_strength());
        let (inverse, _) = clover_inverse(&term);
        let even = only(EVEN, &clover_apply(&inverse, &self.wilson.hop(psi, EVEN, dagger)));
        let mut result = clover_apply(&term, psi);
        axpy(-1.0, &self.wilson.hop(&even, ODD, dagger), &mut result);
        only(ODD, &result)
    }
}

/// The inverse of the blocks, and the pivots of both blocks of each site.
pub fn clover_inverse<R: Real>(term: &[Complex<R>]) -> (Vec<Complex<R>>, Vec<Complex<R>>) {
    let mut inverse = vec![Complex::default(); term.len()];
    let mut pivots = Vec::with_capacity(term.len() / CLOVER_WORDS);
    for (term, inverse) in term.chunks_exact(BLOCK_WORDS).zip(inverse.chunks_exact_mut(BLOCK_WORDS)) {
        let (block, pivot) = inverse_of_block(&load(term));
        store(&block, inverse);
        pivots.push(pivot);
    }
    (inverse, pivots.chunks_exact(2).map(|blocks| complex(blocks[0], blocks[1])).collect())
}

/// LDL† of a block: the inverse, and the pivot.
fn inverse_of_block(c: &Block6) -> (Block6, f64) {
    let mut l = Block6::default();
    let mut w = Block6::default();
    let (mut d, mut r) = ([0.0; ROWS], [0.0; ROWS]);
    for j in 0..ROWS {
        for i in j..ROWS {
            let mut s = if i == j { c[j][j] } else { c[j][i].conj() };
            for k in 0..j {
                s = madd(-l[i][k], w[j][k], s);
            }
            if i == j {
                d[j] = s.re;
                r[j] = 1.0 / d[j];
            } else {
                l[i][j] = real_times(r[j], s);
                w[i][j] = real_times(d[j], l[i][j]).conj();
            }
        }
    }
    let mut pivot = f64::INFINITY;
    for d in d {
        if d.abs() < pivot {
            pivot = d.abs();
        }
    }
    if d.iter().any(|d| !d.is_finite()) {
        pivot = f64::NAN;
    }

    let mut m = Block6::default();
    for j in 0..ROWS {
        for i in j + 1..ROWS {
            let mut s = l[i][j];
            for k in j + 1..i {
                s = madd(l[i][k], m[k][j], s);
            }
            m[i][j] = -s;
        }
    }

    let mut inverse = Block6::default();
    for j in 0..ROWS {
        for i in 0..=j {
            let mut s = if i == j { Complex::new(r[j], 0.0) } else { real_times(r[j], m[j][i].conj()) };
            for k in j + 1..ROWS {
                s = madd(real_times(r[k], m[k][i].conj()), m[k][j], s);
            }
            inverse[i][j] = s;
        }
    }
    (inverse, pivot)
}

/// Blocks times spinors, with one or several spinors at a site.
pub fn clover_apply<R: Real>(blocks: &[Complex<R>], x: &[Complex<R>]) -> Vec<Complex<R>> {
    let mut result = Vec::with_capacity(x.len());
    let halves_a_site = x.len() / ROWS / (blocks.len() / CLOVER_WORDS);
    for (half, x) in x.chunks_exact(ROWS).enumerate() {
        let block = &blocks[CLOVER_WORDS * (half / halves_a_site) + BLOCK_WORDS * (half % 2)..][..BLOCK_WORDS];
        for i in 0..ROWS {
            let pair = block[i / 2];
            let mut y = real_times(if i % 2 == 0 { pair.re } else { pair.im }, x[i]);
            for j in 0..ROWS {
                if i < j {
                    y = madd(block[word_of(i, j)], x[j], y);
                } else if i > j {
                    y = madd(block[word_of(j, i)].conj(), x[j], y);
                }
            }
            result.push(y);
        }
    }
    result
}
