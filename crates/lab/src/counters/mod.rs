//! Counters by formula: what a profiler counted of a kernel, and the bandwidth that follows, as the EmPRiSM sprint report (Pawsey) computes it:
//! bytes fetched and written, averaged over the calls of a kernel, over its average time, as a share of a measured peak. Profiles of rocprof
//! (`rocprof.rs`) and Nsight Compute (`ncu.rs`) are read, and put beside what `lanefield bench` measured (`beside.rs`). Of what Nsight Compute tells of units and
//! stalls (`limits.rs`) follows what binds a kernel (`binds.rs`).

mod beside;
mod binds;
mod collected;
mod error;
mod kernel;
mod limits;
mod ncu;
mod profile;
mod read;
mod rocprof;
mod sheet;
#[cfg(test)]
mod tests;
mod units;

pub use beside::{Beside, NameMap, OurKernel, our_kernels};
pub use error::CountersError;
pub use kernel::KernelCounters;
pub(crate) use limits::percent as in_percent;
pub use limits::{Busy, OccupancyLimit, Stall};
pub use profile::Profile;
pub use units::{Kilobyte, parse_bytes, parse_seconds};
