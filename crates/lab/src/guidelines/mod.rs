//! Guidelines for the performance of GPU programs, as experiments: each is one small pair of kernels or calls, without what the guideline
//! advises and with it, which give the same result, timed by turns on one device. The guidelines are those of AMD's *HIP performance guidelines*
//! and of DaCe's *Using GPUs and optimization best practices*; whether one holds is measured, not believed.
//!
//! | file | subject |
//! |---|---|
//! | `guideline.rs` | a guideline, its sources, and the list of all, `guidelines.toml` |
//! | `outcome.rs` | what was measured, and the verdict |
//! | `bench.rs`, `sides.rs` | arrays and launches of an experiment; its two sides, compared and timed by turns |
//! | `experiments.rs` | the experiment of each guideline |
//! | `kernels.rs`, `host.rs` | experiments that the device's clock times, and the host's |
//! | `opencl.rs` | the calls of OpenCL for several queues and for images |

mod bench;
mod experiments;
mod guideline;
mod host;
mod kernels;
mod opencl;
mod outcome;
mod sides;

pub use bench::{Options, Scale};
pub use guideline::{Agreement, Clock, Document, Guideline, Source, Topic, UnknownGuideline, all, named};
pub use outcome::{Outcome, Verdict};

use lanefield::backend::opencl::Context;

use bench::Bench;

/// Runs experiments on a device, in order. `done` hears of each outcome, and says whether to go on. An experiment that cannot be run is an outcome that
/// says why.
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
        let outcome = Outcome::new(guideline, experiments::measure(&guideline.name, &bench));
        let goes_on = done(&outcome);
        outcomes.push(outcome);
        if !goes_on {
            break;
        }
    }
    outcomes
}
