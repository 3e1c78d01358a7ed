//! The options of a measurement.

use serde::Serialize;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    Streams,
    /// Bandwidth as a function of the working set: caches and local memory.
    Caches,
    Latency,
    Launch,
    Transfers,
    /// Arithmetic as a function of operations per byte: the heaviest part, and so the last.
    Intensity,
}

lanefield_reference::named!(
    Part: Streams = "streams", Caches = "caches", Latency = "latency", Launch = "launch", Transfers = "transfers",
        Intensity = "intensity"
);

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PeakOptions {
    pub quick: bool,
    /// The largest size of a buffer in bytes; if `None`, as large as makes sense.
    pub most_bytes: Option<usize>,
    pub parts: Vec<Part>,
}

/// The requested parts, each once, in the order in which they are measured.
pub(crate) fn in_order(wanted: &[Part]) -> impl Iterator<Item = Part> {
    Part::ALL.into_iter().filter(|part| wanted.contains(part))
}
