//! What a kernel is, as data: all that anything else needs to know of it ([`Kernel`]), its arguments by role, and a call of it ([`Call`]). The
//! kernels of the library are described so in `crates/kernels/src/kernel/`.

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
