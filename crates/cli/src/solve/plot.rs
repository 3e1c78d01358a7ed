//! The figure of `lanefield solve`: |r|²/|b|² over the iterations of each right-hand side or shift, and the tolerance.

use lanefield_figure::{Axis, Drawing, Figure, Line, Panel, Point, Series};

/// Curves that each have a name; of more, their number is said.
const MOST_NAMES: usize = 9;

/// The course of one solution.
pub struct Course<'h> {
    pub name: String,
    /// |r|² after each iteration.
    pub history: &'h [f64],
    /// |b|²; if it is not known, the first |r|².
    pub source_norm2: Option<f64>,
}

/// `of`: what the curves are, in the plural.
pub fn plot(courses: &[Course<'_>], of: &str, tolerance: f64, [title, note]: [&str; 2]) -> Drawing {
    let mut panel = Panel::new(Axis::linear("iteration"), Axis::logarithmic("|r|² / |b|²"));
    let has_names = (2..=MOST_NAMES).contains(&courses.len());
    for (style, course) in courses.iter().enumerate() {
        let norm2 = course.source_norm2.or(course.history.first().copied()).unwrap_or(1.0);
        let points = course.history.iter().enumerate().map(|(k, c)| Point::new(k as f64, c / norm2)).collect();
        panel.series.push(Series::line(if has_names { &*course.name } else { "" }, style, points));
    }
    panel.lines.push(Line::Horizontal(tolerance * tolerance, "tolerance²".to_owned()));
    let mut figure = Figure::new(title, vec![panel]).noted(note);
    if courses.len() > MOST_NAMES {
        figure = figure.noted(format!("{} {of}", courses.len()));
    }
    figure.draw()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lanefield_figure::Colours;

    #[test]
    fn each_right_hand_side_has_a_curve_and_a_name_and_the_tolerance_a_line() {
        let history = [4.0, 4e-4, 4e-9];
        let course = |k: usize| Course { name: format!("η {k}"), history: &history, source_norm2: Some(4.0) };
        let drawn = |count: usize| {
            let courses: Vec<_> = (1..=count).map(course).collect();
            plot(&courses, "right-hand sides", 1e-4, ["title", "note"]).svg(Colours::Paper)
        };
        let two = drawn(2);
        assert!(two.contains(">η 1<") && two.contains(">η 2<") && two.contains(">tolerance<tspan"), "{two}");
        let many = drawn(12);
        assert!(many.contains("12 right-hand sides") && !many.contains("η 1"), "{many}");
    }
}
