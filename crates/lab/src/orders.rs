//! Leg orders that are worth timing. The order is part of an operator: it changes bits, and a result has the bits of its own order. Therefore no
//! order is ever chosen automatically for speed.

use lanefield::backend::opencl::Tuning;
use lanefield_reference::layout::{LayoutError, LegOrder};

use super::study::Way;

/// The best order in a study of a clover stencil on AMD's GPUs (EmPRiSM, a mentored sprint at Pawsey).
pub(crate) const SPRINT: &str = "-y-z-t+y+z+t-x+x";
/// By point number, all forward steps before the backward ones: Grid's order.
pub(crate) const POINTS: &str = "+x+y+z+t-x-y-z-t";

/// Orders other than the default, with what is known about them.
const OTHERS: [(&str, &str); 7] = [
    (SPRINT, "the best of the EmPRiSM sprint"),
    (POINTS, "forward, then backward"),
    ("-x-y-z-t+x+y+z+t", "backward, then forward"),
    ("-t-z-y-x+x+y+z+t", "by place in memory"),
    ("-x+x-y+y-z+z-t+t", "in pairs, x first"),
    ("-t+t-z+z-y+y-x+x", "in pairs, t first"),
    ("-t-z-y+t+z+y-x+x", "as the default, z before y"),
];

/// The orders of a study in a tuning: the default first, and those that the user added last.
pub fn studied(tuning: Tuning, asked_for: &[LegOrder]) -> Result<Vec<Way>, LayoutError> {
    let mut orders = vec![(LegOrder::DEFAULT, "the default")];
    for (order, about) in OTHERS {
        orders.push((order.parse()?, about));
    }
    for &legs in asked_for {
        if orders.iter().all(|(known, _)| *known != legs) {
            orders.push((legs, "asked for"));
        }
    }
    let chosen = tuning.chosen().fold(String::new(), |all, (name, value)| format!("{all}, {name} {value}"));
    let way = |(legs, about)| Way { name: format!("legs {legs} ({about}){chosen}"), legs, ..Way::from(tuning) };
    Ok(orders.into_iter().map(way).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_orders_are_orders_and_none_occurs_twice() {
        let asked_for = [LegOrder::DEFAULT, "+x-x+y-y+z-z+t-t".parse().unwrap()];
        let orders = studied(Tuning::OPEN, &asked_for).unwrap();
        assert_eq!(orders.len(), 1 + OTHERS.len() + 1);
        for (k, order) in orders.iter().enumerate() {
            assert!(orders[..k].iter().all(|other| other.legs != order.legs), "{order:?}");
        }
    }
}
