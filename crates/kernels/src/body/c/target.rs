//! The target for which a kernel function is written in C, CUDA or HIP.

use lanefield_reference::layout::LegOrder;
use lanefield_reference::links::LinkFormat;
use lanefield_reference::real::Precision;

use crate::body::dialect::Dialect;

/// The target for which a kernel function is written.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The language: C, CUDA or HIP.
    pub dialect: Dialect,
    /// The precision of its fields, f32 or f64. For half precision it is f32.
    pub precision: Precision,
    /// How links are stored.
    pub links: LinkFormat,
    /// The order of the legs.
    pub legs: LegOrder,
}

pub fn real_name(precision: Precision) -> &'static str {
    if precision == Precision::F64 { "double" } else { "float" }
}

/// The type of fields in another precision.
pub fn other_name(precision: Precision) -> &'static str {
    if precision == Precision::F64 { "float" } else { "double" }
}
