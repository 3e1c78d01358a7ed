//! What made a hop wrong, where its links and its source are known: the hop is computed in plain loops with one thing wrong after the other, and B is held
//! against each. A wrong sign of a leg and a leg that is missing look the same without this, and so do all orders and contractions.

mod fault;
mod findings;
mod hop;
mod inputs;
mod link;
mod mass;
mod orders;
mod search;

pub use findings::{HopFindings, Likeness};
pub use inputs::HopInputs;
pub use search::{ExplainError, explain_hop};
