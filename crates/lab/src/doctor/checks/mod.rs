//! The checklist, one check a file. Each judges an observation by itself, and predicts what the change would gain: never more than lies between
//! a kernel and its floor, since no change makes memory faster.

mod access;
mod counters;
mod groups;
mod passes;
mod spills;
#[cfg(test)]
mod tests;
mod timeline;

use super::finding::{Finding, WORTH_A_FINDING};
use super::observation::{Observation, Pass};
use crate::counters::in_percent as percent;

/// All findings that are worth one, the largest gain first.
pub fn diagnose(observation: &Observation) -> Vec<Finding> {
    /// What is wrong with a pass; its gain is a share of the time of that pass.
    type OfPass = fn(&Observation, &Pass) -> Option<Finding>;
    let checks: [OfPass; 5] =
        [groups::group_size, groups::launch_shape, spills::spills, access::access, counters::counters];
    let mut findings = Vec::new();
    for pass in &observation.passes {
        let of_run = |finding: Finding| Finding {
            kernel: pass.kernel.clone(),
            gain: finding.gain * pass.seconds.median / observation.run_seconds(),
            ..finding
        };
        findings.extend(checks.iter().filter_map(|check| check(observation, pass)).map(of_run));
    }
    findings.extend(passes::passes(observation));
    findings.extend(timeline::transfers(observation));
    findings.extend(timeline::allocations(observation));
    findings.extend(timeline::launches(observation));
    findings.retain(|finding| finding.gain >= WORTH_A_FINDING);
    findings.sort_by(|a, b| b.gain.total_cmp(&a.gain));
    findings
}

fn micros(seconds: f64) -> String {
    format!("{:.1} µs", 1e6 * seconds)
}

fn megabytes(bytes: f64) -> String {
    format!("{:.1} MB", bytes / 1e6)
}
