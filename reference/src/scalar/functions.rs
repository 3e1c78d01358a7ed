//! Functions of real numbers made of canonical operations (`docs/arithmetic.md` §23), and uniform random numbers of sites, in plain loops.

use crate::layout::Coordinate;
use crate::random::{bits_at, uniform_of_bits};
use crate::real::Real;

fn number<R: Real>(x: f64) -> R {
    R::from_f64(x)
}

/// Σ cₖ xᵏ, the last coefficient first.
fn horner<R: Real>(x: R, coefficients: impl DoubleEndedIterator<Item = f64>) -> R {
    let mut downwards = coefficients.rev().map(number::<R>);
    let last = downwards.next().unwrap_or_else(|| number(0.0));
    downwards.fold(last, |sum, coefficient| sum.fused(x, coefficient))
}

/// The correctly rounded square root: of an f32 it is the root in f64, rounded.
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

/// cos 2πx and sin 2πx, for 0 ≤ x ≤ 1.
pub fn cos_sin_2pi<R: Real>(x: R) -> [R; 2] {
    let opposite = x - number(0.5);
    let magnitude: R = number(opposite.to_f64().abs());
    let left = number::<R>(0.25) < magnitude;
    let quadrant = if left { number::<R>(0.5) - magnitude } else { magnitude };
    let steep = number::<R>(0.125) < quadrant;
    let octant = if steep { number::<R>(0.25) - quadrant } else { quadrant };
    let y = octant * number(std::f64::consts::TAU);
    // Factorials of these are exact in f64.
    let factorial = |n: i32| (1..=n).map(f64::from).product::<f64>();
    let sign = |k: i32| if k % 2 == 0 { 1.0 } else { -1.0 };
    let cosine = horner(y * y, (0..9).map(|k| sign(k) / factorial(2 * k)));
    let sine = y * horner(y * y, (0..9).map(|k| sign(k) / factorial(2 * k + 1)));
    let (c, s) = if steep { (sine, cosine) } else { (cosine, sine) };
    [if left { c } else { -c }, if opposite < number(0.0) { s } else { -s }]
}

/// Four uniform random numbers of a site: of a key, an event and a draw.
pub fn uniform<R: Real>(x: Coordinate, key: [R; 3], event: R, draw: R) -> [R; 4] {
    let numbers = [key[0], key[1], key[2], event, draw].map(|number| number.to_f64());
    bits_at(x.map(|x| x as u16), numbers).map(uniform_of_bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Uniform numbers of all sizes from 2⁻³³ to 1.
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
