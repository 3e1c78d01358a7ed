//! Curves of bandwidth or latency over the size of the working set, on a logarithmic axis of powers of two. The steps are the caches.

use serde::Serialize;
use serde_json::Value;

use super::frame::{Frame, Size};
use super::words::{heading, number, text};

#[derive(Serialize, Debug)]
pub(super) struct Curves {
    title: String,
    y_name: String,
    #[serde(flatten)]
    frame: Frame,
    x_ticks: Vec<(f64, String)>,
    y_ticks: Vec<(f64, String)>,
    series: Vec<Series>,
    /// The same for a phone.
    narrow: Option<Box<Self>>,
}

#[derive(Serialize, Debug)]
struct Series {
    label: String,
    colour: usize,
    /// In the format of a polyline: "x,y x,y".
    line: String,
    dots: Vec<(f64, f64, String)>,
}

/// A curve for each value of `group`, from rows with a size `bytes` and a number `field`; `None` if no curve has two points.
pub(super) fn curves(title: &str, rows: &[Value], field: &str, group: &str) -> Option<Curves> {
    let narrow = curves_of_size(Size::Narrow, title, rows, field, group)?;
    let wide = curves_of_size(Size::Wide, title, rows, field, group)?;
    Some(Curves { narrow: Some(Box::new(narrow)), ..wide })
}

fn curves_of_size(size: Size, title: &str, rows: &[Value], field: &str, group: &str) -> Option<Curves> {
    let quantity = heading(field).1;
    let most = rows.iter().filter_map(|row| row[field].as_f64()).fold(0.0, f64::max);
    let (unit, factor) = quantity.unit(most);
    let mut series: Vec<(String, Vec<(f64, f64)>)> = Vec::new();
    for row in rows {
        let point = row["bytes"].as_f64().zip(row[field].as_f64().map(|value| value * factor));
        let Some(point) = point.filter(|(bytes, value)| *bytes > 0.0 && value.is_finite() && *value >= 0.0) else {
            continue;
        };
        let label = text(row, group);
        match series.iter_mut().find(|(known, _)| *known == label) {
            Some((_, points)) => points.push(point),
            None => series.push((label, vec![point])),
        }
    }
    series.retain(|(_, points)| points.len() > 1);
    let all = || series.iter().flat_map(|(_, points)| points.iter().copied());
    let least = all().map(|(bytes, _)| bytes).reduce(f64::min)?.log2().floor();
    let most = all().map(|(bytes, _)| bytes).reduce(f64::max)?.log2().ceil().max(least + 1.0);
    let highest = all().map(|(_, value)| value).fold(f64::MIN_POSITIVE, f64::max);
    let step = step_of(highest);
    let top = (highest / step).ceil() * step;
    let frame = Frame::new(size, 260.0, 12.0, 40.0);
    let x = |bytes: f64| frame.x((bytes.log2() - least) / (most - least));
    let y = |value: f64| frame.y(value / top);
    // A power of two every so often, so that their names fit.
    let names = if size == Size::Wide { 8.0 } else { 4.0 };
    let every = ((most - least) / names).ceil().max(1.0);
    let x_ticks = (0..=((most - least) / every) as i32)
        .map(|number| 2f64.powf(least + f64::from(number) * every))
        .map(|bytes| (x(bytes), size_of(bytes)))
        .collect();
    let y_ticks = (0..=(top / step).round() as i32).map(|k| f64::from(k) * step).map(|v| (y(v), number(v))).collect();
    let series = series
        .into_iter()
        .enumerate()
        .map(|(index, (label, mut points))| {
            points.sort_by(|(a, _), (b, _)| a.total_cmp(b));
            let line: Vec<String> = points.iter().map(|&(bytes, v)| format!("{:.1},{:.1}", x(bytes), y(v))).collect();
            let dots = points
                .iter()
                .map(|&(bytes, v)| (x(bytes), y(v), format!("{label} {}: {} {unit}", size_of(bytes), number(v))))
                .collect();
            Series { label, colour: index % 8 + 1, line: line.join(" "), dots }
        })
        .collect();
    Some(Curves { title: title.to_owned(), y_name: unit.to_owned(), frame, x_ticks, y_ticks, series, narrow: None })
}

/// 1, 2 or 5 times a power of ten, so that four to eight steps reach `highest`.
fn step_of(highest: f64) -> f64 {
    let power = 10f64.powf((highest / 4.0).log10().floor());
    [5.0, 2.0, 1.0].into_iter().map(|factor| factor * power).find(|step| highest / step >= 4.0).unwrap_or(power)
}

fn size_of(bytes: f64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let unit = ((bytes.log2() / 10.0).floor().max(0.0) as usize).min(units.len() - 1);
    format!("{} {}", number(bytes / 1024f64.powi(unit as i32)), units[unit])
}
