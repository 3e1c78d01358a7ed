//! What launches do, in numbers.

use serde::Serialize;

/// What a launch does.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
pub struct Work {
    /// Floating-point operations, as the field counts them.
    pub flops: u64,
    /// Bytes that must be moved at least: each input once, each output once.
    pub bytes: u64,
}
