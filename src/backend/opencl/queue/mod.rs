//! The queue of a device: kernels are launched, timed, replayed, and captured.
//!
//! | file | subject |
//! |---|---|
//! | `context.rs` | an open device, with its memory, its programs and its queue |
//! | `arguments.rs` | the arguments of a kernel, and its work-items |
//! | `launch.rs` | running a kernel, timing it |
//! | `replay.rs` | launches that are repeated unchanged |
//! | `capture.rs` | one launch with everything that it depends on, and running it again |

mod arguments;
mod capture;
mod context;
mod launch;
mod replay;

pub use arguments::{Arg, Launch};
pub(crate) use capture::Captures;
pub use capture::{CapturedArgument, CapturedBuffer, CapturedLaunch, ScalarKind};
pub use context::Context;
pub(crate) use launch::Place;
pub use launch::{DeviceTimes, LaunchEvent};
pub(crate) use replay::{KeptLaunches, Replay, ReplayGuard, ScalarArg, Varying};
