//! Causes in the conventions of another program, which need not leave any bit in its place:
//!
//! - a common factor, conjugation, source and sink exchanged;
//! - another basis of the γ matrices;
//! - another origin or direction of an axis;
//! - a phase e^{iqx}, or other staggered phases.
//!
//! They are found also in combination, and up to the tolerance of a solver.
//!
//! Each hypothesis T is tried on the largest sites: the factor c is fitted to B = c·T(A), and the remainder is measured. Among those that fit, the
//! simplest one is reported.

mod fields;
mod fit;
mod lists;
mod spins;

pub(super) use fields::causes;
pub(super) use lists::causes as of_lists;
