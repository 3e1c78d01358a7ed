//! Finds the probable cause, from the pattern of differences and from hypotheses that are tried on the numbers. For example: does B equal A with
//! spins exchanged, sites shifted, lanes mixed up, or numbers rounded? Each cause is reported with its evidence, in numbers. No cause is better
//! than a wrong one.

mod bits;
mod case;
mod conventions;
mod factor;
mod guess;
mod legs;
mod moved;
mod places;
mod reading;
mod rounding;
mod search;
mod spins;

pub use guess::{Cause, Confidence};
pub(super) use search::causes;
