//! Traces of a run: what `backend::timeline` recorded, for a viewer (`chrome.rs`) and as a table of hotspots (`hotspots.rs`), as `rocprof
//! --sys-trace --stats` gives them.

mod chrome;
mod hotspots;
#[cfg(test)]
mod tests;

pub use chrome::{chrome_events, write_chrome};
pub use hotspots::{Hotspot, hotspots};

pub use lanefield::backend::timeline::{Group, Recording, Timeline, span};
