//! Effective masses of a correlator that is symmetric about the middle of the lattice (mesons, whose antiquarks run backwards), or that falls
//! exponentially.

use std::cmp::Ordering;
use std::f64::consts::LN_2;

/// The expected form of a correlator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EffectiveMass {
    /// cosh(m(T/2 − t)).
    Cosh,
    /// exp(−m t).
    Exponential,
}

impl EffectiveMass {
    /// The effective mass between times t and t + 1, for t = 0 … T − 2. `None` if there is none.
    pub fn of(self, correlator: &[f64]) -> Vec<Option<f64>> {
        match self {
            Self::Cosh => of_cosh(correlator),
            Self::Exponential => {
                let mass = |pair: &[f64]| Some(libm::log(pair[0] / pair[1])).filter(|mass| mass.is_finite());
                correlator.windows(2).map(mass).collect()
            }
        }
    }
}

/// The effective mass between times t and t + 1, for t = 0 … T − 2: the m ≥ 0 with C(t) / C(t+1) = cosh(m(T/2 − t)) / cosh(m(T/2 − t − 1)). `None`
/// if there is no such m. That is the case if the correlator changes its sign, if it falls with the distance from the source in the wrong direction,
/// or if both times are equally far from the middle.
fn of_cosh(correlator: &[f64]) -> Vec<Option<f64>> {
    let middle = correlator.len() as f64 / 2.0;
    let pairs = correlator.windows(2).enumerate();
    pairs
        .map(|(t, pair)| {
            // The time farther from the middle comes first.
            let (early, late) = ((middle - t as f64).abs(), (middle - t as f64 - 1.0).abs());
            match early.total_cmp(&late) {
                Ordering::Greater => mass(pair[0] / pair[1], early),
                Ordering::Less => mass(pair[1] / pair[0], late),
                Ordering::Equal => None,
            }
        })
        .collect()
}

/// The m with cosh(m · far) / cosh(m · (far − 1)) = ratio, far ≥ 1, by bisection to the last bit. The functions are from the `libm` crate, and are
/// the same on every machine.
fn mass(ratio: f64, far: f64) -> Option<f64> {
    if !ratio.is_finite() || ratio < 1.0 {
        return None;
    }
    if ratio == 1.0 {
        return Some(0.0);
    }
    let target = libm::log(ratio);
    let near = far - 1.0;
    // ln cosh(m τ) = m τ + ln(1 + exp(−2 m τ)) − ln 2, which does not overflow.
    let rest = |m: f64, tau: f64| libm::log1p(libm::exp(-2.0 * m * tau));
    let log_ratio = |m: f64| m + (rest(m, far) - rest(m, near));
    // cosh(m far) / cosh(m near) is at least e^m / 2.
    let (mut low, mut high) = (0.0, target + LN_2);
    loop {
        let m = 0.5 * (low + high);
        if m <= low || m >= high {
            return Some(low);
        }
        if log_ratio(m) <= target {
            low = m;
        } else {
            high = m;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mass_of_a_cosh_is_found_at_every_time() {
        for (extent, m) in [(16, 0.3), (9, 1.7), (4, 0.01), (2, 0.8), (48, 2.5)] {
            let middle = f64::from(extent) / 2.0;
            let correlator: Vec<f64> = (0..extent).map(|t| (m * (middle - f64::from(t))).cosh()).collect();
            for (t, found) in EffectiveMass::Cosh.of(&correlator).into_iter().enumerate() {
                if 2 * t + 1 == correlator.len() {
                    assert_eq!(found, None, "T {extent}, t {t}");
                } else {
                    let found = found.unwrap();
                    assert!((found / m - 1.0).abs() < 1e-9, "T {extent}, t {t}: {found}, not {m}");
                }
            }
        }
    }

    #[test]
    fn an_exponential_falls_by_its_mass_and_a_change_of_sign_has_none() {
        let masses = EffectiveMass::Exponential.of(&[8.0, 4.0, 1.0, -1.0]);
        assert_eq!(masses, [Some(LN_2), Some(2.0 * LN_2), None]);
    }

    #[test]
    fn a_correlator_that_no_cosh_has_gives_no_mass() {
        assert_eq!(EffectiveMass::Cosh.of(&[1.0, 2.0, 3.0, 2.0]), [None; 3]);
        assert_eq!(EffectiveMass::Cosh.of(&[1.0, -1.0, 0.0, -1.0]), [None; 3]);
        assert_eq!(EffectiveMass::Cosh.of(&[f64::NAN, 1.0]), [None]);
        assert_eq!(EffectiveMass::Cosh.of(&[]), []);
    }

    #[test]
    fn a_constant_correlator_has_mass_zero() {
        assert_eq!(EffectiveMass::Cosh.of(&[3.0; 4]), [Some(0.0); 3]);
    }
}
