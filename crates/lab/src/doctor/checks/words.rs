//! Formats the numbers of evidence.

pub(super) use crate::counters::in_percent as percent;

pub(super) fn micros(seconds: f64) -> String {
    format!("{:.1} µs", 1e6 * seconds)
}

pub(super) fn megabytes(bytes: f64) -> String {
    format!("{:.1} MB", bytes / 1e6)
}
