//! The box of a chart with two axes, and the plane in it.

use serde::Serialize;

/// A view box with its plane: the margins around it hold the names of the axes.
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
    /// With so much above and below the plane.
    pub fn new(height: f64, above: f64, below: f64) -> Self {
        Self { width: 760.0, height, left: 72.0, right: 730.0, top: above, bottom: height - below }
    }

    /// Where a share of the plane's width lies, from the left.
    pub fn x(&self, share: f64) -> f64 {
        self.left + share * (self.right - self.left)
    }

    /// Where a share of its height lies, from below.
    pub fn y(&self, share: f64) -> f64 {
        self.bottom - share * (self.bottom - self.top)
    }
}
