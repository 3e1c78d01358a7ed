//! Orders of the legs that are worth a look. The order is part of an operator: another one changes bits, and a result has those of its order
//! only. So none is ever chosen by speed behind a user's back.

use lanefield_reference::layout::{LayoutError, LegOrder};

/// The order that was the best of a study of a clover stencil on AMD's GPUs (EmPRiSM, a mentored sprint at Pawsey).
pub const SPRINT: &str = "-y-z-t+y+z+t-x+x";
/// By point number, all steps forward before those backward: Grid's.
pub const POINTS: &str = "+x+y+z+t-x-y-z-t";

/// Orders beside the default, and what is known of them.
const OTHERS: [(&str, &str); 7] = [
    (SPRINT, "the best of the EmPRiSM sprint"),
    (POINTS, "forward, then backward"),
    ("-x-y-z-t+x+y+z+t", "backward, then forward"),
    ("-t-z-y-x+x+y+z+t", "by place in memory"),
    ("-x+x-y+y-z+z-t+t", "in pairs, x first"),
    ("-t+t-z+z-y+y-x+x", "in pairs, t first"),
    ("-t-z-y+t+z+y-x+x", "as the default, z before y"),
];

/// An order, and what is known of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NamedOrder {
    pub legs: LegOrder,
    pub about: &'static str,
}

/// The orders that a study goes through, the default first.
pub fn studied() -> Result<Vec<NamedOrder>, LayoutError> {
    let default = NamedOrder { legs: LegOrder::DEFAULT, about: "the default" };
    let others = OTHERS.iter().map(|(order, about)| Ok(NamedOrder { legs: order.parse()?, about }));
    std::iter::once(Ok(default)).chain(others).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_orders_are_orders_and_none_occurs_twice() {
        let orders = studied().unwrap();
        for (k, order) in orders.iter().enumerate() {
            assert!(orders[..k].iter().all(|other| other.legs != order.legs), "{order:?}");
        }
    }
}
