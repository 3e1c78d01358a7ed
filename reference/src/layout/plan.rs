//! Plans of tree sums: Grid's geometry of a block reduction, for any described device. With a plan, the sum of a V100, an MI250X or an H200 can be
//! replayed on any other device. `docs/arithmetic.md` §8 defines the order of additions of a plan.

use std::fmt;
use std::str::FromStr;

use super::LayoutError;

/// The properties of a device that determine the geometry of a reduction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ReductionDevice {
    /// The number of threads that run in step: 32 for a warp, 64 for a wavefront.
    pub warp: usize,
    /// The maximum number of threads of a block.
    pub max_threads: usize,
    /// Local memory of a block, in bytes (CUDA: `sharedMemPerBlock`, without the opt-in extension).
    pub local_bytes: usize,
    /// The number of multiprocessors, or compute units.
    pub compute_units: usize,
}

impl ReductionDevice {
    /// NVIDIA V100.
    pub(crate) const V100: Self = Self { warp: 32, max_threads: 1024, local_bytes: 48 << 10, compute_units: 80 };
    /// NVIDIA A100.
    pub(crate) const A100: Self = Self { compute_units: 108, ..Self::V100 };
    /// NVIDIA H100 (SXM) and H200.
    pub const H200: Self = Self { compute_units: 132, ..Self::V100 };
    /// One of the two dies of an AMD MI250X.
    pub const MI250X: Self = Self { warp: 64, max_threads: 1024, local_bytes: 64 << 10, compute_units: 110 };

    const NAMED: [(&'static str, Self); 5] = [
        ("v100", Self::V100),
        ("a100", Self::A100),
        ("h100", Self::H200),
        ("h200", Self::H200),
        ("mi250x", Self::MI250X),
    ];
}

impl FromStr for ReductionDevice {
    type Err = LayoutError;

    /// A name (v100, a100, h100, h200, mi250x), or `WARP,THREADS,BYTES,UNITS`.
    fn from_str(text: &str) -> Result<Self, LayoutError> {
        if let Some((_, device)) = Self::NAMED.iter().find(|(name, _)| text.eq_ignore_ascii_case(name)) {
            return Ok(*device);
        }
        let error = || LayoutError::ReductionDevice { device: text.to_owned() };
        let numbers: Result<Vec<usize>, _> = text.split(',').map(|number| number.trim().parse()).collect();
        match numbers.map_err(|_| error())?[..] {
            [warp, max_threads, local_bytes, compute_units] if warp > 0 && compute_units > 0 => {
                Ok(Self { warp, max_threads, local_bytes, compute_units })
            }
            _ => Err(error()),
        }
    }
}

impl fmt::Display for ReductionDevice {
    /// For example `32,1024,49152,132`: warp, threads, bytes, units.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { warp, max_threads, local_bytes, compute_units } = self;
        write!(f, "{warp},{max_threads},{local_bytes},{compute_units}")
    }
}

/// The shape of a tree sum: all that its bits depend on, apart from the terms and their order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TreePlan {
    threads: usize,
    blocks: usize,
    warp: usize,
}

impl TreePlan {
    /// The maximum number of threads of a block.
    pub const MOST_THREADS: usize = 1024;
    /// The maximum number of blocks: the limit of devices in one dimension of a launch.
    pub(crate) const MOST_BLOCKS: usize = (1 << 16) - 1;

    /// Blocks of `threads` threads, in warps of 32, or in a single warp if there are fewer.
    pub fn new(threads: usize, blocks: usize) -> Result<Self, LayoutError> {
        Self::with_warp(threads, blocks, threads.clamp(1, ReductionDevice::H200.warp))
    }

    /// Blocks of `threads` threads, in warps of `warp`.
    ///
    /// # Errors
    /// [`LayoutError::TreePlan`] unless a warp is a power of two, a block has a whole number of warps and at most [`Self::MOST_THREADS`] threads,
    /// and there are 1 to `MOST_BLOCKS` blocks.
    pub fn with_warp(threads: usize, blocks: usize, warp: usize) -> Result<Self, LayoutError> {
        let possible = warp.is_power_of_two()
            && threads.is_multiple_of(warp)
            && (1..=Self::MOST_THREADS).contains(&threads)
            && (1..=Self::MOST_BLOCKS).contains(&blocks);
        match possible {
            true => Ok(Self { threads, blocks, warp }),
            false => Err(LayoutError::TreePlan {
                threads,
                blocks,
                warp,
                most_threads: Self::MOST_THREADS,
                most_blocks: Self::MOST_BLOCKS,
            }),
        }
    }

    /// The number of threads of a block.
    pub const fn threads(&self) -> usize {
        self.threads
    }

    /// Number of blocks.
    pub const fn blocks(&self) -> usize {
        self.blocks
    }

    /// The number of threads of a warp, which are summed by halving.
    pub const fn warp(&self) -> usize {
        self.warp
    }

    /// The number of warps of a block.
    pub const fn warps(&self) -> usize {
        self.threads / self.warp
    }
}

impl fmt::Display for TreePlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { threads, blocks, warp } = self;
        write!(f, "{blocks} blocks of {threads} threads in warps of {warp}")
    }
}

/// Grid's `getNumBlocksAndThreads` (`Lattice_reduction_gpu.h`). A block starts with one warp, and is doubled while twice the objects of a block stay
/// below its local memory and within its threads. The number of blocks is the next power of two of the compute units. The number of elements plays
/// no part.
///
/// `object_bytes` is the size of what each thread keeps in local memory: 16 for a complex double (norms, inner products), 192 for a
/// spinor or a bundle of twelve words.
///
/// # Errors
/// [`LayoutError::ReductionObject`] if not even the objects of one warp fit: Grid then sums bundles of words. [`LayoutError::TreePlan`] for a device
/// that does not have a plan.
pub fn get_num_blocks_and_threads(object_bytes: usize, device: &ReductionDevice) -> Result<TreePlan, LayoutError> {
    let ReductionDevice { warp, max_threads, local_bytes, compute_units } = *device;
    let fits = |threads: usize| threads.checked_mul(object_bytes).is_some_and(|bytes| bytes <= local_bytes);
    if !fits(warp) || warp > max_threads {
        return Err(LayoutError::ReductionObject { bytes: object_bytes, device: device.to_string() });
    }
    let doubles = |threads: usize| {
        let twice = threads.saturating_mul(2);
        twice.checked_mul(object_bytes).is_some_and(|bytes| bytes < local_bytes) && twice <= max_threads
    };
    let mut threads = warp;
    while doubles(threads) {
        threads *= 2;
    }
    TreePlan::with_warp(threads, compute_units.checked_next_power_of_two().unwrap_or(usize::MAX), warp)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn threads(bytes: usize, device: &ReductionDevice) -> usize {
        get_num_blocks_and_threads(bytes, device).unwrap().threads()
    }

    /// Values of Grid's function with 48 KiB: 16 bytes give 1024 threads, 96 give 256, a double spinor 128, and 1152 bytes 32.
    #[test]
    fn threads_are_those_of_grid() {
        for (bytes, expected) in [(16, 1024), (96, 256), (192, 128), (1152, 32)] {
            assert_eq!(threads(bytes, &ReductionDevice::H200), expected, "{bytes} bytes");
        }
    }

    #[test]
    fn doubling_stops_at_exactly_the_local_memory() {
        // 2 · 64 · 192 = 24576 bytes: strictly below is asked for.
        assert_eq!(threads(192, &ReductionDevice { local_bytes: 24576, ..ReductionDevice::H200 }), 64);
        assert_eq!(threads(192, &ReductionDevice { local_bytes: 24577, ..ReductionDevice::H200 }), 128);
        // But one warp may fill it.
        assert_eq!(threads(1536, &ReductionDevice::H200), 32);
    }

    #[test]
    fn blocks_are_the_next_power_of_two_of_the_compute_units() {
        let blocks = |device| get_num_blocks_and_threads(16, &device).unwrap().blocks();
        let devices = [ReductionDevice::V100, ReductionDevice::A100, ReductionDevice::H200, ReductionDevice::MI250X];
        assert_eq!(devices.map(blocks), [128, 128, 256, 128]);
    }

    #[test]
    fn wavefronts_and_larger_local_memory_make_larger_blocks() {
        assert_eq!(get_num_blocks_and_threads(192, &ReductionDevice::MI250X), TreePlan::with_warp(256, 128, 64));
    }

    #[test]
    fn a_propagator_is_too_large_for_one_warp() {
        let error = get_num_blocks_and_threads(2304, &ReductionDevice::H200).unwrap_err();
        assert!(error.to_string().contains("2304 bytes"), "{error}");
    }

    #[test]
    fn impossible_plans_are_refused_by_name() {
        assert!(TreePlan::with_warp(48, 4, 32).is_err() && TreePlan::with_warp(48, 4, 16).is_ok());
        assert!(TreePlan::new(0, 4).is_err() && TreePlan::new(2048, 4).is_err() && TreePlan::new(8, 0).is_err());
        assert_eq!(TreePlan::new(8, 3).unwrap().warp(), 8);
        let message = TreePlan::new(40, 3).unwrap_err().to_string();
        assert!(message.contains("40 threads") && message.contains("warps of 32"), "{message}");
    }

    #[test]
    fn devices_are_named_or_described() {
        assert_eq!("H200".parse(), Ok(ReductionDevice::H200));
        assert_eq!("32,1024,49152,80".parse(), Ok(ReductionDevice::V100));
        assert!("rtx".parse::<ReductionDevice>().unwrap_err().to_string().contains("'rtx'"));
        assert!("0,1,1,1".parse::<ReductionDevice>().is_err());
    }
}
