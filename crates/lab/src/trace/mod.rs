//! Traces of a run: the recording of `backend::timeline`, for a viewer (`chrome.rs`) and as a table of hotspots (`hotspots.rs`), as from `rocprof
//! --sys-trace --stats`.

mod chrome;
mod hotspots;
#[cfg(test)]
mod tests;

pub use chrome::{chrome_events, write_chrome};
pub use hotspots::{Hotspot, hotspots};

pub use lanefield::backend::timeline::{Group, Recording, Timeline, span};
