//! The memory of a device: a pool of blocks, the buffers in them, and all transfers between host and device.
//!
//! | file | subject |
//! |---|---|
//! | `pool.rs` | blocks and their reuse; how much is held, and by whom |
//! | `buffer.rs` | device memory, and pinned host memory |
//! | `commands.rs` | the memory of a device: writes, reads, fills, copies, maps |
//! | `allocation.rs` | buffers from the pool, the driver, or, if requested, the host's memory; limits |
//! | `host.rs` | pinned host memory; device memory that is mapped into the host's |
//! | `ring.rs`, `transfer.rs` | large transfers, piece by piece |

mod allocation;
mod buffer;
mod commands;
mod host;
mod pool;
mod ring;
mod transfer;

pub use buffer::{Buffer, HostBuffer};
pub use commands::DeviceMemory;
pub(crate) use host::Pinned;
pub use pool::{Fallback, KindStatistics, MemoryKind, MemoryStatistics};
pub use ring::{Towards, TransferWay};
