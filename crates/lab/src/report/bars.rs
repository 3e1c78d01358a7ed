//! Bar charts: one bar per row, with its name before it and its value after it.

use serde::Serialize;
use serde_json::Value;

use super::words::{Quantity, fields, number, seconds, text};

/// Further bars are left to the table.
const MOST_BARS: usize = 48;

#[derive(Serialize, Debug, Default)]
pub(super) struct Bars {
    pub title: String,
    pub scale: String,
    pub bars: Vec<Bar>,
    pub left_out: usize,
    /// Whether it is open initially, or opens on demand.
    pub open: bool,
}

#[derive(Serialize, Debug, Default)]
pub(super) struct Bar {
    pub label: String,
    pub detail: String,
    /// Fraction of the width, 0 to 100.
    pub percent: f64,
    /// Of a comparison, that of the other side, above it.
    pub before: Option<f64>,
    pub text: String,
    pub tip: String,
    pub colour: usize,
}

impl Bars {
    pub(super) fn new(title: &str, scale: &str, mut bars: Vec<Bar>) -> Option<Self> {
        let left_out = bars.len().saturating_sub(MOST_BARS);
        bars.truncate(MOST_BARS);
        let chart = Self { title: title.to_owned(), scale: scale.to_owned(), bars, left_out, open: true };
        (!chart.bars.is_empty()).then_some(chart)
    }
}

pub(super) fn colour_of_precision(precision: &str) -> usize {
    match precision {
        "f64" => 1,
        "f32" => 2,
        "half" => 3,
        "kernels of peak" => 0,
        _ => 4,
    }
}

/// The share of the measured bandwidth for each kernel and variant of `bench`. A whole bar is the ceiling, or the highest share above it.
pub(super) fn shares(rows: &[Value]) -> Option<Bars> {
    let share = |row: &Value| row["share_of_ceiling"].as_f64();
    let most = rows.iter().filter_map(share).fold(1.0, f64::max);
    let scale = match most > 1.0 {
        true => format!("A whole bar is {:.0} % of the measured bandwidth.", 100.0 * most),
        false => "A whole bar is the measured bandwidth.".to_owned(),
    };
    let bars = of_kernels(rows, most, share, |share| format!("{:.0} %", 100.0 * share));
    Bars::new("Share of the measured bandwidth, by kernel and variant", &scale, bars)
}

/// The bandwidth of the kernels and variants of `bench` whose fields stay in a cache, and which are not compared with the bandwidth of memory.
pub(super) fn in_cache(rows: &[Value]) -> Option<Bars> {
    let rate = |row: &Value| row["bytes_per_second"].as_f64().filter(|_| row["in_cache"] == true);
    let most = rows.iter().filter_map(rate).fold(f64::MIN_POSITIVE, f64::max);
    let bars = of_kernels(rows, most, rate, |rate| Quantity::Bandwidth.say(rate));
    Bars::new("Bandwidth in a cache, by kernel and variant", "A whole bar is the highest.", bars)
}

fn of_kernels(
    rows: &[Value],
    most: f64,
    number_of: impl Fn(&Value) -> Option<f64>,
    say: impl Fn(f64) -> String,
) -> Vec<Bar> {
    let differs = |name: &&str| rows.iter().any(|row| row[*name] != rows[0][*name]);
    let told: Vec<&str> = ["lattice", "lane_bytes", "variant"].into_iter().filter(differs).collect();
    let bar = |row: &Value| {
        let value = number_of(row)?;
        let mut detail = vec![fields(row)];
        detail.extend(told.iter().map(|name| match *name {
            "lane_bytes" => format!("lanes {}", text(row, name)),
            name => text(row, name),
        }));
        let detail = detail.join("; ");
        let rate = row["bytes_per_second"].as_f64().map(|rate| Quantity::Bandwidth.say(rate)).unwrap_or_default();
        let share = row["share_of_ceiling"].as_f64().map_or("in a cache".to_owned(), |share| {
            format!("{:.1} % of the {} bandwidth", 100.0 * share, text(row, "ceiling"))
        });
        let median = row["seconds"]["median"].as_f64().map(seconds).unwrap_or_default();
        let kernel = text(row, "kernel");
        Some(Bar {
            tip: format!("{kernel}, {detail}: {rate}, {share}, median {median}"),
            label: kernel,
            detail,
            percent: 100.0 * value / most,
            text: say(value),
            colour: colour_of_precision(&text(row, "precision")),
            before: None,
        })
    };
    rows.iter().filter_map(bar).collect()
}

/// The stages of `bench sprint`, one after the other: a chart for each kernel on each lattice. The first of each lattice is open.
pub(super) fn stages(rows: &[Value]) -> Vec<Bars> {
    let timed: Vec<&Value> = rows.iter().filter(|row| row["seconds"]["median"].is_number()).collect();
    let key_of = |row: &Value| (text(row, "lattice"), text(row, "kernel"));
    let mut keys: Vec<(String, String)> = Vec::new();
    for key in timed.iter().filter(|row| row["family"] == "clover").map(|row| key_of(row)) {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    let mut charts = Vec::new();
    for key in keys {
        let rows: Vec<&Value> = timed.iter().copied().filter(|row| key_of(row) == key).collect();
        let (lattice, kernel) = key;
        let time = |row: &Value| row["seconds"]["median"].as_f64().unwrap_or(0.0);
        let most = rows.iter().map(|row| time(row)).fold(0.0, f64::max);
        let first = rows.first().map_or(0.0, |row| time(row));
        let bars = rows.iter().map(|row| {
            let (median, other_bits) = (time(row), row["bit_true"] == false);
            let (times, variant, took) = (first / median, text(row, "variant"), seconds(median));
            let (detail, colour) = if other_bits { ("other bits", 4) } else { ("", 1) };
            let share =
                row["share_of_ceiling"].as_f64().map(|share| format!(", {:.1} % of the bandwidth", 100.0 * share));
            Bar {
                tip: format!("{variant}: {took}, {times:.3} times the first stage{}", share.unwrap_or_default()),
                label: variant,
                detail: detail.to_owned(),
                percent: 100.0 * median / most,
                text: format!("{took} · {times:.2}×"),
                colour,
                before: None,
            }
        });
        let title = format!("{kernel} on {lattice}");
        let scale = "Median time of a launch, stage by stage: shorter is better. After it, how many times faster than the first stage.";
        if let Some(mut chart) = Bars::new(&title, scale, bars.collect()) {
            chart.open = !charts.iter().any(|other: &Bars| other.title.ends_with(&format!(" on {lattice}")));
            charts.push(chart);
        }
    }
    charts
}

pub(super) fn tuned(rows: &[Value]) -> Option<Bars> {
    let most = rows.iter().filter_map(|row| row["gain"].as_f64()).fold(1.0, f64::max);
    let bars = rows.iter().filter_map(|row| {
        let gain = row["gain"].as_f64()?;
        let [before, after] = ["default_seconds", "tuned_seconds"].map(|name| row[name].as_f64().unwrap_or(0.0));
        let kernel = text(row, "kernel");
        Some(Bar {
            tip: format!("{kernel}: {} by default, {} tuned", seconds(before), seconds(after)),
            detail: format!("{} → {}", seconds(before), seconds(after)),
            label: kernel,
            percent: 100.0 * gain / most,
            text: format!("{gain:.2}×"),
            colour: 1,
            before: None,
        })
    });
    Bars::new("Tuned against default", "Time by default over time tuned: longer is better.", bars.collect())
}

/// Any rows by one number. Fractions of one are shown in percent.
pub(super) fn by_number(
    title: &str,
    rows: &[Value],
    number_of: impl Fn(&Value) -> Option<f64>,
    as_share: bool,
) -> Option<Bars> {
    let values = rows.iter().filter_map(&number_of).filter(|value| value.is_finite());
    let most = values.fold(if as_share { 1.0 } else { f64::MIN_POSITIVE }, f64::max);
    let names = ["kernel", "name", "title", "variant"];
    let bars = rows.iter().filter_map(|row| {
        let value = number_of(row).filter(|value| value.is_finite() && *value >= 0.0)?;
        let label = names.iter().map(|name| text(row, name)).find(|name| !name.is_empty()).unwrap_or_default();
        let detail: Vec<String> = ["precision", "device", "limited_by", "variant"]
            .iter()
            .map(|name| text(row, name))
            .filter(|part| !part.is_empty() && *part != label)
            .collect();
        let shown = if as_share { format!("{:.1} %", 100.0 * value) } else { number(value) };
        Some(Bar {
            tip: format!("{label}: {shown}"),
            detail: detail.join("; "),
            label,
            percent: 100.0 * value / most,
            text: shown,
            colour: 1,
            before: None,
        })
    });
    Bars::new(title, "", bars.collect())
}
