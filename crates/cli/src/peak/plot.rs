//! The figure of a roofline: the roofs on logarithmic axes, kernels as numbered points below them, and a list of the numbers. Kernels whose fields stay in a
//! cache are listed apart: the roof of memory does not bind them.

use lanefield::reference::layout::Extents;
use lanefield_figure::{
    Axis, Colour, Curve, Drawing, Figure, LabelAt, List, Marker, Number, Panel, Point as Mark, Series, short,
};
use lanefield_lab::peak::roofline::{Point, Roofline, attainable, ridge};

const WIDTH: f64 = 540.0;
const HEIGHT: f64 = 330.0;
/// Styles of points below the roof of memory, and of those in a cache.
const BELOW: usize = 0;
const CACHED: usize = 1;
/// Of roofs and of levels.
const ROOF: usize = 6;

pub fn plot(roofline: &Roofline, device: &str, extents: Extents) -> Drawing {
    let roofline = &without_slow_caches(roofline);
    let (x, y) = bounds(roofline);
    let mut panel = Panel::new(
        Axis::logarithmic("flops for each byte that has to be moved").within(x.0, x.1),
        Axis::logarithmic("GFlop/s").within(y.0, y.1),
    );
    panel.height = HEIGHT;
    let highest = roofline.levels.iter().map(|level| level.gflop_per_second).fold(0.0, f64::max);
    for roof in &roofline.roofs {
        panel.curves.push(Curve {
            points: roof_line(roof.gb_per_second, highest, x),
            style: ROOF,
            label: format!("{}, {} GB/s", roof.name, short(roof.gb_per_second, 2)),
            label_at: LabelAt::Start,
        });
    }
    let steepest = roofline.roofs.iter().map(|roof| roof.gb_per_second).fold(0.0, f64::max);
    for level in &roofline.levels {
        panel.curves.push(Curve {
            points: level_line(level.gflop_per_second, steepest, x),
            style: ROOF,
            label: format!("{} fma, {} GFlop/s", level.name, short(level.gflop_per_second, 2)),
            label_at: LabelAt::End,
        });
    }
    let numbered: Vec<(usize, &Point)> = (1..).zip(&roofline.points).collect();
    let of = |in_cache: bool| numbered.iter().filter(move |(_, point)| is_in_cache(point) == in_cache);
    let is_drawn = |point: &Point| point.gflop_per_second <= roof_above(roofline, point.flops_per_byte);
    let mark = |point: &Point| Mark::new(point.flops_per_byte, point.gflop_per_second);
    let (below, cached) = (Marker::of(BELOW), Marker::of(CACHED));
    for (in_cache, style, marker) in [(true, CACHED, cached), (false, BELOW, below)] {
        let drawn = of(in_cache).filter(|(_, point)| is_drawn(point));
        let points = drawn.clone().map(|(_, point)| mark(point)).collect();
        panel.series.push(Series { marker: Some(marker), ..Series::points("", style, points) });
        panel.numbers.extend(drawn.map(|(number, point)| Number {
            x: point.flops_per_byte,
            y: point.gflop_per_second,
            text: number.to_string(),
        }));
    }
    let row = |(number, point): &(usize, &Point)| {
        let share = point.share_of_memory_roof.filter(|_| !is_in_cache(point));
        let share = share.map(|share| format!("{:.0}%", 100.0 * share));
        let rate = format!("{} GFlop/s", short(point.gflop_per_second, 2));
        [Some(number.to_string()), Some(point.name.clone()), Some(rate), share].into_iter().flatten().collect()
    };
    let list = |title: &str, marker, rows: Vec<Vec<String>>| List { title: title.to_owned(), marker, rows };
    let beyond = of(true).filter(|(_, point)| !is_drawn(point));
    let lists = vec![
        list(
            "Kernels, and their shares of what memory allows",
            Some((below, Colour::Series(BELOW))),
            of(false).map(row).collect(),
        ),
        list(
            "In a cache, whose roof is not that of memory",
            Some((cached, Colour::Series(CACHED))),
            of(true).filter(|(_, point)| is_drawn(point)).map(row).collect(),
        ),
        list("In a cache, faster than every roof that was measured: not drawn", None, beyond.map(row).collect()),
    ];
    let title = format!("{device}; kernels on {extents}");
    Figure { width: WIDTH, lists, ..Figure::new(title, vec![panel]) }.draw()
}

/// Without caches that were measured slower than memory: they are roofs of nothing.
fn without_slow_caches(roofline: &Roofline) -> Roofline {
    let memory = roofline.roofs.first().map_or(0.0, |roof| roof.gb_per_second);
    let mut kept = roofline.clone();
    kept.roofs.retain(|roof| roof.gb_per_second >= memory);
    kept
}

/// Whether fields stay in a cache, at least in part: no memory gives more than its bandwidth, but for the spread of measurements.
fn is_in_cache(point: &Point) -> bool {
    point.share_of_memory_roof.is_none_or(|share| share > 1.05)
}

/// The highest rate that any roof allows.
fn roof_above(roofline: &Roofline, flops_per_byte: f64) -> f64 {
    let steepest = roofline.roofs.iter().map(|roof| roof.gb_per_second).reduce(f64::max);
    let highest = roofline.levels.iter().map(|level| level.gflop_per_second).reduce(f64::max);
    attainable(steepest.unwrap_or(f64::INFINITY), highest.unwrap_or(f64::INFINITY), flops_per_byte)
}

/// From where to where the axes go: all points, all ridges, and room on each side.
fn bounds(roofline: &Roofline) -> ((f64, f64), (f64, f64)) {
    let ridges = roofline
        .roofs
        .iter()
        .flat_map(|roof| roofline.levels.iter().map(|level| ridge(roof.gb_per_second, level.gflop_per_second)));
    let x = roofline.points.iter().map(|point| point.flops_per_byte).chain(ridges);
    let (least, most) = x.fold((0.1, 4.0), |(least, most): (f64, f64), x| (least.min(x), most.max(x)));
    let x = (least / 2.0, most * 3.0);
    let rates = || roofline.points.iter().map(|point| point.gflop_per_second);
    let flattest = roofline.roofs.iter().map(|roof| roof.gb_per_second * x.0).reduce(f64::min);
    let highest = roofline.levels.iter().map(|level| level.gflop_per_second);
    let least = rates().chain(flattest).fold(f64::INFINITY, f64::min);
    let most = rates().chain(highest).fold(0.0, f64::max);
    match least < most {
        true => (x, (least / 1.5, most * 2.5)),
        // Nothing was measured that could be drawn.
        false => (x, (1.0, 1000.0)),
    }
}

/// A roof from the left edge up to the highest level, or to the right edge where there is none.
fn roof_line(gb_per_second: f64, highest: f64, x: (f64, f64)) -> Vec<[f64; 2]> {
    let end = if highest > 0.0 { ridge(gb_per_second, highest).clamp(x.0, x.1) } else { x.1 };
    let height = |x: f64| if highest > 0.0 { attainable(gb_per_second, highest, x) } else { gb_per_second * x };
    vec![[x.0, height(x.0)], [end, height(end)]]
}

/// A level from the steepest roof on.
fn level_line(gflop_per_second: f64, steepest: f64, x: (f64, f64)) -> Vec<[f64; 2]> {
    let start = if steepest > 0.0 { ridge(steepest, gflop_per_second).clamp(x.0, x.1) } else { x.0 };
    vec![[start, gflop_per_second], [x.1, gflop_per_second]]
}

#[cfg(test)]
mod tests {
    use super::*;
    use lanefield_figure::Colours;
    use lanefield_lab::peak::roofline::{LevelRoof, Roof};

    fn sample() -> Roofline {
        let roof = |name: &str, gb_per_second| Roof { name: name.to_owned(), gb_per_second };
        let point = |name: &str, flops_per_byte, gflop_per_second, share_of_memory_roof| Point {
            name: name.to_owned(),
            flops_per_byte,
            gflop_per_second,
            share_of_memory_roof,
        };
        Roofline {
            roofs: vec![roof("memory (copy)", 4240.0), roof("L2", 5700.0)],
            levels: vec![
                LevelRoof { name: "f32".to_owned(), gflop_per_second: 62_000.0 },
                LevelRoof { name: "f64".to_owned(), gflop_per_second: 31_000.0 },
            ],
            points: vec![
                point("hop f32, reconstruct 18", 1.72, 6900.0, Some(0.95)),
                point("axpy f32", 0.17, 680.0, Some(0.94)),
                point("scale f32", 0.125, 690.0, None),
                point("norm2 f32", 0.5, 9000.0, None),
                point("axpby f32", 0.25, 1300.0, Some(1.23)),
            ],
        }
    }

    fn draw(roofline: &Roofline) -> String {
        plot(roofline, "a device", Extents::new([4; 4]).unwrap()).svg(Colours::Paper)
    }

    #[test]
    fn roofs_end_at_the_highest_level_and_levels_begin_at_the_steepest_roof() {
        let x = (0.01, 100.0);
        assert_eq!(roof_line(4000.0, 64_000.0, x), [[0.01, 40.0], [16.0, 64_000.0]]);
        assert_eq!(level_line(32_000.0, 16_000.0, x), [[2.0, 32_000.0], [100.0, 32_000.0]]);
        assert_eq!(roof_line(10.0, 0.0, x), [[0.01, 0.1], [100.0, 1000.0]]);
    }

    #[test]
    fn points_are_numbered_and_listed_and_those_in_a_cache_apart() {
        let svg = draw(&sample());
        for text in [
            "a device; kernels on 4.4.4.4",
            "memory (copy), 4240 GB/s",
            "f64 fma, 31000 GFlop/s",
            "axpy f32",
            "680 GFlop/s",
            ">94%<",
            "In a cache",
        ] {
            assert!(svg.contains(text), "{text} is missing: {svg}");
        }
        // Each number stands at its point and in the list, but for the one above every roof.
        let times = |number: &str| svg.matches(&format!(">{number}</text>")).count();
        assert_eq!(["2", "3", "4"].map(times), [2, 2, 1]);
        assert!(svg.contains("axpby f32") && !svg.contains("123%"));
    }

    #[test]
    fn no_point_is_drawn_above_every_roof() {
        let roofline = sample();
        let svg = draw(&roofline);
        // Two below, one in a cache that the steepest roof has above it, and a marker in each of the two lists.
        assert_eq!(svg.matches("<circle").count(), 2 + 1);
        assert!(svg.contains("faster than every roof that was measured"));
        assert!(roofline.points[3].gflop_per_second > roof_above(&roofline, 0.5));
    }

    #[test]
    fn nothing_measured_is_an_empty_figure() {
        let svg = draw(&Roofline::default());
        assert!(svg.starts_with("<svg") && !svg.contains("NaN"));
    }
}
