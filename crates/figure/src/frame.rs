//! The plane of a panel: the ranges of its axes, and from numbers to places.

use crate::figure::{Axis, Line, Panel, Range, Scale};
use crate::ticks::{Ticks, linear, logarithmic};

/// A range of numbers on a length of paper.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub numbers: (f64, f64),
    pub paper: (f64, f64),
    scale: Scale,
}

impl Span {
    pub fn place(&self, value: f64) -> f64 {
        let (low, high) = self.numbers;
        let share = match self.scale {
            Scale::Linear => (value - low) / (high - low),
            Scale::Logarithmic => (value / low).ln() / (high / low).ln(),
        };
        // Far outside is outside, and finite.
        self.paper.0 + share.clamp(-1e4, 1e4) * (self.paper.1 - self.paper.0)
    }

    pub fn holds(&self, value: f64) -> bool {
        let (low, high) = self.numbers;
        let room = if self.scale == Scale::Linear { 1e-9 * (high - low) } else { 1e-9 * low };
        (low - room..=high + room).contains(&value)
    }

    /// A place that is outside where it would be none: the lower end of an error bar on a logarithmic axis.
    pub fn clamped(&self, value: f64) -> f64 {
        let (low, high) = self.numbers;
        self.place(if value.is_nan() { low } else { value.clamp(low, high) })
    }

    pub fn ticks(&self, axis: &Axis) -> Ticks {
        let length = (self.paper.1 - self.paper.0).abs();
        let is_upright = self.paper.1 < self.paper.0;
        let wanted = (length / if is_upright { 42.0 } else { 58.0 }).clamp(3.0, 12.0);
        match self.scale {
            Scale::Linear => linear(self.numbers, if axis.whole { wanted * 1.6 } else { wanted }, axis.whole),
            Scale::Logarithmic => logarithmic(self.numbers, if is_upright { wanted * 1.4 } else { wanted }),
        }
    }
}

/// Both axes on paper.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub x: Span,
    pub y: Span,
}

impl Frame {
    pub fn place(&self, x: f64, y: f64) -> [f64; 2] {
        [self.x.place(x), self.y.place(y)]
    }

    /// Upper left and lower right corner.
    pub fn corners(&self) -> [[f64; 2]; 2] {
        [[self.x.paper.0, self.y.paper.1], [self.x.paper.1, self.y.paper.0]]
    }
}

/// An axis with this range on paper.
pub(crate) fn span(axis: &Axis, numbers: (f64, f64), paper: (f64, f64)) -> Span {
    Span { numbers, paper, scale: axis.scale }
}

/// Room around the data, as a part of them.
const ROOM: f64 = 0.06;

/// The ends of an axis that has to show these numbers.
fn range(axis: &Axis, numbers: impl Iterator<Item = f64>) -> (f64, f64) {
    if let Range::Fixed(low, high) = axis.range
        && axis.takes(low)
        && axis.takes(high)
        && low < high
    {
        return (low, high);
    }
    let is_log = axis.scale == Scale::Logarithmic;
    let ends = numbers.filter(|value| axis.takes(*value)).fold(None, |ends: Option<(f64, f64)>, value| {
        let (low, high) = ends.unwrap_or((value, value));
        Some((low.min(value), high.max(value)))
    });
    match (ends, is_log) {
        (None, true) => (0.1, 10.0),
        (None, false) => (0.0, 1.0),
        (Some((low, high)), true) => {
            let room = (high / low).powf(ROOM).max(1.3);
            ((low / room).max(f64::MIN_POSITIVE), (high * room).min(f64::MAX))
        }
        (Some((low, high)), false) if axis.whole => (low - 0.5, high + 0.5),
        (Some((low, high)), false) => {
            // A constant has a range, too.
            let least = if low == high { low.abs().max(f64::MIN_POSITIVE) } else { 1e-12 * low.abs().max(high.abs()) };
            let room = (ROOM * (high - low)).max(0.1 * least);
            let room = if room > 0.0 { room } else { 1.0 };
            (
                if low == 0.0 && high > 0.0 { 0.0 } else { low - room },
                if high == 0.0 && low < 0.0 { 0.0 } else { high + room },
            )
        }
    }
}

/// The ends of both axes of a panel.
pub(crate) fn ranges(panel: &Panel) -> ((f64, f64), (f64, f64)) {
    let is_shown = |x: f64, y: f64| panel.x.takes(x) && panel.y.takes(y);
    let points = || panel.series.iter().flat_map(|series| &series.points).filter(|point| is_shown(point.x, point.y));
    let bands = || panel.bands.iter().flat_map(|band| &band.points);
    let curves = || panel.curves.iter().flat_map(|curve| &curve.points);
    let lines = |upright: bool| {
        panel.lines.iter().filter_map(move |line| match line {
            Line::Vertical(at, _) if upright => Some(*at),
            Line::Horizontal(at, _) if !upright => Some(*at),
            _ => None,
        })
    };
    let x = points().map(|point| point.x).chain(bands().map(|point| point.0));
    let x = x.chain(curves().map(|point| point[0])).chain(lines(true));
    let y = points().flat_map(|point| {
        let error = point.error.unwrap_or(0.0);
        [point.y - error, point.y, point.y + error]
    });
    let y = y.chain(bands().flat_map(|&(_, y, spread)| [y - spread, y + spread]));
    let y = y.chain(curves().map(|point| point[1])).chain(lines(false));
    (range(&panel.x, x), range(&panel.y, y))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_fit_the_data_with_some_room() {
        let axis = Axis::linear("x");
        assert_eq!(range(&axis, [1.0, 2.0].into_iter()), (0.94, 2.06));
        assert_eq!(range(&axis, [0.0, 2.0].into_iter()), (0.0, 2.12));
        assert_eq!(range(&axis, [f64::NAN, f64::INFINITY].into_iter()), (0.0, 1.0));
        let constant = range(&axis, [0.5; 3].into_iter());
        assert!(constant.0 < 0.5 && constant.1 > 0.5, "{constant:?}");
        let constant = range(&axis, [0.0; 3].into_iter());
        assert!(constant.0 < 0.0 && constant.1 > 0.0, "{constant:?}");
        assert_eq!(range(&axis.whole(), [0.0, 7.0].into_iter()), (-0.5, 7.5));
        let log = range(&Axis::logarithmic("y"), [-1.0, 0.0, 1e-8, 1.0].into_iter());
        assert!(log.0 > 1e-9 && log.0 < 1e-8 && log.1 > 1.0 && log.1 < 10.0, "{log:?}");
    }

    #[test]
    fn numbers_have_places_between_the_ends() {
        let log = span(&Axis::logarithmic("y"), (1e-2, 1e2), (100.0, 0.0));
        assert!((log.place(1.0) - 50.0).abs() < 1e-9 && log.holds(1e2) && !log.holds(1.1e2));
        assert_eq!(log.clamped(-5.0), 100.0);
        assert!(log.place(0.0).is_finite() && log.place(-1.0).is_nan());
    }
}
