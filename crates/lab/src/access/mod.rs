//! The lines and sectors of memory that the work-items of a wavefront touch together, computed from their addresses. The addresses come from a
//! small expression, or from the kernels of this library (`crate::model`).

mod arrays;
mod banks;
mod examples;
mod expression;
mod pattern;

pub use arrays::{ArrayCounts, kernel_arrays};
pub use banks::{BankPasses, bank_passes, row_padding, row_pitch};
pub use examples::{EXAMPLES, Example};
pub use expression::{Expression, ExpressionError, Names};
pub use pattern::{Index, Pattern, PatternReport};
