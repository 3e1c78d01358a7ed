//! Memory transactions that carry bytes nobody asked for.

use super::{megabytes, of_run, percent};
use crate::perf::doctor::finding::{Fault, Finding, Remedy};
use crate::perf::doctor::observation::{ArrayAccess, Observation, Pass};

/// Arrays below this efficiency are named.
const POOR: f64 = 0.9;
/// Unless what they waste is below this share of all that is moved: tables of a few bytes a site.
const LITTLE: f64 = 0.02;

/// The bytes of all sectors that are moved, against those asked for.
pub fn access(observation: &Observation, pass: &Pass) -> Option<Finding> {
    let asked: f64 = pass.accesses.iter().map(|array| array.bytes as f64).sum();
    let moved: f64 = pass.accesses.iter().map(|array| array.bytes as f64 / array.efficiency.clamp(1e-3, 1.0)).sum();
    let waste = |array: &ArrayAccess| array.bytes as f64 * (1.0 / array.efficiency.clamp(1e-3, 1.0) - 1.0);
    let counts = |array: &&ArrayAccess| array.efficiency < POOR && waste(array) > LITTLE * moved;
    let poor: Vec<&ArrayAccess> = pass.accesses.iter().filter(counts).collect();
    // Where work-items do not run in step, none moves bytes for another.
    if poor.is_empty() || moved == 0.0 || observation.machine.wavefront == 1 {
        return None;
    }
    let names: Vec<&str> = poor.iter().map(|array| array.array.as_str()).collect();
    let mut evidence: Vec<String> = poor
        .iter()
        .map(|array| {
            format!("{}: {} of the bytes moved are used ({})", array.array, percent(array.efficiency), array.pattern)
        })
        .collect();
    evidence.push(format!("{} moved for {}", megabytes(moved), megabytes(asked)));
    let (change, remedy) = match pass.lane_fast {
        Some(false) => ("--mapping lane-fast".to_owned(), Remedy::LaneFast),
        _ => (
            "let neighbouring work-items read neighbouring elements: lanes or words fast, sites slow".to_owned(),
            Remedy::Source,
        ),
    };
    Some(Finding {
        fault: Fault::Access,
        title: format!(
            "{} of the bytes that are moved for {} are not used",
            percent(1.0 - asked / moved),
            names.join(", ")
        ),
        kernel: pass.kernel.clone(),
        gain: of_run(observation, pass, (1.0 - asked / moved).min(observation.headroom_of(pass))),
        evidence,
        change,
        confirmed_gain: None,
        unconfirmed: None,
        remedy,
    })
}
