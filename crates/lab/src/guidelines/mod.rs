//! Guidelines for the performance of GPU programs, as experiments: each is one small pair of kernels or calls, without what the guideline
//! advises and with it, which give the same result, timed by turns on one device. The guidelines are those of AMD's *HIP performance guidelines*
//! and of DaCe's *Using GPUs and optimization best practices*; whether one holds is measured, not believed.

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
