//! Runs experiments, one after the other.

use lanefield::backend::opencl::Context;

use super::bench::{Bench, Options};
use super::experiments::measure;
use super::guideline::Guideline;
use super::outcome::Outcome;

/// Runs experiments on a device, in order. `done` is called with each outcome, and returns whether to continue. An experiment that cannot be run
/// has an outcome with the reason.
pub fn run(
    context: &Context,
    guidelines: &[Guideline],
    options: Options,
    mut done: impl FnMut(&Outcome) -> bool,
) -> Vec<Outcome> {
    let mut bench = Bench::new(context, options);
    let mut outcomes = Vec::new();
    for guideline in guidelines {
        bench.agreement = guideline.agreement;
        let outcome = Outcome::new(guideline, measure(&guideline.name, &bench));
        let goes_on = done(&outcome);
        outcomes.push(outcome);
        if !goes_on {
            break;
        }
    }
    outcomes
}
