//! t²E and its slope W over flow time, with t₀ and w₀ where they reach the reference.

use crate::{Axis, Figure, Line, Panel, Point, Series, short};

/// A flow.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Flow {
    /// Flow times in units of a², and t²E.
    pub energy: Vec<(f64, f64)>,
    /// The same, and W = t d(t²E)/dt; empty: not drawn.
    pub slope: Vec<(f64, f64)>,
    /// Of t²E at t₀ and of W at w₀².
    pub reference: f64,
    /// t₀ / a².
    pub t0: Option<f64>,
    /// w₀ / a.
    pub w0: Option<f64>,
}

/// Times of which each has a marker.
const MOST_MARKERS: usize = 40;

/// The figure of a flow.
pub fn flow(flow: &Flow, title: &str) -> Figure {
    let y = if flow.slope.is_empty() { "t²E" } else { "t²E,  W" };
    let mut panel = Panel::new(Axis::linear("t / a²"), Axis::linear(y));
    for (style, (name, values)) in [("t²E", &flow.energy), ("W = t d(t²E)/dt", &flow.slope)].into_iter().enumerate() {
        let points: Vec<Point> = values.iter().map(|&(t, y)| Point::new(t, y)).collect();
        let name = if flow.slope.is_empty() { "" } else { name };
        match points.len() {
            0 => {}
            1..=MOST_MARKERS => panel.series.push(Series::points(name, style, points).joined()),
            _ => panel.series.push(Series::line(name, style, points)),
        }
    }
    // Of a flow that stays far below it, the axis is that of the flow.
    let highest = flow.energy.iter().chain(&flow.slope).map(|(_, y)| *y).fold(0.0, f64::max);
    if highest > flow.reference / 4.0 {
        panel.lines.push(Line::Horizontal(flow.reference, flow.reference.to_string()));
    }
    let scale = |at: f64, name: &str, scale: f64| Line::Vertical(at, format!("{name} = {}", short(scale, 4)));
    panel.lines.extend(flow.t0.map(|t0| scale(t0, "t₀/a²", t0)));
    panel.lines.extend(flow.w0.map(|w0| scale(w0 * w0, "w₀/a", w0)));
    Figure::new(title, vec![panel])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Colours;

    #[test]
    fn the_figure_has_a_point_for_each_time_its_title_and_the_scales() {
        let energy = [0.0, 0.5, 1.0].map(|time| (time, time * time)).to_vec();
        let values = Flow { energy, reference: 0.3, t0: Some(0.548), ..Flow::default() };
        let svg = flow(&values, "wilson flow of a<b>.nersc").draw().svg(Colours::Paper);
        assert_eq!(svg.matches("<circle").count(), 3);
        assert!(svg.contains("wilson flow of a&lt;b&gt;.nersc") && svg.contains("= 0.548"), "{svg}");
        let far_below = Flow { energy: vec![(0.0, 0.0), (1.0, 1e-3)], reference: 0.3, ..Flow::default() };
        assert!(flow(&far_below, "").panels[0].lines.is_empty());
    }
}
