//! Memory of a device: a pool of blocks, buffers made of them, and every way for bytes between host and device.
//!
//! | file | subject |
//! |---|---|
//! | `pool.rs` | blocks that are used again; what is held, and by whom |
//! | `buffer.rs` | device memory, and pinned memory of the host |
//! | `commands.rs` | the memory of a device: writes, reads, fills, copies, maps |
//! | `allocation.rs` | buffers from the pool, the driver, or the host's memory where that is asked for; limits |
//! | `host.rs` | pinned memory of the host; device memory mapped into the host's |
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
