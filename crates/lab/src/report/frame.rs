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

impl Frame {
    /// With these margins above and below the plotting area.
    pub fn new(height: f64, above: f64, below: f64) -> Self {
        Self { width: 760.0, height, left: 72.0, right: 730.0, top: above, bottom: height - below }
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
