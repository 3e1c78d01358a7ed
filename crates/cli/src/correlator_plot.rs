//! The picture of `lanefield correlator`: correlators on a logarithmic axis above, effective masses below, as SVG.

use anyhow::Context as _;
use lanefield::reference::layout::Extents;
use plotters::coord::Shift;
use plotters::prelude::{
    ChartBuilder, Circle, Color as _, DrawingArea, IntoDrawingArea as _, IntoLogRange as _, LineSeries, RGBColor,
    SVGBackend, SeriesLabelPosition, WHITE,
};

/// A correlator to be drawn.
pub struct Curve {
    pub name: &'static str,
    /// C(t), t = 0, 1, …
    pub correlator: Vec<f64>,
    /// The effective mass between t and t + 1, where there is one.
    pub masses: Vec<Option<f64>>,
}

/// Colour and radius of the points of each curve. The colours are those that people who confuse red and green can tell apart (Okabe and
/// Ito); of points on top of each other the smaller comes last.
const MARKS: [(RGBColor, i32); 2] = [(RGBColor(0, 114, 178), 6), (RGBColor(213, 94, 0), 4)];
const SIZE: (u32, u32) = (800, 900);
const LABEL: (&str, u32) = ("sans-serif", 16);

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// The SVG. Values that are not positive have no place on a logarithmic axis, and are left out.
pub fn plot(curves: &[Curve], extents: Extents) -> anyhow::Result<String> {
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        let title = format!("Meson correlators on {extents}");
        let body = root.margin(12, 0, 0, 0).titled(&title, ("sans-serif", 24))?;
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

/// A whole time; nothing between two.
fn time_label(t: &f64) -> String {
    if (t - t.round()).abs() < 1e-6 { format!("{t:.0}") } else { String::new() }
}

/// The least and the largest of some numbers.
fn bounds(numbers: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    numbers.fold(None, |bounds, x| {
        let (least, most) = bounds.unwrap_or((x, x));
        Some((x.min(least), x.max(most)))
    })
}

fn draw_correlators(area: &Area<'_>, curves: &[Curve]) -> anyhow::Result<()> {
    let points = |curve: &Curve| -> Vec<(f64, f64)> {
        let points = curve.correlator.iter().enumerate().map(|(t, &c)| (t as f64, c));
        points.filter(|&(_, c)| c > 0.0 && c.is_finite()).collect()
    };
    let values = curves.iter().flat_map(points).map(|(_, c)| c);
    let (least, most) = bounds(values).unwrap_or((0.1, 1.0));
    let range = (least / 2.0).max(f64::MIN_POSITIVE)..(most * 2.0).min(f64::MAX);
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
        let circles = points.into_iter().map(|point| Circle::new(point, radius, colour.filled()));
        let series = chart.draw_series(circles)?;
        series.label(curve.name).legend(move |place| Circle::new(place, radius, colour.filled()));
    }
    let legend = &mut chart.configure_series_labels();
    legend.position(SeriesLabelPosition::UpperMiddle).label_font(LABEL).background_style(WHITE).draw()?;
    Ok(())
}

fn draw_masses(area: &Area<'_>, curves: &[Curve]) -> anyhow::Result<()> {
    let points = |curve: &Curve| -> Vec<(f64, f64)> {
        let points = curve.masses.iter().enumerate().filter_map(|(t, m)| Some((t as f64 + 0.5, (*m)?)));
        points.filter(|(_, m)| m.is_finite()).collect()
    };
    let most = bounds(curves.iter().flat_map(points).map(|(_, m)| m)).map_or(1.0, |(_, most)| most);
    let top = if most > 0.0 { 1.25 * most } else { 1.0 };
    let (times, labels) = times(curves);
    let mut chart = ChartBuilder::on(area)
        .margin(12)
        .x_label_area_size(48)
        .y_label_area_size(84)
        .build_cartesian_2d(times, 0.0..top)
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
        let circles = points(curve).into_iter().map(|point| Circle::new(point, radius, colour.filled()));
        let series = chart.draw_series(circles)?;
        series.label(curve.name).legend(move |place| Circle::new(place, radius, colour.filled()));
    }
    let legend = &mut chart.configure_series_labels();
    legend.position(SeriesLabelPosition::UpperMiddle).label_font(LABEL).background_style(WHITE).draw()?;
    Ok(())
}
