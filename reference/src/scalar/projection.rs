//! The unitary factor of a matrix's polar decomposition, in the scalar reference (`docs/arithmetic.md` §22).

use num_complex::Complex;

use super::functions::sqrt;
use super::{Link, madd, mul, real_times};
use crate::real::Real;

/// The number of iterations for the unitary factor.
const UNITARY_TURNS: usize = 20;

/// §22: the conjugates of the cofactors of a matrix, and its determinant.
pub fn cofactors<R: Real>(x: &Link<R>) -> (Link<R>, Complex<R>) {
    let cofactor = |row: usize, column: usize| {
        let word = |r: usize, c: usize| x[(row + r) % 3][(column + c) % 3];
        madd(-word(1, 2), word(2, 1), mul(word(1, 1), word(2, 2)))
    };
    let determinant = madd(x[0][2], cofactor(0, 2), madd(x[0][1], cofactor(0, 1), mul(x[0][0], cofactor(0, 0))));
    (std::array::from_fn(|row| std::array::from_fn(|column| cofactor(row, column).conj())), determinant)
}

/// §22: the unitary factor of v.
pub fn unitary_factor<R: Real>(v: &Link<R>) -> Link<R> {
    let half = R::from_f64(0.5);
    let words = v.iter().flatten();
    let squares = words.fold(R::from_f64(0.0), |sum, word| word.im.fused(word.im, word.re.fused(word.re, sum)));
    let scale = sqrt(R::from_f64(3.0) / squares);
    let mut x = v.map(|row| row.map(|word| real_times(scale, word)));
    for _ in 0..UNITARY_TURNS {
        let (cofactors, determinant) = cofactors(&x);
        let size = determinant.im.fused(determinant.im, determinant.re * determinant.re);
        let factor = real_times(half / size, determinant);
        let word = |row: usize, column: usize| madd(factor, cofactors[row][column], real_times(half, x[row][column]));
        x = std::array::from_fn(|row| std::array::from_fn(|column| word(row, column)));
    }
    x
}
