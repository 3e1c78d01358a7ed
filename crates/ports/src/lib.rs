//! What whoever writes a lattice kernel elsewhere needs: their arrays read in their order and basis ([`order`]), compared with ours down to the first
//! bit that differs ([`compare`]), tried as solutions of a system ([`system`]), and inputs, intermediates and results to compare with ([`golden`]).

#![allow(missing_docs, reason = "a comment says what a name does not")]

pub mod compare;
mod content;
pub mod golden;
pub mod order;
mod projection;
pub mod system;
mod words;

pub use content::Content;
pub use lanefield;
pub use words::WordError;
