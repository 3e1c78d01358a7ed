//! The picture of a roofline, as SVG: the roofs on logarithmic axes, kernels as points, with a line from each to its name at the side.

use anyhow::Context as _;
use lanefield::reference::layout::Extents;
use lanefield_lab::peak::roofline::{Point, Roofline, attainable, ridge};
use plotters::element::{Circle, PathElement, Text};
use plotters::prelude::{
    ChartBuilder, Color as _, IntoDrawingArea as _, IntoFont as _, IntoLogRange as _, LineSeries, RGBColor, SVGBackend,
    WHITE,
};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{ShapeStyle, TextStyle};

const WIDTH: u32 = 1280;
/// The least height; where many kernels are named, the picture grows.
const HEIGHT: u32 = 720;
/// Width of the kernel names next to the axes.
const SIDE: i32 = 440;
const FONT: &str = "sans-serif";
const LABEL: (&str, u32) = (FONT, 18);
/// Height of a line of text among the names.
const LINE: i32 = 22;
/// The colours that people who confuse red and green can tell apart (Okabe and Ito): of roofs, of levels, of kernels.
const ROOFS: [RGBColor; 3] = [RGBColor(0, 114, 178), RGBColor(86, 180, 233), RGBColor(0, 158, 115)];
const LEVELS: [RGBColor; 2] = [RGBColor(213, 94, 0), RGBColor(230, 159, 0)];
const KERNEL: RGBColor = RGBColor(0, 0, 0);
const LEADER: RGBColor = RGBColor(190, 190, 190);

pub fn plot(roofline: &Roofline, device: &str, extents: Extents) -> anyhow::Result<String> {
    let (x, y) = bounds(roofline);
    let rows = roofline.roofs.len() + roofline.levels.len() + roofline.points.len();
    // Title, axis and margins are some lines more.
    let size = (WIDTH, HEIGHT.max((rows as u32 + 8) * LINE as u32));
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        root.fill(&WHITE)?;
        let title = format!("{device}; kernels on {extents}");
        let body = root.margin(14, 0, 0, 0).titled(&title, (FONT, 20))?;
        let mut chart = ChartBuilder::on(&body)
            .margin(14)
            .margin_right(SIDE)
            .x_label_area_size(48)
            .y_label_area_size(84)
            .build_cartesian_2d((x.0..x.1).log_scale(), (y.0..y.1).log_scale())
            .context("failed to draw the roofline")?;
        chart
            .configure_mesh()
            .x_desc("flops for each byte that has to be moved")
            .y_desc("GFlop/s")
            .x_label_formatter(&number)
            .y_label_formatter(&number)
            .label_style(LABEL)
            .axis_desc_style(LABEL)
            .light_line_style(WHITE)
            .bold_line_style(RGBColor(230, 230, 230))
            .draw()?;
        let highest = roofline.levels.iter().map(|level| level.gflop_per_second).fold(0.0, f64::max);
        let mut legend = Vec::new();
        for (roof, colour) in roofline.roofs.iter().zip(ROOFS) {
            let style = colour.stroke_width(2);
            chart.draw_series(LineSeries::new(roof_line(roof.gb_per_second, highest, x), style))?;
            legend.push((format!("{}  {} GB/s", roof.name, significant(roof.gb_per_second)), style));
        }
        let steepest = roofline.roofs.iter().map(|roof| roof.gb_per_second).fold(0.0, f64::max);
        for (level, colour) in roofline.levels.iter().zip(LEVELS) {
            let style = colour.stroke_width(2);
            chart.draw_series(LineSeries::new(level_line(level.gflop_per_second, steepest, x), style))?;
            legend.push((format!("{} fma  {} GFlop/s", level.name, significant(level.gflop_per_second)), style));
        }
        // In pixels from here on: names, and lines to their points.
        let text = TextStyle::from(LABEL.into_font()).pos(Pos::new(HPos::Left, VPos::Center));
        let side = WIDTH as i32 - SIDE + 24;
        let top = chart.backend_coord(&(x.0, y.1)).1;
        let bottom = chart.backend_coord(&(x.0, y.0)).1;
        for (row, (name, style)) in legend.iter().enumerate() {
            let at = top + 8 + LINE * row as i32;
            root.draw(&PathElement::new([(side, at), (side + 28, at)], *style))?;
            root.draw(&Text::new(name.clone(), (side + 36, at), text.clone()))?;
        }
        let mut places: Vec<(&Point, (i32, i32))> = roofline
            .points
            .iter()
            .map(|point| (point, chart.backend_coord(&(point.flops_per_byte, point.gflop_per_second))))
            .collect();
        places.sort_by_key(|&(_, (x, y))| (y, -x));
        let wanted: Vec<i32> = places.iter().map(|&(_, (_, y))| y).collect();
        let rows = spaced(&wanted, top + 24 + LINE * legend.len() as i32, bottom);
        for (&(_, place), &row) in places.iter().zip(&rows) {
            root.draw(&PathElement::new([place, (side - 6, row)], ShapeStyle::from(&LEADER)))?;
        }
        for ((point, place), row) in places.into_iter().zip(rows) {
            root.draw(&Circle::new(place, 5, WHITE.filled()))?;
            root.draw(&Circle::new(place, 4, KERNEL.filled()))?;
            root.draw(&Text::new(caption(point), (side, row), text.clone()))?;
        }
        root.present()?;
    }
    Ok(svg)
}

fn caption(point: &Point) -> String {
    let share = point.share_of_memory_roof.map(|share| format!(", {:.0} % of memory", 100.0 * share));
    format!("{}: {}{}", point.name, significant(point.gflop_per_second), share.unwrap_or_default())
}

/// From where to where the axes go: all points, all ridges, and room on each side.
fn bounds(roofline: &Roofline) -> ((f64, f64), (f64, f64)) {
    let ridges = roofline
        .roofs
        .iter()
        .flat_map(|roof| roofline.levels.iter().map(|level| ridge(roof.gb_per_second, level.gflop_per_second)));
    let x = roofline.points.iter().map(|point| point.flops_per_byte).chain(ridges);
    let (least, most) = x.fold((0.1, 4.0), |(least, most): (f64, f64), x| (least.min(x), most.max(x)));
    let x = (least / 2.0, most * 4.0);
    let rates = roofline.points.iter().map(|point| point.gflop_per_second);
    let lowest = roofline.roofs.iter().map(|roof| roof.gb_per_second * x.0);
    let highest = roofline.levels.iter().map(|level| level.gflop_per_second);
    let least = rates.clone().chain(lowest).fold(f64::INFINITY, f64::min);
    let most = rates.chain(highest).fold(0.0, f64::max);
    match least < most {
        true => (x, (least / 1.5, most * 2.0)),
        // Nothing was measured that could be drawn.
        false => (x, (1.0, 1000.0)),
    }
}

/// A roof from the left edge up to the highest level, or to the right edge where there is none.
fn roof_line(gb_per_second: f64, highest: f64, x: (f64, f64)) -> Vec<(f64, f64)> {
    let end = if highest > 0.0 { ridge(gb_per_second, highest).clamp(x.0, x.1) } else { x.1 };
    let height = |x: f64| if highest > 0.0 { attainable(gb_per_second, highest, x) } else { gb_per_second * x };
    vec![(x.0, height(x.0)), (end, height(end))]
}

/// A level from the steepest roof on.
fn level_line(gflop_per_second: f64, steepest: f64, x: (f64, f64)) -> Vec<(f64, f64)> {
    let start = if steepest > 0.0 { ridge(steepest, gflop_per_second).clamp(x.0, x.1) } else { x.0 };
    vec![(start, gflop_per_second), (x.1, gflop_per_second)]
}

/// Rows of text as near as can be to where they are wanted (in ascending order), a line apart and between two edges as far as there is room.
fn spaced(wanted: &[i32], top: i32, bottom: i32) -> Vec<i32> {
    let mut rows = Vec::with_capacity(wanted.len());
    let mut least = top;
    for &row in wanted {
        let row = row.max(least);
        rows.push(row);
        least = row + LINE;
    }
    // From below, what would stand too low.
    let mut most = bottom;
    for row in rows.iter_mut().rev() {
        *row = (*row).min(most);
        most = *row - LINE;
    }
    rows
}

fn number(value: &f64) -> String {
    if *value >= 1.0 { format!("{value:.0}") } else { format!("{value}") }
}

/// Three digits that say something.
fn significant(value: f64) -> String {
    match value {
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lanefield_lab::peak::roofline::{LevelRoof, Roof};

    fn sample() -> Roofline {
        let roof = |name: &str, gb_per_second| Roof { name: name.to_owned(), gb_per_second };
        let point = |name: &str, flops_per_byte, gflop_per_second| Point {
            name: name.to_owned(),
            flops_per_byte,
            gflop_per_second,
            share_of_memory_roof: Some(0.95),
        };
        Roofline {
            roofs: vec![roof("memory (copy)", 4240.0), roof("L2", 5700.0), roof("L1", 25_000.0)],
            levels: vec![
                LevelRoof { name: "f32".to_owned(), gflop_per_second: 62_000.0 },
                LevelRoof { name: "f64".to_owned(), gflop_per_second: 31_000.0 },
            ],
            points: vec![point("hop f32, reconstruct 18", 1.72, 6900.0), point("axpy f32", 0.17, 680.0)],
        }
    }

    #[test]
    fn names_stand_a_line_apart_and_between_the_edges() {
        let rows = spaced(&[5, 100, 101, 102, 400], 20, 410);
        assert_eq!(rows, [20, 100, 122, 144, 400]);
        let crowded = spaced(&[400, 401, 402], 20, 410);
        assert_eq!(crowded, [366, 388, 410]);
    }

    #[test]
    fn roofs_end_at_the_highest_level_and_levels_begin_at_the_steepest_roof() {
        let x = (0.01, 100.0);
        assert_eq!(roof_line(4000.0, 64_000.0, x), [(0.01, 40.0), (16.0, 64_000.0)]);
        assert_eq!(level_line(32_000.0, 16_000.0, x), [(2.0, 32_000.0), (100.0, 32_000.0)]);
        assert_eq!(roof_line(10.0, 0.0, x), [(0.01, 0.1), (100.0, 1000.0)]);
    }

    #[test]
    fn every_name_stands_in_the_picture() {
        let svg = plot(&sample(), "a device", Extents::new([4; 4]).unwrap()).unwrap();
        for text in [
            "a device; kernels on 4.4.4.4",
            "memory (copy)  4240 GB/s",
            "f64 fma  31000 GFlop/s",
            "axpy f32: 680, 95 % of memory",
        ] {
            assert!(svg.contains(text), "{text} is missing");
        }
    }

    #[test]
    fn nothing_measured_is_an_empty_picture() {
        let svg = plot(&Roofline::default(), "a device", Extents::new([4; 4]).unwrap()).unwrap();
        assert!(svg.starts_with("<svg") && !svg.contains("NaN"));
    }
}
