//! Functions of real numbers that bodies compute with canonical operations alone, so that they have the same bits everywhere: `docs/arithmetic.md` §23, with
//! the bounds of their errors. Counterpart in plain loops: `scalar/functions.rs`.

use super::number::{Number, RealNumber};

/// The sum of terms from 0 on, by Horner's rule: the last coefficient first, each step an fma.
#[inline(always)]
fn polynomial<R: Number>(x: R, coefficients: &[f64]) -> R {
    let mut sum = R::constant(coefficients[coefficients.len() - 1]);
    for coefficient in coefficients.iter().rev().skip(1) {
        sum = sum.fma(x, R::constant(*coefficient));
    }
    sum
}

/// artanh(s) / s in powers of s².
const ARTANH: [f64; 10] =
    [1.0, 1.0 / 3.0, 1.0 / 5.0, 1.0 / 7.0, 1.0 / 9.0, 1.0 / 11.0, 1.0 / 13.0, 1.0 / 15.0, 1.0 / 17.0, 1.0 / 19.0];

/// cos(y) in powers of y².
const COSINE: [f64; 9] = [
    1.0,
    -1.0 / 2.0,
    1.0 / 24.0,
    -1.0 / 720.0,
    1.0 / 40_320.0,
    -1.0 / 3_628_800.0,
    1.0 / 479_001_600.0,
    -1.0 / 87_178_291_200.0,
    1.0 / 20_922_789_888_000.0,
];

/// sin(y) / y in powers of y².
const SINE: [f64; 9] = [
    1.0,
    -1.0 / 6.0,
    1.0 / 120.0,
    -1.0 / 5_040.0,
    1.0 / 362_880.0,
    -1.0 / 39_916_800.0,
    1.0 / 6_227_020_800.0,
    -1.0 / 1_307_674_368_000.0,
    1.0 / 355_687_428_096_000.0,
];

/// The natural logarithm of a number from 2⁻³³ to 1. In f64 its relative error is below 4 · 2⁻⁵³, in f32 below 4 · 2⁻²⁴.
#[inline(always)]
pub fn ln<R: RealNumber>(x: R) -> R {
    let (mut m, mut exponent) = (x, R::constant(0.0));
    // To 1/2 … 1, exactly.
    for bits in [32, 16, 8, 4, 2, 1] {
        let power = (1u64 << bits) as f64;
        let small = m.less(R::constant(1.0 / power));
        m = R::select(small, m * R::constant(power), m);
        exponent = R::select(small, exponent - R::constant(f64::from(bits)), exponent);
    }
    // To √½ … √2.
    let small = m.less(R::constant(std::f64::consts::FRAC_1_SQRT_2));
    m = R::select(small, m * R::constant(2.0), m);
    exponent = R::select(small, exponent - R::constant(1.0), exponent);
    let one = R::constant(1.0);
    let s = (m - one) / (m + one);
    let series = polynomial(s * s, &ARTANH);
    exponent.fma(R::constant(std::f64::consts::LN_2), (s + s) * series)
}

/// The cosine and the sine of 2πx, for x from 0 to 1. In f64 their errors are below 4 · 2⁻⁵³, in f32 below 4 · 2⁻²⁴.
#[inline(always)]
pub fn cos_sin_2pi<R: RealNumber>(x: R) -> [R; 2] {
    let [eighth, quarter, half] = [0.125, 0.25, 0.5].map(R::constant);
    // The opposite point of the circle, at −1/2 … 1/2; its first quadrant; its first octant. Each difference is exact.
    let opposite = x - half;
    let to_half = opposite.abs();
    let left = quarter.less(to_half);
    let to_quarter = R::select(left, half - to_half, to_half);
    let steep = eighth.less(to_quarter);
    let y = R::select(steep, quarter - to_quarter, to_quarter) * R::constant(std::f64::consts::TAU);
    let square = y * y;
    let (cosine, sine) = (polynomial(square, &COSINE), y * polynomial(square, &SINE));
    let (c, s) = (R::select(steep, sine, cosine), R::select(steep, cosine, sine));
    let c = R::select(left, c, -c);
    let s = R::select(opposite.less(R::constant(0.0)), s, -s);
    [c, s]
}
