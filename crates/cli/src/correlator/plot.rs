//! The picture of `lanefield correlator` and `spectrum fit`: correlators on a logarithmic axis above, effective masses and fits below, as SVG.

use anyhow::Context as _;
use lanefield::reference::layout::Extents;
use plotters::coord::Shift;
use plotters::prelude::{
    ChartBuilder, Circle, Color as _, DrawingArea, IntoDrawingArea as _, IntoLogRange as _, LineSeries, PathElement,
    RGBColor, Rectangle, SVGBackend, SeriesLabelPosition, TriangleMarker, WHITE,
};

/// A number, and its error where one is known.
pub type Value = (f64, Option<f64>);

pub struct Curve {
    pub name: &'static str,
    /// C(t), t = 0, 1, …
    pub correlator: Vec<Value>,
    /// The effective mass between t and t + 1, where there is one.
    pub masses: Vec<Option<Value>>,
    pub fits: Vec<Band>,
}

/// A mass that was fitted to some times: a band of its error about a line.
pub struct Band {
    pub first: usize,
    pub last: usize,
    pub mass: Value,
    /// In the legend.
    pub label: String,
}

pub struct Title {
    pub extents: Extents,
    /// Operator, parameters and configurations in words, where they are known.
    pub of: Option<String>,
    /// What errors are taken over: sources or configurations.
    pub errors_from: Option<&'static str>,
}

/// Colour and radius of the points of each curve. The colours are those that people who confuse red and green can tell apart (Okabe and
/// Ito); of points on top of each other the smaller comes last.
const MARKS: [(RGBColor, i32); 6] = [
    (RGBColor(0, 114, 178), 6),
    (RGBColor(213, 94, 0), 4),
    (RGBColor(0, 158, 115), 4),
    (RGBColor(204, 121, 167), 4),
    (RGBColor(230, 159, 0), 4),
    (RGBColor(86, 180, 233), 4),
];
const SIZE: (u32, u32) = (800, 900);
const LABEL: (&str, u32) = ("sans-serif", 16);

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// The SVG. Values that are not positive have no place on a logarithmic axis, and are left out.
pub fn plot(curves: &[Curve], title: &Title) -> anyhow::Result<String> {
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        let Title { extents, of, errors_from } = title;
        let of = of.as_deref().unwrap_or("operator and configuration not known");
        let errors = errors_from.map_or_else(String::new, |from| format!("; jackknife errors over {from}"));
        let body = root.margin(12, 0, 0, 0).titled(&format!("Correlators on {extents}"), ("sans-serif", 24))?;
        let body = body.titled(&format!("{of}{errors}"), LABEL)?;
        let (above, below) = body.split_vertically(body.dim_in_pixel().1 / 2);
        draw_correlators(&above, curves)?;
        draw_masses(&below, curves)?;
        root.present()?;
    }
    Ok(svg)
}

/// Times with half a step of room on either side, and how many of them are to be labelled at most.
fn times(curves: &[Curve]) -> (std::ops::Range<f64>, usize) {
    let most = curves.iter().map(|curve| curve.correlator.len()).max().unwrap_or(1);
    (-0.5..most as f64 - 0.5, most.min(12))
}

fn time_label(t: &f64) -> String {
    if (t - t.round()).abs() < 1e-6 { format!("{t:.0}") } else { String::new() }
}

/// The range of an axis for masses: that of the plateau, a quarter of the lattice on either side of its middle, with their errors and some room. Near
/// the source states above the lowest one, and contact points, would set the range.
fn mass_range(curves: &[Curve]) -> std::ops::Range<f64> {
    let ends = |near_middle: bool| {
        let fitted = curves.iter().flat_map(|curve| curve.fits.iter().map(|fit| fit.mass));
        let masses = curves.iter().flat_map(move |curve| {
            let middle = curve.correlator.len() as f64 / 2.0;
            let wanted = move |t: usize| !near_middle || (t as f64 + 0.5 - middle).abs() <= middle / 2.0;
            curve.masses.iter().enumerate().filter(move |(t, _)| wanted(*t)).filter_map(|(_, mass)| *mass)
        });
        // Noise does not set the range.
        let known = masses.filter(|(mass, error)| error.is_none_or(|error| error <= 0.25 * mass.abs()));
        let ends =
            known.chain(fitted).flat_map(|(mass, error)| [mass - error.unwrap_or(0.0), mass + error.unwrap_or(0.0)]);
        bounds(ends.filter(|mass| mass.is_finite()))
    };
    let (least, most) = ends(true).or_else(|| ends(false)).unwrap_or((0.0, 1.0));
    let room = (0.5 * (most - least)).max(0.1 * most.abs()).max(1e-6);
    (least - room).max(0.0)..most + room
}

fn bounds(numbers: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    numbers.fold(None, |bounds, x| {
        let (least, most) = bounds.unwrap_or((x, x));
        Some((x.min(least), x.max(most)))
    })
}

fn draw_correlators(area: &Area<'_>, curves: &[Curve]) -> anyhow::Result<()> {
    let points = |curve: &Curve| -> Vec<(f64, f64)> {
        let points = curve.correlator.iter().enumerate().map(|(t, &(c, _))| (t as f64, c));
        points.filter(|&(_, c)| c > 0.0 && c.is_finite()).collect()
    };
    let values = curves.iter().flat_map(points).map(|(_, c)| c);
    let (least, most) = bounds(values).unwrap_or((0.1, 1.0));
    let (bottom, top) = ((least / 2.0).max(f64::MIN_POSITIVE), (most * room_for_legend(curves)).min(f64::MAX));
    let range = bottom..top;
    let (times, labels) = times(curves);
    let mut chart = ChartBuilder::on(area)
        .margin(12)
        .x_label_area_size(48)
        .y_label_area_size(84)
        .build_cartesian_2d(times, range.log_scale())
        .context("failed to draw the correlators")?;
    chart
        .configure_mesh()
        .x_labels(labels)
        .x_label_formatter(&time_label)
        .y_label_formatter(&|c| format!("{c:.0e}"))
        .x_desc("t, time from the source")
        .y_desc("C(t)")
        .label_style(LABEL)
        .axis_desc_style(LABEL)
        .light_line_style(WHITE)
        .draw()?;
    for (curve, &(colour, radius)) in curves.iter().zip(MARKS.iter().cycle()) {
        let points = points(curve);
        chart.draw_series(LineSeries::new(points.clone(), colour))?;
        let errors = curve.correlator.iter().enumerate().filter_map(|(t, &(c, error))| Some((t as f64, c, error?)));
        let errors = errors.filter(|(_, c, _)| *c > 0.0 && c.is_finite());
        let bar = |(t, c, error)| PathElement::new(error_bar(t, c, error, (bottom, top)), colour);
        chart.draw_series(errors.map(bar))?;
        let circles = points.into_iter().map(|point| Circle::new(point, radius, colour.filled()));
        let series = chart.draw_series(circles)?;
        series.label(curve.name).legend(move |place| Circle::new(place, radius, colour.filled()));
    }
    let legend = &mut chart.configure_series_labels();
    legend.position(SeriesLabelPosition::UpperMiddle).label_font(LABEL).background_style(WHITE).draw()?;
    Ok(())
}

/// What the axis has above the largest value: of a legend of more than two names as much as it takes.
fn room_for_legend(curves: &[Curve]) -> f64 {
    2.0 * 10f64.powf(1.2 * curves.len().saturating_sub(2) as f64)
}

/// From a number less its error to the number with it, within the axis.
fn error_bar(t: f64, value: f64, error: f64, (bottom, top): (f64, f64)) -> Vec<(f64, f64)> {
    vec![(t, (value - error).clamp(bottom, top)), (t, (value + error).clamp(bottom, top))]
}

/// Masses beyond the axis are triangles at its end.
fn draw_masses(area: &Area<'_>, curves: &[Curve]) -> anyhow::Result<()> {
    let points = |curve: &Curve| -> Vec<(f64, f64, Option<f64>)> {
        let masses = curve.masses.iter().enumerate();
        let points = masses.filter_map(|(t, mass)| mass.map(|(mass, error)| (t as f64 + 0.5, mass, error)));
        points.filter(|(_, mass, _)| mass.is_finite()).collect()
    };
    let range = mass_range(curves);
    let ends = (range.start, range.end);
    let (times, labels) = times(curves);
    let mut chart = ChartBuilder::on(area)
        .margin(12)
        .x_label_area_size(48)
        .y_label_area_size(84)
        .build_cartesian_2d(times, range.clone())
        .context("failed to draw the effective masses")?;
    chart
        .configure_mesh()
        .x_labels(labels)
        .x_label_formatter(&time_label)
        .x_desc("t, time from the source")
        .y_desc("effective mass between t and t + 1")
        .label_style(LABEL)
        .axis_desc_style(LABEL)
        .light_line_style(WHITE)
        .draw()?;
    for (curve, &(colour, radius)) in curves.iter().zip(MARKS.iter().cycle()) {
        let (inside, beyond): (Vec<_>, Vec<_>) = points(curve).into_iter().partition(|(_, m, _)| range.contains(m));
        for Band { first, last, mass: (mass, error), label } in &curve.fits {
            let (from, to) = (*first as f64, *last as f64);
            if let Some(error) = error {
                let low = (mass - error).clamp(ends.0, ends.1);
                let high = (mass + error).clamp(ends.0, ends.1);
                chart.draw_series([Rectangle::new([(from, low), (to, high)], colour.mix(0.3).filled())])?;
            }
            let line = range.contains(mass).then(|| PathElement::new(vec![(from, *mass), (to, *mass)], colour));
            let series = chart.draw_series(line)?;
            let sample = move |(x, y)| PathElement::new(vec![(x - 8, y), (x + 8, y)], colour.stroke_width(3));
            series.label(label).legend(sample);
        }
        let bars =
            inside.iter().filter_map(|&(t, m, error)| Some(PathElement::new(error_bar(t, m, error?, ends), colour)));
        chart.draw_series(bars)?;
        let triangle = |(t, m, _)| match m < ends.0 {
            true => TriangleMarker::new((t, ends.0), -radius, colour.filled()),
            false => TriangleMarker::new((t, ends.1), radius, colour.filled()),
        };
        chart.draw_series(beyond.into_iter().map(triangle))?;
        let circles = inside.into_iter().map(|(t, m, _)| Circle::new((t, m), radius, colour.filled()));
        let series = chart.draw_series(circles)?;
        series.label(curve.name).legend(move |place| Circle::new(place, radius, colour.filled()));
    }
    let legend = &mut chart.configure_series_labels();
    legend.position(SeriesLabelPosition::UpperMiddle).label_font(LABEL).background_style(WHITE).draw()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(masses: &[f64]) -> Curve {
        let correlator = vec![(1.0, None); masses.len() + 1];
        Curve {
            name: "pion",
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
    fn the_title_says_what_the_picture_is_of_and_errors_are_bars() {
        let masses = vec![Some((0.5, Some(0.01))); 7];
        let curves = [Curve { name: "pion", correlator: vec![(1.0, Some(0.1)); 8], masses, fits: Vec::new() }];
        let of = Some("wilson, mass 0.1; a<b>.nersc".to_owned());
        let title = |of, errors_from| Title { extents: Extents::new([4, 4, 4, 8]).unwrap(), of, errors_from };
        let svg = plot(&curves, &title(of, Some("sources"))).unwrap();
        assert!(svg.contains("wilson, mass 0.1; a&lt;b&gt;.nersc; jackknife errors over sources"), "{svg}");
        // In the colour of the pion: a line through the points, and 8 and 7 bars.
        let lines = |svg: &str| {
            svg.lines().filter(|line| line.starts_with("<polyline") && line.contains("stroke=\"#0072B2\"")).count()
        };
        assert_eq!(lines(&svg), 1 + 8 + 7);
        let without = [Curve {
            masses: vec![Some((0.5, None)); 7],
            correlator: vec![(1.0, None); 8],
            name: "pion",
            fits: Vec::new(),
        }];
        let svg = plot(&without, &title(None, None)).unwrap();
        assert_eq!(lines(&svg), 1);
        assert!(svg.contains("operator and configuration not known") && !svg.contains("errors"), "{svg}");
    }
}
