//! Functions of real numbers for kernel functions. They use canonical operations only, so their bits are the same everywhere: [`Functions`] of
//! `docs/arithmetic.md` §27, and those of the heat bath (§23), with bounds of their errors. Scalar reference: `scalar/functions.rs`.

use super::number::{Choice as _, Number, RealNumber};

/// Σ cₖ xᵏ by Horner's rule: starts with the last coefficient, and each step is an fma.
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

/// exp(r) in powers of r.
const EXPONENTIAL: [f64; 14] = [
    1.0,
    1.0,
    1.0 / 2.0,
    1.0 / 6.0,
    1.0 / 24.0,
    1.0 / 120.0,
    1.0 / 720.0,
    1.0 / 5_040.0,
    1.0 / 40_320.0,
    1.0 / 362_880.0,
    1.0 / 3_628_800.0,
    1.0 / 39_916_800.0,
    1.0 / 479_001_600.0,
    1.0 / 6_227_020_800.0,
];

/// ln 2 as an f32, and the remainder.
const LN_2: [f64; 2] = [0.693_147_182_464_599_6, -1.904_654_299_957_768e-9];

/// π/2: three terms of 24 bits each, then the remainder. All are positive, so that the sine of −0 is −0.
const HALF_PI: [f64; 4] =
    [1.570_796_251_296_997, 7.549_789_415_861_596e-8, 5.390_302_529_957_765e-15, 3.282_003_542_873_500_5e-22];

/// The largest magnitude of an angle that has a sine and a cosine.
const LARGEST_ANGLE: f64 = 1_048_576.0;

/// Functions of real numbers, with the same bits everywhere (`docs/arithmetic.md` §27).
pub trait Functions: RealNumber {
    /// The exponential. Its relative error is below 2 · 2⁻⁵³ in f64 and 2 · 2⁻²⁴ in f32.
    #[inline(always)]
    fn exp(self) -> Self {
        exp(self)
    }
    /// The natural logarithm: −∞ for ±0, NaN for negative numbers. Its relative error is below 4 · 2⁻⁵³ in f64 and 4 · 2⁻²⁴ in f32.
    #[inline(always)]
    fn log(self) -> Self {
        log(self)
    }
    /// The cosine of an angle in radians from −2²⁰ to 2²⁰; NaN for other angles. Its relative error is below 4 · 2⁻⁵³ in f64 and 4 · 2⁻²⁴ in f32.
    #[inline(always)]
    fn cos(self) -> Self {
        Angle::of(self).cos()
    }
    /// The sine, as [`Functions::cos`].
    #[inline(always)]
    fn sin(self) -> Self {
        Angle::of(self).sin()
    }
}

impl<R: RealNumber> Functions for R {}

/// Rounds a number to an integer, ties to even. The integer has at most 22 bits in f32 and 51 in f64.
#[inline(always)]
fn to_whole<R: RealNumber>(x: R) -> R {
    // The sum has no bits below 1.
    let is_double = R::constant(1.0).less(R::constant(1.0 + 1.0 / f64::from(1 << 30)));
    let (of_double, of_single) = (R::constant(1.5 * (1u64 << 52) as f64), R::constant(1.5 * f64::from(1 << 23)));
    let large = R::select(is_double, of_double, of_single);
    (x + large) - large
}

/// base, base², base⁴, … base⁵¹². Powers that overflow f32 are not used.
#[inline(always)]
fn squares<R: RealNumber>(base: R) -> [R; 10] {
    let mut squares = [base; 10];
    for k in 1..10 {
        squares[k] = squares[k - 1] * squares[k - 1];
    }
    squares
}

#[inline(always)]
fn exp<R: RealNumber>(x: R) -> R {
    let [one, half, two, most] = [1.0, 0.5, 2.0, 746.0].map(R::constant);
    let x = R::select(most.less(x), most, x);
    let x = R::select(x.less(-most), -most, x);
    // x = exponent · ln 2 + rest
    let exponent = to_whole(x * R::constant(std::f64::consts::LOG2_E));
    let rest = LN_2.into_iter().fold(x, |rest, part| exponent.fma(R::constant(-part), rest));
    let series = polynomial(rest, &EXPONENTIAL);
    // 2^exponent = 2^left · scale², so that the last product alone is rounded where the result is subnormal.
    let of_scale = to_whole(exponent * half);
    let left = of_scale.fma(-two, exponent);
    let factor = R::select(half.less(left), two, R::select(left.less(-half), half, one));
    let powers = squares(R::select(of_scale.less(R::constant(0.0)), half, two));
    let (mut bits, mut scale) = (of_scale.abs(), one);
    for k in (0..10).rev() {
        let bit = R::constant(f64::from(1 << k));
        let is_set = bit.at_most(bits);
        bits = R::select(is_set, bits - bit, bits);
        scale = R::select(is_set, scale * powers[k], scale);
    }
    ((series * factor) * scale) * scale
}

#[inline(always)]
fn log<R: RealNumber>(x: R) -> R {
    let [zero, one, infinity] = [0.0, 1.0, f64::INFINITY].map(R::constant);
    // Subnormal numbers first, so that powers of two up to 2^1023 reach all others.
    let is_tiny = x.less(R::constant(1.0 / (1u128 << 64) as f64));
    let mut m = R::select(is_tiny, x * R::constant((1u128 << 64) as f64), x);
    let mut exponent = R::select(is_tiny, R::constant(-64.0), zero);
    // Towards 1, exactly: from below to 1/2 … 1, from above to 1 … 2.
    let below = m.less(one);
    let sign = R::select(below, -one, one);
    let powers = squares(R::select(below, R::constant(2.0), R::constant(0.5)));
    for k in (0..10).rev() {
        let nearer = m * powers[k];
        let is_short_of_one = R::select(below, nearer, one).less(R::select(below, one, nearer));
        m = R::select(is_short_of_one, nearer, m);
        exponent = R::select(is_short_of_one, sign.fma(R::constant(f64::from(1 << k)), exponent), exponent);
    }
    // To √½ … √2.
    let [least, most] = [std::f64::consts::FRAC_1_SQRT_2, std::f64::consts::SQRT_2].map(R::constant);
    let is_beyond = m.less(least).or(most.at_most(m));
    m = R::select(is_beyond, m * powers[0], m);
    exponent = R::select(is_beyond, exponent + sign, exponent);
    let s = (m - one) / (m + one);
    let series = (s + s) * polynomial(s * s, &ARTANH);
    let [high, low] = LN_2.map(R::constant);
    let log = exponent.fma(high, exponent.fma(low, series));
    let log = R::select(infinity.at_most(x), infinity, log);
    R::select(
        zero.less(x),
        log,
        R::select(x.less(zero), R::constant(f64::NAN), R::select(x.at_most(zero), -infinity, x)),
    )
}

/// An angle minus a whole number of quarter turns. Its magnitude is less than an eighth of a turn, up to rounding.
struct Angle<R> {
    rest: R,
    /// The number of quarter turns, from −2 to 2.
    quarters: R,
}

impl<R: RealNumber> Angle<R> {
    #[inline(always)]
    fn of(x: R) -> Self {
        let x = R::select(x.abs().at_most(R::constant(LARGEST_ANGLE)), x, R::constant(f64::NAN));
        let quarters = to_whole(x * R::constant(std::f64::consts::FRAC_2_PI));
        let rest = HALF_PI.into_iter().fold(x, |rest, part| quarters.fma(R::constant(-part), rest));
        let turns = to_whole(quarters * R::constant(0.25));
        Self { rest, quarters: turns.fma(R::constant(-4.0), quarters) }
    }

    /// Selects `even` or `odd` by the parity of the number of quarter turns. The result is negated if `is_negative`, and once more after half a
    /// turn.
    #[inline(always)]
    fn chosen(&self, even: R, odd: R, is_negative: R::Choice) -> R {
        let (quarters, half, three_halves) = (self.quarters.abs(), R::constant(0.5), R::constant(1.5));
        let is_half_a_turn = three_halves.less(quarters);
        let is_odd = half.less(quarters).and(is_half_a_turn.not());
        let value = R::select(is_odd, odd, even);
        R::select(is_half_a_turn.or(is_negative), -value, value)
    }

    #[inline(always)]
    fn cosine_and_sine_of_rest(&self) -> [R; 2] {
        let square = self.rest * self.rest;
        [polynomial(square, &COSINE), self.rest * polynomial(square, &SINE)]
    }

    #[inline(always)]
    fn cos(&self) -> R {
        let [cosine, sine] = self.cosine_and_sine_of_rest();
        self.chosen(cosine, sine, R::constant(0.5).less(self.quarters))
    }

    #[inline(always)]
    fn sin(&self) -> R {
        let [cosine, sine] = self.cosine_and_sine_of_rest();
        self.chosen(sine, cosine, self.quarters.less(R::constant(-0.5)))
    }
}

/// The natural logarithm of a number from 2⁻³³ to 1. Its relative error is below 4 · 2⁻⁵³ in f64 and 4 · 2⁻²⁴ in f32.
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

/// The cosine and the sine of 2πx, for x from 0 to 1. Their errors are below 4 · 2⁻⁵³ in f64 and 4 · 2⁻²⁴ in f32.
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
