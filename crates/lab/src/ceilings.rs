//! The bandwidths with which kernels are compared. Each is measured once for a device and driver, after a warm-up, and kept in the cache directory.
//! It is measured again if a kernel whose data cannot stay in a cache was faster, and the higher value is kept. Kernels whose data fit the last
//! cache are compared with no bandwidth.

use std::time::Duration;

use lanefield::backend::opencl::{Cache, Context, DeviceInfo, DeviceKind, EntryKind, Key};
use lanefield::backend::{BackendError, Cpu, Memory as _};
use serde::{Deserialize, Serialize};

use crate::bandwidth::{Operation, Shape, device_bandwidth, device_ways, host_bandwidth};
use crate::empty::empty_kernel;
use crate::machine::{Machine, last_cache_of_host};
use crate::plausible::{self, Implausible};

/// Length of the warm-up before a measurement, in which clocks rise.
pub(crate) const WARM_UP: Duration = Duration::from_millis(300);
/// A rate counts as higher only if it is so by at least this fraction.
const NOTICEABLE: f64 = 0.02;
/// If data exceed a cache by less than this factor, some of them stay in it from launch to launch.
const PARTLY: u64 = 4;

/// Memory with known bandwidths: that of a device, or that of the CPU reference's threads.
#[derive(Clone, Copy)]
pub enum MemoryOf<'m> {
    Device(&'m Context),
    Host(&'m Cpu),
}

#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
struct Kept {
    /// Bytes a second.
    bandwidth: f64,
    /// The highest rate of a kernel for which it was measured again.
    seen: f64,
}

impl Share {
    pub fn of_ceiling(self) -> Option<f64> {
        match self {
            Self::InCache => None,
            Self::Of(share) => Some(share),
        }
    }
}

impl Kept {
    fn is_sound(&self) -> bool {
        self.bandwidth.is_finite() && self.bandwidth > 0.0 && self.seen.is_finite()
    }

    /// Whether a kernel that moves `seen` bytes per second shows that this bandwidth is too low.
    fn is_beaten_by(&self, seen: f64) -> bool {
        seen > self.bandwidth * (1.0 + NOTICEABLE) && seen > self.seen * (1.0 + NOTICEABLE)
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Share {
    /// No share: the data stay in a cache, completely or partly.
    InCache,
    /// The rate divided by the ceiling.
    Of(f64),
}

impl MemoryOf<'_> {
    /// The bandwidth of an operation in bytes per second, from the cache or measured now. `seen`: the highest rate, in bytes per second, of kernels
    /// whose data do not fit a cache; if it exceeds the cached value, that is measured again.
    pub fn ceiling(self, operation: Operation, seen: Option<f64>) -> Result<f64, BackendError> {
        let (cache, key) = self.place(operation);
        kept_or_measured((&cache, &key), seen, || self.measure(operation))
    }

    /// Keeps a bandwidth, in bytes per second, that was measured elsewhere, if it is higher than the cached one.
    pub fn keep(self, operation: Operation, bandwidth: f64) {
        let (cache, key) = self.place(operation);
        let kept = load(&cache, &key).unwrap_or(Kept { bandwidth: 0.0, seen: 0.0 });
        if bandwidth > kept.bandwidth {
            store(&cache, &key, Kept { bandwidth, ..kept });
        }
    }

    /// The shapes of streams that measuring an operation builds; empty if its result is in the cache.
    pub(crate) fn shapes_to_build(self, operation: Operation) -> Vec<Shape> {
        let (cache, key) = self.place(operation);
        match self {
            Self::Device(context) if load(&cache, &key).is_none() => {
                let is_cpu = context.info().kind == DeviceKind::Cpu;
                device_ways(operation, is_cpu)
            }
            _ => Vec::new(),
        }
    }

    /// Size of the last cache in bytes; 0 if it is unknown.
    pub fn cache_bytes(self) -> u64 {
        match self {
            Self::Device(context) => cache_of_device(context.info()),
            Self::Host(_) => last_cache_of_host(),
        }
    }

    /// The share of the ceiling `ceiling` of kernels that move `bytes` bytes at `rate` bytes per second.
    pub fn share(self, bytes: u64, rate: f64, ceiling: f64) -> Result<Share, Implausible> {
        share(self.cache_bytes(), bytes, rate / ceiling)
    }

    /// The same for a kernel that takes `seconds`, if there is a ceiling. `empty_launch`: the seconds of an empty launch.
    pub(crate) fn held(
        self,
        bytes: u64,
        seconds: f64,
        ceiling: Option<f64>,
        empty_launch: f64,
    ) -> Result<Option<Share>, Implausible> {
        plausible::time(seconds, empty_launch)?;
        ceiling.map(|ceiling| self.share(bytes, bytes as f64 / seconds, ceiling)).transpose()
    }

    /// Seconds of an empty launch by the device's clock, which is the least that a kernel takes; 0 for the CPU reference, which calls functions.
    /// `seen`: the shortest time of other kernels; if it is less than the cached value, that is measured again.
    pub fn empty_launch(self, seen: Option<f64>) -> Result<f64, BackendError> {
        let Self::Device(context) = self else { return Ok(0.0) };
        let key = Key::new(context.info(), "launches a second", "");
        let rate = || Ok(empty_kernel(context)?.least.recip());
        Ok(kept_or_measured((context.cache(), &key), seen.map(f64::recip), rate)?.recip())
    }

    fn place(self, operation: Operation) -> (Cache, Key) {
        let what = format!("bandwidth of a {operation}");
        match self {
            Self::Device(context) => (context.cache().clone(), Key::new(context.info(), &what, "")),
            Self::Host(cpu) => (Cache::from_environment(), Key::of_host(&cpu.describe(), &what)),
        }
    }

    fn measure(self, operation: Operation) -> Result<f64, BackendError> {
        match self {
            Self::Device(context) => device_bandwidth(context, operation, WARM_UP),
            Self::Host(cpu) => cpu.install(|| host_bandwidth(operation, WARM_UP)),
        }
    }
}

fn share(cache: u64, bytes: u64, share: f64) -> Result<Share, Implausible> {
    let partly = share > 1.0 + NOTICEABLE && bytes <= PARTLY * cache;
    if bytes <= cache || partly { Ok(Share::InCache) } else { plausible::share(share).map(Share::Of) }
}

fn load(cache: &Cache, key: &Key) -> Option<Kept> {
    let entry = cache.load(EntryKind::Ceiling, key)?;
    serde_json::from_slice(&entry).ok().filter(Kept::is_sound)
}

fn store(cache: &Cache, key: &Key, kept: Kept) {
    // These are plain numbers, so it cannot fail.
    if let Ok(entry) = serde_json::to_vec(&kept) {
        cache.store(EntryKind::Ceiling, key, &entry);
    }
}

fn kept_or_measured(
    (cache, key): (&Cache, &Key),
    seen: Option<f64>,
    measure: impl FnOnce() -> Result<f64, BackendError>,
) -> Result<f64, BackendError> {
    let (kept, seen) = (load(cache, key), seen.unwrap_or(0.0));
    if let Some(kept) = kept.filter(|kept| !kept.is_beaten_by(seen)) {
        return Ok(kept.bandwidth);
    }
    let bandwidth = measure()?.max(kept.map_or(0.0, |kept| kept.bandwidth));
    store(cache, key, Kept { bandwidth, seen: seen.max(kept.map_or(0.0, |kept| kept.seen)) });
    Ok(bandwidth)
}

/// The assumed cache size of an unknown GPU, large enough that kernels whose data may stay in a cache are not compared with memory.
const UNKNOWN_GPU: u64 = 48 << 20;

/// The larger of what the driver reports and what is known of the device: NVIDIA's drivers report a different cache from the last one.
fn cache_of_device(info: &DeviceInfo) -> u64 {
    let known = match info.kind {
        DeviceKind::Cpu => last_cache_of_host(),
        _ => Machine::of_device(info).map_or(UNKNOWN_GPU, |machine| machine.l2_bytes),
    };
    info.global_cache_bytes.max(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(cache: &Cache, seen: Option<f64>, found: f64) -> (f64, bool) {
        let key = Key::of_host("a test", "bandwidth");
        let mut measured = false;
        let bandwidth = kept_or_measured((cache, &key), seen, || {
            measured = true;
            Ok(found)
        });
        (bandwidth.unwrap(), measured)
    }

    #[test]
    fn a_ceiling_is_measured_once_and_again_where_a_kernel_beats_it() {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::at(directory.path());
        assert_eq!(measured(&cache, None, 100.0), (100.0, true));
        assert_eq!(measured(&cache, Some(101.0), 200.0), (100.0, false));
        assert_eq!(measured(&cache, Some(110.0), 120.0), (120.0, true));
        // A lower value replaces nothing, and the same kernel triggers only one measurement.
        assert_eq!(measured(&cache, Some(130.0), 90.0), (120.0, true));
        assert_eq!(measured(&cache, Some(130.0), 200.0), (120.0, false));
    }

    #[test]
    fn what_is_damaged_or_makes_no_sense_is_measured_again() {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::at(directory.path());
        let key = Key::of_host("a test", "bandwidth");
        for entry in [&b"{"[..], br#"{"bandwidth":-1.0,"seen":0.0}"#, br#"{"bandwidth":null,"seen":0.0}"#] {
            cache.store(EntryKind::Ceiling, &key, entry);
            assert_eq!(measured(&cache, None, 100.0), (100.0, true));
        }
        let path = cache.path(EntryKind::Ceiling, &key).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
        assert_eq!(measured(&cache, None, 50.0), (50.0, true));
    }

    #[test]
    fn what_fits_the_cache_has_no_share_of_a_ceiling() {
        let mib = |number: u64| number << 20;
        assert_eq!(share(mib(32), mib(32), 0.5), Ok(Share::InCache));
        assert_eq!(share(mib(32), mib(100), 30.1), Ok(Share::InCache));
        assert_eq!(share(mib(32), mib(100), 0.9), Ok(Share::Of(0.9)));
        assert_eq!(share(mib(32), mib(1000), 1.05), Ok(Share::Of(1.05)));
        assert_eq!(share(mib(32), mib(1000), 30.1), Err(Implausible::Share { share: 30.1 }));
        assert_eq!(share(0, 1, 0.9), Ok(Share::Of(0.9)));
    }
}
