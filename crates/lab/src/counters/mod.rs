//! A kernel's counters from a profiler, and the bandwidth that follows from them by the formula of the EmPRiSM sprint report (Pawsey). It is the
//! bytes fetched and written, averaged over the calls of a kernel, divided by its average time, as a share of a measured peak.
//!
//! Profiles of rocprof (`rocprof.rs`) and Nsight Compute (`ncu.rs`) are read, and compared with results of `lanefield bench` (`beside.rs`). The
//! units and stalls of Nsight Compute (`limits.rs`) determine what limits a kernel (`binds.rs`).

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
