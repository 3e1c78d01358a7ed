//! The limits of a launch, and the time that follows. Each limit is an amount of work divided by the rate of the machine for it. If one limit is
//! far above the others, it sets the time. If two are similar, each has to wait for the other now and then, and the launch takes longer than
//! either. The model is the norm (Σ tᵏ)^(1/k) with k = 8, for which two equal limits cost 9%, and one of 0.8 of the other costs 2%. The same k is
//! used for all kernels and machines; it was chosen with measured times of an H200 (docs/estimate.md).

use serde::Serialize;

use crate::binding::Limit;

const SHARPNESS: f64 = 8.0;

/// The work of a launch for one limit: `amount` of `unit`, at `rate` per second.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Load {
    pub kind: Limit,
    pub amount: f64,
    pub unit: &'static str,
    #[serde(rename = "rate_per_second")]
    pub rate: f64,
    pub seconds: f64,
}

impl Load {
    pub fn new(kind: Limit, amount: f64, unit: &'static str, rate: f64) -> Self {
        Self { kind, amount, unit, rate, seconds: if amount == 0.0 { 0.0 } else { amount / rate } }
    }
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Prediction {
    pub seconds: f64,
    pub binds: Limit,
    /// Seconds of an empty launch, included in `seconds`.
    pub launch_seconds: f64,
    /// All limits, the largest first.
    pub limits: Vec<Load>,
}

impl Prediction {
    pub fn new(launch_seconds: f64, mut limits: Vec<Load>) -> Self {
        limits.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        let greatest = limits.first().map_or(0.0, |limit| limit.seconds);
        let sum: f64 = limits.iter().map(|limit| (limit.seconds / greatest).powf(SHARPNESS)).sum();
        let work = if greatest > 0.0 { greatest * sum.powf(1.0 / SHARPNESS) } else { 0.0 };
        let of_work = limits.first().map_or(Limit::Launch, |limit| limit.kind);
        let binds = if launch_seconds >= greatest { Limit::Launch } else { of_work };
        Self { seconds: launch_seconds + work, binds, launch_seconds, limits }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(seconds: &[f64]) -> Prediction {
        let kinds = [Limit::Memory, Limit::SecondCache, Limit::Arithmetic];
        let limits = seconds.iter().zip(kinds).map(|(&seconds, kind)| Load::new(kind, seconds, "things", 1.0));
        Prediction::new(0.5, limits.collect())
    }

    #[test]
    fn one_limit_alone_is_the_time_beside_the_launch() {
        assert_eq!((of(&[2.0]).seconds, of(&[2.0]).binds), (2.5, Limit::Memory));
        assert!((of(&[1.0, 2.0, 0.2]).seconds - 2.5).abs() < 1e-3);
        assert_eq!(of(&[1.0, 2.0, 0.2]).binds, Limit::SecondCache);
    }

    #[test]
    fn two_equal_limits_cost_nine_percent() {
        assert!(((of(&[1.0, 1.0]).seconds - 0.5) - 2f64.powf(0.125)).abs() < 1e-12);
        assert!((2f64.powf(0.125) - 1.09).abs() < 0.001);
    }

    #[test]
    fn a_launch_that_does_nothing_is_bound_by_itself() {
        assert_eq!((of(&[]).seconds, of(&[]).binds), (0.5, Limit::Launch));
        assert_eq!((of(&[0.0, 0.0]).seconds, of(&[0.2]).binds), (0.5, Limit::Launch));
    }
}
