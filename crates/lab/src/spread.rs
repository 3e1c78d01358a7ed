//! How measured times are spread.

use serde::Serialize;

/// Seconds of the timed launches of a kernel.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Spread {
    pub median: f64,
    pub tenth: f64,
    pub ninetieth: f64,
}

impl Spread {
    /// Of some times, in any order, by nearest rank; `None` of none.
    pub fn of(mut times: Vec<f64>) -> Option<Self> {
        times.sort_unstable_by(f64::total_cmp);
        let last = times.len().checked_sub(1)?;
        let at = |share: f64| times[(share * last as f64).round() as usize];
        Some(Self { median: at(0.5), tenth: at(0.1), ninetieth: at(0.9) })
    }

    /// Of times of which there is one at least.
    pub(crate) fn of_some(times: Vec<f64>) -> Self {
        Self::of(times).unwrap_or(Self { median: f64::NAN, tenth: f64::NAN, ninetieth: f64::NAN })
    }

    /// Whether the ranges from the 10th to the 90th percentile overlap.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.tenth <= other.ninetieth && other.tenth <= self.ninetieth
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
}
