//! What is to be measured.

use serde::Serialize;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    Streams,
    /// Bandwidth by size of the working set: caches and local memory.
    Caches,
    Latency,
    Launch,
    Transfers,
    /// Arithmetic, by operations a byte: the heaviest, and so the last.
    Intensity,
}

lanefield_reference::named!(
    Part: Streams = "streams", Caches = "caches", Latency = "latency", Launch = "launch", Transfers = "transfers",
        Intensity = "intensity"
);

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PeakOptions {
    pub quick: bool,
    /// The most bytes that a buffer may have; none: as many as make sense.
    pub most_bytes: Option<usize>,
    pub parts: Vec<Part>,
}

/// The parts that are wanted, each once, in the order in which they are measured.
pub(crate) fn in_order(wanted: &[Part]) -> impl Iterator<Item = Part> {
    Part::ALL.into_iter().filter(|part| wanted.contains(part))
}
