//! What is drawn, before a file has a format: shapes one over the other, in points from the upper left corner.

use crate::style::{Colour, Dash, Marker, Outline};
use crate::text;

/// How a line looks.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Stroke {
    /// Its colour.
    pub colour: Colour,
    /// In points.
    pub width: f64,
    pub(crate) dash: Dash,
}

impl Stroke {
    /// A solid line.
    pub fn new(colour: Colour, width: f64) -> Self {
        Self { colour, width, dash: &[] }
    }

    pub(crate) fn dashed(self, dash: Dash) -> Self {
        Self { dash, ..self }
    }
}

/// Which point of a text is its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Anchor {
    /// Its left end.
    Start,
    /// Its middle.
    Middle,
    /// Its right end.
    End,
}

/// A line of text.
#[derive(Clone, PartialEq, Debug)]
pub struct Text {
    /// What is written, with raised and lowered digits of Unicode.
    pub text: String,
    /// Where the line on which it stands is.
    pub place: [f64; 2],
    /// Which of its points is there.
    pub anchor: Anchor,
    /// Of the font, in points.
    pub size: f64,
    /// Its colour.
    pub colour: Colour,
    /// Turned to the left by this, in degrees.
    pub angle: f64,
}

/// A part of a drawing.
#[derive(Clone, PartialEq, Debug)]
pub enum Shape {
    /// A box, from its upper left corner.
    Rectangle {
        /// Its upper left corner.
        corner: [f64; 2],
        /// Width and height.
        size: [f64; 2],
        /// Its colour.
        fill: Colour,
        /// How much of what is behind it is hidden, from 0 to 1.
        opacity: f64,
    },
    /// Points that are joined.
    Lines {
        /// The points.
        points: Vec<[f64; 2]>,
        /// Whether the last one is joined with the first.
        closed: bool,
        /// What is inside, with its opacity.
        fill: Option<(Colour, f64)>,
        /// The line, if it is drawn.
        stroke: Option<Stroke>,
    },
    /// A circle.
    Circle {
        /// Its centre.
        centre: [f64; 2],
        /// Its radius.
        radius: f64,
        /// What is inside.
        fill: Colour,
        /// The line around it.
        stroke: Option<Stroke>,
    },
    /// Text.
    Text(Text),
}

/// Shapes on paper of a size.
#[derive(Clone, PartialEq, Debug)]
pub struct Drawing {
    /// Says what is shown to those who cannot see it.
    pub title: String,
    /// In points.
    pub width: f64,
    /// In points.
    pub height: f64,
    /// From the lowest to the uppermost.
    pub shapes: Vec<Shape>,
}

impl Drawing {
    /// White paper.
    pub fn new(title: &str, width: f64, height: f64) -> Self {
        Self { title: title.to_owned(), width, height, shapes: Vec::new() }
    }

    /// Adds a box.
    pub fn rectangle(&mut self, corner: [f64; 2], size: [f64; 2], fill: Colour, opacity: f64) {
        self.shapes.push(Shape::Rectangle { corner, size, fill, opacity });
    }

    /// Adds a line through points.
    pub fn lines(&mut self, points: &[[f64; 2]], stroke: Stroke) {
        self.shapes.push(Shape::Lines { points: points.to_vec(), closed: false, fill: None, stroke: Some(stroke) });
    }

    pub(crate) fn polygon(&mut self, points: Vec<[f64; 2]>, fill: Option<(Colour, f64)>, stroke: Option<Stroke>) {
        self.shapes.push(Shape::Lines { points, closed: true, fill, stroke });
    }

    /// Adds a horizontal text in ink.
    pub fn text(&mut self, text: &str, place: [f64; 2], size: f64, anchor: Anchor) {
        self.styled(text, place, size, anchor, Colour::Ink, 0.0);
    }

    pub(crate) fn styled(
        &mut self,
        text: &str,
        place: [f64; 2],
        size: f64,
        anchor: Anchor,
        colour: Colour,
        angle: f64,
    ) {
        self.shapes.push(Shape::Text(Text { text: text.to_owned(), place, anchor, size, colour, angle }));
    }

    pub(crate) fn marker(&mut self, marker: Marker, centre: [f64; 2], radius: f64, colour: Colour) {
        // An open marker hides the bars behind it; a filled one has an edge of paper, so that neighbours do not run together.
        let (fill, edge) = if marker.filled { (colour, Colour::Paper) } else { (Colour::Paper, colour) };
        let stroke = Some(Stroke::new(edge, if marker.filled { 0.5 } else { 1.1 }));
        match marker.outline() {
            Outline::Circle => self.shapes.push(Shape::Circle { centre, radius, fill, stroke }),
            Outline::Corners(corners) => {
                let at = |[x, y]: &[f64; 2]| [centre[0] + radius * x, centre[1] + radius * y];
                self.polygon(corners.iter().map(at).collect(), Some((fill, 1.0)), stroke);
            }
        }
    }
}

impl Text {
    /// Where its left end is, on the line on which it stands.
    pub(crate) fn start(&self) -> [f64; 2] {
        let width = text::width(&self.text, self.size);
        let back = match self.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => width / 2.0,
            Anchor::End => width,
        };
        let (sin, cos) = self.angle.to_radians().sin_cos();
        [self.place[0] - back * cos, self.place[1] + back * sin]
    }
}
