//! Which lines and sectors of memory the work-items of a wavefront touch at once, counted from their addresses. The addresses are those of a small
//! expression, or those of the kernels of this library (`crate::model`).

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
