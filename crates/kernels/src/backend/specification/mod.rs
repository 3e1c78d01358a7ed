//! A kernel as data: its specification ([`Kernel`]) with all that other code needs to know, its arguments by role, and a call of it ([`Call`]). The
//! specifications of the library's kernels are in `crates/kernels/src/kernel/`.

mod arguments;
mod call;
mod kernel;
mod roles;
mod shape;

pub use super::table::MatrixFacts;
pub use super::work::Work;
pub use arguments::{ArgumentList, Arguments};
pub use call::Inside;
pub(crate) use kernel::dagger_if;
pub(super) use kernel::of_numbers;
pub use kernel::{
    ArgumentValue, Call, Ceiling, CpuFunction, FieldOfCall, HostCall, HostFunction, Kernel, KernelSource, OwnFiles,
    PlainFunction, PlainLinks, Shape,
};
pub use roles::{
    Access, BuildOption, ComputedTable, FieldContents, FieldRole, FieldSites, Geometry, KernelArgument, TableRows,
    read, update, write,
};
