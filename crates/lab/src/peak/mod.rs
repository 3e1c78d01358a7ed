//! The ceilings of a device, measured: what its memory, its caches, its arithmetic, its launches and its way to the host give at most,
//! in the manner of BabelStream, mixbench and clpeak. Nothing here knows a lattice.
//!
//! | file | subject |
//! |---|---|
//! | `options.rs`, `record.rs` | what is to be measured, and what is recorded |
//! | `measure.rs`, `measuring.rs` | all parts, one after the other; what they share |
//! | `scale.rs` | how large buffers and sets are, and how often is measured |
//! | `streams.rs` | read, write, copy, triad, in several ways; the copy over time |
//! | `intensity.rs` | bandwidth and arithmetic against arithmetic intensity |
//! | `caches.rs`, `plateau.rs` | bandwidth by size of the working set; where it stays the same |
//! | `latency.rs`, `chain.rs` | loads that wait for each other; the order in which they go through memory |
//! | `launches.rs` | empty kernels |
//! | `transfers.rs` | to the device and back |
//! | `host.rs` | the same on the threads of the CPU reference |
//! | `clocks.rs` | what the vendor's tool says of clocks |
//! | `roofline.rs` | roofs and ridges |

pub mod caches;
mod chain;
mod clocks;
mod host;
pub mod intensity;
pub mod latency;
mod launches;
mod measure;
mod measuring;
mod options;
mod plateau;
mod record;
pub mod roofline;
mod scale;
mod streams;
mod transfers;

pub use crate::bandwidth::Operation;
pub use chain::chain;
pub(crate) use options::in_order;
pub use options::{Part, PeakOptions};
pub use plateau::Place;
pub use record::{HostMemory, Peak, Stored, Transfer};
