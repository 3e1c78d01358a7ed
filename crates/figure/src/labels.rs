//! Places for the numbers of points: near them, away from other points and numbers.

use crate::drawing::{Anchor, Drawing, Stroke};
use crate::figure::Panel;
use crate::frame::Frame;
use crate::style::Colour;
use crate::text::width;

const SIZE: f64 = 8.0;
/// From a point to its number: the nearest free place is taken.
const RINGS: [f64; 7] = [8.0, 11.0, 15.0, 20.0, 26.0, 33.0, 41.0];

/// A box about a centre.
#[derive(Clone, Copy)]
struct Box {
    centre: [f64; 2],
    half: [f64; 2],
}

impl Box {
    fn meets(&self, other: &Self) -> bool {
        (0..2).all(|axis| (self.centre[axis] - other.centre[axis]).abs() < self.half[axis] + other.half[axis])
    }
}

/// Draws the numbers of a panel, away from places that are covered.
pub(crate) fn draw(drawing: &mut Drawing, panel: &Panel, frame: &Frame, covered: &[[f64; 2]]) {
    let [low, high] = frame.corners();
    let all = panel.series.iter().flat_map(|series| &series.points).map(|point| frame.place(point.x, point.y));
    let names = covered.iter().map(|centre| Box { centre: *centre, half: [3.0, 3.5] });
    let points: Vec<Box> = all.map(|centre| Box { centre, half: [3.2, 3.2] }).chain(names).collect();
    let mut placed: Vec<Box> = Vec::new();
    for number in &panel.numbers {
        let point = frame.place(number.x, number.y);
        let half = [width(&number.text, SIZE) / 2.0 + 0.8, SIZE / 2.0];
        let candidates = RINGS.iter().flat_map(|ring| {
            (0..16).map(move |k| {
                // To the upper right first.
                let angle = std::f64::consts::PI * (0.25 + f64::from(k) / 8.0);
                Box { centre: [point[0] + (ring + half[0] - 3.0) * angle.cos(), point[1] - ring * angle.sin()], half }
            })
        });
        let is_inside = |place: &Box| {
            (0..2).all(|k| place.centre[k] - place.half[k] > low[k] && place.centre[k] + place.half[k] < high[k])
        };
        let is_free = |place: &Box| is_inside(place) && points.iter().chain(&placed).all(|other| !place.meets(other));
        let nearest = Box { centre: [point[0] + RINGS[0], point[1] - RINGS[0]], half };
        let place = candidates.into_iter().find(is_free).unwrap_or(nearest);
        placed.push(place);
        let away = [place.centre[0] - point[0], place.centre[1] - point[1]];
        let distance = away[0].hypot(away[1]);
        if distance > 14.0 {
            // From the edge of the marker to that of the number.
            let at = |part: f64| [point[0] + part * away[0], point[1] + part * away[1]];
            drawing.lines(&[at(4.0 / distance), at(1.0 - 6.0 / distance)], Stroke::new(Colour::Quiet, 0.4));
        }
        // A line behind it would cross it.
        let corner = [place.centre[0] - half[0], place.centre[1] - half[1]];
        drawing.rectangle(corner, [2.0 * half[0], 2.0 * half[1]], Colour::Paper, 0.8);
        drawing.text(&number.text, [place.centre[0], place.centre[1] + 0.36 * SIZE], SIZE, Anchor::Middle);
    }
}
