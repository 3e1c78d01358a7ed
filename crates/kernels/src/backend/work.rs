//! The work of launches, in numbers.

use serde::Serialize;

/// The work of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
pub struct Work {
    /// Floating-point operations, by the convention of the field.
    pub flops: u64,
    /// Ideal bytes: each input read once, each output written once.
    pub bytes: u64,
}
