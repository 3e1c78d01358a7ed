//! The OpenCL runtime: devices, memory, programs and launches, in bytes; and the backend that is built on it, which knows lattices. This is the only module with
//! `unsafe` calls into a driver, and only its folders `device`, `memory`, `program` and `queue` name opencl3. Each layer stands on those above it in this list:
//!
//! | file or folder | subject |
//! |---|---|
//! | `device/` | which devices there are; a device in use, and its queue |
//! | `memory/` | a pool of blocks, buffers, host memory, transfers |
//! | `program/` | the sources of `cl/`, the cache of binaries, built programs |
//! | `queue/` | launches, their times, launches that are made again, captured launches |
//! | `probe.rs` | whether the device keeps the arithmetic contract of `docs/arithmetic.md` |
//! | `tuning/` | layouts, tuning parameters, where they are looked up, plans of kernels |
//! | `storage.rs`, `workspace.rs`, `packets.rs` | what the backend keeps: fields and tables, sums, packets |
//! | `backend.rs` | the backend, its settings, its programs and launches, and the plans that it keeps |
//! | `field.rs` | its memory: fields and tables from the host and to it |
//! | `launcher.rs` | launches of all kernels: arguments packed by role |
//! | `sequence.rs` | launches that are made again and again, on one queue or on several at once |
//! | `reduce.rs` | sums: their launches, and what is made of what these leave |
//! | `queued_cg.rs` | iterations of conjugate gradients that are queued without a wait |
//! | `ghosts.rs` | calls on parts of lattices: packets from and to other parts |
//! | `prebuild.rs` | which programs a run needs, and which of them the cache has |
//! | `offline.rs` | plans for devices that are not there |

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
