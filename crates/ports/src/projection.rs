//! The table of `docs/arithmetic.md` §4: how to project a spinor, and the relations between the rows of a projected one.

use lanefield::reference::real::Real;
use num_complex::Complex;

/// For one projector: h0 and h1 as row 0 (row 1) plus iⁿ times another row; then rows 2 and 3 as iⁿ times h0 or h1. Each is (n, row).
pub type Table = [(u8, usize); 4];

const ONE_PLUS_GAMMA: [Table; 4] = [
    [(1, 3), (1, 2), (3, 1), (3, 0)],
    [(2, 3), (0, 2), (0, 1), (2, 0)],
    [(1, 2), (3, 3), (3, 0), (1, 1)],
    [(0, 2), (0, 3), (0, 0), (0, 1)],
];

/// The table of 1 + γ, or that of 1 − γ, in which each n is larger by 2.
pub fn table(d: usize, minus: bool) -> Table {
    ONE_PLUS_GAMMA[d].map(|(power, row)| ((power + if minus { 2 } else { 0 }) % 4, row))
}

/// iⁿ times a number: a swap and a sign.
pub fn times<R: Real>(power: u8, z: Complex<R>) -> Complex<R> {
    match power {
        0 => z,
        1 => Complex::new(-z.im, z.re),
        2 => -z,
        _ => Complex::new(z.im, -z.re),
    }
}

/// The larger of the magnitudes of both parts.
pub fn size<R: Real>(z: Complex<R>) -> f64 {
    z.re.to_f64().abs().max(z.im.to_f64().abs())
}

/// The largest deviation of rows 2 and 3 of a spinor from what a projector makes of its rows 0 and 1.
pub fn distance(spinor: &[Complex<f64>; 12], d: usize, minus: bool) -> f64 {
    let table = table(d, minus);
    let far = |k: usize| {
        let (power, row) = table[k / 3];
        size(spinor[k] - times(power, spinor[3 * row + k % 3]))
    };
    (6..12).map(far).fold(0.0, f64::max)
}
