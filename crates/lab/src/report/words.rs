//! Names and numbers for people. The unit of a number follows from its key: `seconds`, `bytes_per_second`, `flops_per_second`, `share`, `hertz`. A
//! number whose key names no unit has none.

use serde_json::Value;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Quantity {
    Time,
    /// Bytes per second.
    Bandwidth,
    Flops,
    Share,
    Frequency,
    Bytes,
    Plain,
}

impl Quantity {
    /// The unit for a column whose largest number is `most`, and the factor for its numbers.
    pub fn unit(self, most: f64) -> (&'static str, f64) {
        match self {
            Self::Time => match most {
                most if most >= 1.0 => ("s", 1.0),
                most if most >= 1e-3 => ("ms", 1e3),
                most if most >= 1e-6 => ("µs", 1e6),
                _ => ("ns", 1e9),
            },
            Self::Bandwidth => ("GB/s", 1e-9),
            Self::Flops => ("GFlop/s", 1e-9),
            Self::Share => ("%", 100.0),
            Self::Frequency => ("MHz", 1e-6),
            Self::Bytes => ("bytes", 1.0),
            Self::Plain => ("", 1.0),
        }
    }

    pub fn say(self, value: f64) -> String {
        match self {
            Self::Time => seconds(value),
            Self::Plain => number(value),
            _ => {
                let (unit, factor) = self.unit(value);
                format!("{} {unit}", number(value * factor))
            }
        }
    }
}

/// Key endings, their quantities, and the rest of the key without its unit.
const ENDINGS: [(&str, Quantity); 8] = [
    ("bytes_per_second", Quantity::Bandwidth),
    ("flops_per_second", Quantity::Flops),
    ("seconds", Quantity::Time),
    ("hertz", Quantity::Frequency),
    ("bytes", Quantity::Bytes),
    ("share", Quantity::Share),
    ("efficiency", Quantity::Share),
    ("divergence", Quantity::Share),
];

/// Statistics: the part before the dot names the quantity.
pub(super) const STATISTICS: [&str; 5] = ["median", "tenth", "ninetieth", "least", "most"];

/// Keys whose words are not those of the key.
const WORDS: [(&str, &str); 43] = [
    ("t0", "t₀/a²"),
    ("w0", "w₀/a"),
    ("r0", "r₀/a"),
    ("energy", "E"),
    ("energy_temporal", "E, planes with time"),
    ("energy_spatial", "E, planes in space"),
    ("t2_energy", "t²E"),
    ("charge", "Q"),
    ("unitarity_defect", "largest deviation from SU(3)"),
    ("residual_squared", "last |r|²"),
    ("relative_residual", "|r| / |b| of the recurrence"),
    ("true_residual", "|b − Aψ| / |b|"),
    ("solution_residual", "|η − Mψ| / |η|"),
    ("building_seconds", "building kernels"),
    ("virtual_nodes", "lane layout"),
    ("max_iterations", "most iterations"),
    ("legs", "order of the legs"),
    ("left_over", "configurations in no bin"),
    ("dropped", "number of configurations in no bin"),
    ("bin", "configurations in a bin"),
    ("first", "fitted from"),
    ("last", "fitted to"),
    ("bootstrap", "bootstrap samples"),
    ("relative_errors", "relative errors of far times"),
    ("chases", "latency by working set"),
    ("intensity", "arithmetic by intensity"),
    ("plateaus", "plateaus of bandwidth"),
    ("streams", "ways to read, write and copy"),
    ("transfers", "transfers between host and device"),
    ("working_sets", "bandwidth by working set"),
    ("buffer_bytes", "buffer"),
    ("launch_seconds", "launch latency"),
    ("local_bytes_per_second", "local memory"),
    ("f32_flops_per_second", "f32 arithmetic"),
    ("f64_flops_per_second", "f64 arithmetic"),
    ("half_flops_per_second", "half arithmetic"),
    ("fma_per_element", "multiply-adds per number"),
    ("load_seconds", "a load"),
    ("queued_to_start_seconds", "from queueing to start"),
    ("run_seconds", "an empty kernel"),
    ("back_to_back_seconds", "back to back"),
    ("round_trip_seconds", "round trip to the host"),
    ("fallback_bytes", "bytes in the host's memory"),
];

/// Keys that say nothing to people: bits, and what other words of the page say.
const HIDDEN: [&str; 6] = ["bits", "is_cpu", "stands_for_gpu", "source_scale", "stored_order", "displayTimeUnit"];

/// Whether a key is for programs alone.
pub(super) fn is_hidden(key: &str) -> bool {
    let last = key.rsplit('.').next().unwrap_or(key);
    HIDDEN.contains(&last) || last.ends_with("_bits")
}

/// What the numbers of a key are, and the key in words, without its unit; of a field in an object `object.field`.
pub(super) fn heading(key: &str) -> (String, Quantity) {
    if let Some((object, field)) = key.split_once('.') {
        let (object_words, of_object) = heading(object);
        let (field_words, of_field) = match field {
            _ if STATISTICS.contains(&field) => (spaced(field), of_object),
            _ if of_object != Quantity::Plain && of_object != Quantity::Bytes => (spaced(field), of_object),
            _ => heading(field),
        };
        // The median of `seconds` is headed as a median.
        let words = if object == "seconds" { field_words } else { format!("{object_words}: {field_words}") };
        return (words, of_field);
    }
    if key.starts_with("share_of_") || key == "share" {
        return (spaced(key.strip_prefix("share_").unwrap_or(key)), Quantity::Share);
    }
    if let Some((_, words)) = WORDS.iter().find(|(known, _)| *known == key) {
        let quantity =
            ENDINGS.iter().find(|(ending, _)| key.ends_with(ending)).map_or(Quantity::Plain, |found| found.1);
        return ((*words).to_owned(), quantity);
    }
    for (ending, quantity) in ENDINGS {
        match key.strip_suffix(ending) {
            Some("") => {
                let words = match quantity {
                    Quantity::Time => "time",
                    Quantity::Bandwidth => "bandwidth",
                    Quantity::Flops => "speed",
                    _ => ending,
                };
                return (words.to_owned(), quantity);
            }
            // Sizes are read with their word: `line bytes`.
            Some(start) if start.ends_with('_') => {
                let words = spaced(start.trim_end_matches('_'));
                return (if quantity == Quantity::Share { spaced(key) } else { words }, quantity);
            }
            _ => {}
        }
    }
    (spaced(key), Quantity::Plain)
}

pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn spaced(name: &str) -> String {
    let words = name.replace(['_', '.'], " ");
    // The usual spelling of caches.
    match words.get(..2) {
        Some("l1" | "l2" | "l3") => format!("L{}", &words[1..]),
        _ => words,
    }
}

/// A number with four significant digits, or with all digits before the point; small exact integers with all of theirs.
pub(super) fn number(value: f64) -> String {
    let magnitude = value.abs();
    if value.fract() == 0.0 && magnitude < 1e15 {
        return grouped(&format!("{value:.0}"));
    }
    match magnitude {
        m if !(1e-4..1e6).contains(&m) => format!("{value:.3e}"),
        m if m >= 1000.0 => grouped(&format!("{value:.0}")),
        m if m >= 100.0 => format!("{value:.1}"),
        m if m >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

/// Thin spaces between thousands, from five digits on.
fn grouped(digits: &str) -> String {
    let (sign, digits) = digits.split_at(usize::from(digits.starts_with('-')));
    if digits.len() < 5 {
        return format!("{sign}{digits}");
    }
    let mut text = sign.to_owned();
    for (place, digit) in digits.char_indices() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

pub(super) fn seconds(value: f64) -> String {
    match value.abs() {
        s if s >= 1.0 => format!("{value:.3} s"),
        s if s >= 1e-3 => format!("{:.3} ms", value * 1e3),
        s if s >= 1e-6 => format!("{:.2} µs", value * 1e6),
        _ => format!("{:.0} ns", value * 1e9),
    }
}

/// The elements of a list; empty if the value is not a list.
pub(super) fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// A field as a line of text; empty if it does not fit in one.
pub(super) fn text(value: &Value, name: &str) -> String {
    plain(&value[name]).unwrap_or_default()
}

/// A value as a line of text; `None` for null, and for values that do not fit in one.
pub(super) fn plain(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::Bool(true) => Some("yes".to_owned()),
        Value::Bool(false) => Some("no".to_owned()),
        Value::Number(value) => value.as_f64().map(number),
        Value::String(text) => Some(text.clone()),
        Value::Array(values) if values.len() <= 8 && values.iter().all(|value| !value.is_object()) => {
            let numbers = values.len() == 4 && values.iter().all(Value::is_u64);
            let parts: Option<Vec<String>> = values.iter().map(plain).collect();
            // Four integers are a lattice.
            parts.map(|parts| parts.join(if numbers { "×" } else { ", " }))
        }
        _ => None,
    }
}

pub(super) fn device(document: &Value) -> Option<String> {
    let device = &document["device"];
    let name = device["name"].as_str()?;
    let units = device["compute_units"].as_u64().unwrap_or(0);
    let told = |key: &str| device[key].as_str().map(str::to_owned);
    let details: Vec<String> = match told("vector_instructions") {
        Some(instructions) => [Some(format!("{units} threads")), Some(instructions)],
        None => [told("platform"), told("driver").map(|driver| format!("driver {driver}"))],
    }
    .into_iter()
    .flatten()
    .collect();
    Some(if details.is_empty() { name.to_owned() } else { format!("{name} ({})", details.join(", ")) })
}

/// The properties of the fields of a kernel of `bench`, without its name: `f32, reconstruct 18, even, ×2`.
pub(super) fn fields(row: &Value) -> String {
    let mut parts = vec![text(row, "precision")];
    if let Some(reals) = row["reconstruct"].as_u64() {
        parts.push(format!("reconstruct {reals}"));
    }
    parts.push(text(row, "sites"));
    if row["spinors"].as_u64().is_some_and(|spinors| spinors != 1) {
        parts.push(format!("×{}", text(row, "spinors")));
    }
    parts.retain(|part| !part.is_empty());
    parts.join(", ")
}
