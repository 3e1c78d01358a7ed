//! Sizes of buffers and sets, and numbers of samples: depending on the kind of device, and on the time available.

use lanefield::backend::opencl::{Context, DeviceKind};

use super::options::PeakOptions;
use super::plateau::ladder;
use crate::machine::cache_of_host;

const MIB: usize = 1 << 20;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scale {
    /// Whether kernels run on a CPU: they then have one work-item per group and wide accesses, since CPU compilers do not vectorise across
    /// work-items with loops.
    pub is_cpu: bool,
    pub quick: bool,
    pub units: usize,
    pub stream_bytes: usize,
    pub intensity_bytes: usize,
    /// The largest set of one unit that is read repeatedly.
    pub own_most: usize,
    pub shared_most: usize,
    /// The largest set that is traversed load by load.
    pub chase_most: usize,
    pub transfer_most: usize,
    /// Bytes per line, so that one load does not fetch the data of the next.
    pub line: usize,
    pub samples: usize,
}

impl Scale {
    pub fn of_device(context: &Context, options: &PeakOptions) -> Self {
        let info = context.info();
        let is_cpu = info.kind == DeviceKind::Cpu;
        let room = info.max_allocation_bytes.min(info.global_memory_bytes / 8) as usize;
        let units = info.compute_units.max(1) as usize;
        let scale = match is_cpu {
            true => Self::of_cpu(units, options.quick, info.global_cache_bytes as usize),
            false => Self {
                is_cpu,
                quick: options.quick,
                units,
                stream_bytes: if options.quick { 1024 * MIB } else { 4096 * MIB },
                intensity_bytes: 256 * MIB,
                // 132 units of 256 KiB of L1; the sets of all together exceed L2.
                own_most: MIB,
                shared_most: 256 * MIB,
                chase_most: if options.quick { 256 * MIB } else { 1024 * MIB },
                transfer_most: if options.quick { 64 * MIB } else { 256 * MIB },
                line: 128,
                samples: if options.quick { 5 } else { 11 },
            },
        };
        scale.limited(room).limited(options.most_bytes.unwrap_or(usize::MAX))
    }

    pub fn of_host(threads: usize, options: &PeakOptions) -> Self {
        let last_cache = (1..=4).filter_map(cache_of_host).max().unwrap_or(0) as usize;
        Self::of_cpu(threads, options.quick, last_cache).limited(options.most_bytes.unwrap_or(usize::MAX))
    }

    fn of_cpu(units: usize, quick: bool, last_cache: usize) -> Self {
        // Beyond half a GiB, filling a buffer takes more time than the result is worth.
        let past_the_cache = (2 * last_cache).clamp(256 * MIB, 512 * MIB);
        Self {
            is_cpu: true,
            quick,
            units,
            stream_bytes: if quick { 256 * MIB } else { past_the_cache },
            intensity_bytes: if quick { 32 * MIB } else { 128 * MIB },
            own_most: if quick { 16 * MIB } else { past_the_cache / units },
            shared_most: if quick { 16 * MIB } else { past_the_cache },
            chase_most: if quick { 64 * MIB } else { past_the_cache },
            transfer_most: if quick { 16 * MIB } else { 256 * MIB },
            line: 64,
            samples: if quick { 3 } else { 7 },
        }
    }

    /// The same with buffers of at most `most` bytes.
    fn limited(self, most: usize) -> Self {
        let least = |bytes: usize| bytes.min(most).max(4096);
        Self {
            stream_bytes: least(self.stream_bytes),
            intensity_bytes: least(self.intensity_bytes),
            own_most: least(self.own_most.min(most / self.units)),
            shared_most: least(self.shared_most),
            chase_most: least(self.chase_most),
            transfer_most: least(self.transfer_most),
            ..self
        }
    }

    /// Powers of two from 4 KiB up; every second one if time is short.
    pub(super) fn sizes(&self, most: usize) -> Vec<usize> {
        ladder(4096, most).into_iter().step_by(if self.quick { 2 } else { 1 }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_holds_for_every_buffer_and_for_the_sets_of_all_units_together() {
        let options = PeakOptions { quick: false, most_bytes: Some(1 << 20), parts: Vec::new() };
        let scale = Scale::of_host(4, &options);
        assert_eq!((scale.stream_bytes, scale.intensity_bytes, scale.own_most), (1 << 20, 1 << 20, 1 << 18));
        assert_eq!((scale.shared_most, scale.chase_most, scale.transfer_most), (1 << 20, 1 << 20, 1 << 20));
    }

    #[test]
    fn quick_sizes_are_every_second_power_of_two() {
        let scale = |quick| Scale::of_host(2, &PeakOptions { quick, most_bytes: None, parts: Vec::new() });
        assert_eq!(scale(false).sizes(40_000), [4096, 8192, 16384, 32768]);
        assert_eq!(scale(true).sizes(40_000), [4096, 16384]);
    }
}
