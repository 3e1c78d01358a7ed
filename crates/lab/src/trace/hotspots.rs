//! The table of hotspots: for each name how often and how long it ran, and its share of its group, the longest first, as in `results.stats.csv` of
//! rocprof.

use lanefield::backend::timeline::{Group, Recording};
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Hotspot {
    /// Its group: `kernel`, `transfer`, `wait`, …
    pub group: &'static str,
    pub name: String,
    pub calls: u64,
    pub total_seconds: f64,
    pub average_seconds: f64,
    pub least_seconds: f64,
    pub most_seconds: f64,
    /// Fraction of the time of its group, 0 to 1.
    pub share_of_group: f64,
    /// Ideal bytes per second; `None` if they are not known.
    pub bytes_per_second: Option<f64>,
    /// Floating-point operations per second; `None` if they are not known.
    pub flops_per_second: Option<f64>,
}

/// The hotspots of a recording, group by group. Shares are within the group: kernels, transfers and the host's spans overlap.
pub fn hotspots(recording: &Recording) -> Vec<Hotspot> {
    let mut table = Vec::with_capacity(recording.totals.len());
    for group in Group::ALL {
        let mut totals: Vec<_> = recording.totals.iter().filter(|(of, ..)| *of == group).collect();
        totals.sort_by(|(_, _, a), (_, _, b)| b.seconds.total_cmp(&a.seconds));
        let all: f64 = totals.iter().map(|(_, _, total)| total.seconds).sum();
        table.extend(totals.into_iter().map(|(_, name, total)| {
            let rate = |amount: u64| (amount > 0 && total.seconds > 0.0).then(|| amount as f64 / total.seconds);
            Hotspot {
                group: group.name(),
                name: recording.name(*name).to_owned(),
                calls: total.calls,
                total_seconds: total.seconds,
                average_seconds: total.seconds / total.calls as f64,
                least_seconds: total.least,
                most_seconds: total.most,
                share_of_group: if all > 0.0 { total.seconds / all } else { 0.0 },
                bytes_per_second: rate(total.work.bytes),
                flops_per_second: rate(total.work.flops),
            }
        }));
    }
    table
}
