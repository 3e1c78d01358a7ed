//! Passes that could be fused: the next pass reads what one writes and nobody else needs, or both read the same.

use super::words::{megabytes, micros};
use crate::doctor::finding::{Fault, Finding, Remedy};
use crate::doctor::observation::{Observation, Pass};

/// Every pair of consecutive passes, all in one finding.
pub fn passes(observation: &Observation) -> Option<Finding> {
    let all = observation.passes.iter().map(Pass::bytes).sum::<u64>() as f64;
    let mut saved = 0.0;
    let mut evidence = Vec::new();
    for (number, pair) in observation.passes.windows(2).enumerate() {
        let [first, second] = pair else { continue };
        for (buffer, bytes) in first.writes.iter().filter(|(buffer, _)| reads(second, buffer)) {
            // Until it is written again.
            let after = observation.passes[number + 2..].iter();
            let later = after.take_while(|pass| !writes(pass, buffer)).any(|pass| reads(pass, buffer));
            let kept = later || observation.outputs.contains(buffer);
            let (times, alone) = if kept { (1.0, "") } else { (2.0, ", and no other pass does") };
            let bytes = *bytes as f64;
            saved += times * bytes;
            let (first, second, bytes) = (&first.kernel, &second.kernel, megabytes(bytes));
            evidence.push(format!("{first} writes {bytes} to {buffer}, {second} reads them{alone}"));
        }
        // Data changed in place were counted above.
        let shared = |buffer: &str| reads(second, buffer) && !writes(first, buffer);
        for (buffer, bytes) in first.reads.iter().filter(|(buffer, _)| shared(buffer)) {
            let bytes = *bytes as f64;
            saved += bytes;
            let (first, second, bytes) = (&first.kernel, &second.kernel, megabytes(bytes));
            evidence.push(format!("{first} and {second} both read {bytes} of {buffer}"));
        }
    }
    if saved == 0.0 || all == 0.0 {
        return None;
    }
    evidence.push(format!("{} of {} would not be moved", megabytes(saved), megabytes(all)));
    let kernels = observation.kernel_seconds();
    evidence.push(format!("{} in {} passes", micros(kernels), observation.passes.len()));
    let title = format!("{} passes go over the same data", observation.passes.len());
    let gain = (saved / all).min(observation.headroom()) * kernels / observation.run_seconds();
    let change = "fuse the passes: results of one then reach the next in registers";
    Some(Finding::new(Fault::Passes, title, gain, evidence, change, Remedy::Source))
}

fn writes(pass: &Pass, buffer: &str) -> bool {
    pass.writes.iter().any(|(name, _)| name == buffer)
}

fn reads(pass: &Pass, buffer: &str) -> bool {
    pass.reads.iter().any(|(name, _)| name == buffer)
}
