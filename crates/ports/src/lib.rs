//! What whoever writes a lattice kernel elsewhere needs: their arrays read in their order and basis ([`order`]), compared with ours down to the first
//! bit that differs ([`compare`]), and inputs, intermediates and results to compare with ([`golden`]).

#![allow(missing_docs, reason = "a comment says what a name does not")]

pub mod compare;
mod content;
pub mod golden;
pub mod order;
mod projection;
mod words;

pub use content::Content;
pub use lanefield;
pub use words::WordError;
