//! The result of compiling a kernel: registers, spills, private memory, and instructions by kind. It comes from the driver of a real device
//! (`device.rs`) or, for AMD's GPUs, from clang alone, without device and driver (`clang.rs`).

mod amd_assembly;
mod amd_mnemonics;
mod clang;
mod device;
mod facts;
mod nvidia;
mod portability;
mod survey;

pub use clang::{Clang, ClangError};
pub(crate) use device::code_of_kernel;
pub use device::{code_of, options_with_log};
pub use facts::{CodeFacts, InstructionCounts};
pub use portability::{AMD, SPIR, Target, faults};
pub use survey::{Compiled, Subject, Surveyed, survey};
