//! Numbers with units, as people and profilers write them.

use serde::Serialize;

/// Factors of byte units, in lower case, with `byte` as `b`: powers of 1000, except for `Ki`, `Mi` and `Gi`.
pub(super) const BYTES: [(&str, f64); 10] = [
    ("b", 1.0),
    ("bytes", 1.0),
    ("kb", 1e3),
    ("mb", 1e6),
    ("gb", 1e9),
    ("tb", 1e12),
    ("kib", 1024.0),
    ("mib", 1048576.0),
    ("gib", 1073741824.0),
    ("tib", 1099511627776.0),
];

/// Factors of time units, in lower case. Profilers use both forms.
pub(super) const SECONDS: [(&str, f64); 9] = [
    ("ns", 1e-9),
    ("nsecond", 1e-9),
    ("us", 1e-6),
    ("µs", 1e-6),
    ("usecond", 1e-6),
    ("ms", 1e-3),
    ("msecond", 1e-3),
    ("s", 1.0),
    ("second", 1.0),
];

pub(super) fn factor(units: &[(&str, f64)], unit: &str) -> Option<f64> {
    let unit = unit.trim().to_lowercase();
    let unit = unit.strip_suffix("yte").unwrap_or(&unit);
    units.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor)
}

/// A number with or without commas, apostrophes or spaces between thousands. `None` if it is not a number, or not finite.
pub(super) fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    let digits: String = text.chars().filter(|c| !matches!(c, ',' | '\'' | ' ' | '\u{a0}' | '\u{202f}')).collect();
    // Commas separate thousands if there are one to three digits before the first, other than a lone 0, and three after each; otherwise a comma may
    // be a decimal point.
    if let Some((first, rest)) = text.split_once(',') {
        let first = first.trim_start_matches(['-', '+']);
        let leads = (1..=3).contains(&first.len()) && first != "0";
        let whole = |group: &str| group.bytes().take_while(u8::is_ascii_digit).count() == 3;
        if !leads || !rest.split(',').all(whole) {
            return None;
        }
    }
    digits.parse().ok().filter(|value: &f64| value.is_finite())
}

/// The most bytes per call, and the least time, that are accepted as arguments.
const MOST_BYTES: f64 = 1e18;
const LEAST_SECONDS: f64 = 1e-9;

fn with_unit(text: &str, units: &[(&str, f64)], example: &str) -> Result<f64, String> {
    let text = text.trim();
    let split = text.find(|c: char| c.is_alphabetic() && !matches!(c, 'e' | 'E')).unwrap_or(text.len());
    let (digits, unit) = text.split_at(split);
    let value = number(digits).zip(factor(units, unit)).map(|(value, factor)| value * factor);
    value.filter(|&value| value > 0.0).ok_or_else(|| format!("'{text}' is not {example}"))
}

/// Bytes: `77.87891MB`, `1.29009797 GB`, `64 KiB`.
pub fn parse_bytes(text: &str) -> Result<f64, String> {
    match with_unit(text, &BYTES, "a number of bytes with its unit, as 77.9MB or 64KiB")? {
        bytes if bytes <= MOST_BYTES => Ok(bytes),
        _ => Err(format!("'{text}' is more than one call can move: expected at most 1000000TB")),
    }
}

/// Seconds: `0.270821ms`, `12 µs`.
pub fn parse_seconds(text: &str) -> Result<f64, String> {
    match with_unit(text, &SECONDS, "a time with its unit, as 0.27ms or 12us")? {
        seconds if seconds.is_infinite() => Err(format!("'{text}' is not a finite time")),
        // A nanosecond is accepted in spite of rounding.
        seconds if seconds >= LEAST_SECONDS * (1.0 - 1e-12) => Ok(seconds),
        _ => Err(format!("'{text}' is too short for a call: expected at least 1ns")),
    }
}

/// Bytes per kilobyte in rocprof's FETCH_SIZE and WRITE_SIZE.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kilobyte {
    /// 1000, as in the sprint report.
    #[default]
    Thousand,
    /// 1024, as in the formula in rocprof's own `metrics.xml`.
    Binary,
}

impl Kilobyte {
    pub fn bytes(self) -> f64 {
        match self {
            Self::Thousand => 1000.0,
            Self::Binary => 1024.0,
        }
    }
}
