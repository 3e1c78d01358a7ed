//! The pool of a device's memory. A returned block is reused for the next request of its size and kind. The driver thus allocates memory
//! for fields of a new kind, but not in the iterations of a solver.
//!
//! All commands go into one in-order queue, so earlier commands on a block are done before those of its next user. While there are several
//! queues, or launches that will be replayed (`replay.rs`), returned blocks wait until these are done.
//!
//! A pool holds little more than the largest amount that was in use at one time ([`SLACK`]). Beyond that, the blocks that have been idle
//! longest are released to the driver. If a driver refuses memory, all idle blocks are released before the driver is asked again.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use opencl3::command_queue as queue;
use opencl3::memory::{CL_MEM_ALLOC_HOST_PTR, CL_MEM_READ_WRITE};
use opencl3::types::{cl_mem, cl_mem_flags};

use crate::backend::opencl::device::{Device, MEMORY_LIMIT, MemoryUse, RawEvent, RawMem, RawQueue, is_of_parent, lock};

/// The kind of a block's memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum MemoryKind {
    /// Device memory.
    Device,
    /// Host memory that kernels can access.
    Reachable,
    /// Pinned host memory, for transfers.
    Pinned,
}

impl MemoryKind {
    pub(crate) fn flags(self) -> cl_mem_flags {
        match self {
            Self::Device => CL_MEM_READ_WRITE,
            Self::Reachable | Self::Pinned => CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR,
        }
    }
}

lanefield_reference::named!(MemoryKind: Device = "device memory", Reachable = "host memory that the device reaches", Pinned = "pinned host memory");

/// The statistics of one kind of memory. Sizes are those of blocks, which are at most an eighth, or 15 bytes, larger than requested.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct KindStatistics {
    /// The number of blocks that the driver allocated.
    pub allocations: u64,
    /// The number of reuses of a block.
    pub reuses: u64,
    /// The number of blocks that were released to the driver.
    pub releases: u64,
    /// Bytes in use.
    pub bytes_in_use: u64,
    /// Idle bytes, which can be reused.
    pub bytes_idle: u64,
    /// The largest number of bytes in use at one time.
    pub most_bytes_in_use: u64,
}

/// The statistics of a pool.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct MemoryStatistics {
    /// By the number of the kind.
    kinds: [KindStatistics; 3],
    /// The number of buffers that did not fit the device and were created in host memory.
    pub fallbacks: u64,
    /// The total size of these buffers, in bytes.
    pub fallback_bytes: u64,
}

impl MemoryStatistics {
    /// The statistics of one kind of memory.
    pub fn of(&self, kind: MemoryKind) -> &KindStatistics {
        &self.kinds[kind as usize]
    }

    /// The number of blocks of all kinds that the driver allocated.
    pub fn allocations(&self) -> u64 {
        self.kinds.iter().map(|kind| kind.allocations).sum()
    }

    fn of_mut(&mut self, kind: MemoryKind) -> &mut KindStatistics {
        &mut self.kinds[kind as usize]
    }
}

impl fmt::Display for MemoryStatistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = Vec::new();
        for kind in MemoryKind::ALL {
            let KindStatistics { allocations, reuses, bytes_in_use, bytes_idle, most_bytes_in_use, .. } = self.of(kind);
            if *allocations > 0 {
                lines.push(format!(
                    "{kind}: {allocations} blocks made, used again {reuses} times; {bytes_in_use} bytes in use, {bytes_idle} idle, at most \
                     {most_bytes_in_use} in use at once"
                ));
            }
        }
        if self.fallbacks > 0 {
            lines.push(format!("{} buffers did not fit the device, {} bytes", self.fallbacks, self.fallback_bytes));
        }
        f.write_str(&lines.join("\n"))
    }
}

/// A buffer that did not fit the device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fallback {
    /// Its use.
    pub what: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// The device.
    pub device: String,
}

impl fmt::Display for Fallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, bytes, device } = self;
        write!(
            f,
            "no room for {bytes} bytes of {what} in the memory of {device}: it lies in the host's memory, where kernels are slower"
        )
    }
}

/// The function that is called for each fallback.
pub(crate) type Told = Box<dyn Fn(&Fallback) + Send + Sync>;

/// The bytes that a pool may hold beyond the maximum in use: an eighth of that, and at least this number.
const SLACK: u64 = 16 << 20;
/// The number of largest holders of memory that an error names.
const HOLDERS_NAMED: usize = 5;
/// The size of a block is a multiple of this number of bytes, the least that a kernel argument may be read as.
pub(crate) const GRAIN: usize = 16;

/// The size of a block for `bytes` bytes. There are eight sizes from one power of two to the next, so at most an eighth of the request is
/// lost.
pub(crate) fn block_bytes(bytes: usize) -> usize {
    let bytes = bytes.max(GRAIN);
    let step = ((1 << bytes.ilog2()) / 8).max(GRAIN);
    bytes.checked_next_multiple_of(step).unwrap_or(bytes)
}

/// Memory from a driver.
#[derive(Debug)]
pub(crate) struct Block {
    mem: RawMem,
    kind: MemoryKind,
    bytes: usize,
    /// The mapping of pinned memory, for the lifetime of the block.
    mapping: Option<Mapping>,
}

impl Block {
    pub(crate) fn new(mem: RawMem, kind: MemoryKind, bytes: usize, mapping: Option<Mapping>) -> Self {
        Self { mem, kind, bytes, mapping }
    }

    pub(crate) fn mem(&self) -> cl_mem {
        self.mem.get()
    }

    pub(crate) fn kind(&self) -> MemoryKind {
        self.kind
    }

    pub(crate) fn mapping(&self) -> Option<&Mapping> {
        self.mapping.as_ref()
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        let Some(Mapping { queue, start }) = self.mapping.as_ref().filter(|_| !is_of_parent()) else { return };
        // SAFETY: this maps nothing else and unmaps once; the wait list is empty. A failure leaves nothing to do: the driver gives the memory back
        // with the buffer.
        let event = unsafe {
            queue::enqueue_unmap_mem_object(queue.get(), self.mem.get(), start.as_ptr().cast(), 0, std::ptr::null())
        };
        if let Ok(event) = event {
            drop(RawEvent::own(event));
        }
    }
}

/// The address of a mapped block, and the queue by which it is unmapped.
#[derive(Debug)]
pub(crate) struct Mapping {
    pub queue: RawQueue,
    pub start: std::ptr::NonNull<u8>,
}

// SAFETY: the mapped bytes are reached through the one `HostBuffer` that has the block; the queue may be used by any thread (`handles.rs`).
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

/// The pool that a device shares with its buffers. Its address also distinguishes open devices.
pub(crate) struct Pool {
    device: Arc<Device>,
    state: Mutex<State>,
    pub told: OnceLock<Told>,
    /// Whether memory is overwritten before it is handed out.
    pub overwrites: AtomicBool,
}

#[derive(Default)]
struct State {
    /// Idle blocks, the longest idle first.
    idle: Vec<Arc<Block>>,
    /// Blocks that were returned while there were several queues, or launches for a replay.
    parked: Vec<Arc<Block>>,
    /// The number of calls that have their own queues, or launches for a replay.
    calls_with_queues: usize,
    holders: BTreeMap<Arc<str>, MemoryUse>,
    limit: Option<u64>,
    largest_buffer: Option<u64>,
    statistics: MemoryStatistics,
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("in_use", &self.device.in_use()).finish_non_exhaustive()
    }
}

impl State {
    /// Removes the blocks that have been idle longest, while `more` accepts the statistics.
    fn release(&mut self, kind: MemoryKind, more: impl Fn(&KindStatistics) -> bool) -> Vec<Arc<Block>> {
        let mut released = Vec::new();
        while more(self.statistics.of(kind)) {
            let Some(place) = self.idle.iter().position(|block| block.kind == kind) else { break };
            let block = self.idle.remove(place);
            let statistics = self.statistics.of_mut(kind);
            statistics.releases += 1;
            statistics.bytes_idle -= block.bytes as u64;
            released.push(block);
        }
        released
    }
}

impl Pool {
    pub(crate) fn new(device: Arc<Device>) -> Arc<Self> {
        Arc::new(Self { device, state: Mutex::default(), told: OnceLock::new(), overwrites: AtomicBool::new(false) })
    }

    /// An idle block of this kind with a size in this range.
    pub(crate) fn take(&self, kind: MemoryKind, bytes: RangeInclusive<usize>) -> Option<Arc<Block>> {
        let mut state = lock(&self.state);
        // The block that was used last, since its pages are the most likely to be near.
        let place = state.idle.iter().rposition(|block| block.kind == kind && bytes.contains(&block.bytes))?;
        let block = state.idle.remove(place);
        let statistics = state.statistics.of_mut(kind);
        statistics.reuses += 1;
        statistics.bytes_idle -= block.bytes as u64;
        Some(block)
    }

    /// Releases blocks to the driver until a new block of this size would leave the pool within its limit.
    pub(crate) fn make_way(&self, kind: MemoryKind, bytes: usize) {
        let released = lock(&self.state).release(kind, |statistics| {
            let wanted = statistics.bytes_in_use + bytes as u64;
            let most = statistics.most_bytes_in_use.max(wanted);
            wanted + statistics.bytes_idle > most + (most / 8).max(SLACK)
        });
        drop(released);
    }

    /// Releases all idle blocks to the driver. Returns their number.
    pub(crate) fn trim(&self) -> usize {
        let mut state = lock(&self.state);
        let released: Vec<_> = MemoryKind::ALL.into_iter().flat_map(|kind| state.release(kind, |_| true)).collect();
        drop(state);
        released.len()
    }

    /// Checks that `bytes` more bytes of this kind are within the limit. The error is the limit.
    pub(crate) fn within_limit(&self, kind: MemoryKind, bytes: usize) -> Result<(), u64> {
        let state = lock(&self.state);
        let held = state.statistics.of(kind);
        match state.limit {
            Some(limit) if kind == MemoryKind::Device && held.bytes_in_use + held.bytes_idle + bytes as u64 > limit => {
                Err(limit)
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn set_limit(&self, limit: Option<u64>) {
        lock(&self.state).limit = limit;
    }

    /// The maximum size of a buffer in bytes, if it is below that of the driver.
    pub(crate) fn largest_buffer(&self) -> Option<u64> {
        lock(&self.state).largest_buffer
    }

    pub(crate) fn set_largest_buffer(&self, bytes: u64) {
        lock(&self.state).largest_buffer = Some(bytes);
    }

    pub(crate) fn made(&self, kind: MemoryKind) {
        lock(&self.state).statistics.of_mut(kind).allocations += 1;
    }

    pub(crate) fn fell_back(&self, fallback: &Fallback) {
        let mut state = lock(&self.state);
        state.statistics.fallbacks += 1;
        state.statistics.fallback_bytes += fallback.bytes;
        drop(state);
        if let Some(told) = self.told.get() {
            told(fallback);
        }
    }

    /// Records a block as in use, of which `bytes` bytes were requested. Pinned memory appears only in the statistics.
    pub(crate) fn enter(&self, block: &Block, bytes: usize, what: &Arc<str>) {
        let mut state = lock(&self.state);
        let statistics = state.statistics.of_mut(block.kind);
        statistics.bytes_in_use += block.bytes as u64;
        statistics.most_bytes_in_use = statistics.most_bytes_in_use.max(statistics.bytes_in_use);
        if block.kind == MemoryKind::Pinned {
            return;
        }
        let holder = state.holders.entry(Arc::clone(what)).or_default();
        *holder = MemoryUse { bytes: holder.bytes + bytes as u64, buffers: holder.buffers + 1 };
        drop(state);
        self.device.count_buffer(bytes as u64, |all, more| all + more);
    }

    pub(crate) fn give_back(&self, block: Arc<Block>, bytes: usize, what: &str) {
        let mut state = lock(&self.state);
        let statistics = state.statistics.of_mut(block.kind);
        statistics.bytes_in_use -= block.bytes as u64;
        let is_pinned = block.kind == MemoryKind::Pinned;
        // Parked blocks count as idle, since nobody uses them.
        statistics.bytes_idle += block.bytes as u64;
        match state.calls_with_queues {
            0 => state.idle.push(block),
            _ => state.parked.push(block),
        }
        if is_pinned {
            return;
        }
        if let Some(holder) = state.holders.get_mut(what) {
            *holder = MemoryUse { bytes: holder.bytes - bytes as u64, buffers: holder.buffers - 1 };
            if holder.buffers == 0 {
                state.holders.remove(what);
            }
        }
        drop(state);
        self.device.count_buffer(bytes as u64, |all, less| all - less);
    }

    /// From now on, returned blocks wait until [`Self::leave_queues`].
    pub(crate) fn enter_queues(&self) {
        lock(&self.state).calls_with_queues += 1;
    }

    /// Says that the queues of a call are done.
    pub(crate) fn leave_queues(&self) {
        let mut state = lock(&self.state);
        state.calls_with_queues -= 1;
        if state.calls_with_queues == 0 {
            let parked = std::mem::take(&mut state.parked);
            state.idle.extend(parked);
        }
    }

    pub(crate) fn has_queues(&self) -> bool {
        lock(&self.state).calls_with_queues > 0
    }

    pub(crate) fn statistics(&self) -> MemoryStatistics {
        lock(&self.state).statistics
    }

    pub(crate) fn overwrites(&self) -> bool {
        self.overwrites.load(Ordering::Relaxed)
    }

    /// The memory that is held, and by whom, for errors. `limit`: the limit on device memory, if that is why the request failed.
    pub(crate) fn held(&self, limit: Option<u64>) -> String {
        let state = lock(&self.state);
        let mut holders: Vec<_> = state.holders.iter().collect();
        holders.sort_by_key(|(_, held)| Reverse(held.bytes));
        let holder =
            |(what, held): &(&Arc<str>, &MemoryUse)| format!("{} bytes in {} of {what}", held.bytes, held.buffers);
        let largest: Vec<_> = holders.iter().take(HOLDERS_NAMED).map(holder).collect();
        let most = if largest.is_empty() { String::new() } else { format!(", most of them {}", largest.join(", ")) };
        let limit = limit.map_or(String::new(), |limit| format!(", and {MEMORY_LIMIT} allows {limit}"));
        format!("{}{most}{limit}", self.device.in_use())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_at_most_an_eighth_larger_than_what_was_asked_for() {
        let mut sizes: Vec<usize> = (0..5000).collect();
        sizes.extend((12..40).flat_map(|exponent| [-1, 0, 1].map(|step: i64| ((1i64 << exponent) + step) as usize)));
        for bytes in sizes {
            let block = block_bytes(bytes);
            assert!(block >= bytes && block.is_multiple_of(GRAIN), "{bytes}: {block}");
            assert!(block - bytes <= (bytes / 8).max(GRAIN), "{bytes}: {block}");
            assert_eq!(block_bytes(block), block, "{bytes}");
        }
        assert_eq!([0, 16, 17, 129, 1000, 1025].map(block_bytes), [16, 16, 32, 144, 1024, 1152]);
        assert_eq!(block_bytes(usize::MAX), usize::MAX);
    }

    #[test]
    fn an_octave_has_eight_sizes() {
        let sizes: std::collections::BTreeSet<usize> = (4097..=8192).map(block_bytes).collect();
        assert_eq!(sizes.into_iter().collect::<Vec<_>>(), (9..=16).map(|k| 512 * k).collect::<Vec<_>>());
    }
}
