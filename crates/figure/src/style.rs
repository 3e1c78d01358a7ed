//! Colours, markers and dashes. Series differ in all three, so that they can be told apart in grey and by readers who confuse colours.

/// A colour by its role, so that a page can have its own, or one of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Colour {
    /// Of text and axes.
    Ink,
    /// Of notes.
    Quiet,
    /// Of lines behind the data.
    Faint,
    /// Behind everything.
    Paper,
    /// Of the series of this number.
    Series(usize),
    /// Red, green, blue.
    Rgb(u8, u8, u8),
}

/// Okabe and Ito's colours, the darker ones first.
const SERIES: [[u8; 3]; 7] =
    [[0, 114, 178], [213, 94, 0], [0, 158, 115], [204, 121, 167], [86, 180, 233], [230, 159, 0], [90, 90, 90]];

impl Colour {
    /// On white paper.
    pub(crate) fn rgb(self) -> [u8; 3] {
        match self {
            Self::Ink => [0, 0, 0],
            Self::Quiet => [85, 85, 85],
            Self::Faint => [190, 190, 190],
            Self::Paper => [255, 255, 255],
            Self::Series(number) => SERIES[number % SERIES.len()],
            Self::Rgb(red, green, blue) => [red, green, blue],
        }
    }
}

/// The shape of a point.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Marker {
    outline: Outline,
    /// Whether it is filled.
    pub filled: bool,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Outline {
    Circle,
    /// Corners around the centre, in units of the radius; y goes down.
    Corners(&'static [[f64; 2]]),
}

const SQUARE: Outline = Outline::Corners(&[[-0.88, -0.88], [0.88, -0.88], [0.88, 0.88], [-0.88, 0.88]]);
pub(crate) const UP: Outline = Outline::Corners(&[[0.0, -1.2], [1.1, 0.8], [-1.1, 0.8]]);
pub(crate) const DOWN: Outline = Outline::Corners(&[[0.0, 1.2], [1.1, -0.8], [-1.1, -0.8]]);
const DIAMOND: Outline = Outline::Corners(&[[0.0, -1.3], [1.05, 0.0], [0.0, 1.3], [-1.05, 0.0]]);

const MARKERS: [(Outline, bool); 8] = [
    (Outline::Circle, true),
    (SQUARE, false),
    (UP, true),
    (DIAMOND, false),
    (DOWN, true),
    (Outline::Circle, false),
    (SQUARE, true),
    (UP, false),
];

impl Marker {
    /// Of the series of this number.
    pub fn of(series: usize) -> Self {
        let (outline, filled) = MARKERS[series % MARKERS.len()];
        Self { outline, filled }
    }

    pub(crate) fn outline(self) -> Outline {
        self.outline
    }
}

/// Lengths of dashes and gaps, in points.
pub(crate) type Dash = &'static [f64];

const DASHES: [Dash; 4] = [&[], &[5.0, 2.2], &[1.2, 1.8], &[6.0, 2.0, 1.2, 2.0]];

/// Of the line of the series of this number.
pub(crate) fn dash(series: usize) -> Dash {
    DASHES[series % DASHES.len()]
}
