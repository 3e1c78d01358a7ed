//! Comparison of two arrays: the first site, spin, colour and bit that differ, how many numbers differ, where they are, and the probable cause
//! ([`Cause`]). Numbers are compared as integers, and any NaN equals any other NaN (`docs/arithmetic.md` §1).

mod arrays;
mod axes;
mod cause;
mod comparison;
mod count;
mod explain;
mod hint;
mod histogram;
mod numbers;
mod text;
mod wording;

pub use arrays::{CompareError, compare, compare_numbers};
pub use axes::{Axes, SiteAxis};
pub use cause::{Cause, Confidence};
pub use comparison::{AxisIndex, CompareOptions, Comparison, Difference, Side};
pub use explain::{ExplainError, HopFindings, HopInputs, Likeness, explain_hop};
pub use histogram::{Bin, Histogram, SiteMap};
pub use numbers::Numbers;
pub(crate) use wording::counted;
pub use wording::grouped;
