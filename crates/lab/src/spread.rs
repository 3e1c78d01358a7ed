//! The spread of measured times.

use serde::Serialize;

#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Spread {
    pub median: f64,
    pub tenth: f64,
    pub ninetieth: f64,
}

impl Spread {
    /// From times in any order, by nearest rank; `None` if there are none.
    pub fn of(mut times: Vec<f64>) -> Option<Self> {
        times.sort_unstable_by(f64::total_cmp);
        let last = times.len().checked_sub(1)?;
        let at = |share: f64| times[(share * last as f64).round() as usize];
        Some(Self { median: at(0.5), tenth: at(0.1), ninetieth: at(0.9) })
    }

    /// From at least one time.
    pub(crate) fn of_some(times: Vec<f64>) -> Self {
        Self::of(times).unwrap_or(Self { median: f64::NAN, tenth: f64::NAN, ninetieth: f64::NAN })
    }

    /// Whether the ranges from the 10th to the 90th percentile overlap.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.tenth <= other.ninetieth && other.tenth <= self.ninetieth
    }
}

/// The fastest of what was timed, its times, and the others that cannot be distinguished from it: their ranges from the 10th to the 90th percentile
/// overlap. With one sample nothing can be distinguished.
pub fn fastest<T>(timed: impl IntoIterator<Item = (T, Spread)>) -> Option<(T, Spread, Vec<T>)> {
    let mut timed: Vec<(T, Spread)> = timed.into_iter().collect();
    let place = timed.iter().enumerate().min_by(|(_, (_, a)), (_, (_, b))| a.median.total_cmp(&b.median))?.0;
    let (best, spread) = timed.remove(place);
    let others = timed.into_iter().filter(|(_, other)| spread.tenth == spread.ninetieth || other.overlaps(&spread));
    Some((best, spread, others.map(|(other, _)| other).collect()))
}

/// The median of some times, in any order.
pub fn median(times: Vec<f64>) -> f64 {
    Spread::of_some(times).median
}

/// Seconds without and with a change.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Compared {
    #[serde(rename = "present_seconds")]
    pub present: Spread,
    #[serde(rename = "seconds")]
    pub changed: Spread,
}

/// Number of rounds of a comparison before a difference counts.
const ROUNDS: usize = 3;

impl Compared {
    /// Measures both alternately, so that disturbances affect both. `once` returns the seconds of one run, with or without the change. A difference
    /// counts only if it persists over three rounds of `samples` runs.
    pub(crate) fn alternately<E>(samples: usize, mut once: impl FnMut(bool) -> Result<f64, E>) -> Result<Self, E> {
        let mut seconds = [Vec::new(), Vec::new()];
        loop {
            for sample in 0..samples.max(1) {
                // Neither is always the second.
                for changed in [sample % 2 == 1, sample % 2 == 0] {
                    seconds[usize::from(changed)].push(once(changed)?);
                }
            }
            let [present, changed] = seconds.clone().map(Spread::of_some);
            let compared = Self { present, changed };
            if compared.gain().is_none() || seconds[0].len() >= ROUNDS * samples.max(1) {
                return Ok(compared);
            }
        }
    }

    /// The fraction of the time that the change saves, negative if it costs time; `None` if the ranges of both overlap.
    pub fn gain(&self) -> Option<f64> {
        let differ = !self.present.overlaps(&self.changed);
        differ.then(|| 1.0 - self.changed.median / self.present.median)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_goes_from_the_tenth_to_the_ninetieth_percentile() {
        let times = [7, 3, 0, 9, 1, 10, 5, 2, 8, 4, 6].map(f64::from).to_vec();
        assert_eq!(Spread::of(times), Some(Spread { median: 5.0, tenth: 1.0, ninetieth: 9.0 }));
        assert_eq!(Spread::of(vec![2.0]), Some(Spread { median: 2.0, tenth: 2.0, ninetieth: 2.0 }));
        assert_eq!(Spread::of(Vec::new()), None);
    }

    #[test]
    fn spreads_that_touch_overlap() {
        let spread = |tenth, median, ninetieth| Spread { median, tenth, ninetieth };
        let (a, b, c) = (spread(1.0, 2.0, 3.0), spread(3.0, 4.0, 5.0), spread(3.5, 4.0, 5.0));
        assert!(a.overlaps(&b) && b.overlaps(&a) && !a.overlaps(&c) && !c.overlaps(&a));
    }

    #[test]
    fn a_change_counts_where_three_rounds_in_turns_agree() {
        let run = |noise: f64, gain: f64| {
            let mut runs = 0;
            let compared = Compared::alternately(8, |changed| -> Result<f64, ()> {
                runs += 1;
                // The machine becomes slower and slower.
                let seconds = 1.0 + f64::from(runs) * 1e-4 + noise * f64::from(runs / 2 % 3);
                Ok(if changed { seconds * (1.0 - gain) } else { seconds })
            });
            (compared.unwrap().gain(), runs)
        };
        let (gain, runs) = run(0.01, 0.2);
        assert!((gain.unwrap() - 0.2).abs() < 0.01 && runs == 3 * 16, "{gain:?}, {runs}");
        assert_eq!(run(0.01, 0.0), (None, 16));
        assert_eq!(run(0.1, 0.05), (None, 16));
    }
}
