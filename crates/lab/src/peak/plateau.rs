//! Plateaus of a curve over sizes: the caches of a device, as far as a measurement shows them.

use serde::Serialize;

use crate::json::si::giga;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    Own,
    /// All compute units have the same set and, if the device supports it, bypass the nearest cache.
    Shared,
    Local,
}

lanefield_reference::named!(Place: Own = "a set for each unit", Shared = "one set for all units", Local = "local memory");

/// Values this close to each other belong to the same cache.
const SAME: f64 = 0.15;
const POINTS: usize = 2;

/// A range of sizes over which a bandwidth stays within 15%.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Plateau {
    pub place: Place,
    pub from_bytes: u64,
    pub to_bytes: u64,
    /// The highest value, in 10⁹ bytes per second.
    #[serde(rename = "bytes_per_second", serialize_with = "giga")]
    pub gb_per_second: f64,
}

/// Ranges of at least two neighbouring points with values within 15% of the highest in the range, as first and last index (inclusive). Longer
/// ranges take precedence over shorter ones and, among ranges of equal length, higher over lower. They do not overlap, and are in the order of the
/// points.
pub(crate) fn flat_ranges(values: &[f64]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    flat_ranges_between(values, 0, values.len(), &mut found);
    found.sort_unstable();
    found
}

fn flat_ranges_between(values: &[f64], from: usize, to: usize, found: &mut Vec<(usize, usize)>) {
    let mut best: Option<(usize, f64, usize)> = None;
    for first in from..to {
        let (mut least, mut most) = (f64::INFINITY, 0.0f64);
        for (last, &value) in values.iter().enumerate().take(to).skip(first) {
            least = least.min(value);
            most = most.max(value);
            // Not finite, or too far apart.
            if !(most.is_finite() && least >= (1.0 - SAME) * most && most > 0.0) {
                break;
            }
            let points = last - first + 1;
            if points >= POINTS && best.is_none_or(|(longest, highest, _)| (points, most) > (longest, highest)) {
                best = Some((points, most, first));
            }
        }
    }
    if let Some((points, _, first)) = best {
        found.push((first, first + points - 1));
        flat_ranges_between(values, from, first, found);
        flat_ranges_between(values, first + points, to, found);
    }
}

/// The plateaus of a curve of sizes in bytes and 10⁹ bytes per second, in the order of sizes.
pub fn plateaus(place: Place, curve: &[(u64, f64)]) -> Vec<Plateau> {
    let values: Vec<f64> = curve.iter().map(|&(_, value)| value).collect();
    let plateau = |(first, last): (usize, usize)| Plateau {
        place,
        from_bytes: curve[first].0,
        to_bytes: curve[last].0,
        gb_per_second: values[first..=last].iter().copied().fold(0.0, f64::max),
    };
    flat_ranges(&values).into_iter().map(plateau).collect()
}

/// The values of the nearest and of the second cache, from a curve over sizes. The first is the best value of the range that starts at the smallest
/// sizes, or of these sizes alone if there is no such range. The second is the best value of the next range, unless that extends to the largest
/// size, which is in memory. `better` returns the larger of two bandwidths, or the smaller of two latencies.
pub(crate) fn nearest_caches(values: &[f64], better: fn(f64, f64) -> f64) -> (Option<f64>, Option<f64>) {
    let ranges = flat_ranges(values);
    let best = |first: usize, last: usize| values[first..=last].iter().copied().reduce(better);
    let nearest = ranges.first().copied().filter(|range| range.0 <= 1);
    let end = nearest.map_or(0, |nearest| nearest.1);
    let first = match nearest {
        Some((first, last)) => best(first, last),
        None => values.iter().copied().take(2).reduce(better),
    };
    let next = ranges.iter().copied().find(|range| range.0 > end);
    let second = next.filter(|range| range.1 + 1 < values.len()).and_then(|(first, last)| best(first, last));
    (first, second)
}

/// The powers of two from `least`, rounded up, to `most`, rounded down.
pub(crate) fn ladder(least: usize, most: usize) -> Vec<usize> {
    let first = least.max(1).next_power_of_two();
    std::iter::successors(Some(first), |size| size.checked_mul(2)).take_while(|&size| size <= most).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_staircase_has_its_steps_as_plateaus_and_slopes_belong_to_none() {
        let values = [40.0, 90.0, 100.0, 98.0, 70.0, 50.0, 52.0, 51.0, 30.0, 10.0, 10.1];
        assert_eq!(flat_ranges(&values), [(1, 3), (5, 7), (9, 10)]);
    }

    #[test]
    fn a_plateau_has_its_highest_value_and_its_sizes() {
        let curve = [(4, 90.0), (8, 100.0), (16, 50.0), (32, 20.0), (64, 19.0)];
        let found = plateaus(Place::Own, &curve);
        let figures: Vec<_> = found.iter().map(|p| (p.from_bytes, p.to_bytes, p.gb_per_second)).collect();
        assert_eq!(figures, [(4, 8, 100.0), (32, 64, 20.0)]);
    }

    #[test]
    fn a_slope_that_never_rests_and_what_is_no_number_have_no_plateau() {
        assert_eq!(flat_ranges(&[1.0, 2.0, 4.0, 8.0]), []);
        assert_eq!(flat_ranges(&[f64::NAN, f64::NAN, f64::INFINITY, 0.0, 0.0]), []);
        assert_eq!(flat_ranges(&[]), []);
    }

    #[test]
    fn the_nearest_caches_are_the_first_two_steps_and_memory_is_none_of_them() {
        let bandwidths = [80.0, 100.0, 99.0, 60.0, 50.0, 51.0, 20.0, 10.0, 10.0];
        assert_eq!(nearest_caches(&bandwidths, f64::max), (Some(100.0), Some(51.0)));
        let latencies = [1.7, 1.8, 1.7, 5.4, 5.5, 30.0, 90.0, 91.0];
        assert_eq!(nearest_caches(&latencies, f64::min), (Some(1.7), Some(5.4)));
        assert_eq!(nearest_caches(&[100.0, 99.0, 10.0, 10.0], f64::max), (Some(100.0), None));
        assert_eq!(nearest_caches(&[100.0, 50.0, 20.0, 5.0], f64::max), (Some(100.0), None));
        assert_eq!(nearest_caches(&[], f64::max), (None, None));
    }

    #[test]
    fn the_ladder_has_the_powers_of_two_between_its_ends() {
        assert_eq!(ladder(4096, 20_000), [4096, 8192, 16384]);
        assert_eq!(ladder(5000, 8192), [8192]);
        assert!(ladder(2, 1).is_empty());
    }
}
