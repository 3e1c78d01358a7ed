//! Finds the fault of a hop whose links and source are known: the hop is computed with scalar code with one fault after the other, and B is
//! compared with each. Without this, a leg with the wrong sign and a missing leg look the same, and so do all orders and contractions.

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
