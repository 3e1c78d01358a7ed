//! The roofline: operations a second over operations a byte, both by powers of ten, below what was measured of the memory and of the arithmetic.
//! Points: rows of `bench`, by the bytes that a kernel has to move at least.

use serde::Serialize;
use serde_json::Value;

use super::Document;
use super::bars::colour_of_precision;
use super::frame::Frame;
use super::words::{list, number, text};

/// The chart, in units of its view box.
#[derive(Serialize, Debug)]
pub(super) struct Roofline {
    #[serde(flatten)]
    frame: Frame,
    x_ticks: Vec<(f64, String)>,
    y_ticks: Vec<(f64, String)>,
    roofs: Vec<Roof>,
    points: Vec<Point>,
    legend: Vec<(usize, String)>,
}

/// A line from one point to another.
#[derive(Serialize, Debug)]
struct Roof {
    from: [f64; 2],
    to: [f64; 2],
    label: String,
    /// The number of its colour.
    colour: usize,
    /// Whether it is the memory's.
    slanted: bool,
}

#[derive(Serialize, Debug)]
struct Point {
    x: f64,
    y: f64,
    colour: usize,
    tip: String,
}

/// Names in documents, and on the chart: slopes in GB/s, and levels in GFlop/s.
const SLOPES: [(&str, &str); 7] = [
    ("read_gb_per_second", "read"),
    ("write_gb_per_second", "write"),
    ("copy_gb_per_second", "copy"),
    ("triad_gb_per_second", "triad"),
    ("l2_gb_per_second", "L2"),
    ("l1_gb_per_second", "L1"),
    ("local_gb_per_second", "local memory"),
];
const LEVELS: [(&str, &str); 3] =
    [("f32_gflop_per_second", "f32"), ("f64_gflop_per_second", "f64"), ("half_gflop_per_second", "half")];

/// A number, at the top of a document or as the `median` or `gb_per_second` of an object there.
fn measured(document: &Value, name: &str) -> Option<f64> {
    let value = &document[name];
    let number =
        value.as_f64().or_else(|| ["median", "best", "gb_per_second"].iter().find_map(|part| value[part].as_f64()));
    number.filter(|value| value.is_finite() && *value > 0.0)
}

struct Measured {
    intensity: f64,
    rate: f64,
    precision: String,
    tip: String,
}

/// A row of `bench`.
fn of_bench(row: &Value) -> Option<Measured> {
    let (flops, bytes) = (row["work"]["flops"].as_f64()?, row["work"]["bytes"].as_f64()?);
    let rate = row["gflop_per_second"].as_f64().filter(|&rate| rate > 0.0)?;
    let precision = text(row, "precision");
    let (intensity, kernel) = (flops / bytes, text(row, "kernel"));
    let tip = format!(
        "{kernel}, {precision}, {}, {}: {} GFlop/s at {} flop/byte, {} GB/s",
        text(row, "lattice"),
        text(row, "variant"),
        number(rate),
        number(intensity),
        row["gb_per_second"].as_f64().map(number).unwrap_or_default(),
    );
    (intensity > 0.0 && intensity.is_finite()).then_some(Measured { intensity, rate, precision, tip })
}

/// One of the kernels of `peak`, from memory's bound to arithmetic's.
fn of_peak(row: &Value) -> Option<Measured> {
    let (intensity, rate) = (row["flops_per_byte"].as_f64()?, row["gflop_per_second"].as_f64()?);
    let tip = format!("peak, {}: {} GFlop/s at {} flop/byte", text(row, "stored"), number(rate), number(intensity));
    let precision = "kernels of peak".to_owned();
    (intensity > 0.0 && rate > 0.0).then_some(Measured { intensity, rate, precision, tip })
}

fn power_of_ten(power: i32) -> String {
    if power < 0 {
        format!("{:.*}", power.unsigned_abs() as usize, 10f64.powi(power))
    } else {
        number(10f64.powi(power))
    }
}

/// The roofline of all documents; none where there is neither a peak nor a kernel that computes.
pub(super) fn roofline(documents: &[Document]) -> Option<Roofline> {
    let peaks: Vec<&Document> = documents.iter().filter(|document| document.kind == "peak").collect();
    let benches = || documents.iter().filter(|document| document.kind.starts_with("bench"));
    let of_peaks = peaks.iter().flat_map(|document| list(&document.value["intensity"])).filter_map(of_peak);
    let of_benches = benches().flat_map(|document| list(&document.value["rows"])).filter_map(of_bench);
    let points: Vec<Measured> = of_peaks.chain(of_benches).collect();
    // Without `peak`, what `bench` measured beside the kernels.
    let sources: Vec<&Document> = if peaks.is_empty() { benches().collect() } else { peaks };
    let several = sources.len() > 1;
    let ceilings = |known: &[(&str, &str)], unit: &str| -> Vec<(String, f64)> {
        let of = |source: &Document, (name, label): &(&str, &str)| {
            let rate = measured(&source.value, name)?;
            let file = if several { format!(", {}", source.name) } else { String::new() };
            Some((format!("{label} {} {unit}{file}", number(rate)), rate))
        };
        sources.iter().flat_map(|source| known.iter().filter_map(move |known| of(source, known))).collect()
    };
    let (mut slopes, levels) = (ceilings(&SLOPES, "GB/s"), ceilings(&LEVELS, "GFlop/s"));
    if slopes.is_empty() || (points.is_empty() && levels.is_empty()) {
        return None;
    }
    slopes.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    slopes.dedup_by(|(_, a), (_, b)| (*a / *b - 1.0).abs() < 1e-9);
    let steepest = slopes.first().map_or(1.0, |(_, rate)| *rate);

    // The plane: whole powers of ten around everything.
    let intensities = || points.iter().map(|point| point.intensity);
    let ridges = levels.iter().flat_map(|(_, level)| slopes.iter().map(move |(_, slope)| level / slope));
    let x_least = intensities().fold(0.1, f64::min).log10().floor();
    let x_most = intensities().chain(ridges).fold(10.0, f64::max).log10().ceil();
    let highest = points.iter().map(|point| point.rate).chain(levels.iter().map(|(_, level)| *level));
    let y_most = highest.fold(10f64.powf(x_most.min(1.0)) * steepest * 0.1, f64::max).log10().ceil();
    let y_least = points.iter().map(|point| point.rate).fold(10f64.powf(x_least) * slopes.last()?.1, f64::min);
    let y_least = y_least.log10().floor().max(y_most - 7.0);
    let frame = Frame::new(430.0, 16.0, 44.0);
    let x = |value: f64| frame.x((value.log10() - x_least) / (x_most - x_least));
    let y = |value: f64| frame.y((value.log10() - y_least) / (y_most - y_least));

    let (leftmost, rightmost, top) = (10f64.powf(x_least), 10f64.powf(x_most), 10f64.powf(y_most));
    let bottom = 10f64.powf(y_least);
    let highest_level = levels.iter().map(|(_, level)| *level).fold(f64::NAN, f64::max);
    let mut roofs = Vec::new();
    for (number, (label, slope)) in slopes.into_iter().enumerate() {
        let from = leftmost.max(bottom / slope);
        // Without a level this is no number, and the minimum the other one.
        let to = (top / slope).min(rightmost).min(highest_level / slope);
        roofs.push(Roof {
            from: [x(from), y(from * slope)],
            to: [x(to), y(to * slope)],
            label,
            colour: number % 4 + 5,
            slanted: true,
        });
    }
    for (label, level) in levels {
        let precision = label.split(' ').next().unwrap_or_default();
        let from = (level / steepest).max(leftmost);
        roofs.push(Roof {
            from: [x(from), y(level)],
            to: [x(rightmost), y(level)],
            // That of the points in this precision.
            colour: colour_of_precision(precision),
            label: label.clone(),
            slanted: false,
        });
    }
    let mut legend: Vec<(usize, String)> = Vec::new();
    let points = points
        .into_iter()
        .map(|Measured { intensity, rate, precision, tip }| {
            let colour = colour_of_precision(&precision);
            if !legend.iter().any(|(known, _)| *known == colour) {
                legend.push((colour, precision));
            }
            Point { x: x(intensity), y: y(rate), colour, tip }
        })
        .collect();
    legend.sort();
    let ticks = |least: f64, most: f64, at: &dyn Fn(f64) -> f64| {
        (least as i32..=most as i32).map(|power| (at(10f64.powi(power)), power_of_ten(power))).collect()
    };
    let (x_ticks, y_ticks) = (ticks(x_least, x_most, &x), ticks(y_least, y_most, &y));
    Some(Roofline { frame, x_ticks, y_ticks, roofs, points, legend })
}
