//! Bounds of plausible results. A number outside them indicates a fault of the measurement: it is left out, and replaced by the reason.

use thiserror::Error;

use crate::Spread;

#[derive(Clone, Copy, PartialEq, Debug, Error)]
#[non_exhaustive]
pub enum Implausible {
    #[error("implausible: {:.3} µs, but an empty launch takes {:.3} µs", 1e6 * .seconds, 1e6 * .launch)]
    Time { seconds: f64, launch: f64 },
    #[error("implausible: {:.0}% of the bandwidth that was measured", 100.0 * .share)]
    Share { share: f64 },
    #[error("implausible: {times:.2} times as fast on {ranks} rank{} as on one", if *ranks == 1 { "" } else { "s" })]
    Speedup { times: f64, ranks: usize },
}

/// The largest factor by which clocks and launches vary.
const LEAST_OF_LAUNCH: f64 = 0.5;
/// The largest factor by which a badly measured ceiling is exceeded.
const MOST_SHARE: f64 = 1.5;
/// The largest factor beyond the number of ranks: local volumes fit caches better than the whole lattice.
const MOST_SPEEDUP: f64 = 1.2;

/// Checks the seconds of a launch; `launch`: those of an empty launch, 0 if unknown.
pub fn time(seconds: f64, launch: f64) -> Result<f64, Implausible> {
    let plausible = seconds.is_finite() && seconds > 0.0 && seconds >= LEAST_OF_LAUNCH * launch;
    if plausible { Ok(seconds) } else { Err(Implausible::Time { seconds, launch }) }
}

/// Checks a share of a ceiling, for data that do not fit a cache.
pub fn share(share: f64) -> Result<f64, Implausible> {
    if share > MOST_SHARE { Err(Implausible::Share { share }) } else { Ok(share) }
}

/// Checks a speedup on several ranks, from the medians. It is implausible only if the ranges of both times agree that it is.
pub fn speedup(one: Spread, on_ranks: Spread, ranks: usize) -> Result<f64, Implausible> {
    let (times, least) = (one.median / on_ranks.median, one.tenth / on_ranks.ninetieth);
    let plausible = times.is_finite() && least <= MOST_SPEEDUP * ranks as f64;
    if plausible { Ok(times) } else { Err(Implausible::Speedup { times, ranks }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_is_refused_with_its_reason() {
        assert_eq!((time(3e-6, 2e-6), time(1e-6, 0.0)), (Ok(3e-6), Ok(1e-6)));
        assert_eq!(
            time(1e-7, 2e-6).unwrap_err().to_string(),
            "implausible: 0.100 µs, but an empty launch takes 2.000 µs"
        );
        assert!(time(f64::NAN, 0.0).is_err() && time(0.0, 0.0).is_err());
        let spread = |tenth, median, ninetieth| Spread { median, tenth, ninetieth };
        let on_ranks = spread(0.9, 1.0, 1.1);
        assert_eq!((share(1.4), speedup(spread(2.0, 2.3, 2.4), on_ranks, 2)), (Ok(1.4), Ok(2.3)));
        // One rank was disturbed.
        assert_eq!(speedup(spread(0.9, 4.0, 5.0), on_ranks, 2), Ok(4.0));
        assert_eq!(share(9.14).unwrap_err().to_string(), "implausible: 914% of the bandwidth that was measured");
        assert_eq!(
            speedup(spread(7.0, 7.68, 8.0), on_ranks, 2).unwrap_err().to_string(),
            "implausible: 7.68 times as fast on 2 ranks as on one"
        );
    }
}
