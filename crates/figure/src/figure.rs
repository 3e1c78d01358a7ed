//! What a figure is.

use crate::style::{Colour, Marker};

/// Panels one below the other, with a title.
#[derive(Clone, PartialEq, Debug)]
pub struct Figure {
    /// Of the whole figure; empty: none.
    pub title: String,
    /// Smaller, below the title: what it is of. Long ones are wrapped.
    pub notes: Vec<String>,
    /// From above to below.
    pub panels: Vec<Panel>,
    /// Below the panels.
    pub lists: Vec<List>,
    /// In points.
    pub width: f64,
    /// Whether only the lowest panel has numbers and a name at its x axis, which is that of all.
    pub shares_x: bool,
}

/// A plane with two axes.
#[derive(Clone, PartialEq, Debug)]
pub struct Panel {
    /// To the right.
    pub x: Axis,
    /// Upwards.
    pub y: Axis,
    /// Of the plane, in points.
    pub height: f64,
    /// Bands of fits, behind the points.
    pub bands: Vec<Band>,
    /// Reference lines.
    pub lines: Vec<Line>,
    /// Curves with their names along them.
    pub curves: Vec<Curve>,
    /// Points, and lines through them.
    pub series: Vec<Series>,
    /// Numbers of points, near them.
    pub numbers: Vec<Number>,
}

/// Whether an axis counts differences or factors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scale {
    /// Equal differences have equal lengths.
    Linear,
    /// Equal factors have equal lengths.
    Logarithmic,
}

/// From where to where an axis goes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Range {
    /// All that is drawn, with some room.
    Data,
    /// From the first number to the second.
    Fixed(f64, f64),
}

/// An axis.
#[derive(Clone, PartialEq, Debug)]
pub struct Axis {
    /// Its quantity, and the unit: "t / a".
    pub name: String,
    /// How it counts.
    pub scale: Scale,
    /// Its ends.
    pub range: Range,
    /// Whether it has ticks at whole numbers only.
    pub whole: bool,
}

/// A point with its error, if one is known.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Point {
    /// To the right.
    pub x: f64,
    /// Upwards.
    pub y: f64,
    /// One standard deviation of `y`.
    pub error: Option<f64>,
}

/// Points of one kind.
#[derive(Clone, PartialEq, Debug)]
pub struct Series {
    /// In the legend; empty: not there.
    pub name: String,
    /// Number of its colour, marker and dashes.
    pub style: usize,
    /// In the order in which they are joined.
    pub points: Vec<Point>,
    /// Whether a line joins them.
    pub joined: bool,
    /// Their markers; none: no markers.
    pub marker: Option<Marker>,
}

/// A line with a range about it: a fit.
#[derive(Clone, PartialEq, Debug)]
pub struct Band {
    /// In the legend; empty: not there.
    pub name: String,
    /// Number of its colour.
    pub style: usize,
    /// x, y, and by how much the band goes up and down from y.
    pub points: Vec<(f64, f64, f64)>,
}

/// A reference line through the whole panel, with its name at its end outside.
#[derive(Clone, PartialEq, Debug)]
pub enum Line {
    /// At this y; its name stands to the right.
    Horizontal(f64, String),
    /// At this x; its name stands above.
    Vertical(f64, String),
}

/// Where along a curve its name stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LabelAt {
    /// At its left end.
    Start,
    /// At its right end.
    End,
}

/// A line of straight pieces with its name along it.
#[derive(Clone, PartialEq, Debug)]
pub struct Curve {
    /// x and y.
    pub points: Vec<[f64; 2]>,
    /// Number of its colour and dashes.
    pub style: usize,
    /// Its name.
    pub label: String,
    /// Where the name stands.
    pub label_at: LabelAt,
}

/// A number near a point.
#[derive(Clone, PartialEq, Debug)]
pub struct Number {
    /// Of the point.
    pub x: f64,
    /// Of the point.
    pub y: f64,
    /// What is written.
    pub text: String,
}

/// Rows below the panels, in two columns: a number, a name, and values.
#[derive(Clone, PartialEq, Debug)]
pub struct List {
    /// Above the rows.
    pub title: String,
    /// The marker that its points have, and the number of their colour.
    pub marker: Option<(Marker, Colour)>,
    /// Cells: of each row the same number of them, the second is the name.
    pub rows: Vec<Vec<String>>,
}

/// Of one column of a journal with room to shrink, and of a screen.
const WIDTH: f64 = 460.0;

impl Figure {
    /// Of one panel or several.
    pub fn new(title: impl Into<String>, panels: Vec<Panel>) -> Self {
        Self { title: title.into(), notes: Vec::new(), panels, lists: Vec::new(), width: WIDTH, shares_x: false }
    }

    /// With a note below the title.
    pub fn noted(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }
}

impl Panel {
    /// Without anything in it.
    pub fn new(x: Axis, y: Axis) -> Self {
        let (bands, lines, curves, series, numbers) = Default::default();
        Self { x, y, height: 250.0, bands, lines, curves, series, numbers }
    }

    /// Of another height.
    pub fn high(self, height: f64) -> Self {
        Self { height, ..self }
    }
}

impl Axis {
    /// That counts differences.
    pub fn linear(name: impl Into<String>) -> Self {
        Self { name: name.into(), scale: Scale::Linear, range: Range::Data, whole: false }
    }

    /// That counts factors.
    pub fn logarithmic(name: impl Into<String>) -> Self {
        Self { scale: Scale::Logarithmic, ..Self::linear(name) }
    }

    /// With ticks at whole numbers.
    pub fn whole(self) -> Self {
        Self { whole: true, ..self }
    }

    /// From one number to another.
    pub fn within(self, least: f64, most: f64) -> Self {
        Self { range: Range::Fixed(least, most), ..self }
    }

    /// Whether a number has a place on such an axis.
    pub(crate) fn takes(&self, value: f64) -> bool {
        value.is_finite() && (self.scale == Scale::Linear || value > 0.0)
    }
}

impl Point {
    /// Without an error.
    pub fn new(x: f64, y: f64) -> Self {
        Self { x, y, error: None }
    }
}

impl Series {
    /// Points with the marker of their style.
    pub fn points(name: impl Into<String>, style: usize, points: Vec<Point>) -> Self {
        Self { name: name.into(), style, points, joined: false, marker: Some(Marker::of(style)) }
    }

    /// A line without markers.
    pub fn line(name: impl Into<String>, style: usize, points: Vec<Point>) -> Self {
        Self { name: name.into(), style, points, joined: true, marker: None }
    }

    /// The same with a line through the points.
    pub fn joined(self) -> Self {
        Self { joined: true, ..self }
    }
}
