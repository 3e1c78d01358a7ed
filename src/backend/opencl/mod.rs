//! The OpenCL runtime: devices, memory, programs and launches, in bytes; and the backend that is built on it, which knows lattices. This is the only module that names the types of opencl3, and the only one with `unsafe` calls into a driver.
//!
//! | file | subject |
//! |---|---|
//! | `device.rs` | what platforms and devices there are |
//! | `context.rs` | one device in use: transfers, the one way into the queue |
//! | `memory.rs`, `pool.rs` | allocation: what falls back to the host's memory, limits; blocks that are used again |
//! | `transfer.rs` | large transfers, piece by piece |
//! | `host_memory.rs` | pinned memory of the host; device memory mapped into the host's |
//! | `program.rs`, `sources.rs` | building OpenCL C; the files of `cl/` |
//! | `launch.rs` | running a kernel, timing it |
//! | `capture.rs` | one launch with all that it depends on, and running it again |
//! | `on_queues.rs` | launches of a graph on several queues at once |
//! | `recorder.rs` | when commands ran, for a timeline |
//! | `access.rs`, `site_order.rs` | the layout in device memory: words of a lane, and outer sites |
//! | `lanes.rs` | a work-item for each lane, or one for all |
//! | `neighbours.rs`, `link_sharing.rs` | neighbours' spinors, and links, in local memory |
//! | `tuning.rs` | the tuning parameters, each declared once |
//! | `tuned.rs`, `tuning_file.rs`, `defaults.toml` | where they are looked up: what was tuned, and what ships with the crate |
//! | `plan.rs`, `build.rs` | how a kernel is built and launched, from its specification and these choices |
//! | `offline.rs` | the same for devices that are not there |
//! | `probe.rs` | whether the device keeps the arithmetic contract of `docs/arithmetic.md` |
//! | `cache.rs` | binaries and verdicts on disk |
//! | `ahead.rs` | which programs a run needs, and which of them the cache has |
//! | `error.rs`, `raw.rs` | errors that say what to try; handles that release themselves |
//! | `backend.rs`, `field.rs` | the backend, which knows lattices; fields and tables in device memory |
//! | `launcher.rs` | launches of all kernels: arguments packed by role |
//! | `ghosts.rs` | calls on parts of lattices: packets from and to other parts |
//! | `sum_plan.rs` | sums over sites: the form of a sum, its groups and its build |
//! | `reduce.rs` | their launches, and what is made of what these leave |
//! | `iterations.rs`, `tape.rs` | iterations of conjugate gradients that are queued without a wait; launches that are made again as they were |
//! | `maps.rs` | maps over index spaces that are not lattice sites |

mod access;
mod ahead;
mod backend;
mod build;
mod cache;
mod capture;
mod context;
mod crashes;
mod device;
mod discovery;
mod error;
mod field;
mod ghosts;
mod host_memory;
mod iterations;
mod lanes;
mod launch;
mod launcher;
mod link_sharing;
mod memory;
mod neighbours;
mod offline;
mod on_queues;
mod one_queue;
mod plan;
mod pool;
mod probe;
mod program;
mod raw;
mod recorder;
mod reduce;
mod site_order;
mod sources;
mod sum_plan;
mod tape;
#[cfg(test)]
pub(crate) mod testing;
mod transfer;
mod tuned;
mod tuning;
mod tuning_file;

pub use access::{AccessWidth, PartLayout};
pub use ahead::{Builds, NeededKernel};
pub use backend::OpenCl;
pub use build::registers_in;
pub use cache::{Cache, EntryKind, Key};
pub use capture::{CapturedArgument, CapturedBuffer, CapturedLaunch, ScalarKind};
pub use context::{Buffer, Context};
pub use crashes::explaining_crashes;
pub use device::{DeviceInfo, DeviceKind, Retirement};
pub use discovery::{devices, faults};
pub use error::{ClStatus, DeviceError, OpenClError};
pub use field::{DeviceStorage, DeviceTable};
pub use host_memory::HostBuffer;
pub use lanes::LaneForm;
pub use launch::{Arg, DeviceTimes, Launch, LaunchEvent};
pub use link_sharing::LinkSharing;
pub use neighbours::Neighbours;
pub use offline::{OfflineDevice, OfflineKernel};
pub use plan::{Layout, slices_in_cache};
pub use pool::{Fallback, Held, Holder, KindStatistics, MemoryKind, MemoryStatistics, MemoryUse};
pub use probe::{ProbeCheck, ProbeVerdict, measure, probe};
pub use program::{Kernel as BuiltKernel, KernelInfo, Program};
pub use site_order::SiteOrder;
pub use sources::{Source, SourceError, expand, expand_for, expand_with};
pub use sum_plan::{Finish, SumForm, SumOptions};
pub use transfer::{Towards, TransferWay};
pub use tuned::{KernelKey, Tuned, TuningSource};
pub use tuning::{
    Accumulators, Count, GridStride, GroupSize, LinkLoads, Mapping, Parameter, Stores, Traversal, Tuning,
};
pub use tuning_file::{OneOf, TunedKernel, TunedOn, TuningFile, Where};
