//! The checklist, one check a file. Each judges an observation by itself, and predicts what the change would gain: never more than lies between
//! a kernel and its floor, since no change makes memory faster.

mod access;
mod counters;
mod diagnose;
mod groups;
mod passes;
mod spills;
#[cfg(test)]
mod tests;
mod timeline;
mod words;

pub use diagnose::diagnose;
