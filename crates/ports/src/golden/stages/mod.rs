//! Intermediates between the inputs of a kernel and its result, which show from which step on a port differs.

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
