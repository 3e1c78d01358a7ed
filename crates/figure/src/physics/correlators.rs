//! Correlators on a logarithmic axis above, effective masses and fits below.

use super::Value;
use crate::{Axis, Band, Figure, Panel, Point, Series};

/// A correlator with its effective masses.
#[derive(Clone, PartialEq, Debug)]
pub struct Correlator {
    /// Of the hadron.
    pub name: String,
    /// C(t), t = 0, 1, …
    pub correlator: Vec<Value>,
    /// The effective mass between t and t + 1, where there is one.
    pub masses: Vec<Option<Value>>,
    /// In the order of the legend.
    pub fits: Vec<FittedMass>,
}

/// A mass that was fitted to some times: a band of its error about a line.
#[derive(Clone, PartialEq, Debug)]
pub struct FittedMass {
    /// The first time.
    pub first: usize,
    /// The last one.
    pub last: usize,
    /// a m.
    pub mass: Value,
    /// In the legend.
    pub label: String,
}

const HEIGHT: f64 = 200.0;
/// Between points of one time, so that none hides another.
const APART: f64 = 0.08;

/// The figure of correlators. Values that are not positive have no place on a logarithmic axis: they are left out and counted.
pub fn correlators(curves: &[Correlator], title: &str) -> Figure {
    Figure::new(title, vec![values(curves), masses(curves)])
}

/// All times from the source, with half a step on either side.
fn times(curves: &[Correlator]) -> Axis {
    let most = curves.iter().map(|curve| curve.correlator.len()).max().unwrap_or(1).max(1);
    Axis::linear("t / a").whole().within(-0.5, most as f64 - 0.5)
}

/// By how much the points of a curve are shifted from their time.
fn shift(curves: &[Correlator], number: usize) -> f64 {
    APART.min(0.4 / curves.len() as f64) * (number as f64 - (curves.len() as f64 - 1.0) / 2.0)
}

fn values(curves: &[Correlator]) -> Panel {
    let mut panel = Panel::new(times(curves), Axis::logarithmic("C(t)")).high(HEIGHT);
    for (style, curve) in curves.iter().enumerate() {
        let values = curve.correlator.iter().enumerate();
        let shift = shift(curves, style);
        let points = values.map(|(t, &(y, error))| Point { x: t as f64 + shift, y, error }).collect();
        panel.series.push(Series::points(&*curve.name, style, points));
    }
    panel
}

fn masses(curves: &[Correlator]) -> Panel {
    let range = mass_range(curves);
    let mut panel = Panel::new(times(curves), Axis::linear("a m(t)").within(range.start, range.end)).high(HEIGHT);
    for (style, curve) in curves.iter().enumerate() {
        let masses = curve.masses.iter().enumerate();
        // Between a time and the next; the panel above has the names.
        let shift = 0.5 + shift(curves, style);
        let point = |(t, mass): (usize, &Option<Value>)| mass.map(|(y, error)| Point { x: t as f64 + shift, y, error });
        panel.series.push(Series::points("", style, masses.filter_map(point).collect()));
        panel.bands.extend(curve.fits.iter().map(|fit| {
            let (mass, error) = fit.mass;
            let ends = [fit.first, fit.last].map(|t| (t as f64, mass, error.unwrap_or(0.0)));
            Band { name: fit.label.clone(), style, points: ends.into() }
        }));
    }
    panel
}

/// The range of an axis for masses: that of the plateau, a quarter of the lattice on either side of its middle, with their errors and some room. Near
/// the source states above the lowest one, and contact points, would set the range.
fn mass_range(curves: &[Correlator]) -> std::ops::Range<f64> {
    let ends = |near_middle: bool| {
        let fitted = curves.iter().flat_map(|curve| curve.fits.iter().map(|fit| fit.mass));
        let masses = curves.iter().flat_map(move |curve| {
            let middle = curve.correlator.len() as f64 / 2.0;
            let wanted = move |t: usize| !near_middle || (t as f64 + 0.5 - middle).abs() <= middle / 2.0;
            curve.masses.iter().enumerate().filter(move |(t, _)| wanted(*t)).filter_map(|(_, mass)| *mass)
        });
        // Noise does not set the range: a large error, or none where others have one.
        let has_errors =
            curves.iter().flat_map(|curve| curve.masses.iter().flatten()).any(|(_, error)| error.is_some());
        let known = masses.filter(move |(mass, error)| match error {
            Some(error) => *error <= 0.25 * mass.abs(),
            None => !has_errors,
        });
        let ends =
            known.chain(fitted).flat_map(|(mass, error)| [mass - error.unwrap_or(0.0), mass + error.unwrap_or(0.0)]);
        bounds(ends.filter(|mass| mass.is_finite()))
    };
    let (least, most) = ends(true).or_else(|| ends(false)).unwrap_or((0.0, 1.0));
    let room = (0.2 * (most - least)).max(0.05 * most.abs()).max(1e-6);
    (least - room).max(0.0)..most + room
}

fn bounds(numbers: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    numbers.fold(None, |bounds, x| {
        let (least, most) = bounds.unwrap_or((x, x));
        Some((x.min(least), x.max(most)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Colours;

    fn curve(masses: &[f64]) -> Correlator {
        let correlator = vec![(1.0, None); masses.len() + 1];
        Correlator {
            name: "pion".to_owned(),
            correlator,
            masses: masses.iter().map(|&mass| Some((mass, None))).collect(),
            fits: Vec::new(),
        }
    }

    #[test]
    fn contact_points_do_not_set_the_axis_of_masses() {
        // Twelve times: the plateau is between 3 and 9.
        let range = mass_range(&[curve(&[9.0, 2.0, 1.0, 0.52, 0.5, 0.5, 0.5, 0.52, 0.5, 1.0, 2.0])]);
        assert!(range.start > 0.4 && range.start < 0.5 && range.end > 0.52 && range.end < 0.6, "{range:?}");
    }

    #[test]
    fn the_axis_holds_masses_where_there_is_no_plateau() {
        let mut outside = curve(&[2.0, 1.0, 0.5, 0.5, 0.5, 0.5, 0.5]);
        outside.masses[1..6].fill(None);
        assert!(mass_range(&[outside]).contains(&2.0));
        assert_eq!(mass_range(&[]).start, 0.0);
        let constant = mass_range(&[curve(&[0.0; 7])]);
        assert!(constant.start < constant.end, "{constant:?}");
    }

    #[test]
    fn errors_are_bars_with_caps() {
        let with = |error: Option<f64>| {
            let mut curve = curve(&[0.5; 7]);
            curve.correlator.iter_mut().for_each(|(_, of)| *of = error);
            curve.masses.iter_mut().flatten().for_each(|(_, of)| *of = error);
            let svg = correlators(&[curve], "pion").draw().svg(Colours::Paper);
            // In the colour of the pion.
            svg.matches("stroke=\"#0072b2\"").count()
        };
        assert_eq!(with(Some(0.01)), 3 * (8 + 7));
        assert_eq!(with(None), 0);
    }
}
