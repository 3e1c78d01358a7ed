//! The OpenCL runtime: devices, memory, programs and launches, in bytes. It knows no lattice; the backend that does is built on
//! it. This is the only module that names the types of opencl3, and the only one with `unsafe` calls into a driver.
//!
//! | file | subject |
//! |---|---|
//! | `device.rs` | what platforms and devices there are |
//! | `context.rs` | one device in use: memory, transfers, the one way into the queue |
//! | `host_memory.rs` | pinned memory of the host; device memory mapped into the host's |
//! | `program.rs`, `sources.rs` | building OpenCL C; the files of `cl/` |
//! | `launch.rs` | running a kernel, timing it |
//! | `queues.rs`, `image.rs` | several queues at once; images |
//! | `recorder.rs` | when commands ran, for a timeline |
//! | `work.rs` | operations and bytes of launches, for the same |
//! | `access.rs`, `site_order.rs` | the layout in device memory: words of a lane, and outer sites |
//! | `lanes.rs` | a work-item for each lane, or one for all |
//! | `neighbours.rs`, `link_sharing.rs` | neighbours' spinors, and links, in local memory |
//! | `tuning.rs` | how kernels are built and launched |
//! | `plan.rs`, `choice.rs` | the choices for one kernel: what the user set, else what was looked up |
//! | `planner.rs` | what decides about kernels |
//! | `product.rs`, `offline.rs` | the kernels by name; how they are built and launched, also for devices that are not there |
//! | `tuned.rs`, `tuning_file.rs`, `defaults.toml` | where choices are looked up: what was tuned, and what ships with the crate |
//! | `probe.rs` | whether the device keeps the arithmetic contract of `docs/arithmetic.md` |
//! | `cache.rs` | binaries and verdicts on disk |
//! | `error.rs`, `raw.rs` | errors that say what to try; handles that release themselves |
//! | `backend.rs` | the backend, which knows lattices |
//! | `field.rs`, `variant.rs` | fields in device memory; programs and what they are built for |
//! | `hop.rs`, `clover.rs`, `domain_wall.rs`, `laplace.rs`, `blas.rs`, `columns.rs` | launches of the kernels of the same name |
//! | `sums.rs`, `reduce.rs` | sums over sites; how they are launched and rounded |

mod access;
mod backend;
mod blas;
mod cache;
mod choice;
mod clover;
mod columns;
mod context;
mod device;
mod domain_wall;
mod error;
mod field;
mod hop;
mod host_memory;
mod image;
mod lanes;
mod laplace;
mod launch;
mod link_sharing;
mod neighbours;
mod offline;
mod plan;
mod planner;
mod probe;
mod product;
mod program;
mod queues;
mod raw;
mod recorder;
mod reduce;
mod site_order;
mod sources;
mod sums;
#[cfg(test)]
pub(crate) mod testing;
mod tuned;
mod tuning;
mod tuning_file;
mod variant;
mod work;

pub use access::{AccessWidth, PartLayout};
pub use backend::OpenCl;
pub use cache::{Cache, EntryKind, Key};
pub use choice::{KernelChoice, KernelFamily, KernelKey, StoredPrecision};
pub use clover::Accumulators;
pub use context::{Buffer, Context, MemoryUse};
pub use device::{DeviceInfo, DeviceKind, Retirement, devices};
pub use domain_wall::DeviceSMatrix;
pub use error::{ClStatus, HOW_TO_GET_OPENCL, OpenClError};
pub use field::{DeviceField, DeviceStencil};
pub use host_memory::HostBuffer;
pub use image::Image;
pub use lanes::LaneForm;
pub use launch::{Arg, DeviceTimes, Launch, LaunchEvent};
pub use link_sharing::LinkSharing;
pub use neighbours::Neighbours;
pub use offline::{OfflineDevice, OfflineKernel};
pub use plan::slices_in_cache;
use planner::{ChoiceSource, Planner};
pub use probe::{ProbeCheck, ProbeVerdict, measure, probe};
pub use product::ProductKernel;
pub use program::{Kernel, KernelInfo, Program};
pub use queues::Queues;
pub use reduce::{Finish, SumForm, SumOptions};
pub use site_order::SiteOrder;
pub use sources::{SourceError, expand, expand_for, expand_with};
pub use tuned::{Tuned, TuningSource};
pub use tuning::{GroupSize, LinkLoads, Mapping, Stores, Traversal, Tuning, Walk, registers_in};
pub use tuning_file::{TunedKernel, TunedOn, TuningFile, Where};
