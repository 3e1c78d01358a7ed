//! Shapes that fields have in only one order: an axis of parities, or the direction of links before the lattice. An array with such a shape would
//! be scrambled if it was read in another order.

use super::convention::SiteOrder;
use super::error::OrderError;

/// Whether the first axis is that of parities: `(2, T, Z, Y, X/2, …)`, with the axes of a field after it. `(2, T, Z, Y, X, 4, 3)` counts too,
/// although it could have five dimensions with Ls = 2.
fn has_parities(shape: &[usize]) -> bool {
    match shape {
        // Five dimensions.
        [_, 2, _, _, _, _, 4, 3] | [_, 2, _, _, _, _, 3, 4] => true,
        // Links of a lattice with T = 2, or similar.
        [2, _, _, _, 4 | 6 | 8, 3, 3] => false,
        [2, _, _, _, _, site @ ..] => {
            matches!(site, [4, 3] | [3, 4] | [3, 3] | [8, 4, 3] | [4 | 6 | 8, 3, 3] | [4, 4, 3, 3])
        }
        _ => false,
    }
}

/// Whether the directions of links come first: `(4, T, Z, Y, X, 3, 3)`, or with parities `(4, 2, T, Z, Y, X/2, 3, 3)`.
fn has_direction_first(shape: &[usize]) -> bool {
    match *shape {
        // These may be links of a lattice with T = 4. They count only if their spatial extents are then equal, and those of the other reading are
        // not.
        [4, t, z, y, x, 3, 3] => !matches!(x, 4 | 6 | 8) || (z == y && y == x && t != z),
        [4 | 8, 2, _, _, _, _, 3, 3] => true,
        _ => false,
    }
}

/// Whether the links of a site are together, in shapes that cannot be read otherwise: `(T, Z, Y, X, 4, 3, 3)`, with parities `(2, T, Z, Y, X/2, 4,
/// 3, 3)`.
fn has_links_together(shape: &[usize]) -> bool {
    matches!(shape, [2, _, _, _, _, 4 | 8, 3, 3]) || matches!(shape, [t, _, _, _, 4 | 8, 3, 3] if *t != 4)
}

/// Rejects a shape that belongs to another order: an axis of parities if the order has none, or the direction of links first if the order does not
/// have it there. [`super::to_ours`] checks this, except for lexicographic order, which may not have been chosen explicitly.
pub fn require_shape(shape: &[usize], order: SiteOrder) -> Result<(), OrderError> {
    let is_propagator = matches!(shape, [_, _, _, _, 4, 4, 3, 3]);
    let named = order != SiteOrder::Lexicographic;
    let other = |found, why| Err(OrderError::OtherOrder { order, found, shape: shape.to_owned(), why });
    if order.has_direction_slowest() {
        let (together, parities) = ("the links of a site together, unlike", "an axis of parities, unlike");
        let is_gpt = order == SiteOrder::Gpt;
        return match shape {
            // gpt has no doubled links.
            [_, _, _, _, 8, 3, 3] if is_gpt => Ok(()),
            [2, ..] if has_links_together(shape) => other(SiteOrder::Milc, together),
            _ if has_links_together(shape) => other(SiteOrder::Lexicographic, together),
            [4 | 8, 2, _, _, _, _, 3, 3] if is_gpt && !is_propagator => other(SiteOrder::Qdp, parities),
            _ if has_parities(shape) && is_gpt => other(SiteOrder::EvenOdd, parities),
            _ => Ok(()),
        };
    }
    match shape {
        // Propagators of a lattice with Z = 2, if the order says so.
        _ if is_propagator && named => Ok(()),
        [4 | 8, 2, _, _, _, _, 3, 3] => other(SiteOrder::Quda, "the direction of links before the sites, unlike"),
        _ if has_direction_first(shape) && order.has_parities() => {
            other(SiteOrder::Qdp, "the direction of links before the sites, unlike")
        }
        _ if has_direction_first(shape) => other(SiteOrder::Gpt, "the direction of links before the sites, unlike"),
        [2, _, _, _, _, 4 | 8, 3, 3] if !order.has_parities() => other(SiteOrder::Milc, "an axis of parities, unlike"),
        _ if has_parities(shape) && !order.has_parities() => other(SiteOrder::EvenOdd, "an axis of parities, unlike"),
        _ => Ok(()),
    }
}
