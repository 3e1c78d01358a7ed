//! V(r) at the first times, with the band of a fit and r₀.

use super::Value;
use crate::{Axis, Band, Figure, Line, Panel, Point, Series, with_error};

/// The static potential at times t = 1, 2, …
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Potential {
    /// Distances, and V(r) at each time.
    pub distances: Vec<(f64, Vec<Option<Value>>)>,
    /// In the order of times.
    pub fits: Vec<FittedPotential>,
}

/// A fit at a time.
#[derive(Clone, PartialEq, Debug)]
pub struct FittedPotential {
    /// t.
    pub time: usize,
    /// Distances and the fitted V(r).
    pub curve: Vec<(f64, Value)>,
    /// σ a².
    pub tension: Option<Value>,
    /// r₀ / a.
    pub r0: Option<Value>,
    /// χ² for each degree of freedom, in words.
    pub quality: String,
}

/// Times that are drawn, of each its own marker.
const MOST_TIMES: usize = 4;
/// Between points of one distance, so that none hides another.
const APART: f64 = 0.05;

/// The figure of a potential.
pub fn potential(potential: &Potential, title: &str) -> Figure {
    let times = potential.distances.first().map_or(0, |(_, values)| values.len()).min(MOST_TIMES);
    let mut panel = Panel::new(Axis::linear("r / a").whole(), Axis::linear("a V(r)"));
    let farthest = potential.distances.last().map_or(1.0, |(r, _)| *r);
    for time in 0..times {
        let shift = APART * (time as f64 - (times as f64 - 1.0) / 2.0);
        let point = |(r, values): &(f64, Vec<Option<Value>>)| {
            let (y, error) = values.get(time).copied().flatten()?;
            // Noise does not set the axis.
            let is_known = error.is_none_or(|error| error < 0.5 * y.abs());
            is_known.then_some(Point { x: r + shift, y, error })
        };
        let points = potential.distances.iter().filter_map(point).collect();
        panel.series.push(Series::points(format!("t / a = {}", time + 1), time, points));
    }
    if let Some(fit) = best(&potential.fits, times) {
        let points = fit.curve.iter().map(|&(r, (y, error))| (r, y, error.unwrap_or(0.0))).collect();
        let tension = fit.tension.map(|(value, error)| format!("σ a² = {}, ", with_error(value, error)));
        let mut name = format!("fit at t / a = {}: {}{}", fit.time, tension.unwrap_or_default(), fit.quality);
        if let Some((r0, error)) = fit.r0 {
            // Of one far away, the number alone: the axis is that of what was measured.
            let label = format!("r₀/a = {}", with_error(r0, error));
            match r0 < 1.3 * farthest {
                true => panel.lines.push(Line::Vertical(r0, label)),
                false => name += &format!(", {label}"),
            }
        }
        panel.bands.push(Band { name, style: fit.time - 1, points });
    }
    Figure::new(title, vec![panel])
}

/// The fit at the first time that agrees in r₀ with the one after it, else the last one of those that are drawn.
fn best(fits: &[FittedPotential], times: usize) -> Option<&FittedPotential> {
    let drawn: Vec<&FittedPotential> = fits.iter().filter(|fit| (1..=times).contains(&fit.time)).collect();
    let scale = |fit: &FittedPotential| fit.r0.and_then(|(value, error)| Some((value, error?)));
    let agrees = |pair: &&[&FittedPotential]| match (scale(pair[0]), scale(pair[1])) {
        (Some((a, of_a)), Some((b, of_b))) => (a - b).abs() < of_a.hypot(of_b),
        _ => false,
    };
    drawn.windows(2).find(agrees).map(|pair| pair[0]).or(drawn.last().copied())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Colours;

    fn fit(time: usize, r0: f64) -> FittedPotential {
        let curve = [1.0, 2.0, 3.0].map(|r| (r, (0.5 * r, Some(0.01)))).to_vec();
        FittedPotential {
            time,
            curve,
            tension: Some((0.13, Some(0.02))),
            r0: Some((r0, Some(0.1))),
            quality: "χ²/dof = 0.5/1".to_owned(),
        }
    }

    #[test]
    fn the_first_fit_that_agrees_with_the_next_is_drawn_with_its_scale() {
        assert_eq!(best(&[fit(1, 2.0), fit(2, 3.0), fit(3, 3.05)], 4).map(|fit| fit.time), Some(2));
        assert_eq!(best(&[fit(1, 2.0), fit(2, 3.0), fit(3, 4.0)], 2).map(|fit| fit.time), Some(2));
        assert_eq!(best(&[], 4), None);
        let distances = [1.0, 2.0, 3.0].map(|r| (r, vec![Some((0.5 * r, Some(0.1))), None])).to_vec();
        let drawn = |r0| potential(&Potential { distances: distances.clone(), fits: vec![fit(1, r0)] }, "V");
        let svg = drawn(2.9).draw().svg(Colours::Paper);
        for text in [">t / a = 1<", "= 0.130(20), χ<", "/dof = 0.5/1", "/a = 2.90(10)<"] {
            assert!(svg.contains(text), "{text}: {svg}");
        }
        // One far away does not widen the axis.
        assert!(
            drawn(9.0).panels[0].lines.is_empty() && drawn(9.0).panels[0].bands[0].name.contains("r₀/a = 9.00(10)")
        );
    }
}
