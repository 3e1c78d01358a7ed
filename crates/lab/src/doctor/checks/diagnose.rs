//! Runs all checks, one after the other.

use super::{access, counters, groups, passes, spills, timeline};
use crate::doctor::finding::{Finding, WORTH_A_FINDING};
use crate::doctor::observation::{Observation, Pass};

pub fn diagnose(observation: &Observation) -> Vec<Finding> {
    /// A check of one pass; the gain is a share of the time of that pass.
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
