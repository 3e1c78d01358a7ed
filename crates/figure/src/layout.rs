//! From a figure to a drawing.

use crate::clip::clipped;
use crate::drawing::{Anchor, Drawing, Stroke};
use crate::figure::{Band, Curve, Figure, LabelAt, Line, List, Panel, Series};
use crate::frame::{Frame, ranges, span};
use crate::labels;
use crate::style::{Colour, DOWN, Outline, UP, dash};
use crate::text::{shortened, width, wrapped};
use crate::ticks::Ticks;

const TITLE: f64 = 11.0;
const NOTE: f64 = 8.5;
const NAME: f64 = 10.0;
const TICK: f64 = 9.0;
const LEGEND: f64 = 9.0;
const LIST: f64 = 8.0;
/// Around everything.
const MARGIN: f64 = 10.0;
/// From one line of text to the next, in units of its size.
const LEADING: f64 = 1.3;
/// Between panels, and between a plane and what stands around it.
const GAP: f64 = 12.0;
const RADIUS: f64 = 2.9;
const CAP: f64 = 2.3;
const BAND: f64 = 0.25;
/// Of the line, marker or band in front of a name in the legend.
const SAMPLE: f64 = 20.0;

const AXIS: Stroke = Stroke { colour: Colour::Ink, width: 0.8, dash: &[] };

/// What of a panel does not depend on where it is.
struct Prepared<'f> {
    panel: &'f Panel,
    x: (f64, f64),
    y: (f64, f64),
    legend: Vec<Entry<'f>>,
    left: f64,
    right: f64,
}

/// A name in the legend.
enum Entry<'f> {
    Series(&'f Series),
    Band(&'f Band),
}

impl Entry<'_> {
    fn name(&self) -> &str {
        match self {
            Self::Series(series) => &series.name,
            Self::Band(band) => &band.name,
        }
    }
}

impl<'f> Prepared<'f> {
    fn of(panel: &'f Panel, shared: Option<(f64, f64)>) -> Self {
        let (own, y) = ranges(panel);
        let x = shared.unwrap_or(own);
        let ticks = span(&panel.y, y, (panel.height, 0.0)).ticks(&panel.y);
        let numbers = ticks.major.iter().map(|(_, label)| width(label, TICK)).fold(0.0, f64::max);
        let name = if panel.y.name.is_empty() { 0.0 } else { NAME * LEADING + 2.0 };
        let labels = panel.lines.iter().map(|line| match line {
            Line::Horizontal(_, label) if !label.is_empty() => width(label, LEGEND) + 5.0,
            _ => 0.0,
        });
        let mut legend: Vec<Entry<'f>> = Vec::new();
        for series in panel.series.iter().filter(|series| !series.name.is_empty()) {
            legend.push(Entry::Series(series));
        }
        legend.extend(panel.bands.iter().filter(|band| !band.name.is_empty()).map(Entry::Band));
        Self { panel, x, y, legend, left: numbers + 5.0 + name, right: labels.fold(6.0, f64::max) }
    }
}

impl Figure {
    /// Where all of it goes. What has no place (numbers that are not finite, or not positive on a logarithmic axis) is left out, and counted below.
    pub fn draw(&self) -> Drawing {
        let shared = self.shares_x.then(|| {
            let each = self.panels.iter().map(|panel| ranges(panel).0);
            each.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), (l, h)| (low.min(l), high.max(h)))
        });
        let prepared: Vec<Prepared<'_>> = self.panels.iter().map(|panel| Prepared::of(panel, shared)).collect();
        let inner = self.width - 2.0 * MARGIN;
        // Planes stand below each other.
        let left = MARGIN + prepared.iter().map(|one| one.left).fold(0.0, f64::max);
        let right = self.width - MARGIN - prepared.iter().map(|one| one.right).fold(0.0, f64::max);
        let right = right.max(left + 40.0);
        let mut drawing = Drawing::new(&self.title, self.width, 0.0);
        let mut y = MARGIN;
        let mut line = |drawing: &mut Drawing, text: &str, size: f64, colour: Colour| {
            y += size * LEADING;
            drawing.styled(text, [MARGIN, y - 0.3 * size], size, Anchor::Start, colour, 0.0);
        };
        for text in wrapped(&self.title, TITLE, inner) {
            line(&mut drawing, &shortened(&text, TITLE, inner), TITLE, Colour::Ink);
        }
        for text in self.notes.iter().flat_map(|note| wrapped(note, NOTE, inner)) {
            line(&mut drawing, &shortened(&text, NOTE, inner), NOTE, Colour::Quiet);
        }
        if y > MARGIN {
            y += 0.4 * GAP;
        }
        let mut remarks = Vec::new();
        for (number, one) in prepared.iter().enumerate() {
            let has_x = !self.shares_x || number + 1 == prepared.len();
            y = self.panel(&mut drawing, one, (left, right), y, has_x) + GAP;
            let name = (prepared.len() > 1).then_some(one.panel.y.name.as_str());
            remarks.extend(remarks_of(one).into_iter().map(|remark| match name {
                Some(name) => format!("{name}: {remark}"),
                None => remark,
            }));
        }
        for list in self.lists.iter().filter(|list| !list.rows.is_empty()) {
            y = draw_list(&mut drawing, list, inner, y) + 0.6 * GAP;
        }
        for text in remarks.iter().flat_map(|remark| wrapped(remark, NOTE, inner)) {
            y += NOTE * LEADING;
            drawing.styled(&text, [MARGIN, y - 0.3 * NOTE], NOTE, Anchor::Start, Colour::Quiet, 0.0);
        }
        drawing.height =
            (y + MARGIN - GAP.min(y - MARGIN).min(if remarks.is_empty() { GAP / 2.0 } else { 0.0 })).ceil();
        drawing
    }

    /// Draws a panel below `top`, and returns where it ends.
    fn panel(
        &self,
        drawing: &mut Drawing,
        prepared: &Prepared<'_>,
        (left, right): (f64, f64),
        top: f64,
        has_x: bool,
    ) -> f64 {
        let panel = prepared.panel;
        let mut top = draw_legend(drawing, &prepared.legend, (left, self.width - MARGIN), top);
        let across = span(&panel.x, prepared.x, (left, right));
        let verticals: Vec<(f64, &str)> = panel
            .lines
            .iter()
            .filter_map(|line| match line {
                Line::Vertical(at, label) if across.holds(*at) => Some((across.place(*at), label.as_str())),
                _ => None,
            })
            .collect();
        let centres = apart(&verticals, (MARGIN, self.width - MARGIN));
        if !verticals.is_empty() {
            top += LEGEND * LEADING + 1.0;
        }
        let bottom = top + panel.height;
        let frame = Frame { x: across, y: span(&panel.y, prepared.y, (bottom, top)) };
        for (&(x, label), centre) in verticals.iter().zip(centres) {
            drawing.text(label, [centre, top - 4.5], LEGEND, Anchor::Middle);
            drawing.lines(&[[x, top - 2.0], [x, bottom]], Stroke::new(Colour::Quiet, 0.8).dashed(&[3.0, 2.0]));
        }
        let mut taken: Vec<f64> = Vec::new();
        for line in &panel.lines {
            let Line::Horizontal(at, label) = line else { continue };
            if !frame.y.holds(*at) {
                continue;
            }
            let y = frame.y.place(*at);
            drawing.lines(&[[left, y], [right, y]], Stroke::new(Colour::Quiet, 0.8).dashed(&[3.0, 2.0]));
            // Names of lines that are near each other stand a line apart.
            let mut at = y + 0.35 * LEGEND;
            while taken.iter().any(|other| (other - at).abs() < LEGEND) {
                at += LEGEND;
            }
            taken.push(at);
            drawing.text(label, [right + 4.0, at], LEGEND, Anchor::Start);
        }
        for band in &panel.bands {
            draw_band(drawing, band, &frame);
        }
        let all = panel.series.iter().filter(|series| series.marker.is_some()).flat_map(|series| &series.points);
        let marked: Vec<[f64; 2]> = all.map(|point| frame.place(point.x, point.y)).collect();
        let curves = panel.curves.iter();
        let covered: Vec<[f64; 2]> = curves.flat_map(|curve| draw_curve(drawing, curve, &frame, &marked)).collect();
        for series in &panel.series {
            draw_series(drawing, series, panel, &frame);
        }
        labels::draw(drawing, panel, &frame, &covered);
        let [corner, end] = frame.corners();
        let ring = [corner, [end[0], corner[1]], end, [corner[0], end[1]]];
        drawing.polygon(ring.to_vec(), None, Some(AXIS));
        draw_ticks(drawing, panel, &frame, has_x);
        let middle = (top + bottom) / 2.0;
        drawing.styled(&panel.y.name, [MARGIN + NAME, middle], NAME, Anchor::Middle, Colour::Ink, 90.0);
        if !has_x {
            return bottom;
        }
        let below = bottom + TICK * LEADING + 3.0;
        drawing.text(&panel.x.name, [(left + right) / 2.0, below + NAME * 1.1], NAME, Anchor::Middle);
        below + NAME * LEADING + 2.0
    }
}

/// Centres of names above a panel: each above its line, but for those that are pushed apart by each other.
fn apart(names: &[(f64, &str)], (left, right): (f64, f64)) -> Vec<f64> {
    let halves: Vec<f64> = names.iter().map(|(_, name)| width(name, LEGEND) / 2.0 + 4.0).collect();
    let mut order: Vec<usize> = (0..names.len()).collect();
    order.sort_by(|a, b| names[*a].0.total_cmp(&names[*b].0));
    let mut centres: Vec<f64> = names.iter().map(|(x, _)| *x).collect();
    for _ in 0..100 {
        for pair in order.windows(2) {
            let overlap = halves[pair[0]] + halves[pair[1]] - (centres[pair[1]] - centres[pair[0]]);
            if overlap > 0.0 {
                centres[pair[0]] -= overlap / 2.0;
                centres[pair[1]] += overlap / 2.0;
            }
        }
        for (centre, half) in centres.iter_mut().zip(&halves) {
            *centre = centre.min(right - half).max(left + half);
        }
    }
    centres
}

/// Names in rows, above a panel; returns where they end.
fn draw_legend(drawing: &mut Drawing, legend: &[Entry<'_>], (left, right): (f64, f64), top: f64) -> f64 {
    let (mut x, mut y) = (left, top);
    if legend.is_empty() {
        return top;
    }
    for entry in legend {
        let name = shortened(entry.name(), LEGEND, right - left - SAMPLE - 5.0);
        let length = SAMPLE + 5.0 + width(&name, LEGEND);
        if x > left && x + length > right {
            (x, y) = (left, y + LEGEND * LEADING + 1.0);
        }
        let middle = y + 0.6 * LEGEND;
        match entry {
            Entry::Series(series) => {
                let colour = Colour::Series(series.style);
                if series.joined {
                    let stroke = Stroke::new(colour, 1.2).dashed(dash_of(series));
                    drawing.lines(&[[x, middle], [x + SAMPLE, middle]], stroke);
                }
                if let Some(marker) = series.marker {
                    drawing.marker(marker, [x + SAMPLE / 2.0, middle], RADIUS, colour);
                }
            }
            Entry::Band(band) => {
                let colour = Colour::Series(band.style);
                drawing.rectangle([x, middle - 3.5], [SAMPLE, 7.0], colour, BAND);
                drawing.lines(&[[x, middle], [x + SAMPLE, middle]], Stroke::new(colour, 1.0));
            }
        }
        drawing.text(&name, [x + SAMPLE + 5.0, middle + 0.35 * LEGEND], LEGEND, Anchor::Start);
        x += length + 14.0;
    }
    y + LEGEND * LEADING + 5.0
}

/// A line with markers is solid: they tell it apart.
fn dash_of(series: &Series) -> &'static [f64] {
    if series.marker.is_some() { &[] } else { dash(series.style) }
}

fn draw_band(drawing: &mut Drawing, band: &Band, frame: &Frame) {
    let colour = Colour::Series(band.style);
    let edge = |sign: f64| {
        band.points.iter().map(move |&(x, y, spread)| [frame.x.clamped(x), frame.y.clamped(y + sign * spread)])
    };
    if band.points.iter().any(|point| point.2 > 0.0) {
        let lower: Vec<[f64; 2]> = edge(-1.0).collect();
        drawing.polygon(edge(1.0).chain(lower.into_iter().rev()).collect(), Some((colour, BAND)), None);
    }
    let centre: Vec<[f64; 2]> = band.points.iter().map(|&(x, y, _)| frame.place(x, y)).collect();
    let [low, high] = frame.corners();
    for piece in clipped(&centre, low, high) {
        drawing.lines(&piece, Stroke::new(colour, 1.0));
    }
}

/// Draws a curve with its name along it, where no point is; returns places that the name covers.
fn draw_curve(drawing: &mut Drawing, curve: &Curve, frame: &Frame, marked: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let points: Vec<[f64; 2]> = curve.points.iter().map(|&[x, y]| frame.place(x, y)).collect();
    let [low, high] = frame.corners();
    let colour = Colour::Series(curve.style);
    let mut covered = Vec::new();
    for piece in clipped(&points, low, high) {
        drawing.lines(&piece, Stroke::new(colour, 1.2).dashed(dash(curve.style)));
        let is_start = curve.label_at == LabelAt::Start;
        let last = piece.len() - 1;
        let [from, to] = if is_start { [piece[0], piece[1]] } else { [piece[last - 1], piece[last]] };
        let angle = (from[1] - to[1]).atan2(to[0] - from[0]);
        let (sin, cos) = angle.sin_cos();
        let (length, name) = ((to[0] - from[0]).hypot(to[1] - from[1]), width(&curve.label, LIST));
        // Along the line and above it, from its beginning.
        let at = |along: f64, above: f64| [from[0] + along * cos - above * sin, from[1] - along * sin - above * cos];
        let is_free = |along: &f64| {
            marked.iter().all(|point| {
                let [x, y] = [point[0] - from[0], point[1] - from[1]];
                let (beside, above) = (x * cos - y * sin, -x * sin - y * cos);
                !(along - 5.0..along + name + 5.0).contains(&beside) || !(-RADIUS..LIST + 8.0).contains(&above)
            })
        };
        let room = (length - name - 8.0).max(8.0);
        let steps = (0..=(room / 10.0) as usize).map(|k| 10.0 * k as f64);
        let wanted = if is_start { 8.0 } else { length - name - 6.0 };
        let along =
            steps.map(|step| if is_start { wanted + step } else { wanted - step }).find(is_free).unwrap_or(wanted);
        drawing.styled(&curve.label, at(along, 4.5), LIST, Anchor::Start, Colour::Ink, angle.to_degrees());
        covered.extend((0..=(name / 5.0) as usize).map(|k| at(along + 5.0 * k as f64, 4.5 + 0.35 * LIST)));
    }
    covered
}

fn draw_series(drawing: &mut Drawing, series: &Series, panel: &Panel, frame: &Frame) {
    let colour = Colour::Series(series.style);
    let is_shown = |x: f64, y: f64| panel.x.takes(x) && panel.y.takes(y);
    let [low, high] = frame.corners();
    if series.joined {
        // What is left out interrupts the line.
        for part in series.points.split(|point| !is_shown(point.x, point.y)) {
            let places: Vec<[f64; 2]> = part.iter().map(|point| frame.place(point.x, point.y)).collect();
            for piece in clipped(&places, low, high) {
                drawing.lines(&piece, Stroke::new(colour, 1.2).dashed(dash_of(series)));
            }
        }
    }
    let inside = || series.points.iter().filter(|point| is_shown(point.x, point.y) && frame.x.holds(point.x));
    for point in inside() {
        let Some(error) = point.error.filter(|error| *error > 0.0 && error.is_finite()) else { continue };
        if !frame.y.holds(point.y) {
            continue;
        }
        let x = frame.x.place(point.x);
        let ends = [point.y - error, point.y + error];
        let [bottom, top] = ends.map(|y| frame.y.clamped(y));
        let stroke = Stroke::new(colour, 0.9);
        drawing.lines(&[[x, bottom], [x, top]], stroke);
        for (y, place) in ends.into_iter().zip([bottom, top]) {
            // A bar that goes on beyond the axis has no cap there.
            if panel.y.takes(y) && frame.y.holds(y) {
                drawing.lines(&[[x - CAP, place], [x + CAP, place]], stroke);
            }
        }
    }
    for point in inside() {
        let x = frame.x.place(point.x);
        if frame.y.holds(point.y) {
            if let Some(marker) = series.marker {
                drawing.marker(marker, [x, frame.y.place(point.y)], RADIUS, colour);
            }
        } else if series.marker.is_some() {
            let (outline, y) =
                if point.y > frame.y.numbers.1 { (UP, high_edge(frame, 4.0)) } else { (DOWN, low_edge(frame, 4.0)) };
            beyond(drawing, outline, [x, y], colour);
        }
    }
}

fn high_edge(frame: &Frame, inwards: f64) -> f64 {
    frame.y.paper.1 + inwards
}

fn low_edge(frame: &Frame, inwards: f64) -> f64 {
    frame.y.paper.0 - inwards
}

/// An arrow head to where a point is that lies beyond the axis.
fn beyond(drawing: &mut Drawing, outline: Outline, [x, y]: [f64; 2], colour: Colour) {
    if let Outline::Corners(corners) = outline {
        let corners = corners.iter().map(|[dx, dy]| [x + 2.2 * dx, y + 2.2 * dy]).collect();
        drawing.polygon(corners, None, Some(Stroke::new(colour, 0.9)));
    }
}

/// What there is to say of numbers that are not where they should be.
fn remarks_of(prepared: &Prepared<'_>) -> Vec<String> {
    let panel = prepared.panel;
    let points = || panel.series.iter().flat_map(|series| series.points.iter().map(move |point| (series, point)));
    let is_finite = |x: f64, y: f64| x.is_finite() && y.is_finite();
    let missing = points().filter(|(_, point)| !is_finite(point.x, point.y)).count();
    let has_no_place = |x: f64, y: f64| is_finite(x, y) && !(panel.x.takes(x) && panel.y.takes(y));
    let negative = points().filter(|(_, point)| has_no_place(point.x, point.y)).count();
    let frame_y = span(&panel.y, prepared.y, (1.0, 0.0));
    let outside = points().filter(|(series, point)| {
        series.marker.is_some() && is_finite(point.x, point.y) && panel.y.takes(point.y) && !frame_y.holds(point.y)
    });
    let counted = |number: usize, one: &str, several: &str| match number {
        0 => None,
        1 => Some(format!("1 value {one}.")),
        number => Some(format!("{number} values {several}.")),
    };
    [
        counted(missing, "is not finite and is left out", "are not finite and are left out"),
        counted(negative, "is not positive and is left out", "are not positive and are left out"),
        counted(
            outside.count(),
            "lies beyond the axis (triangle at its end)",
            "lie beyond the axis (triangles at its end)",
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn draw_ticks(drawing: &mut Drawing, panel: &Panel, frame: &Frame, has_x: bool) {
    let [[left, top], [right, bottom]] = frame.corners();
    let (x, y): (Ticks, Ticks) = (frame.x.ticks(&panel.x), frame.y.ticks(&panel.y));
    let mut both = |at: f64, length: f64, upright: bool| {
        let ends = match upright {
            true => [[[at, bottom], [at, bottom - length]], [[at, top], [at, top + length]]],
            false => [[[left, at], [left + length, at]], [[right, at], [right - length, at]]],
        };
        let width = if length > 3.0 { 0.8 } else { 0.5 };
        ends.iter().for_each(|ends| drawing.lines(ends, Stroke::new(Colour::Ink, width)));
    };
    for (ticks, span, upright) in [(&x, &frame.x, true), (&y, &frame.y, false)] {
        ticks.major.iter().for_each(|(value, _)| both(span.place(*value), 4.5, upright));
        ticks.minor.iter().for_each(|value| both(span.place(*value), 2.5, upright));
    }
    for (value, label) in &y.major {
        drawing.text(label, [left - 4.5, frame.y.place(*value) + 0.36 * TICK], TICK, Anchor::End);
    }
    if !has_x {
        return;
    }
    let mut end = f64::NEG_INFINITY;
    for (value, label) in &x.major {
        let (place, half) = (frame.x.place(*value), width(label, TICK) / 2.0);
        // One that would touch the one before it is left out.
        if place - half > end + 3.0 {
            drawing.text(label, [place, bottom + TICK * LEADING], TICK, Anchor::Middle);
            end = place + half;
        }
    }
}

/// Rows in two columns below `top`, or in one if names are long; returns where they end.
fn draw_list(drawing: &mut Drawing, list: &List, inner: f64, top: f64) -> f64 {
    const BETWEEN: f64 = 24.0;
    let mut y = top + LEGEND * LEADING;
    let mut x = MARGIN;
    if let Some((marker, colour)) = list.marker {
        drawing.marker(marker, [x + RADIUS, y - 0.3 * LEGEND - 0.3], RADIUS, colour);
        x += 2.0 * RADIUS + 5.0;
    }
    for (k, line) in wrapped(&list.title, LEGEND, inner + MARGIN - x).iter().enumerate() {
        y += if k > 0 { LEGEND * LEADING } else { 0.0 };
        drawing.text(line, [x, y - 0.3], LEGEND, Anchor::Start);
    }
    y += 3.0;
    let cells = list.rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<f64> = (0..cells)
        .map(|k| list.rows.iter().filter_map(|row| row.get(k)).map(|cell| width(cell, LIST)).fold(0.0, f64::max))
        .collect();
    let wanted = widths.iter().sum::<f64>() + 8.0 * cells.saturating_sub(1) as f64;
    let columns = if wanted <= (inner - BETWEEN) / 2.0 && list.rows.len() > 3 { 2 } else { 1 };
    let column = if columns == 2 { (inner - BETWEEN) / 2.0 } else { wanted.min(inner) };
    let rows = list.rows.len().div_ceil(columns);
    for (k, row) in list.rows.iter().enumerate() {
        let left = MARGIN + (k / rows) as f64 * (column + BETWEEN);
        let base = y + ((k % rows) as f64 + 1.0) * LIST * LEADING - 0.3 * LIST;
        // From the right: values; then the number, and the name in what is left.
        let mut right = left + column;
        for (place, cell) in row.iter().enumerate().skip(2).rev() {
            drawing.text(cell, [right, base], LIST, Anchor::End);
            right -= widths[place] + 8.0;
        }
        let name_at = left + widths.first().copied().unwrap_or(0.0) + 6.0;
        if let Some(number) = row.first() {
            drawing.text(number, [name_at - 6.0, base], LIST, Anchor::End);
        }
        if let Some(name) = row.get(1) {
            drawing.text(&shortened(name, LIST, right - name_at), [name_at, base], LIST, Anchor::Start);
        }
    }
    y + rows as f64 * LIST * LEADING
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{Axis, Point};
    use crate::{Colours, Shape};

    fn texts(drawing: &Drawing) -> Vec<&str> {
        let mut texts = Vec::new();
        for shape in &drawing.shapes {
            if let Shape::Text(text) = shape {
                texts.push(text.text.as_str());
            }
        }
        texts
    }

    fn panel(y: Axis, points: Vec<Point>) -> Panel {
        let mut panel = Panel::new(Axis::linear("t / a").whole(), y);
        panel.series.push(Series::points("pion", 0, points));
        panel
    }

    #[test]
    fn each_point_has_a_marker_and_an_error_a_bar_with_two_caps() {
        let points = vec![Point { x: 0.0, y: 1.0, error: Some(0.1) }, Point { x: 1.0, y: 2.0, error: Some(0.2) }];
        let drawing = Figure::new("", vec![panel(Axis::linear("m"), points)]).draw();
        // One more in the legend.
        let circles = drawing.shapes.iter().filter(|shape| matches!(shape, Shape::Circle { .. })).count();
        assert_eq!(circles, 2 + 1);
        let blue = |shape: &&Shape| {
            matches!(shape, Shape::Lines { stroke: Some(Stroke { colour: Colour::Series(0), .. }), .. })
        };
        assert_eq!(drawing.shapes.iter().filter(blue).count(), 2 * 3);
    }

    #[test]
    fn what_has_no_place_is_counted() {
        let points = [1.0, -1.0, 0.0, f64::NAN, 1e-3].into_iter().enumerate().map(|(t, y)| Point::new(t as f64, y));
        let drawing = Figure::new("", vec![panel(Axis::logarithmic("C(t)"), points.collect())]).draw();
        let texts = texts(&drawing);
        assert!(texts.contains(&"2 values are not positive and are left out."), "{texts:?}");
        assert!(texts.contains(&"1 value is not finite and is left out."), "{texts:?}");
        assert!(!drawing.svg(Colours::Paper).contains("NaN"));
    }

    #[test]
    fn points_beyond_the_axis_are_triangles_and_are_counted() {
        let points = vec![Point::new(0.0, 0.5), Point::new(1.0, 7.0)];
        let drawing = Figure::new("", vec![panel(Axis::linear("m").within(0.0, 1.0), points)]).draw();
        assert!(texts(&drawing).contains(&"1 value lies beyond the axis (triangle at its end)."));
        let inside = |shape: &Shape| match shape {
            Shape::Circle { centre, .. } => (0.0..drawing.height).contains(&centre[1]),
            _ => true,
        };
        assert!(drawing.shapes.iter().all(inside));
    }

    #[test]
    fn legends_and_names_of_lines_stand_outside_the_plane() {
        let mut panel = panel(Axis::linear("t²E"), vec![Point::new(0.0, 0.0), Point::new(2.0, 1.0)]);
        panel.lines.push(Line::Horizontal(0.3, "0.3".to_owned()));
        panel.lines.push(Line::Vertical(1.0, "t₀/a² = 1.0".to_owned()));
        panel.lines.push(Line::Vertical(1.05, "w₀²/a² = 1.05".to_owned()));
        let drawing = Figure::new("a flow", vec![panel]).draw();
        let frame = drawing.shapes.iter().find_map(|shape| match shape {
            Shape::Lines { points, closed: true, fill: None, .. } => Some([points[0], points[2]]),
            _ => None,
        });
        let [low, high] = frame.unwrap();
        for shape in &drawing.shapes {
            if let Shape::Text(text) = shape {
                let inside = (0..2).all(|k| text.start()[k] > low[k] && text.start()[k] < high[k]);
                assert!(!inside, "{text:?}");
                assert!(
                    text.start()[0] >= 0.0
                        && text.start()[0] + width(&text.text, text.size) * text.angle.to_radians().cos()
                            <= drawing.width,
                    "{text:?}"
                );
            }
        }
        // The two names at the top stand side by side.
        let names = drawing.shapes.iter().filter_map(|shape| match shape {
            Shape::Text(text) if text.text.contains("/a²") => Some((text.start()[0], width(&text.text, text.size))),
            _ => None,
        });
        let names: Vec<(f64, f64)> = names.collect();
        assert!(names[0].0 + names[0].1 < names[1].0, "{names:?}");
    }
}
