//! Where neighbours' spinors are stored until a hop adds them. Counterpart: `cl/staged.clh`.

use lanefield_reference::field::Spinors;
use lanefield_reference::real::Precision;

use crate::backend::opencl::device::DeviceInfo;

/// Where kernels that begin with a hop store neighbours' spinors. No bit of any result depends on it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Neighbours {
    /// In registers.
    #[default]
    Registers,
    /// In local memory. Each work-item copies there, one leg ahead, the data that it will need itself. On NVIDIA's GPUs from compute
    /// capability 8.0 on, these copies use no registers. There is space for two legs if a group's local memory is large enough, or else for
    /// one. If it has none, or if a work-item has all lanes, as [`Self::Registers`].
    LocalMemory,
}

lanefield_reference::named!(Neighbours, "neighbours": Registers = "registers", LocalMemory = "local-memory");

/// The maximum number of legs that a work-item has space for: while it adds one, the next one arrives.
const MOST_LEGS: usize = 2;

/// Space for neighbours' spinors in local memory, for which a kernel is built.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Stage {
    legs: usize,
    /// The space of one work-item for one leg, in bytes.
    bytes: usize,
    /// Whether the hardware copies asynchronously.
    asynchronous: bool,
}

impl Stage {
    /// For fields with `together` contiguous stored words, and work-items that compute `at_once` spinors.
    pub(crate) fn new(precision: Precision, device: &DeviceInfo, together: usize, at_once: usize) -> Self {
        let word = precision.bits() / 4;
        let words = precision.device_bytes(Spinors::WORDS) / word;
        let bytes = at_once * words.next_multiple_of(together) * word;
        Self { legs: MOST_LEGS, bytes, asynchronous: device.copies_to_local_memory() }
    }

    /// With as many legs as fit the local memory of a group of `work_items`, in addition to `taken` bytes.
    pub(crate) fn fitted(self, work_items: usize, taken: usize, device: &DeviceInfo) -> Option<Self> {
        let stages = (1..=MOST_LEGS).rev().map(|legs| Self { legs, ..self });
        let fits = |stage: &Self| (taken + stage.bytes_of(work_items)) as u64 <= device.local_memory_bytes;
        stages.into_iter().find(fits)
    }

    pub(crate) fn bytes_of(self, work_items: usize) -> usize {
        self.legs * self.bytes * work_items
    }

    pub(crate) fn options(self) -> String {
        let asynchronous = if self.asynchronous { " -DASYNC_COPIES" } else { "" };
        format!(" -DNEIGHBOURS_IN_LOCAL -DSTAGED_LEGS={}{asynchronous}", self.legs)
    }
}

impl DeviceInfo {
    /// Whether the hardware can copy from global to local memory asynchronously, as NVIDIA's does from compute capability 8.0 on.
    fn copies_to_local_memory(&self) -> bool {
        self.compute_capability().is_some_and(|capability| capability >= 80)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::opencl::device::testing::device;

    /// A GPU with 48 KiB of local memory.
    fn gpu(platform: &str, architecture: &str) -> DeviceInfo {
        let (platform_name, architecture) = (platform.to_owned(), architecture.to_owned());
        DeviceInfo { local_memory_bytes: 48 << 10, platform_name, architecture, ..device("GPU") }
    }

    #[test]
    fn as_many_legs_are_staged_as_local_memory_holds() {
        let device = gpu("Test platform", "gfx90a");
        let fitted = |stage: Stage, work_items, taken| {
            stage.fitted(work_items, taken, &device).map(|stage| (stage.legs, stage.bytes_of(work_items)))
        };
        // A spinor has 96 bytes in f32, 192 in f64, and in half precision 13 words in blocks of four: 64.
        let single = Stage::new(Precision::F32, &device, 2, 1);
        assert_eq!(fitted(single, 256, 0), Some((2, 48 << 10)));
        assert_eq!(fitted(single, 256, 1), Some((1, 24 << 10)));
        assert_eq!(fitted(single, 512, 0), Some((1, 48 << 10)));
        assert_eq!(fitted(single, 512, 1), None);
        assert_eq!(fitted(Stage::new(Precision::F64, &device, 1, 2), 64, 0), Some((2, 48 << 10)));
        assert_eq!(fitted(Stage::new(Precision::Half, &device, 4, 1), 512, 0), Some((1, 32 << 10)));
    }

    #[test]
    fn copies_are_asynchronous_on_nvidia_from_compute_capability_8() {
        let options = |platform, architecture| {
            let device = gpu(platform, architecture);
            Stage::new(Precision::F32, &device, 2, 1).options()
        };
        let copied = " -DNEIGHBOURS_IN_LOCAL -DSTAGED_LEGS=2";
        for architecture in ["sm_80", "sm_90", "sm_120"] {
            assert_eq!(options("NVIDIA CUDA", architecture), format!("{copied} -DASYNC_COPIES"), "{architecture}");
        }
        for (platform, architecture) in
            [("NVIDIA CUDA", "sm_75"), ("NVIDIA CUDA", ""), ("PoCL", "sm_90"), ("AMD", "gfx90a")]
        {
            assert_eq!(options(platform, architecture), copied, "{platform} {architecture}");
        }
    }
}
