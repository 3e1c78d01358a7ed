//! The measured ceilings of a device: the highest rates of its memory, caches, arithmetic, launches and transfers, in the manner of BabelStream,
//! mixbench and clpeak. Nothing here depends on a lattice.
//!
//! | file | subject |
//! |---|---|
//! | `options.rs`, `record.rs` | what to measure, and what is recorded |
//! | `measure.rs`, `measuring.rs` | all parts, one after the other; shared state |
//! | `scale.rs` | sizes of buffers and sets, and numbers of samples |
//! | `streams.rs` | read, write, copy, triad, in several ways; the copy over time |
//! | `intensity.rs` | bandwidth and arithmetic against arithmetic intensity |
//! | `caches.rs`, `plateau.rs` | bandwidth as a function of the working set; its plateaus |
//! | `latency.rs`, `chain.rs` | dependent loads; their order in memory |
//! | `launches.rs` | empty kernels |
//! | `transfers.rs` | to the device and back |
//! | `host.rs` | the same on the threads of the CPU reference |
//! | `clocks.rs` | clock rates from the vendor's tool |
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
