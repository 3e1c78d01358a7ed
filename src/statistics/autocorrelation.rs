//! Autocorrelation of a Markov chain (Madras and Sokal, J. Stat. Phys. 50 (1988) 109; Wolff, Comput. Phys. Commun. 156 (2004) 143).

use lanefield_reference::exact::ExactSum;

/// The mean of a chain of numbers, with its error and the integrated autocorrelation time in steps of the chain.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Autocorrelation {
    /// The mean.
    pub mean: f64,
    /// The error of the mean: √(2 τ_int · variance / N).
    pub error: f64,
    /// τ_int = 1/2 + Σ ρ(t), 1 ≤ t ≤ window; 1/2 if steps are independent.
    pub time: f64,
    /// The error of τ_int.
    pub time_error: f64,
    /// The last t in the sum.
    pub window: usize,
}

/// Wolff's parameter S: the assumed ratio of the decay time to τ_int.
const S: f64 = 1.5;

impl Autocorrelation {
    /// Analyses a chain with Wolff's automatic window: the first W at which exp(−W/τ) − τ/√(W N) is negative. Here τ = S / ln((2 τ_int + 1) / (2
    /// τ_int − 1)), S = 1.5.
    ///
    /// `None` for fewer than ten numbers, for numbers that are all equal, and if there is no such W in the first half of the chain, which is then
    /// too short.
    pub fn of(chain: &[f64]) -> Option<Self> {
        let count = chain.len();
        if count < 10 {
            return None;
        }
        let n = count as f64;
        let mean = chain.iter().copied().collect::<ExactSum>().round() / n;
        // Γ(t)
        let gamma = |t: usize| {
            let products = chain.iter().zip(&chain[t..]).map(|(a, b)| (a - mean) * (b - mean));
            products.collect::<ExactSum>().round() / (n - t as f64)
        };
        let variance = gamma(0);
        if variance <= 0.0 || variance.is_nan() {
            return None;
        }
        let mut sum = 0.5;
        for window in 1..count / 2 {
            sum += gamma(window) / variance;
            let w = window as f64;
            let decay =
                if sum <= 0.5 { f64::MIN_POSITIVE } else { S / libm::log((2.0 * sum + 1.0) / (2.0 * sum - 1.0)) };
            if libm::exp(-w / decay) - decay / (w * n).sqrt() < 0.0 {
                // Subtracting the mean makes Γ too small.
                let time = sum * (1.0 + (2.0 * w + 1.0) / n);
                let variance = variance + 2.0 * sum * variance / n;
                let error = (2.0 * time.max(0.0) * variance / n).sqrt();
                let time_error = time.abs() * (4.0 / n * (w + 0.5 - sum).max(0.0)).sqrt();
                return Some(Self { mean, error, time, time_error, window });
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lanefield_reference::random::{Stream, gaussian_pair};

    /// x' = a x + √(1 − a²) η, whose τ_int is (1 + a) / (2 (1 − a)).
    fn chain(a: f64, count: u64) -> Vec<f64> {
        let mut x = 0.0;
        let step = |k| {
            x = a * x + (1.0f64 - a * a).sqrt() * gaussian_pair(5, Stream::TestData, k, 0).0;
            x
        };
        (0..count).map(step).collect()
    }

    #[test]
    fn the_time_of_an_autoregressive_chain_is_the_known_one_within_its_error() {
        for (a, time) in [(0.0, 0.5), (0.5, 1.5), (0.9, 9.5)] {
            let found = Autocorrelation::of(&chain(a, 20_000)).unwrap();
            assert!((found.time - time).abs() < 4.0 * found.time_error, "a = {a}: {found:?}");
            let error = (2.0 * time / 20_000.0).sqrt();
            assert!((found.error / error - 1.0).abs() < 0.2 && found.mean.abs() < 4.0 * error, "a = {a}: {found:?}");
        }
    }

    #[test]
    fn chains_that_are_too_short_or_constant_have_none() {
        assert_eq!(Autocorrelation::of(&[1.0; 100]), None);
        assert_eq!(Autocorrelation::of(&[1.0, 2.0]), None);
    }
}
