//! Devices: their discovery and properties, and an open device with its queue, through which every command goes.
//!
//! | file | subject |
//! |---|---|
//! | `discovery.rs`, `info.rs` | the devices of the machine and their properties |
//! | `drivers.rs`, `drivers.toml` | drivers with defects, and workarounds |
//! | `opened.rs` | an open device: its OpenCL context, its queue, and the one way into it |
//! | `event_times.rs` | the times of commands, for a timeline |
//! | `handles.rs`, `forked.rs` | OpenCL objects that release themselves, but not in a forked child |
//! | `crashes.rs` | the message if a driver crashes |
//! | `error.rs`, `lock.rs` | errors with advice; a lock that survives panics |

mod crashes;
mod discovery;
mod drivers;
mod error;
mod event_times;
mod forked;
mod handles;
mod info;
mod lock;
mod opened;
#[cfg(test)]
pub(crate) mod testing;

pub use crashes::explaining_crashes;
pub(crate) use discovery::unusable_cache;
pub use discovery::{devices, faults};
pub use drivers::DriverFact;
pub(crate) use error::MEMORY_LIMIT;
pub use error::{ClStatus, DeviceError, OpenClError, SourceError};
pub(crate) use event_times::Note;
pub(crate) use forked::is_of_parent;
pub(crate) use handles::{
    RawDevice, RawEvent, RawKernel, RawMem, RawProgram, RawQueue, WaitList, enqueue_without_event, text, unsigned,
};
pub use info::{DeviceInfo, DeviceKind, Retirement};
pub(crate) use info::{LARGE_BUFFERS, WIDE_SIZE, is_lost};
pub(crate) use lock::lock;
pub use opened::{Device, MemoryUse};
