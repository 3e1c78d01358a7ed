//! Gauge configurations that commands read and write, in files of any format.

pub mod list;
pub mod read;
pub mod write;

pub use list::EnsembleArgs;
pub use read::{ConfigArgs, ReadArgs, require_memory};
pub use write::{FormatArgs, MadeInputs, MadeOutput};
