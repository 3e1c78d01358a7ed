//! The record of a device's ceilings. In JSON it has these keys, with `"kind": "peak"`.

use lanefield::backend::opencl::Towards;
use serde::{Deserialize, Serialize};

use super::plateau::{Place, Plateau};
use crate::Spread;
use crate::bandwidth::Operation;
use crate::json::si::{giga, mega, micro, nano};

/// The ceilings of a device: single values first, then the sweeps from which they come. What was not measured is `None`.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Peak {
    #[serde(skip)]
    pub device: String,
    /// Version of its driver; for the CPU reference, the vector instructions of this program.
    #[serde(skip)]
    pub driver: String,
    /// Time of the measurement in UTC, as in RFC 3339.
    pub date: String,
    /// Compute units; for the CPU reference, threads.
    #[serde(skip)]
    pub compute_units: u32,
    /// Highest clock of the compute units in MHz according to the driver; `None` if it does not report it.
    #[serde(skip)]
    pub max_clock_mhz: Option<u32>,
    /// Clocks reported by a tool of the vendor right after the heaviest kernels.
    pub clocks: Option<Clocks>,
    pub buffer_bytes: u64,
    /// Bytes read, in 10⁹ per second: the best of several ways, the median of several runs.
    #[serde(rename = "read_bytes_per_second", serialize_with = "giga")]
    pub read_gb_per_second: Option<f64>,
    #[serde(rename = "write_bytes_per_second", serialize_with = "giga")]
    pub write_gb_per_second: Option<f64>,
    /// Bytes read plus bytes written of a copy, likewise.
    #[serde(rename = "copy_bytes_per_second", serialize_with = "giga")]
    pub copy_gb_per_second: Option<f64>,
    #[serde(rename = "triad_bytes_per_second", serialize_with = "giga")]
    pub triad_gb_per_second: Option<f64>,
    #[serde(rename = "l2_bytes_per_second", serialize_with = "giga")]
    pub l2_gb_per_second: Option<f64>,
    #[serde(rename = "l1_bytes_per_second", serialize_with = "giga")]
    pub l1_gb_per_second: Option<f64>,
    #[serde(rename = "local_bytes_per_second", serialize_with = "giga")]
    pub local_gb_per_second: Option<f64>,
    /// The cost of a launch: the time from one start to the next for empty kernels that are queued back to back. For the CPU reference: the time to
    /// start all threads and to wait for them.
    #[serde(rename = "launch_seconds", serialize_with = "micro")]
    pub launch_microseconds: Option<f64>,
    /// f32 operations in 10⁹ per second; a fused multiply-add counts as two.
    #[serde(rename = "f32_flops_per_second", serialize_with = "giga")]
    pub f32_gflop_per_second: Option<f64>,
    #[serde(rename = "f64_flops_per_second", serialize_with = "giga")]
    pub f64_gflop_per_second: Option<f64>,
    /// The same for f32 arithmetic on numbers stored in 16 bits.
    #[serde(rename = "half_flops_per_second", serialize_with = "giga")]
    pub half_gflop_per_second: Option<f64>,
    /// Nanoseconds per load in a chain of dependent loads.
    #[serde(rename = "latency_seconds")]
    pub latency_nanoseconds: Latencies,
    pub drift: Option<Drift>,
    /// All ways in which bandwidths were measured, the best of each operation first.
    pub streams: Vec<Stream>,
    pub intensity: Vec<Intensity>,
    pub working_sets: Vec<WorkingSet>,
    /// Ranges of sizes over which it stays the same.
    pub plateaus: Vec<Plateau>,
    pub chases: Vec<Chase>,
    pub launch: Option<LaunchCost>,
    pub transfers: Vec<Transfer>,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Clocks {
    pub source: String,
    #[serde(rename = "units_hertz", serialize_with = "mega")]
    pub units_mhz: Option<f64>,
    #[serde(rename = "units_max_hertz", serialize_with = "mega")]
    pub units_max_mhz: Option<f64>,
    #[serde(rename = "memory_hertz", serialize_with = "mega")]
    pub memory_mhz: Option<f64>,
    pub power_watts: Option<f64>,
    pub temperature_celsius: Option<f64>,
}

#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Latencies {
    #[serde(serialize_with = "nano")]
    pub l1: Option<f64>,
    #[serde(serialize_with = "nano")]
    pub l2: Option<f64>,
    /// Memory: the largest set that was measured.
    #[serde(serialize_with = "nano")]
    pub memory: Option<f64>,
    #[serde(serialize_with = "nano")]
    pub local: Option<f64>,
}

/// One way of copying, measured at several times: it shows the effect of warming up, and of heavy work.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Drift {
    /// The first copy, before any warm-up, in 10⁹ bytes per second.
    #[serde(rename = "cold_bytes_per_second", serialize_with = "giga")]
    pub cold: f64,
    #[serde(rename = "start_bytes_per_second", serialize_with = "giga")]
    pub start: f64,
    /// After all other measurements, directly after the heaviest kernels, in new buffers.
    #[serde(rename = "end_bytes_per_second", serialize_with = "giga")]
    pub end: f64,
    /// After a second of rest, in the same buffers.
    #[serde(rename = "rested_bytes_per_second", serialize_with = "giga")]
    pub rested: f64,
}

impl Drift {
    const NOTICEABLE: f64 = 0.03;

    /// Whether two of the copies after the warm-up differ by more than 3%.
    pub fn is_noticeable(&self) -> bool {
        let warm = [self.start, self.end, self.rested];
        let least = warm.into_iter().fold(f64::INFINITY, f64::min);
        let most = warm.into_iter().fold(0.0, f64::max);
        most - least > Self::NOTICEABLE * most
    }
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Stream {
    pub operation: Operation,
    pub way: String,
    /// 10⁹ bytes per second, at the median time.
    #[serde(rename = "bytes_per_second", serialize_with = "giga")]
    pub gb_per_second: f64,
    pub seconds: Spread,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Stored {
    #[serde(rename = "f32")]
    F32,
    #[serde(rename = "f64")]
    F64,
    /// 16-bit integers; arithmetic is in f32.
    #[serde(rename = "half")]
    Half,
}
lanefield_reference::named!(Stored: F32 = "f32", F64 = "f64", Half = "half");

impl Stored {
    pub fn bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F64 => 8,
            Self::Half => 2,
        }
    }
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Intensity {
    pub stored: Stored,
    pub fma_per_element: u32,
    /// Arithmetic intensity: operations per byte read or written.
    pub flops_per_byte: f64,
    #[serde(rename = "bytes_per_second", serialize_with = "giga")]
    pub gb_per_second: f64,
    #[serde(rename = "flops_per_second", serialize_with = "giga")]
    pub gflop_per_second: f64,
    pub seconds: Spread,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct WorkingSet {
    pub place: Place,
    pub bytes: u64,
    /// What all units read together, in 10⁹ bytes per second.
    #[serde(rename = "bytes_per_second", serialize_with = "giga")]
    pub gb_per_second: f64,
    pub seconds: Spread,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Chase {
    /// [`Place::Local`], or memory with its caches.
    pub place: Place,
    pub bytes: u64,
    /// Nanoseconds per load at the median time, including its address arithmetic.
    #[serde(rename = "load_seconds", serialize_with = "nano")]
    pub nanoseconds: f64,
    pub seconds: Spread,
}

#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct LaunchCost {
    /// Microseconds from the call to the start on the device, for a launch that waits for nothing.
    #[serde(rename = "queued_to_start_seconds", serialize_with = "micro")]
    pub queued_to_start_microseconds: Option<Spread>,
    #[serde(rename = "run_seconds", serialize_with = "micro")]
    pub run_microseconds: Option<Spread>,
    /// From one start to the next, for launches that are queued back to back.
    #[serde(rename = "back_to_back_seconds", serialize_with = "micro")]
    pub back_to_back_microseconds: Option<Spread>,
    /// From the call until the host knows that the launch is done.
    #[serde(rename = "round_trip_seconds", serialize_with = "micro")]
    pub round_trip_microseconds: Spread,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum HostMemory {
    Pageable,
    /// Pinned memory, which the driver has prepared for the device.
    Pinned,
    /// Ordinary memory, copied to and from device memory that is mapped into the host's address space.
    Mapped,
    /// A field in f32, as fields are uploaded and downloaded: the layout is converted piece by piece while other pieces are transferred.
    Field,
}
lanefield_reference::named!(HostMemory: Pageable = "pageable", Pinned = "pinned", Mapped = "mapped", Field = "field");

/// A transfer between host and device, in wall time until the bytes have arrived.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Transfer {
    pub memory: HostMemory,
    pub towards: Towards,
    pub bytes: u64,
    /// 10⁹ bytes per second, at the median time.
    #[serde(rename = "bytes_per_second", serialize_with = "giga")]
    pub gb_per_second: f64,
    pub seconds: Spread,
}
