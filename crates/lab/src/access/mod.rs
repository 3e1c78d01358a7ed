//! The access model: which lines and sectors of memory the work-items of a wavefront touch at once, counted from their addresses. The addresses
//! are those of a small expression, or those of the kernels of this library, from the layout and the stencil tables that the kernels use.
//!
//! | file | subject |
//! |---|---|
//! | `coalescing.rs` | transactions, efficiency and lines of the accesses of wavefronts |
//! | `banks.rs` | conflicts in local memory; pitch and padding of rows |
//! | `expression.rs` | addresses as written by hand: a small grammar |
//! | `pattern.rs` | such addresses over lanes, sites and words, mapped to work-items |
//! | `examples.rs` | good and bad orders of iteration, by name |
//! | `kernel.rs` | what is laid out and launched: a kernel, its fields, its groups |
//! | `program.rs` | the loads and stores of a work-item, and their addresses |
//! | `arrays.rs` | what a kernel's wavefronts touch of each array |

mod arrays;
mod banks;
mod coalescing;
mod examples;
mod expression;
mod kernel;
mod pattern;
mod program;

pub use arrays::{ArrayCounts, kernel_arrays};
pub use banks::{BankPasses, bank_passes, row_padding, row_pitch};
pub use coalescing::{Counts, SECTOR, WaveAccess, count};
pub use examples::{EXAMPLES, Example};
pub use expression::{Expression, ExpressionError, Names};
pub use kernel::{AccessError, Item, Launched, is_described};
pub use pattern::{Index, Pattern, PatternError, PatternReport};
pub use program::{Array, Instruction};
