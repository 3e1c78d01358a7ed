//! What compilers made of a kernel: registers, spills, memory of its own, and instructions by kind. From the driver of a device in use
//! (`device.rs`), or, for AMD's GPUs, from clang alone, without device and driver (`clang.rs`).
//!
//! | file | subject |
//! |---|---|
//! | `amd_assembly.rs` | the assembly and metadata of LLVM's AMDGPU backend |
//! | `amd_mnemonics.rs` | what its instructions are |
//! | `clang.rs` | finding and running clang |
//! | `device.rs` | the facts of a kernel on a device in use |
//! | `facts.rs` | what is known of a kernel's code |
//! | `survey.rs` | many kernels for many GPUs |
//! | `nvidia.rs` | the log of NVIDIA's compiler, and PTX |

mod amd_assembly;
mod amd_mnemonics;
mod clang;
mod device;
mod facts;
mod nvidia;
mod survey;

pub use clang::{Clang, ClangError};
pub(crate) use device::code_of_kernel;
pub use device::{code_of, options_with_log};
pub use facts::{CodeFacts, InstructionCounts};
pub use survey::{Compiled, Subject, Surveyed, survey};
