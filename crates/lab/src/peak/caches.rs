//! Bandwidth by size of the working set: of sets that each compute unit has for itself, of one that all have, and of local memory
//! (`cl/peak_caches.cl`).

use std::sync::Arc;

use lanefield::backend::BackendError;
use lanefield::backend::opencl::{Arg, Buffer, Context, Launch, Program};

use super::measuring::{Measuring, rate, sampled};
use super::plateau::{Place, Plateau, ladder};
use super::record::WorkingSet;
use crate::bandwidth::random_words;
use crate::sources;

/// Bytes that a unit reads of its own set in a launch, at least.
const OWN_READ: usize = 64 << 20;
/// Bytes that a GPU reads of a set of all units in a launch, at least; a CPU a quarter.
const SHARED_READ: usize = 1 << 30;
/// Most work-items of a group on GPUs: enough loads in flight with one group a unit.
const GROUP: usize = 1024;

/// Bytes of local memory of all groups of a unit together, at most.
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
    /// Bytes of a set, a power of two and no less than an element.
    pub bytes: usize,
    /// How many sets there are: as many as units, where each is to have its own.
    pub number: usize,
    /// Bytes that all groups read, rounded up.
    pub read: usize,
}

impl<'c> Reader<'c> {
    /// As it suits the device; `past_l1`: with loads that ask the second cache, where the device can be told so.
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
        // Some drivers grant less than was built for.
        let granted = program.kernel_info("read_again")?.max_work_group_size.min(wanted).max(1);
        if granted < wanted {
            program = build(granted)?;
        }
        Ok(Self { context, program, element_bytes, at_once, group: granted })
    }

    /// Groups of a launch that fills so many units: on GPUs with `work_items` of each.
    pub fn groups(&self, units: usize, work_items: usize) -> usize {
        if self.group == 1 { units } else { units * (work_items / self.group).max(1) }
    }

    /// Loads of a work-item, of which `groups` groups read so many bytes together, and the bytes that they read then.
    fn loads(&self, groups: usize, read: usize) -> (usize, usize) {
        let a_load = groups * self.group * self.element_bytes;
        let loads = read.div_ceil(a_load).max(1).next_multiple_of(self.at_once);
        (loads, loads * a_load)
    }

    pub fn result_bytes(&self, groups: usize) -> usize {
        groups * self.group * self.element_bytes
    }

    /// Seconds to read sets again and again with so many groups, and the bytes that were read. `memory` has the sets one after the other.
    pub fn run(
        &self,
        (out, memory): (&Buffer, &Buffer),
        sets: Sets,
        groups: usize,
    ) -> Result<(f64, usize), BackendError> {
        let elements = sets.bytes / self.element_bytes;
        let (loads, read) = self.loads(groups, sets.read);
        // Groups of one set start as far from each other as it allows.
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

    /// Seconds to read local memory of so many bytes a group, a power of two, again and again, and the bytes that were read.
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

/// Measures the three curves, and takes the figures of L1, L2 and local memory from their plateaus.
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

/// The bandwidth of the largest sets for all units that the last cache holds: the last plateau that does not go on to the largest size, where memory
/// is. Loads go past the first cache, but small sets are read by neighbouring units at the same time, which may share a reply.
fn last_before_memory(plateaus: &[Plateau], largest: u64) -> Option<f64> {
    let cached = plateaus.iter().filter(|plateau| plateau.place == Place::Shared && plateau.to_bytes < largest);
    cached.max_by_key(|plateau| plateau.to_bytes).map(|plateau| plateau.gb_per_second)
}

impl Measuring<'_> {
    /// Bandwidth by size, of sets that each unit has for itself or of one for all.
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
        // Of a unit, groups share its local memory: 32 KiB for all of them.
        let groups = reader.groups(scale.units, GROUP);
        let of_a_group = LOCAL_MOST / (groups / scale.units).max(1);
        let most = context.info().local_memory_bytes.min(of_a_group as u64);
        let out = context.allocate(reader.result_bytes(groups), "sums of a measurement")?;
        self.by_size(Place::Local, ladder(4096, most as usize), |bytes| {
            reader.run_local(&out, bytes, groups, OWN_READ * scale.units)
        })
    }

    /// The bandwidth of each size, of which `run` reads so many bytes in so many seconds.
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
