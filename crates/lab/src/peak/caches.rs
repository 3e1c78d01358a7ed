//! Bandwidth as a function of the size of the working set: separate sets for each compute unit, one set for all, and local memory
//! (`cl/peak_caches.cl`).

use std::sync::Arc;

use lanefield::backend::BackendError;
use lanefield::backend::opencl::{Arg, Buffer, Context, Launch, Program};

use super::measuring::{Measuring, rate, sampled};
use super::plateau::{Place, Plateau, ladder};
use super::record::WorkingSet;
use crate::bandwidth::random_words;
use crate::sources;

/// The least number of bytes that a unit reads from its own set in a launch.
const OWN_READ: usize = 64 << 20;
/// The least number of bytes that a GPU reads from a set of all units in a launch; a CPU reads a quarter of it.
const SHARED_READ: usize = 1 << 30;
/// The most work-items per group on GPUs: enough loads in flight with one group per unit.
const GROUP: usize = 1024;

/// The most bytes of local memory for all groups of a unit together.
const LOCAL_MOST: usize = 32 << 10;

pub struct Reader<'c> {
    context: &'c Context,
    program: Arc<Program>,
    element_bytes: usize,
    at_once: usize,
    group: usize,
}

#[derive(Clone, Copy, Debug)]
pub struct Sets {
    /// Bytes per set, a power of two, at least the size of an element.
    pub bytes: usize,
    /// The number of sets: that of the units, if each has its own.
    pub number: usize,
    /// Bytes that all groups read, rounded up.
    pub read: usize,
}

impl<'c> Reader<'c> {
    /// A reader with settings for the device. With `past_l1`, loads bypass the first-level cache, if the device supports such a hint.
    pub fn new(context: &'c Context, is_cpu: bool, past_l1: bool) -> Result<Self, BackendError> {
        let (element_bytes, at_once, wanted) = match is_cpu {
            true => (64, 8, 1),
            false => (16, 4, context.info().group_of(GROUP)),
        };
        let hints = if past_l1 && !is_cpu { " -DPAST_CACHES -DPAST_L1" } else { "" };
        let build = |group: usize| {
            let options = format!("-DELEMENT_BYTES={element_bytes} -DAT_ONCE={at_once} -DGROUP={group}{hints}");
            sources::program(context, "peak_caches.cl", &options).map_err(BackendError::from)
        };
        let mut program = build(wanted)?;
        // Some drivers allow less than what was built.
        let granted = program.kernel_info("read_again")?.max_work_group_size.min(wanted).max(1);
        if granted < wanted {
            program = build(granted)?;
        }
        Ok(Self { context, program, element_bytes, at_once, group: granted })
    }

    /// Groups per launch to fill this number of units, on GPUs with `work_items` work-items each.
    pub fn groups(&self, units: usize, work_items: usize) -> usize {
        if self.group == 1 { units } else { units * (work_items / self.group).max(1) }
    }

    /// The number of loads per work-item if `groups` groups read this number of bytes together, and the number of bytes that they then read.
    fn loads(&self, groups: usize, read: usize) -> (usize, usize) {
        let a_load = groups * self.group * self.element_bytes;
        let loads = read.div_ceil(a_load).max(1).next_multiple_of(self.at_once);
        (loads, loads * a_load)
    }

    pub fn result_bytes(&self, groups: usize) -> usize {
        groups * self.group * self.element_bytes
    }

    /// Seconds to read sets repeatedly with this number of groups, and the bytes read. `memory` has the sets one after the other.
    pub fn run(
        &self,
        (out, memory): (&Buffer, &Buffer),
        sets: Sets,
        groups: usize,
    ) -> Result<(f64, usize), BackendError> {
        let elements = sets.bytes / self.element_bytes;
        let (loads, read) = self.loads(groups, sets.read);
        // Groups with the same set start as far apart as it allows.
        let apart = (elements * sets.number / groups).max(self.group);
        let arguments = [
            Arg::Buffer(out),
            Arg::Buffer(memory),
            Arg::U32(elements as u32 - 1),
            Arg::U32(sets.number as u32),
            Arg::U32(apart as u32),
            Arg::U32(loads as u32),
        ];
        Ok((self.context.launch_timed(&self.program, "read_again", self.launch(groups), &arguments)?, read))
    }

    /// Seconds to read local memory of this number of bytes per group, a power of two, repeatedly, and the bytes read.
    pub fn run_local(
        &self,
        out: &Buffer,
        bytes: usize,
        groups: usize,
        read: usize,
    ) -> Result<(f64, usize), BackendError> {
        let (loads, read) = self.loads(groups, read);
        let mask = (bytes / self.element_bytes) as u32 - 1;
        let arguments = [Arg::Buffer(out), Arg::U32(mask), Arg::U32(loads as u32), Arg::Local(bytes)];
        let seconds = self.context.launch_timed(&self.program, "read_local_again", self.launch(groups), &arguments)?;
        Ok((seconds, read))
    }

    fn launch(&self, groups: usize) -> Launch {
        Launch { global: [groups * self.group, 1, 1], local: [self.group, 1, 1] }
    }
}

/// Measures the three curves, and derives the numbers for L1, L2 and local memory from their plateaus.
pub(super) fn measure(mut measuring: Measuring<'_>) -> Result<(), BackendError> {
    let (context, is_cpu) = (measuring.context, measuring.scale.is_cpu);
    let own_reader = Reader::new(context, is_cpu, false)?;
    let own = measuring.curve(&own_reader, Place::Own)?;
    let shared = match is_cpu {
        true => measuring.curve(&own_reader, Place::Shared)?,
        false => measuring.curve(&Reader::new(context, false, true)?, Place::Shared)?,
    };
    let local = measuring.local_curve(&own_reader)?;

    let peak = measuring.peak;
    let largest = shared.last().map_or(0, |set| set.bytes);
    let own = peak.keep_working_sets(Place::Own, own);
    peak.keep_working_sets(Place::Shared, shared);
    peak.l1_gb_per_second = own.0;
    peak.l2_gb_per_second = if is_cpu { own.1 } else { last_before_memory(&peak.plateaus, largest) };
    peak.local_gb_per_second = local.iter().map(|set| set.gb_per_second).reduce(f64::max);
    peak.keep_working_sets(Place::Local, local);
    Ok(())
}

/// The bandwidth of the largest sets for all units that fit the last cache: the last plateau that does not extend to the largest size, which is in
/// memory. Loads bypass the first-level cache. Neighbouring units read small sets at the same time, and may share a reply.
fn last_before_memory(plateaus: &[Plateau], largest: u64) -> Option<f64> {
    let cached = plateaus.iter().filter(|plateau| plateau.place == Place::Shared && plateau.to_bytes < largest);
    cached.max_by_key(|plateau| plateau.to_bytes).map(|plateau| plateau.gb_per_second)
}

impl Measuring<'_> {
    /// Bandwidth as a function of size, with a set for each unit or one for all.
    fn curve(&mut self, reader: &Reader<'_>, place: Place) -> Result<Vec<WorkingSet>, BackendError> {
        let (context, scale) = (self.context, self.scale);
        let (number, most, groups, least) = match place {
            Place::Own => (scale.units, scale.own_most, reader.groups(scale.units, GROUP), OWN_READ * scale.units),
            _ if scale.is_cpu => (1, scale.shared_most, scale.units, SHARED_READ / 4),
            _ => (1, scale.shared_most, reader.groups(scale.units, 2 * GROUP), SHARED_READ),
        };
        let memory = random_words(context, number * most, 0)?;
        let out = context.allocate(reader.result_bytes(groups), "sums of a measurement")?;
        self.by_size(place, scale.sizes(most), |bytes| {
            let sets = Sets { bytes, number, read: least.max(2 * number * bytes) };
            reader.run((&out, &memory), sets, groups)
        })
    }

    fn local_curve(&mut self, reader: &Reader<'_>) -> Result<Vec<WorkingSet>, BackendError> {
        let (context, scale) = (self.context, self.scale);
        // The groups of a unit share its local memory: 32 KiB for all of them.
        let groups = reader.groups(scale.units, GROUP);
        let of_a_group = LOCAL_MOST / (groups / scale.units).max(1);
        let most = context.info().local_memory_bytes.min(of_a_group as u64);
        let out = context.allocate(reader.result_bytes(groups), "sums of a measurement")?;
        self.by_size(Place::Local, ladder(4096, most as usize), |bytes| {
            reader.run_local(&out, bytes, groups, OWN_READ * scale.units)
        })
    }

    /// The bandwidth for each size; `run` returns the seconds and the number of bytes read.
    fn by_size(
        &mut self,
        place: Place,
        sizes: Vec<usize>,
        run: impl Fn(usize) -> Result<(f64, usize), BackendError>,
    ) -> Result<Vec<WorkingSet>, BackendError> {
        let mut curve = Vec::new();
        for bytes in sizes {
            (self.tell)(&format!("{place}, {} KiB", bytes >> 10))?;
            let mut read = 0;
            let seconds = sampled(self.scale.samples, || {
                let (seconds, done) = run(bytes)?;
                read = done;
                Ok(seconds)
            })?;
            curve.push(WorkingSet { place, bytes: bytes as u64, gb_per_second: rate(read, &seconds), seconds });
        }
        Ok(curve)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peak::plateau::plateaus;

    #[test]
    fn the_last_cache_is_judged_by_the_largest_sets_that_it_holds() {
        // As an H200 gave them from 256 KiB to 256 MiB, in GB/s.
        let rates = [20263.0, 18882.0, 17291.0, 16159.0, 16368.0, 10114.0, 9045.0, 8499.0, 8022.0, 5805.0, 4415.0];
        let points: Vec<(u64, f64)> = (18..).map(|power| 1 << power).zip(rates).collect();
        assert_eq!(last_before_memory(&plateaus(Place::Shared, &points), 256 << 20), Some(9045.0));
        assert_eq!(last_before_memory(&[], 1), None);
    }
}
