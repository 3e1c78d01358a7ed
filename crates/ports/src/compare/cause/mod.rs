//! A guess at the cause, from the pattern of what differs, and from hypotheses that are tried on the numbers: is B what A becomes where spins are
//! exchanged, sites shifted, a lane read for another, numbers rounded? Each cause has what speaks for it, in numbers. None is better than a wrong one.

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
