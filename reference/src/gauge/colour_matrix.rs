//! Colour matrices of configurations, and arithmetic on them.

use num_complex::Complex;

use crate::layout::DIMENSIONS;

/// Complex numbers of one link: 3 rows of 3 columns.
pub const LINK_WORDS: usize = 9;

/// Complex numbers of one site: a link for each of the directions x, y, z, t.
pub const SITE_WORDS: usize = DIMENSIONS * LINK_WORDS;

/// A 3×3 colour matrix, row by row.
pub type ColourMatrix = [Complex<f64>; LINK_WORDS];

/// The third row of an SU(3) matrix from the first two: conj(row 1 × row 2), with the same formula as for NERSC files with two rows.
///
/// Element i, with j = i+1 and k = i+2 modulo 3, is the conjugate of a_j b_k − a_k b_j. First a_j b_k is added to +0, then (−a_k) b_j to the result.
/// Each addition is re = fma(−a.im, b.im, fma(a.re, b.re, c.re)), im = fma(a.im, b.re, fma(a.re, b.im, c.im)).
#[inline(always)]
pub fn third_row(row1: [Complex<f64>; 3], row2: [Complex<f64>; 3]) -> [Complex<f64>; 3] {
    std::array::from_fn(|i| {
        let (j, k) = ((i + 1) % 3, (i + 2) % 3);
        let first = multiply_add(row1[j], row2[k], Complex::new(0.0, 0.0));
        multiply_add(-row1[k], row2[j], first).conj()
    })
}

/// c + a·b: re = fma(−a.im, b.im, fma(a.re, b.re, c.re)), im = fma(a.im, b.re, fma(a.re, b.im, c.im)).
#[inline(always)]
pub(super) fn multiply_add(a: Complex<f64>, b: Complex<f64>, c: Complex<f64>) -> Complex<f64> {
    Complex::new((-a.im).mul_add(b.im, a.re.mul_add(b.re, c.re)), a.im.mul_add(b.re, a.re.mul_add(b.im, c.im)))
}

#[inline(always)]
pub(super) fn multiply(a: &[Complex<f64>], b: &[Complex<f64>]) -> ColourMatrix {
    std::array::from_fn(|i| {
        let (row, column) = (i / 3, i % 3);
        (0..3).fold(Complex::new(0.0, 0.0), |sum, k| multiply_add(a[3 * row + k], b[3 * k + column], sum))
    })
}

/// Re tr A B† = Σ Re aᵢⱼ Re bᵢⱼ + Im aᵢⱼ Im bᵢⱼ.
#[inline(always)]
pub(super) fn real_trace_of_product_with_adjoint(a: &ColourMatrix, b: &ColourMatrix) -> f64 {
    a.iter().zip(b).fold(0.0, |sum, (a, b)| a.im.mul_add(b.im, a.re.mul_add(b.re, sum)))
}

/// The elements of U U† − 1 on and below the diagonal, row by row, then det U − 1.
#[inline(always)]
pub(super) fn deviations(u: &[Complex<f64>]) -> [Complex<f64>; 7] {
    const ELEMENTS: [(usize, usize); 6] = [(0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (2, 2)];
    std::array::from_fn(|number| match ELEMENTS.get(number) {
        Some(&(i, j)) => {
            let start = Complex::new(if i == j { -1.0 } else { 0.0 }, 0.0);
            (0..3).fold(start, |sum, k| multiply_add(u[3 * i + k], u[3 * j + k].conj(), sum))
        }
        None => {
            let row = |i: usize| [u[3 * i], u[3 * i + 1], u[3 * i + 2]];
            let cofactors = third_row(row(0), row(1)).map(|z| z.conj());
            (0..3).fold(Complex::new(-1.0, 0.0), |sum, k| multiply_add(cofactors[k], u[6 + k], sum))
        }
    })
}

/// The larger of max |(U U† − 1)ᵢⱼ| and |det U − 1|.
#[inline(always)]
pub(super) fn link_defect(u: &[Complex<f64>]) -> f64 {
    deviations(u).into_iter().fold(0.0, |defect: f64, value| {
        // Not `Complex::norm`: hypot comes from the C library, and its last bit with it. `f64::max` would drop a NaN.
        let size = value.norm_sqr().sqrt();
        if size.is_nan() { f64::INFINITY } else { defect.max(size) }
    })
}

/// Whether U can result from a link within `tolerance` by multiplication with unitary matrices on both sides. That link has at most nine elements of
/// that size.
pub(super) fn is_turned_from(u: &[Complex<f64>], tolerance: f64) -> bool {
    let [a, b, c, d, e, f, determinant] = deviations(u).map(|z| z.norm_sqr());
    a + c + f + 2.0 * (b + d + e) <= 9.0 * tolerance * tolerance && determinant <= tolerance * tolerance
}
