//! The reference scales t₀ and w₀ of a gradient flow, from the energy density along the flow.

/// t²E = 0.3 at t₀, and t d/dt t²E = 0.3 at w₀².
pub const REFERENCE: f64 = 0.3;

/// The energy density at a flow time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FlowPoint {
    /// Flow time t, in units of the lattice spacing squared.
    pub time: f64,
    /// E.
    pub energy: f64,
}

/// t₀ / a²: the first time at which t²E is 0.3, from the cubic through the four nearest points. `None` if the flow has not reached it.
pub fn reference_time(points: &[FlowPoint]) -> Option<f64> {
    let values: Vec<_> = points.iter().map(|point| (point.time, point.time * point.time * point.energy)).collect();
    crossing(&values)
}

/// w₀ / a: the square root of the first time at which t d/dt t²E is 0.3. The derivative is that of the cubic through the four points around each.
/// `None` if the flow has not reached it.
pub fn reference_width(points: &[FlowPoint]) -> Option<f64> {
    crossing(&flow_slope(points)).map(f64::sqrt)
}

/// Flow times and W = t d/dt t²E there, by the cubic through the nearest points.
pub fn flow_slope(points: &[FlowPoint]) -> Vec<(f64, f64)> {
    let values: Vec<_> = points.iter().map(|point| (point.time, point.time * point.time * point.energy)).collect();
    let derived = (0..values.len()).map(|k| {
        let time = values[k].0;
        (time, time * cubic(near(&values, k), time).1)
    });
    derived.collect()
}

/// The points around number k: four, if there are that many.
fn near(values: &[(f64, f64)], k: usize) -> &[(f64, f64)] {
    let first = k.saturating_sub(1).min(values.len().saturating_sub(4));
    &values[first..values.len().min(first + 4)]
}

/// The polynomial through some points at x, and its derivative.
fn cubic(points: &[(f64, f64)], x: f64) -> (f64, f64) {
    let (mut value, mut slope) = (0.0, 0.0);
    for (k, &(at, y)) in points.iter().enumerate() {
        let others = || points.iter().enumerate().filter(move |(other, _)| *other != k).map(|(_, point)| point.0);
        let (mut product, mut derivative) = (1.0, 0.0);
        for other in others() {
            derivative = (derivative * (x - other) + product) / (at - other);
            product *= (x - other) / (at - other);
        }
        value += y * product;
        slope += y * derivative;
    }
    (value, slope)
}

/// The point at which the values first reach the reference from below.
fn crossing(values: &[(f64, f64)]) -> Option<f64> {
    let k = values.windows(2).position(|pair| pair[0].1 < REFERENCE && pair[1].1 >= REFERENCE)?;
    let (mut below, mut above) = (values[k].0, values[k + 1].0);
    for _ in 0..100 {
        let middle = 0.5 * (below + above);
        if cubic(near(values, k), middle).0 < REFERENCE {
            below = middle;
        } else {
            above = middle;
        }
    }
    Some(0.5 * (below + above))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_of_an_energy_that_falls_as_its_time_are_those_of_the_cubic() {
        // t²E = 0.1 t + 0.05 t²: a polynomial, so that the scales are exact.
        let point = |time: f64| FlowPoint { time, energy: if time > 0.0 { 0.1 / time + 0.05 } else { 0.0 } };
        let points: Vec<_> = (0..40).map(|k| point(0.13 * f64::from(k))).collect();
        let t0 = reference_time(&points).unwrap();
        assert!((0.1 * t0 + 0.05 * t0 * t0 - REFERENCE).abs() < 1e-12, "{t0}");
        let w0 = reference_width(&points).unwrap();
        assert!((0.1 * w0 * w0 + 0.1 * w0.powi(4) - REFERENCE).abs() < 1e-12, "{w0}");
    }

    #[test]
    fn a_flow_that_ends_too_soon_has_no_scale() {
        let points = [0.0, 0.1, 0.2].map(|time| FlowPoint { time, energy: 1.0 });
        assert_eq!((reference_time(&points), reference_width(&points)), (None, None));
        assert_eq!(reference_time(&[]), None);
    }
}
