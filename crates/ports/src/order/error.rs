//! Errors of the conversion of arrays.

use thiserror::Error;

use super::convention::SiteOrder;

#[derive(Debug, Error)]
pub enum OrderError {
    #[error("the shape {} is that of {found} order: it has {why} {order} order", show_shape(.shape))]
    OtherOrder { order: SiteOrder, found: SiteOrder, shape: Vec<usize>, why: &'static str },
    #[error("a field in {order} order cannot have the shape {}: {reason}", show_shape(.shape))]
    Shape { order: SiteOrder, shape: Vec<usize>, reason: String },
    #[error(
        "an array {} has no spins whose {what} could be converted: only spinors (…, 4, 3) and propagators (…, 4, 4, 3, 3) have{also}", show_shape(.shape)
    )]
    NoSpins { shape: Vec<usize>, what: &'static str, also: &'static str },
    #[error("an array {} with {found} numbers, not {expected}", show_shape(.shape))]
    Length { shape: Vec<usize>, expected: usize, found: usize },
}

pub(crate) fn show_shape(shape: &[usize]) -> String {
    match shape {
        [one] => format!("({one},)"),
        shape => format!("({})", shape.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
    }
}
