//! Guidelines for the performance of GPU programs, as experiments: each is one small pair of kernels or calls, without what the guideline
//! advises and with it, which give the same result, timed by turns on one device. The guidelines are those of AMD's *HIP performance guidelines*
//! and of DaCe's *Using GPUs and optimization best practices*; whether one holds is measured, not believed.
//!
//! | file | subject |
//! |---|---|
//! | `guideline.rs` | a guideline, its sources, and the list of all, `guidelines.toml` |
//! | `outcome.rs` | what was measured, and the verdict |
//! | `bench.rs`, `sides.rs` | arrays and launches of an experiment; its two sides, compared and timed by turns |
//! | `experiments.rs`, `run.rs` | the experiment of each guideline; one after the other |
//! | `kernels.rs`, `host.rs` | experiments that the device's clock times, and the host's |
//! | `opencl.rs` | the calls of OpenCL for several queues and for images |

mod bench;
mod experiments;
mod guideline;
mod host;
mod kernels;
mod opencl;
mod outcome;
mod run;
mod sides;

pub use bench::{Options, Scale};
pub use guideline::{Agreement, Clock, Document, Guideline, Source, all, named};
pub use outcome::{Outcome, Verdict};
pub use run::run;
