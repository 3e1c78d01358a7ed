//! Golden data: inputs, intermediates and results of every kernel as files, with a manifest; and their comparison with those of a port.
//! `docs/golden.md` describes the format of the directory. Its contents depend only on the options ([`GoldenOptions`]): no backend, lane width or
//! number of threads changes a byte.

mod array;
mod cases;
mod check;
mod directory;
mod error;
mod export;
mod inputs;
mod manifest;
mod setup;
mod stages;

pub use array::{axes_of, field_array, from_array};
pub use check::{CheckOptions, Checked, CheckedGroup, FirstDifference, check};
pub use directory::Exported;
pub use error::GoldenError;
pub use export::{calls, export, require_place};
pub use manifest::{CaseEntry, FileEntry, MANIFEST, Manifest, Parameters, StageEntry};
pub use setup::GoldenOptions;
