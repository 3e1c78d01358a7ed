//! Why an array cannot be converted.

use thiserror::Error;

use super::convention::SiteOrder;

/// Why an array cannot be converted.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum OrderError {
    /// A shape that fields in another order have.
    #[error("the shape {} is that of {found} order: it has {why} {order} order", show_shape(.shape))]
    OtherOrder { order: SiteOrder, found: SiteOrder, shape: Vec<usize>, why: &'static str },
    /// A shape that is none of those that fields in this order have.
    #[error("a field in {order} order cannot have the shape {}: {reason}", show_shape(.shape))]
    Shape { order: SiteOrder, shape: Vec<usize>, reason: String },
    /// A change of basis of something without spins.
    #[error(
        "an array {} has no spins, whose {what} could be converted: only spinors (…, 4, 3) and propagators (…, 4, 4, 3, 3) have{also}", show_shape(.shape)
    )]
    NoSpins { shape: Vec<usize>, what: &'static str, also: &'static str },
    /// An array whose numbers are not as many as its shape says.
    #[error("an array {} with {found} numbers, not {expected}", show_shape(.shape))]
    Length { shape: Vec<usize>, expected: usize, found: usize },
}

pub(crate) fn show_shape(shape: &[usize]) -> String {
    match shape {
        [one] => format!("({one},)"),
        shape => format!("({})", shape.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
    }
}
