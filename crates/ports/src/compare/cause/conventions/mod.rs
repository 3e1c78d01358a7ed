//! Causes in the conventions of another program, which need not leave a bit in its place: a common factor, source and sink exchanged, conjugation, another
//! basis of the γ matrices, another origin or direction of an axis, a phase e^{iqx}, other staggered phases; also several at once, and up to the tolerance
//! of a solver.
//!
//! Each hypothesis T is tried on the largest sites: the factor c is fitted to B = c·T(A), and what is left is measured. Of those that fit, the simplest wins.

mod fields;
mod fit;
mod lists;
mod spins;

pub(super) use fields::causes;
pub(super) use lists::causes as of_lists;
