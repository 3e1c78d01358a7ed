//! Passes that could be one: what a pass writes, the next one reads, and nobody else; or both read the same.

use super::{megabytes, micros};
use crate::doctor::finding::{Fault, Finding, Remedy};
use crate::doctor::observation::{Observation, Pass};

/// Every pair of passes that follow each other, all in one finding.
pub fn passes(observation: &Observation) -> Option<Finding> {
    let all: f64 = observation
        .passes
        .iter()
        .flat_map(|pass| pass.reads.iter().chain(&pass.writes))
        .map(|(_, bytes)| *bytes as f64)
        .sum();
    let mut saved = 0.0;
    let mut evidence = Vec::new();
    for (number, pair) in observation.passes.windows(2).enumerate() {
        let [first, second] = pair else { continue };
        for (buffer, bytes) in &first.writes {
            if !second.reads.iter().any(|(read, _)| read == buffer) {
                continue;
            }
            // Until somebody writes it again.
            let after = observation.passes[number + 2..].iter();
            let later = after.take_while(|pass| !writes(pass, buffer)).any(|pass| reads(pass, buffer));
            let kept = later || observation.outputs.contains(buffer);
            let times = if kept { 1.0 } else { 2.0 };
            saved += times * *bytes as f64;
            evidence.push(format!(
                "{} writes {} to {buffer}, {} reads them{}",
                first.kernel,
                megabytes(*bytes as f64),
                second.kernel,
                if kept { "" } else { ", and nobody else does" }
            ));
        }
        for (buffer, bytes) in &first.reads {
            // What is changed in place was counted above.
            let changed = first.writes.iter().any(|(written, _)| written == buffer);
            if !changed && reads(second, buffer) {
                saved += *bytes as f64;
                evidence.push(format!(
                    "{} and {} both read {} of {buffer}",
                    first.kernel,
                    second.kernel,
                    megabytes(*bytes as f64)
                ));
            }
        }
    }
    if saved == 0.0 || all == 0.0 {
        return None;
    }
    evidence.push(format!("{} of {} would not be moved", megabytes(saved), megabytes(all)));
    let kernels = observation.kernel_seconds();
    evidence.push(format!("{} in {} passes", micros(kernels), observation.passes.len()));
    Some(Finding {
        fault: Fault::Passes,
        title: format!("{} passes go over the same data", observation.passes.len()),
        kernel: String::new(),
        gain: (saved / all).min(observation.headroom()) * kernels / observation.run_seconds(),
        evidence,
        change: "fuse the passes: what one makes, the next takes from registers".to_owned(),
        confirmed_gain: None,
        unconfirmed: None,
        remedy: Remedy::Source,
    })
}

fn writes(pass: &Pass, buffer: &str) -> bool {
    pass.writes.iter().any(|(name, _)| name == buffer)
}

fn reads(pass: &Pass, buffer: &str) -> bool {
    pass.reads.iter().any(|(name, _)| name == buffer)
}
