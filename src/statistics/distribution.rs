//! p-values: the probability of a χ² at least as large as the observed one, if the fit is right. Logarithms and exponentials are from the `libm`
//! crate, with the same bits on every machine.

/// The probability of a χ² at least this large with `degrees` degrees of freedom: Q(degrees / 2, χ² / 2), the regularised incomplete gamma function.
/// `None` if there are no degrees of freedom, or if χ² is negative or NaN.
pub fn chi_squared_tail(chi_squared: f64, degrees: usize) -> Option<f64> {
    (degrees > 0 && chi_squared >= 0.0).then(|| upper_gamma(degrees as f64 / 2.0, chi_squared / 2.0))
}

/// The same, if χ² was computed with a covariance from a small number of samples N. It is then Hotelling's T², and (N − d) / (d (N − 1)) · χ² has
/// the F distribution of d and N − d degrees (Rao, Biometrika 46 (1959) 49; Toussaint and Freeman, arXiv:0808.2211). `None` unless there are more
/// samples than degrees.
pub fn hotelling_tail(chi_squared: f64, degrees: usize, samples: usize) -> Option<f64> {
    let least = samples.checked_sub(degrees).filter(|rest| *rest > 0 && degrees > 0 && chi_squared >= 0.0)?;
    let ratio = chi_squared / (samples as f64 - 1.0);
    Some(incomplete_beta(1.0 / (1.0 + ratio), ratio / (1.0 + ratio), least as f64 / 2.0, degrees as f64 / 2.0))
}

/// More terms than any argument in these statistics needs.
const TERMS: usize = 100_000;

/// Q(a, x), by the series of P for x below a + 1, and by the continued fraction above (DLMF 8.11.4, 8.9.2).
fn upper_gamma(a: f64, x: f64) -> f64 {
    if x.is_infinite() {
        return 0.0;
    }
    let front = libm::exp(a * libm::log(x.max(f64::MIN_POSITIVE)) - x - libm::lgamma(a));
    if x < a + 1.0 {
        let (mut term, mut sum) = (1.0 / a, 1.0 / a);
        for k in 1..TERMS {
            term *= x / (a + k as f64);
            sum += term;
            if term < sum * f64::EPSILON / 4.0 {
                break;
            }
        }
        return if x == 0.0 { 1.0 } else { (1.0 - front * sum).clamp(0.0, 1.0) };
    }
    let steps = (1..TERMS).map(|k| (-(k as f64) * (k as f64 - a), x + 2.0 * k as f64 + 1.0 - a));
    (front / continued_fraction(x + 1.0 - a, steps)).clamp(0.0, 1.0)
}

/// I_x(a, b) from x and 1 − x, by its continued fraction (DLMF 8.17.22) on the side on which that converges fast.
fn incomplete_beta(x: f64, rest: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || rest <= 0.0 {
        return if x <= 0.0 { 0.0 } else { 1.0 };
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(rest, x, b, a);
    }
    let powers = a * libm::log(x) + b * libm::log(rest);
    let front = libm::exp(powers + libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b)) / a;
    let coefficient = |k: usize| {
        let m = (k / 2) as f64;
        match k % 2 {
            0 => m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m)),
            _ => -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0)),
        }
    };
    (front / continued_fraction(1.0, (1..TERMS).map(|k| (coefficient(k), 1.0)))).clamp(0.0, 1.0)
}

/// b₀ + a₁ / (b₁ + a₂ / (b₂ + …)) by Lentz's method.
fn continued_fraction(first: f64, steps: impl Iterator<Item = (f64, f64)>) -> f64 {
    const TINY: f64 = 1e-300;
    let nonzero = |x: f64| if x.abs() < TINY { TINY } else { x };
    let mut value = nonzero(first);
    let (mut c, mut d) = (value, 0.0);
    for (a, b) in steps {
        d = 1.0 / nonzero(b + a * d);
        c = nonzero(b + a / c);
        value *= c * d;
        if (c * d - 1.0).abs() < f64::EPSILON {
            break;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first are tabulated, the others are `scipy.stats.chi2.sf` and `f.sf` of SciPy 1.16.
    #[test]
    fn probabilities_are_the_published_ones() {
        let chi_squared = [
            (3.841_458_820_694_12, 1, 0.05),
            (18.307_038_053_275_146, 10, 0.05),
            (0.0, 3, 1.0),
            (0.3, 1, 0.583_882_420_770_365),
            (4.0, 3, 0.261_464_129_949_111_17),
            (73.0, 4, 5.275_731_421_673_047e-15),
            (20.5, 10, 0.024_862_866_307_224_125),
            (0.16, 3, 0.983_772_629_022_010_3),
            (500.0, 100, 1.720_121_005_369_523e-54),
            (60.0, 200, 1.0),
        ];
        let hotelling = [
            (73.0, 4, 10, 0.004_853_316_504_828_256),
            (3.0, 1, 3, 0.225_403_330_758_516_65),
            (9.0, 7, 100, 0.306_361_023_619_362_85),
            (0.2, 3, 12, 0.982_164_416_667_798_2),
            (300.0, 20, 60, 4.484_830_977_541_167e-10),
            (40.0, 4, 1000, 6.513_665_664_089_862e-8),
        ];
        let pairs = chi_squared.map(|(x, degrees, p)| (chi_squared_tail(x, degrees).unwrap(), p));
        let few = hotelling.map(|(x, degrees, samples, p)| (hotelling_tail(x, degrees, samples).unwrap(), p));
        for (found, expected) in pairs.into_iter().chain(few) {
            assert!((found / expected - 1.0).abs() < 1e-12, "{found:e}, not {expected:e}");
        }
    }

    #[test]
    fn without_degrees_or_samples_there_is_no_probability() {
        assert_eq!(
            (chi_squared_tail(0.0, 0), chi_squared_tail(f64::NAN, 2), chi_squared_tail(-1.0, 2)),
            (None, None, None)
        );
        assert_eq!(
            (hotelling_tail(1.0, 3, 3), hotelling_tail(1.0, 0, 9), hotelling_tail(f64::NAN, 1, 9)),
            (None, None, None)
        );
        let infinite = f64::INFINITY;
        assert_eq!((chi_squared_tail(infinite, 2), hotelling_tail(infinite, 2, 9)), (Some(0.0), Some(0.0)));
    }

    #[test]
    fn of_many_samples_the_covariance_is_as_good_as_known() {
        let [known, found] = [chi_squared_tail(9.0, 4), hotelling_tail(9.0, 4, 1_000_000)].map(Option::unwrap);
        assert!((known - found).abs() < 1e-5, "{known} and {found}");
    }
}
