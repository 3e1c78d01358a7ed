//! Projections of links to SU(3) on the host (`docs/arithmetic.md` §22). [`Projection::Polar`] has the bits of the kernel `su3_projected`.

use num_complex::Complex;

use super::colour_matrix::{ColourMatrix, LINK_WORDS, multiply, multiply_add};
use super::configuration::Configuration;
use crate::tasks::{for_each_chunk, items_a_task};
use crate::tensor::sets::{self, Task};

/// A method of projection to SU(3).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Projection {
    /// The unitary factor of the polar decomposition, divided by the cube root of its determinant.
    #[default]
    Polar,
    /// The matrix U in SU(3) with the largest Re tr U V†, as in MILC, Chroma and Bridge++.
    MaxReTr,
}

crate::named!(Projection, "projection": Polar = "polar", MaxReTr = "max-re-tr");

impl Projection {
    /// Projects a list of matrices, each stored row by row.
    pub fn project(self, matrices: &mut [Complex<f64>]) {
        sets::run(&self, matrices);
    }
}

impl Task<&mut [Complex<f64>]> for Projection {
    type Output = ();

    #[inline(always)]
    fn run(&self, matrices: &mut [Complex<f64>]) {
        for matrix in matrices.chunks_exact_mut(LINK_WORDS) {
            let v = std::array::from_fn(|word| matrix[word]);
            matrix.copy_from_slice(&match self {
                Self::Polar => polar(&v),
                Self::MaxReTr => largest_trace(&v),
            });
        }
    }
}

impl Configuration {
    /// The configuration with every link projected to SU(3), including those around a local volume.
    #[must_use]
    pub fn projected(&self, projection: Projection) -> Self {
        self.with_changed_links(|links| {
            let words = LINK_WORDS * items_a_task(links.len() / LINK_WORDS);
            for_each_chunk(links, words, |_, links| projection.project(links));
        })
    }
}

/// The number of iterations for the unitary factor, and for a cube root.
const UNITARY_TURNS: usize = 20;
const ROOT_TURNS: usize = 6;
/// The maximum number of turns in the search for the largest trace, and the squared deviation of rotations from 1 at which it stops.
const MOST_TURNS: usize = 1000;
const LAST_ROTATION: f64 = 1e-30;

#[inline(always)]
fn product(a: Complex<f64>, b: Complex<f64>) -> Complex<f64> {
    Complex::new((-a.im).mul_add(b.im, a.re * b.re), a.im.mul_add(b.re, a.re * b.im))
}

#[inline(always)]
fn square(z: Complex<f64>) -> f64 {
    z.im.mul_add(z.im, z.re * z.re)
}

#[inline(always)]
fn adjoint(m: &ColourMatrix) -> ColourMatrix {
    std::array::from_fn(|word| m[3 * (word % 3) + word / 3].conj())
}

/// The conjugates of the cofactors of a matrix, and its determinant.
#[inline(always)]
fn cofactors(x: &ColourMatrix) -> (ColourMatrix, Complex<f64>) {
    let cofactor = |row: usize, column: usize| {
        let word = |r: usize, c: usize| x[3 * ((row + r) % 3) + (column + c) % 3];
        multiply_add(-word(1, 2), word(2, 1), product(word(1, 1), word(2, 2)))
    };
    let first = product(x[0], cofactor(0, 0));
    let determinant = multiply_add(x[2], cofactor(0, 2), multiply_add(x[1], cofactor(0, 1), first));
    (std::array::from_fn(|word| cofactor(word / 3, word % 3).conj()), determinant)
}

/// The unitary factor divided by the cube root of its determinant. NaN if v is singular.
#[inline(always)]
fn polar(v: &ColourMatrix) -> ColourMatrix {
    let squares = v.iter().fold(0.0, |sum: f64, word| word.im.mul_add(word.im, word.re.mul_add(word.re, sum)));
    let scale = (3.0 / squares).sqrt();
    let mut x = v.map(|word| Complex::new(scale * word.re, scale * word.im));
    for _ in 0..UNITARY_TURNS {
        let (cofactors, determinant) = cofactors(&x);
        let factor = 0.5 / square(determinant);
        let factor = Complex::new(factor * determinant.re, factor * determinant.im);
        x = std::array::from_fn(|word| {
            multiply_add(factor, cofactors[word], Complex::new(0.5 * x[word].re, 0.5 * x[word].im))
        });
    }
    let (_, determinant) = cofactors(&x);
    let mut root = determinant;
    for _ in 0..2 {
        let [cosine, sine] = [root.re + 1.0, 1.0 - root.re].map(|twice| (0.5 * twice).abs().sqrt());
        root = Complex::new(cosine, if root.im < 0.0 { -sine } else { sine });
    }
    for _ in 0..ROOT_TURNS {
        let n = square(root);
        let inverse = 1.0 / (n * n);
        let quotient = product(product(determinant, root.conj()), root.conj());
        let sum =
            Complex::new(2.0 * root.re, 2.0 * root.im) + Complex::new(inverse * quotient.re, inverse * quotient.im);
        root = Complex::new(1.0 / 3.0 * sum.re, 1.0 / 3.0 * sum.im);
    }
    let phase = root.conj();
    x.map(|word| product(phase, word))
}

/// The matrix x in SU(3) with the largest Re tr x v†. Rotations in the three SU(2) subgroups alternate. Each maximises the trace in its subgroup,
/// and the search ends when no rotation changes x.
#[inline(always)]
fn largest_trace(v: &ColourMatrix) -> ColourMatrix {
    let one: ColourMatrix = std::array::from_fn(|word| Complex::new(f64::from(u8::from(word % 4 == 0)), 0.0));
    let mut x = polar(v);
    // Of a singular v it is no matrix of SU(3).
    let squares = multiply(&x, &adjoint(&x));
    if !squares.iter().zip(&one).all(|(word, one)| (word - one).norm_sqr() < 1e-20) {
        x = one;
    }
    let mut m = multiply(&x, &adjoint(v));
    for _ in 0..MOST_TURNS {
        let mut largest: f64 = 0.0;
        for (i, j) in [(0, 1), (0, 2), (1, 2)] {
            // Re tr g m with g = ((a, b), (−b*, a*)) is largest where a and b are along these.
            let a = (m[4 * i] + m[4 * j].conj()).conj();
            let b = (m[3 * j + i] - m[3 * i + j].conj()).conj();
            let size = (a.norm_sqr() + b.norm_sqr()).sqrt();
            // Below, there is no direction.
            if size < f64::MIN_POSITIVE {
                continue;
            }
            let inverse = 1.0 / size;
            let [a, b] = [a, b].map(|z| Complex::new(inverse * z.re, inverse * z.im));
            largest = largest.max((a - 1.0).norm_sqr()).max(b.norm_sqr());
            for turned in [&mut x, &mut m] {
                for k in 0..3 {
                    let (upper, lower) = (turned[3 * i + k], turned[3 * j + k]);
                    turned[3 * i + k] = multiply_add(b, lower, product(a, upper));
                    turned[3 * j + k] = multiply_add(a.conj(), lower, product(-b.conj(), upper));
                }
            }
        }
        if largest <= LAST_ROTATION {
            break;
        }
    }
    // What rounding has added up to.
    polar(&x)
}
