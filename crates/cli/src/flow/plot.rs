//! The picture of `lanefield flow`: t²E over flow time, and the reference at which t₀ is, as SVG.

use anyhow::Context as _;
use lanefield::gauge::{FlowPoint, REFERENCE};
use plotters::prelude::{
    ChartBuilder, Circle, Color as _, IntoDrawingArea as _, LineSeries, RGBColor, SVGBackend, WHITE,
};

const SIZE: (u32, u32) = (800, 500);
const LABEL: (&str, u32) = ("sans-serif", 16);
/// Of the points, and of the reference.
const COLOURS: [RGBColor; 2] = [RGBColor(0, 114, 178), RGBColor(213, 94, 0)];

pub fn plot(points: &[FlowPoint], title: &str) -> anyhow::Result<String> {
    let values: Vec<(f64, f64)> =
        points.iter().map(|point| (point.time, point.time * point.time * point.energy)).collect();
    let last = values.iter().map(|value| value.0).fold(f64::MIN_POSITIVE, f64::max);
    let most = values.iter().map(|value| value.1).fold(REFERENCE, f64::max) * 1.1;
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&root)
            .caption(title, ("sans-serif", 20))
            .margin(12)
            .x_label_area_size(48)
            .y_label_area_size(84)
            .build_cartesian_2d(0.0..last, 0.0..most)
            .context("failed to draw the flow")?;
        chart
            .configure_mesh()
            .x_desc("t, flow time")
            .y_desc("t²E")
            .label_style(LABEL)
            .axis_desc_style(LABEL)
            .light_line_style(WHITE)
            .draw()?;
        chart.draw_series(LineSeries::new([(0.0, REFERENCE), (last, REFERENCE)], COLOURS[1]))?;
        chart.draw_series(LineSeries::new(values.clone(), COLOURS[0]))?;
        chart.draw_series(values.into_iter().map(|value| Circle::new(value, 3, COLOURS[0].filled())))?;
        root.present()?;
    }
    Ok(svg)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_picture_has_a_point_for_each_time_and_its_title() {
        let points = [0.0, 0.1, 0.2].map(|time| FlowPoint { time, energy: 1.0 });
        let svg = plot(&points, "wilson flow of a<b>.nersc").unwrap();
        assert_eq!(svg.matches("<circle").count(), 3);
        assert!(svg.contains("wilson flow of a&lt;b&gt;.nersc") && svg.contains("t, flow time"), "{svg}");
    }
}
