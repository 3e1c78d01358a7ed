//! The bandwidth ceilings of kernels that stream their fields, measured on buffers larger than the caches. Copy: bytes read plus bytes written,
//! divided by the time of a copy. Read, write: bytes divided by the time to read or write them. Triad: two streams read, one written. Each is the
//! median of several runs, for the best of a few ways. `peak/` tries more ways.

mod device;
mod host;

use serde::{Deserialize, Serialize};

pub use device::{DeviceStreams, Shape, Walk, random_words};
pub(crate) use device::{device_bandwidth, device_time, device_ways};
pub use host::{HostStreams, Way};
pub(crate) use host::{host_bandwidth, host_time};

const RUNS: usize = 9;
/// The factor s of the triad; not a power of two, so that it needs a multiplication.
const TRIAD_FACTOR: f32 = 0.4;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    Read,
    Write,
    Copy,
    /// Reads two buffers x and y, and writes x + s · y to a third.
    Triad,
}
lanefield_reference::named!(Operation: Read = "read", Write = "write", Copy = "copy", Triad = "triad");

impl Operation {
    pub(crate) fn kernel(self) -> String {
        format!("{self}_stream")
    }

    /// Number of buffers, of which every byte is moved once.
    pub fn buffers(self) -> usize {
        match self {
            Self::Read | Self::Write => 1,
            Self::Copy => 2,
            Self::Triad => 3,
        }
    }
}

/// Word `place` of a pseudo-random sequence: an f32 of either sign with magnitude 1 to 2, so that every bit but those of the exponent toggles.
/// Counterpart: `cl/peak.cl`.
pub fn random_word(place: u32) -> u32 {
    let mut hash = place.wrapping_mul(2_654_435_761);
    hash ^= hash >> 15;
    hash = hash.wrapping_mul(2_246_822_519);
    hash ^= hash >> 13;
    (hash & 0x807f_ffff) | 0x3f80_0000
}
