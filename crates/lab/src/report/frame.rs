//! The frame of a chart with two axes, and the plotting area in it.

use serde::Serialize;

/// A view box with its plotting area: the margins around it hold the names of the axes.
#[derive(Serialize, Debug)]
pub(super) struct Frame {
    width: f64,
    height: f64,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

/// For what a chart is: a screen or paper, or a phone, on which the same text needs a larger part of the width.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Size {
    Wide,
    Narrow,
}

impl Size {
    pub fn width(self) -> f64 {
        if self == Self::Wide { 760.0 } else { 360.0 }
    }
}

impl Frame {
    /// With so much above and below the plane.
    pub fn new(size: Size, height: f64, above: f64, below: f64) -> Self {
        let width = size.width();
        let left = if size == Size::Wide { 72.0 } else { 52.0 };
        Self {
            width,
            height,
            left,
            right: width - if size == Size::Wide { 30.0 } else { 14.0 },
            top: above,
            bottom: height - below,
        }
    }

    /// The x coordinate at this fraction of the width of the plotting area, from the left.
    pub fn x(&self, share: f64) -> f64 {
        self.left + share * (self.right - self.left)
    }

    /// The y coordinate at this fraction of its height, from the bottom.
    pub fn y(&self, share: f64) -> f64 {
        self.bottom - share * (self.bottom - self.top)
    }
}
