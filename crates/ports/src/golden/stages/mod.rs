//! Intermediates: what lies between the inputs of a kernel and its result, so that a port that differs sees from which step on.

mod along_s;
mod cg;
mod clover;
mod export;
mod half;
mod hop;
mod links;
mod stage;
mod sums;

pub(super) use export::export;
