//! Names and numbers for people.

use serde_json::Value;

/// What a field's name says, and what its numbers are to be multiplied with.
pub(super) fn heading(name: &str) -> (String, f64) {
    let known = [
        ("gb_per_second", "GB/s", 1.0),
        ("gflop_per_second", "GFlop/s", 1.0),
        ("share_of_ceiling", "of ceiling, %", 100.0),
        ("percentage", "%", 1.0),
        ("share", "share, %", 100.0),
        ("nanoseconds", "ns", 1.0),
        ("seconds", "time, µs", 1e6),
    ];
    let endings = [
        ("_gb_per_second", ", GB/s", 1.0),
        ("_gflop_per_second", ", GFlop/s", 1.0),
        ("_percent", ", %", 1.0),
        ("_bytes", ", bytes", 1.0),
        ("_microseconds", ", µs", 1.0),
        ("_nanoseconds", ", ns", 1.0),
        ("_us", ", µs", 1.0),
        ("_ms", ", ms", 1.0),
        ("_seconds", ", µs", 1e6),
        ("_mhz", ", MHz", 1.0),
    ];
    if let Some((_, heading, factor)) = known.into_iter().find(|(known, ..)| *known == name) {
        return (heading.to_owned(), factor);
    }
    if let Some(statistic) = name.strip_prefix("seconds.") {
        return (format!("{}, µs", spaced(statistic)), 1e6);
    }
    if let Some((object, field)) = name.split_once('.') {
        // What was timed with and without something: `with.median`.
        let (words, factor) =
            if object.ends_with("seconds") || matches!(field, "median" | "least" | "most" | "tenth" | "ninetieth") {
                (format!("{field}, µs"), 1e6)
            } else {
                heading(field)
            };
        let object = object.trim_end_matches("_seconds");
        return (format!("{}: {words}", spaced(object)), factor);
    }
    for (ending, unit, factor) in endings {
        if let Some(start) = name.strip_suffix(ending) {
            return (spaced(start) + unit, factor);
        }
    }
    if name.starts_with("share_of") {
        return (spaced(name) + ", %", 100.0);
    }
    (spaced(name), 1.0)
}

/// A text with a capital at its beginning.
pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn spaced(name: &str) -> String {
    let words = name.replace(['_', '.'], " ");
    // Caches are written so.
    match words.get(..2) {
        Some("l1" | "l2" | "l3") => format!("L{}", &words[1..]),
        _ => words,
    }
}

/// A number with four significant digits or all of those before the point; of exact small integers all.
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
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

/// Seconds in the unit that suits them.
pub(super) fn seconds(value: f64) -> String {
    match value.abs() {
        s if s >= 1.0 => format!("{value:.3} s"),
        s if s >= 1e-3 => format!("{:.3} ms", value * 1e3),
        s if s >= 1e-6 => format!("{:.2} µs", value * 1e6),
        _ => format!("{:.0} ns", value * 1e9),
    }
}

/// The elements of a list; none of what is no list.
pub(super) fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// A field in a line of text; nothing where it does not fit in one.
pub(super) fn text(value: &Value, name: &str) -> String {
    plain(&value[name]).unwrap_or_default()
}

/// A value in a line of text; none for null, and for what does not fit in one.
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
            // Four whole numbers are a lattice.
            parts.map(|parts| parts.join(if numbers { "×" } else { ", " }))
        }
        _ => None,
    }
}
