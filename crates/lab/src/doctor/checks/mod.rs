//! The checklist, with one check per file. Each judges an observation on its own, and predicts the gain of a change. The gain never exceeds the
//! distance between a kernel and its floor, since no change makes memory faster.

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
