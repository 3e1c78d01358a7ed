//! Functions of real numbers from canonical operations (`docs/arithmetic.md` §23 and §27), and uniform random numbers of sites, in the scalar
//! reference.

use crate::layout::Coordinate;
use crate::random::{bits_at, uniform_of_bits};
use crate::real::Real;

fn number<R: Real>(x: f64) -> R {
    R::from_f64(x)
}

/// Σ cₖ xᵏ, starting with the last coefficient.
fn horner<R: Real>(x: R, coefficients: impl DoubleEndedIterator<Item = f64>) -> R {
    let mut downwards = coefficients.rev().map(number::<R>);
    let last = downwards.next().unwrap_or_else(|| number(0.0));
    downwards.fold(last, |sum, coefficient| sum.fused(x, coefficient))
}

/// The correctly rounded square root. For f32 it is the root in f64, rounded.
pub fn sqrt<R: Real>(x: R) -> R {
    number(x.to_f64().sqrt())
}

/// The natural logarithm, for 2⁻³³ ≤ x ≤ 1.
pub fn ln<R: Real>(x: R) -> R {
    // Powers of two are exact, also in f32: x = m · 2^exponent with 1/√2 ≤ m < √2; where x is out of range the result is what the steps give.
    let (mut m, mut exponent) = (x, 0.0);
    let halve = |m: &mut R, exponent: &mut f64, bits: i32| {
        *m = *m * number(2f64.powi(bits));
        *exponent -= f64::from(bits);
    };
    for bits in [32, 16, 8, 4, 2, 1] {
        if m < number(2f64.powi(-bits)) {
            halve(&mut m, &mut exponent, bits);
        }
    }
    if m < number(std::f64::consts::FRAC_1_SQRT_2) {
        halve(&mut m, &mut exponent, 1);
    }
    let one = number::<R>(1.0);
    let s = (m - one) / (m + one);
    let series = horner(s * s, (0..10).map(|k| 1.0 / f64::from(2 * k + 1)));
    number::<R>(exponent).fused(number(std::f64::consts::LN_2), (s + s) * series)
}

/// n!, exact in f64 up to 18!.
fn factorial(n: i32) -> f64 {
    (1..=n).map(f64::from).product()
}

/// 1 for even k, −1 for odd k.
fn sign(k: i32) -> f64 {
    if k % 2 == 0 { 1.0 } else { -1.0 }
}

/// x minus n times the sum of these parts. Each product is subtracted with one rounding.
fn less_multiple<R: Real>(x: R, n: f64, parts: &[f64]) -> R {
    // The multiple of 0 is −0, so that −0 stays what it is.
    let minus_n = number::<R>(-(n + 0.0));
    parts.iter().fold(x, |x, part| minus_n.fused(number(*part), x))
}

/// The exponential.
pub fn exp<R: Real>(x: R) -> R {
    if x.to_f64().is_nan() {
        return x;
    }
    let x = number::<R>(x.to_f64().clamp(-746.0, 746.0));
    let exponent = (x * number(std::f64::consts::LOG2_E)).to_f64().round_ties_even();
    let rest = less_multiple(x, exponent, &[f64::from(std::f32::consts::LN_2), -1.904654299957768e-9]);
    let series = horner(rest, (0..14).map(|n| 1.0 / factorial(n)));
    // Rounded once, in two steps since no f64 is 2^1076.
    let half = (exponent / 2.0).trunc() as i32;
    number(series.to_f64() * 2f64.powi(half) * 2f64.powi(exponent as i32 - half))
}

/// The natural logarithm.
pub fn log<R: Real>(x: R) -> R {
    let wide = x.to_f64();
    if wide == 0.0 {
        return number(f64::NEG_INFINITY);
    }
    if wide < 0.0 || !wide.is_finite() {
        return if wide < 0.0 { number(f64::NAN) } else { x };
    }
    // From 1/2 to 1, then from √½ to √2.
    let (fraction, mut exponent) = libm::frexp(wide);
    let (mut m, one) = (number::<R>(fraction), number::<R>(1.0));
    if m < number(std::f64::consts::FRAC_1_SQRT_2) {
        m = m + m;
        exponent -= 1;
    }
    let s = (m - one) / (m + one);
    let series = (s + s) * horner(s * s, (0..10).map(|k| 1.0 / f64::from(2 * k + 1)));
    let exponent = number::<R>(f64::from(exponent));
    exponent.fused(number(f64::from(std::f32::consts::LN_2)), exponent.fused(number(-1.904654299957768e-9), series))
}

/// The cosine and the sine.
pub fn cos_sin<R: Real>(x: R) -> [R; 2] {
    const HALF_PI: [f64; 4] = [1.570796251296997, 7.549789415861596e-8, 5.390302529957765e-15, 3.2820035428735005e-22];
    if !(-1048576.0..=1048576.0).contains(&x.to_f64()) {
        return [number(f64::NAN); 2];
    }
    let quarters = (x * number(std::f64::consts::FRAC_2_PI)).to_f64().round_ties_even();
    let y = less_multiple(x, quarters, &HALF_PI);
    let c = horner(y * y, (0..9).map(|k| sign(k) / factorial(2 * k)));
    let s = y * horner(y * y, (0..9).map(|k| sign(k) / factorial(2 * k + 1)));
    match quarters.rem_euclid(4.0) as i32 {
        0 => [c, s],
        1 => [-s, c],
        2 => [-c, -s],
        _ => [s, -c],
    }
}

/// cos 2πx and sin 2πx, for 0 ≤ x ≤ 1.
pub fn cos_sin_2pi<R: Real>(x: R) -> [R; 2] {
    let opposite = x - number(0.5);
    let magnitude: R = number(opposite.to_f64().abs());
    let left = number::<R>(0.25) < magnitude;
    let quadrant = if left { number::<R>(0.5) - magnitude } else { magnitude };
    let steep = number::<R>(0.125) < quadrant;
    let octant = if steep { number::<R>(0.25) - quadrant } else { quadrant };
    let y = octant * number(std::f64::consts::TAU);
    let cosine = horner(y * y, (0..9).map(|k| sign(k) / factorial(2 * k)));
    let sine = y * horner(y * y, (0..9).map(|k| sign(k) / factorial(2 * k + 1)));
    let (c, s) = if steep { (sine, cosine) } else { (cosine, sine) };
    [if left { c } else { -c }, if opposite < number(0.0) { s } else { -s }]
}

/// Four uniform random numbers of a site, from a key, an event and a draw.
pub fn uniform<R: Real>(x: Coordinate, key: [R; 3], event: R, draw: R) -> [R; 4] {
    let numbers = [key[0], key[1], key[2], event, draw].map(|number| number.to_f64());
    bits_at(x.map(|x| x as u16), numbers).map(uniform_of_bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Uniform numbers of all magnitudes from 2⁻³³ to 1.
    fn samples() -> impl Iterator<Item = f64> {
        (0..200_000u32).map(|k| {
            let bits = k.wrapping_mul(2_654_435_761);
            uniform_of_bits::<f64>(bits >> (k % 32))
        })
    }

    #[test]
    fn the_logarithm_is_within_its_bound() {
        let (mut worst, mut worst_f32) = (0.0f64, 0.0f64);
        for x in samples() {
            let exact = libm::log(x);
            worst = worst.max((ln(x) / exact - 1.0).abs());
            let single = x as f32;
            if single < 1.0 {
                worst_f32 = worst_f32.max((f64::from(ln(single)) / libm::log(f64::from(single)) - 1.0).abs());
            }
        }
        assert!(worst < 4.0 * 2f64.powi(-53), "{}", worst * 2f64.powi(53));
        assert!(worst_f32 < 4.0 * 2f64.powi(-24), "{}", worst_f32 * 2f64.powi(24));
        assert_eq!(ln(1.0), 0.0);
    }

    /// Numbers of all magnitudes, with evenly spread bit patterns, and hard cases.
    fn numbers_of_all_sizes() -> impl Iterator<Item = f64> {
        let hard = [0.0, f64::from_bits(1), f64::MIN_POSITIVE, 1.0, f64::MAX, f64::INFINITY, f64::NAN];
        let singles = [f32::from_bits(1), f32::MIN_POSITIVE, f32::MAX].map(f64::from);
        let spread = (0..400_000u64).map(|k| f64::from_bits(k.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        let near_one = (0..200_000u32).map(|k| f64::from(k.wrapping_mul(2_654_435_761)) / f64::from(1 << 28));
        spread.chain(near_one).chain(hard).chain(singles).flat_map(|x| [x, -x])
    }

    /// The largest relative errors in f64 and f32, in units of the rounding. Results that are not normal numbers must be as precise as possible.
    fn worst_errors(
        inputs: impl Iterator<Item = f64>,
        of_double: impl Fn(f64) -> f64,
        of_single: impl Fn(f32) -> f32,
        expected: impl Fn(f64) -> f64,
    ) -> [f64; 2] {
        let mut worst = [0.0f64; 2];
        for x in inputs {
            let single = x as f32;
            let found = [(of_double(x), expected(x)), (f64::from(of_single(single)), expected(f64::from(single)))];
            let smallest = [f64::MIN_POSITIVE, f64::from(f32::MIN_POSITIVE)];
            let largest = [f64::MAX, f64::from(f32::MAX)];
            for (precision, (found, expected)) in found.into_iter().enumerate() {
                let half = if precision == 0 { 2f64.powi(-53) } else { 2f64.powi(-24) };
                if found.is_nan() || expected.is_nan() {
                    assert!(found.is_nan() && expected.is_nan(), "{x:e}: {found} and {expected}");
                } else if found.is_infinite() {
                    assert!(
                        expected.abs() > largest[precision] && found.signum() == expected.signum(),
                        "{x:e}: {expected}"
                    );
                } else if expected.abs() < smallest[precision] {
                    assert!(
                        (found - expected).abs() <= 2.0 * half * smallest[precision],
                        "{x:e}: {found:e}, {expected:e}"
                    );
                    assert_eq!(found.is_sign_negative(), expected.is_sign_negative(), "{x:e}");
                } else {
                    worst[precision] = worst[precision].max((found / expected - 1.0).abs() / half);
                }
            }
        }
        worst
    }

    #[test]
    fn the_exponential_and_the_logarithm_are_within_their_bounds() {
        // The errors of `libm` in f64 are below 1 ulp, two units of the rounding.
        let inputs = || numbers_of_all_sizes().chain((0..300_000).map(|k| f64::from(k) / 200.0 - 750.0));
        let [double, single] = worst_errors(inputs(), exp, exp, libm::exp);
        assert!(double < 4.0 && single < 2.0, "{double} {single}");
        let [double, single] = worst_errors(inputs(), log, log, libm::log);
        assert!(double < 6.0 && single < 4.0, "{double} {single}");
        assert_eq!([exp(-0.0), exp(0.0), log(1.0)].map(f64::to_bits), [1.0, 1.0, 0.0].map(f64::to_bits));
        assert_eq!([log(0.0f32), log(-0.0f32), log(f32::INFINITY)], [-f32::INFINITY, -f32::INFINITY, f32::INFINITY]);
    }

    #[test]
    fn cosines_and_sines_of_angles_are_within_their_bounds() {
        const LARGEST: f64 = 1048576.0;
        // Near multiples of a quarter of a turn, too.
        let multiples = (0..300_000).map(|k| f64::from(k) * std::f64::consts::FRAC_PI_2);
        let inputs = || numbers_of_all_sizes().chain(multiples.clone()).chain([LARGEST, LARGEST + 0.25]);
        let within = |function: fn(f64) -> f64| move |x: f64| if x.abs() <= LARGEST { function(x) } else { f64::NAN };
        for (k, function) in [libm::cos as fn(f64) -> f64, libm::sin].into_iter().enumerate() {
            let [double, single] = worst_errors(inputs(), |x| cos_sin(x)[k], |x| cos_sin(x)[k], within(function));
            assert!(double < 6.0 && single < 4.0, "{double} {single}");
        }
        assert!(cos_sin(-0.0f64)[1].is_sign_negative() && cos_sin(f32::NAN)[0].is_nan());
    }

    #[test]
    fn cosine_and_sine_are_within_their_bounds() {
        let (mut worst, mut worst_f32) = (0.0f64, 0.0f64);
        for x in samples().chain((0..=64).map(|k| f64::from(k) / 64.0)) {
            let exact = |x: f64| [libm::cos(std::f64::consts::TAU * x), libm::sin(std::f64::consts::TAU * x)];
            for (found, expected) in cos_sin_2pi(x).into_iter().zip(exact(x)) {
                worst = worst.max((found - expected).abs());
            }
            let single = x as f32;
            for (found, expected) in cos_sin_2pi(single).into_iter().zip(exact(f64::from(single))) {
                worst_f32 = worst_f32.max((f64::from(found) - expected).abs());
            }
        }
        // 2πx itself is rounded in the comparison, to 2⁻⁵¹ at most.
        assert!(worst < 8.0 * 2f64.powi(-53), "{}", worst * 2f64.powi(53));
        assert!(worst_f32 < 4.0 * 2f64.powi(-24), "{}", worst_f32 * 2f64.powi(24));
    }
}
