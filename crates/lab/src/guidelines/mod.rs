//! Guidelines for the performance of GPU programs, as experiments. Each is a small pair of kernels or calls with the same result, one without what
//! the guideline advises and one with it, timed alternately on one device. The guidelines are those of AMD's *HIP performance guidelines* and of
//! DaCe's *Using GPUs and optimization best practices*; whether one holds is measured.

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
