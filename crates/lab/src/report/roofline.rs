//! The roofline: operations per second over operations per byte, both logarithmic, below the measured ceilings of a device's memory and arithmetic.
//! Points are rows of `bench`, by their ideal bytes, each with its number, the roof that limits it, and its share of that roof.

use serde::Serialize;
use serde_json::Value;

use super::bars::colour_of_precision;
use super::document::Document;
use super::frame::{Frame, Size};
use super::table::Table;
use super::words::{Quantity, fields, list, number, text};
use crate::Kind;

#[derive(Serialize, Debug)]
pub(super) struct Roofline {
    device: String,
    #[serde(flatten)]
    frame: Frame,
    x_ticks: Vec<(f64, String)>,
    y_ticks: Vec<(f64, String)>,
    roofs: Vec<Roof>,
    points: Vec<Point>,
    legend: Vec<(usize, String)>,
    /// Whether a point is hollow.
    has_cached: bool,
    /// The same for a phone.
    narrow: Option<Box<Self>>,
}

#[derive(Serialize, Debug)]
struct Roof {
    from: [f64; 2],
    to: [f64; 2],
    label: String,
    /// The number of its colour, which is unique among the roofs.
    colour: usize,
    slanted: bool,
}

#[derive(Serialize, Debug)]
struct Point {
    x: f64,
    y: f64,
    colour: usize,
    /// Of a kernel whose fields stay in a cache: the roof of memory does not bind it.
    hollow: bool,
    /// Nothing of the kernels of `peak`, which have no names.
    number: Option<usize>,
    label: [f64; 2],
    /// A line of the table below the chart, and the text that a touch shows.
    kernel: String,
    rate: String,
    intensity: String,
    roof: String,
    share: String,
    tip: String,
}

/// Keys in documents, names on the chart and colours: slopes, and levels in the colours of the points of their precisions.
const SLOPES: [(&str, &str, usize); 5] = [
    ("copy_bytes_per_second", "copy", 4),
    ("read_bytes_per_second", "read", 5),
    ("l2_bytes_per_second", "L2", 6),
    ("l1_bytes_per_second", "L1", 7),
    ("local_bytes_per_second", "local memory", 8),
];
const LEVELS: [(&str, &str); 3] =
    [("f32_flops_per_second", "f32"), ("f64_flops_per_second", "f64"), ("half_flops_per_second", "half")];

#[derive(Clone, Debug)]
struct Limit {
    name: &'static str,
    rate: f64,
    colour: usize,
}

#[derive(Debug)]
struct Measured {
    intensity: f64,
    rate: f64,
    precision: String,
    /// `copy` or `read`.
    ceiling: String,
    /// `None` for a kernel of `peak`.
    kernel: Option<String>,
    /// Whether its fields stay in a cache, so that the bandwidth of memory does not bound it.
    in_cache: bool,
}

fn of_bench(row: &Value) -> Option<Measured> {
    let (flops, bytes) = (row["work"]["flops"].as_f64()?, row["work"]["bytes"].as_f64()?);
    let rate = row["flops_per_second"].as_f64().filter(|&rate| rate > 0.0)?;
    let intensity = flops / bytes;
    let kernel = format!("{}, {}, {}", text(row, "kernel"), fields(row), text(row, "lattice"));
    let (precision, ceiling) = (text(row, "precision"), text(row, "ceiling"));
    let is_true = row["bit_true"] != false && intensity > 0.0 && intensity.is_finite();
    is_true.then_some(Measured {
        intensity,
        rate,
        precision,
        ceiling,
        kernel: Some(kernel),
        in_cache: row["in_cache"] == true,
    })
}

/// One of the kernels of `peak`, from memory-bound to compute-bound.
fn of_peak(row: &Value) -> Option<Measured> {
    let (intensity, rate) = (row["flops_per_byte"].as_f64()?, row["flops_per_second"].as_f64()?);
    let (precision, ceiling) = (text(row, "stored"), "copy".to_owned());
    (intensity > 0.0 && rate > 0.0).then_some(Measured {
        intensity,
        rate,
        precision,
        ceiling,
        kernel: None,
        in_cache: false,
    })
}

/// The points of some documents; for rows with the same kernel and fields (other lanes, other tunings), the fastest.
fn points_of(documents: &[&Document]) -> Vec<Measured> {
    let mut points: Vec<Measured> = Vec::new();
    for document in documents.iter().filter(|document| document.kind.name().starts_with("bench")) {
        for point in list(&document.value["rows"]).iter().filter_map(of_bench) {
            match points.iter_mut().find(|known| known.kernel == point.kernel) {
                Some(known) if known.rate >= point.rate => {}
                Some(known) => *known = point,
                None => points.push(point),
            }
        }
    }
    points.sort_by(|a, b| a.intensity.total_cmp(&b.intensity).then(b.rate.total_cmp(&a.rate)));
    let peaks = documents.iter().filter(|document| document.kind == Kind::Peak);
    points.extend(peaks.flat_map(|document| list(&document.value["intensity"])).filter_map(of_peak));
    points
}

/// 1, 2 and 5 times the powers of ten between two numbers; only the powers of ten if these would be too many.
fn ticks(least: f64, most: f64) -> Vec<f64> {
    let powers = least.log10().floor() as i32..=most.log10().ceil() as i32;
    let factors: &[f64] = if (most / least).log10() > 2.5 { &[1.0] } else { &[1.0, 2.0, 5.0] };
    let all = powers.flat_map(|power| factors.iter().map(move |factor| factor * 10f64.powi(power)));
    all.filter(|value| (least..=most).contains(value)).collect()
}

fn round(value: f64) -> String {
    if value < 1.0 { format!("{value:.*}", (-value.log10()).ceil() as usize) } else { number(value.round()) }
}

/// The rooflines of all devices; without those that have neither a bandwidth nor a kernel with arithmetic.
pub(super) fn rooflines(documents: &[Document]) -> Vec<Roofline> {
    let name_of = |document: &Document| text(&document.value["device"], "name");
    let mut names: Vec<String> = documents.iter().map(name_of).collect();
    names.sort();
    names.dedup();
    let of_device = |name: String| {
        let here: Vec<&Document> = documents.iter().filter(|document| name_of(document) == name).collect();
        let narrow = roofline(Size::Narrow, name.clone(), &here)?;
        Some(Roofline { narrow: Some(Box::new(narrow)), ..roofline(Size::Wide, name, &here)? })
    };
    names.into_iter().filter_map(of_device).collect()
}

fn roofline(size: Size, device: String, documents: &[&Document]) -> Option<Roofline> {
    let points = points_of(documents);
    // Without `peak`, the ceilings that `bench` measured together with the kernels; the highest of several.
    let greatest = |key: &str| {
        let of = |peak: bool| {
            let with = documents.iter().filter(move |document| (document.kind == Kind::Peak) == peak);
            with.filter_map(|document| document.value[key].as_f64()).filter(|rate| *rate > 0.0).reduce(f64::max)
        };
        of(true).or_else(|| of(false))
    };
    let mut slopes: Vec<Limit> =
        SLOPES.iter().filter_map(|&(key, name, colour)| Some(Limit { name, rate: greatest(key)?, colour })).collect();
    let levels: Vec<Limit> = LEVELS
        .iter()
        .filter_map(|&(key, name)| Some(Limit { name, rate: greatest(key)?, colour: colour_of_precision(name) }))
        .collect();
    if slopes.is_empty() || (points.is_empty() && levels.is_empty()) {
        return None;
    }
    slopes.sort_by(|a, b| b.rate.total_cmp(&a.rate));
    let (steepest, flattest) = (slopes.first()?.rate, slopes.last()?.rate);

    // The plotting area: all points, and the ridges, with a small margin.
    let highest = levels.iter().map(|level| level.rate).reduce(f64::max);
    let ridges = levels.iter().map(|level| level.rate / flattest);
    let intensities = || points.iter().map(|point| point.intensity);
    let rates = || points.iter().map(|point| point.rate);
    let x_least = intensities().reduce(f64::min).unwrap_or(0.1) / 1.6;
    let x_most = intensities().chain(ridges).fold(x_least * 10.0, f64::max) * 1.6;
    let y_most = rates().chain(highest).fold(flattest * x_least * 10.0, f64::max) * 1.8;
    let y_least = rates().fold(flattest * x_least, f64::min).max(y_most * 1e-7) / 1.6;
    let frame = Frame::new(size, if size == Size::Wide { 460.0 } else { 380.0 }, 16.0, 44.0);
    let x = |value: f64| frame.x((value / x_least).log10() / (x_most / x_least).log10());
    let y = |value: f64| frame.y((value / y_least).log10() / (y_most / y_least).log10());

    let mut roofs = Vec::new();
    for slope in &slopes {
        let from = x_least.max(y_least / slope.rate);
        let to = (y_most / slope.rate).min(x_most).min(highest.unwrap_or(f64::INFINITY) / slope.rate);
        if from < to {
            roofs.push(Roof {
                from: [x(from), y(from * slope.rate)],
                to: [x(to), y(to * slope.rate)],
                label: format!("{} {}", slope.name, Quantity::Bandwidth.say(slope.rate)),
                colour: slope.colour,
                slanted: true,
            });
        }
    }
    for level in &levels {
        roofs.push(Roof {
            from: [x((level.rate / steepest).max(x_least)), y(level.rate)],
            to: [x(x_most), y(level.rate)],
            label: format!("{} arithmetic {}", level.name, Quantity::Flops.say(level.rate)),
            colour: level.colour,
            slanted: false,
        });
    }
    let mut legend: Vec<(usize, String)> = Vec::new();
    let mut placed: Vec<Point> = Vec::new();
    let all: Vec<[f64; 2]> = points.iter().map(|point| [x(point.intensity), y(point.rate)]).collect();
    for (index, (point, [x, y])) in points.iter().zip(&all).enumerate() {
        let colour = if point.kernel.is_some() { colour_of_precision(&point.precision) } else { 0 };
        if !legend.iter().any(|(known, _)| *known == colour) {
            let name =
                if point.kernel.is_some() { point.precision.clone() } else { "kernels of peak, unnumbered".to_owned() };
            legend.push((colour, name));
        }
        let (roof, allowed) = binding(point, &slopes, &levels);
        let share = allowed.map(|allowed| point.rate / allowed);
        let (rate, intensity) = (Quantity::Flops.say(point.rate), number(point.intensity));
        let kernel = point.kernel.clone().unwrap_or_else(|| format!("kernel of peak, {}", point.precision));
        let share = share.map_or("–".to_owned(), |share| format!("{:.0} %", 100.0 * share));
        placed.push(Point {
            x: *x,
            y: *y,
            colour,
            hollow: point.in_cache,
            number: point.kernel.as_ref().map(|_| index + 1),
            label: free_place([*x, *y], &all, &placed),
            tip: format!("{kernel}: {rate} at {intensity} flop/byte; {roof}, {share}"),
            kernel,
            rate,
            intensity,
            roof,
            share,
        });
    }
    legend.sort();
    let x_ticks = ticks(x_least, x_most).into_iter().map(|value| (x(value), round(value))).collect();
    let y_ticks = ticks(y_least, y_most).into_iter().map(|value| (y(value), round(value / 1e9))).collect();
    Some(Roofline {
        device,
        frame,
        x_ticks,
        y_ticks,
        roofs,
        has_cached: placed.iter().any(|point| point.hollow),
        points: placed,
        legend,
        narrow: None,
    })
}

/// The roof that limits a point, and the rate that it allows: that of memory at its intensity, or of arithmetic in its precision. For a point whose
/// fields stay in a cache it is the cache's, which is not known for its size.
fn binding(point: &Measured, slopes: &[Limit], levels: &[Limit]) -> (String, Option<f64>) {
    if point.in_cache {
        return ("a cache".to_owned(), None);
    }
    let memory = slopes
        .iter()
        .find(|slope| slope.name == point.ceiling)
        .or_else(|| slopes.iter().find(|slope| slope.name == "copy"));
    let memory = memory.map(|slope| (format!("memory ({})", slope.name), slope.rate * point.intensity));
    let level = levels.iter().find(|level| level.name == point.precision);
    let level = level.map(|level| (format!("{} arithmetic", level.name), level.rate));
    match [memory, level].into_iter().flatten().min_by(|(_, a), (_, b)| a.total_cmp(b)) {
        Some((name, rate)) => (name, Some(rate)),
        None => ("–".to_owned(), None),
    }
}

/// A place next to a point for its number, away from other points and numbers if there is one.
fn free_place([x, y]: [f64; 2], points: &[[f64; 2]], placed: &[Point]) -> [f64; 2] {
    let near = |place: &[f64; 2], [a, b]: [f64; 2], width: f64, height: f64| {
        (place[0] - a).abs() < width && (place[1] - b).abs() < height
    };
    let rings = [13.0, 20.0, 28.0, 38.0].into_iter();
    let mut places = rings.flat_map(|distance| {
        (0..8).map(move |eighth| {
            let angle = std::f64::consts::FRAC_PI_4 * f64::from(eighth);
            [x + distance * angle.cos(), y - distance * angle.sin()]
        })
    });
    let is_free = |place: &[f64; 2]| {
        points.iter().all(|point| !near(place, *point, 11.0, 10.0))
            && placed.iter().all(|other| other.number.is_none() || !near(place, other.label, 16.0, 12.0))
    };
    places.find(is_free).unwrap_or([x + 13.0, y])
}

impl Roofline {
    /// The numbers of the chart: kernel, rate, and what limits it.
    pub(super) fn table(&self) -> Option<Table> {
        let numbered = self.points.iter().filter_map(|point| Some((point.number?, point)));
        let caption = "The numbers of the roofline";
        Table::of_texts(
            caption,
            ["number", "kernel", "rate", "flop/byte", "binding roof", "share of that roof"],
            numbered.map(|(number, point)| {
                let Point { kernel, rate, intensity, roof, share, .. } = point;
                [number.to_string(), kernel.clone(), rate.clone(), intensity.clone(), roof.clone(), share.clone()]
            }),
        )
    }
}
