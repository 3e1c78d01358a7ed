//! Guidelines for the performance of GPU programs, as experiments: each is one small pair of kernels or calls, without what the guideline
//! advises and with it, which give the same result, timed by turns on one device. The guidelines are those of AMD's *HIP performance guidelines*
//! and of DaCe's *Using GPUs and optimization best practices*; whether one holds is measured, not believed.
//!
//! | file | subject |
//! |---|---|
//! | `guideline.rs` | a guideline, its sources, and the list of all |
//! | `outcome.rs` | what was measured, and the verdict |
//! | `bench.rs`, `sides.rs` | arrays and launches of an experiment; its two sides, compared and timed by turns |
//! | `access.rs` | accesses to device memory |
//! | `on_chip.rs` | local memory, constant memory, images, private arrays |
//! | `reuse.rs` | loads and passes that are shared |
//! | `groups.rs` | sizes and numbers of work-groups |
//! | `arithmetic.rs` | arithmetic and control flow |
//! | `together.rs` | atomics, barriers, launches |
//! | `queues.rs`, `opencl.rs` | several queues; the calls of OpenCL for these and for images |
//! | `transfers.rs`, `host.rs` | transfers between host and device; host memory that the device reaches |
//! | `allocation.rs` | allocation, each time or once, and beyond what there is |

mod access;
mod allocation;
mod arithmetic;
mod bench;
mod groups;
mod guideline;
mod host;
mod on_chip;
mod opencl;
mod outcome;
mod queues;
mod reuse;
mod sides;
mod together;
mod transfers;

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
        let outcome = Outcome::new(guideline, (guideline.experiment)(&bench));
        let goes_on = done(&outcome);
        outcomes.push(outcome);
        if !goes_on {
            break;
        }
    }
    outcomes
}
