//! The OpenCL runtime (devices, memory, programs and launches, in bytes), and the backend that is built on it, which knows lattices. This
//! is the only module with `unsafe` calls into a driver. Only its folders `device`, `memory`, `program` and `queue` use opencl3. Each layer
//! uses those above it in this list:
//! | file or folder | subject |
//! |---|---|
//! | `device/` | the devices of the machine; an open device, and its queue |
//! | `memory/` | a pool of blocks, buffers, host memory, transfers |
//! | `program/` | the sources of `cl/`, the cache of binaries, built programs |
//! | `queue/` | launches, their times, replayed launches, captured launches |
//! | `probe.rs` | whether the device keeps the arithmetic contract of `docs/arithmetic.md` |
//! | `tuning/` | layouts, tuning parameters, where they are looked up, plans of kernels |
//! | `storage.rs`, `workspace.rs`, `packets.rs` | memory that the backend keeps: fields and tables, sums, packets |
//! | `backend.rs` | the backend, its settings, its programs and launches, and the plans that it keeps |
//! | `field.rs` | transfers of fields and tables between host and device |
//! | `launcher.rs` | launches of all kernels: arguments packed by role |
//! | `sequence.rs` | repeated launches, on one queue or on several at once |
//! | `reduce.rs` | sums: their launches, and their final steps on the host |
//! | `queued_cg.rs` | iterations of conjugate gradients that are queued without a wait |
//! | `ghosts.rs` | calls on local volumes: packets from and to other ranks |
//! | `prebuild.rs` | which programs a run needs, and which of them the cache has |
//! | `offline.rs` | plans for devices that this machine does not have |

mod backend;
mod device;
mod field;
mod ghosts;
mod launcher;
mod memory;
mod offline;
mod packets;
mod prebuild;
mod probe;
mod program;
mod queue;
mod queued_cg;
mod reduce;
mod sequence;
mod storage;
mod tuning;
mod workspace;

pub use backend::OpenCl;
#[cfg(test)]
pub(crate) use device::testing;
pub use device::{
    ClStatus, Device, DeviceError, DeviceInfo, DeviceKind, DriverFact, MemoryUse, OpenClError, Retirement, SourceError,
    devices, explaining_crashes, faults,
};
pub use memory::{
    Buffer, DeviceMemory, Fallback, HostBuffer, KindStatistics, MemoryKind, MemoryStatistics, Towards, TransferWay,
};
pub use offline::{OfflineDevice, OfflineKernel, OfflineProgram};
pub use prebuild::NeededKernel;
pub use probe::{ProbeCheck, ProbeVerdict, probe};
pub use program::{Builds, BuiltKernel, Cache, EntryKind, KernelInfo, Key, Program, Source, expand_with};
pub use queue::{
    Arg, CapturedArgument, CapturedBuffer, CapturedLaunch, Context, DeviceTimes, Launch, LaunchEvent, ScalarKind,
};
pub use storage::{DeviceStorage, DeviceTable};
pub use tuning::{
    AccessWidth, Accumulators, Count, Finish, GridStride, GroupSize, KernelKey, LaneForm, Layout, LinkLoads,
    LinkSharing, Mapping, Neighbours, OneOf, Parameter, PartLayout, SiteOrder, Stores, SumForm, SumOptions, Traversal,
    Tuned, TunedKernel, TunedOn, Tuning, TuningFile, TuningSource, Where, registers_in,
};
