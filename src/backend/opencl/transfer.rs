//! Large transfers, piece by piece: the host's threads make or take the bytes of some pieces while others travel. Where the device works in the
//! host's memory, that is its own, mapped, and nothing travels; elsewhere a ring of pinned blocks, from which the device fetches by itself.
//! Counterpart: `host_memory.rs`, for memory that a caller pins or maps himself; `field.rs`, which converts layouts piece by piece.

use std::ffi::c_void;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;
use std::slice;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};

use opencl3::command_queue as queue;
use opencl3::event as cl;
use opencl3::memory::{CL_MAP_READ, CL_MAP_WRITE_INVALIDATE_REGION};
use opencl3::types::CL_NON_BLOCKING;
use rayon::prelude::*;
use rayon::{ScopeFifo, Yield};
use serde::Serialize;

use super::context::{Buffer, Context, lock};
use super::discovery::is_of_parent;
use super::error::OpenClError;
use super::host_memory::HostBuffer;
use super::raw::RawEvent;
use super::recorder::Note;
use crate::backend::timeline::{CommandKind, Group};

/// Which way bytes go.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Towards {
    /// From the host.
    Device,
    /// From the device.
    Host,
}

/// How large transfers are made. No bit depends on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TransferWay {
    /// The device's memory is mapped into the host's address space.
    Mapped,
    /// Through pinned blocks of so many bytes, some of which travel while others are filled or emptied.
    Ring {
        /// Bytes of a block.
        block_bytes: usize,
    },
}

impl TransferWay {
    /// Bytes of a block where nobody chose: large beside what a command costs.
    pub const BLOCK_BYTES: usize = 4 << 20;
}

/// Bytes that a thread makes or takes at a time: small beside a block, so that the first one is soon ready.
const PART_BYTES: usize = 256 << 10;

/// Blocks of a ring.
const RING: usize = 8;

/// Blocks of a ring that travel at a time; the others are filled or emptied.
const TRAVELLING: usize = 3;

/// How a context makes its transfers.
#[derive(Debug)]
pub(super) struct Transfers {
    way: TransferWay,
    /// Made when first needed.
    ring: Vec<Slot>,
}

/// A block of a ring, and the last command that reads or writes it.
#[derive(Debug)]
struct Slot {
    memory: HostBuffer,
    busy: Option<RawEvent>,
}

/// Where a block begins, and the last command that reads or writes it.
struct Busy<'m> {
    start: *mut u8,
    busy: &'m mut Option<RawEvent>,
}

impl Slot {
    /// What commands need of it, and what threads do.
    fn parts(&mut self) -> (Busy<'_>, &mut [u8]) {
        let bytes = self.memory.as_mut_slice();
        (Busy { start: bytes.as_mut_ptr(), busy: &mut self.busy }, bytes)
    }
}

impl Drop for Slot {
    /// The memory may be used again only when no command reaches it.
    fn drop(&mut self) {
        if let Some(event) = self.busy.as_ref().filter(|_| !is_of_parent()) {
            // A failure leaves nothing to do: the driver has given the command up.
            let _ = cl::wait_for_events(&[event.get()]);
        }
    }
}

impl Transfers {
    pub fn new(shares_host_memory: bool) -> Mutex<Self> {
        let way = match shares_host_memory {
            true => TransferWay::Mapped,
            false => TransferWay::Ring { block_bytes: TransferWay::BLOCK_BYTES },
        };
        Mutex::new(Self { way, ring: Vec::new() })
    }
}

/// The parts of the blocks of a ring, and the host's threads, which fill and empty them in the order in which they are given.
struct Parts<'a, 'scope, 'm> {
    scope: &'a ScopeFifo<'scope>,
    done: Sender<Part<'m>>,
    given_back: Receiver<Part<'m>>,
    /// Of each block; empty where a thread has it.
    of_blocks: Vec<Vec<&'m mut [u8]>>,
    /// How many of each block threads have.
    given: Vec<usize>,
}

/// A part that a thread is done with.
struct Part<'m> {
    block: usize,
    part: usize,
    bytes: &'m mut [u8],
}

impl<'a, 'scope, 'm: 'scope> Parts<'a, 'scope, 'm> {
    /// The parts of so many bytes of these blocks.
    fn new(scope: &'a ScopeFifo<'scope>, blocks: impl Iterator<Item = &'m mut [u8]>, bytes: usize) -> Self {
        let (done, given_back) = channel();
        let of_blocks: Vec<Vec<_>> = blocks.map(|block| block.chunks_mut(bytes).collect()).collect();
        let given = vec![0; of_blocks.len()];
        Self { scope, done, given_back, of_blocks, given }
    }

    /// Has threads work on the parts of a block, once no thread has one of it: the first work on the first part, and so on.
    fn give<W: FnOnce(&mut [u8]) + Send + 'scope>(&mut self, block: usize, works: impl Iterator<Item = W>) {
        self.wait_for(block);
        for (part, work) in works.enumerate() {
            let bytes = std::mem::take(&mut self.of_blocks[block][part]);
            self.given[block] += 1;
            let done = self.done.clone();
            self.scope.spawn_fifo(move |_| {
                // Whoever waits for the part gets it; a panic is one of the whole transfer then.
                let worked = catch_unwind(AssertUnwindSafe(|| work(bytes)));
                // A transfer that failed waits no longer.
                let _ = done.send(Part { block, part, bytes });
                if let Err(panic) = worked {
                    resume_unwind(panic);
                }
            });
        }
    }

    /// Waits until no thread has a part of a block.
    fn wait_for(&mut self, block: usize) {
        while self.given[block] > 0 {
            while let Ok(Part { block, part, bytes }) = self.given_back.try_recv() {
                self.of_blocks[block][part] = bytes;
                self.given[block] -= 1;
            }
            // A thread of the pool may be the only one that there is.
            if self.given[block] > 0 && rayon::yield_now() != Some(Yield::Executed) {
                std::thread::yield_now();
            }
        }
    }
}

/// Bytes of a part of a block, in whole pieces.
fn part_bytes(piece: usize, block_bytes: usize) -> usize {
    (PART_BYTES.min(block_bytes) / piece.max(1)).max(1) * piece.max(1)
}

/// The bytes of a transfer in ranges of whole pieces, each of at most `most` bytes if a piece is no larger.
fn ranges(bytes: usize, piece: usize, most: usize) -> Vec<Range<usize>> {
    let step = (most / piece.max(1)).max(1) * piece.max(1);
    (0..bytes).step_by(step).map(|start| start..(start + step).min(bytes)).collect()
}

impl Context {
    /// How large transfers are made.
    pub fn transfer_way(&self) -> TransferWay {
        lock(self.transfers()).way
    }

    /// Makes large transfers in another way: mapped where the device works in the host's memory, else through a ring, is the usual one.
    pub fn set_transfer_way(&self, way: TransferWay) {
        let mut transfers = lock(self.transfers());
        transfers.way = way;
        transfers.ring.clear();
    }

    /// Writes the first `bytes` bytes of a buffer. `fill` makes the bytes of each range, which is one of whole pieces of `piece` bytes; what it is given to
    /// fill is undefined. The host's threads take the ranges in any order; commands that are queued later find all of them written.
    ///
    /// # Errors
    ///
    /// [`OpenClError::OutOfRange`] if the buffer ends before; what the runtime reports.
    pub fn write_pieces(
        &self,
        buffer: &mut Buffer,
        bytes: usize,
        piece: usize,
        fill: impl Fn(Range<usize>, &mut [u8]) + Sync,
    ) -> Result<(), OpenClError> {
        self.check_owns(buffer)?;
        buffer.check_range(0, bytes)?;
        if bytes == 0 {
            return Ok(());
        }
        let TransferWay::Ring { block_bytes } = self.transfer_way() else {
            let what = || format!("{bytes} bytes of {}", buffer.what());
            // What was there is overwritten entirely, so the driver need not fetch it.
            let start = self.map(buffer.mem(), (0, bytes), CL_MAP_WRITE_INVALIDATE_REGION, what)?;
            // SAFETY: mapped for writing, `bytes` long; the buffer is exclusively borrowed, so no command and nobody else reaches them.
            let mapped = unsafe { slice::from_raw_parts_mut(start.as_ptr(), bytes) };
            let ranges = ranges(bytes, piece, PART_BYTES);
            mapped.par_chunks_mut(ranges[0].len()).zip(ranges).for_each(|(to, range)| fill(range, to));
            return self.unmap(buffer, start);
        };
        let part = part_bytes(piece, block_bytes);
        let ranges = ranges(bytes, part, block_bytes);
        let mut ring = self.take_ring(part.max(block_bytes))?;
        let (mut slots, blocks): (Vec<_>, Vec<_>) = ring.iter_mut().map(Slot::parts).unzip();
        rayon::in_place_scope_fifo(|scope| {
            let mut parts = Parts::new(scope, blocks.into_iter(), part);
            let mut given = ranges.iter().enumerate();
            for (number, range) in ranges.iter().enumerate() {
                while given.len() + number + RING - TRAVELLING > ranges.len()
                    && let Some((next, range)) = given.next()
                {
                    self.wait_for(slots[next % RING].busy, "write to device")?;
                    let works = range.clone().step_by(part).map(|start| {
                        let (fill, of_part) = (&fill, start..(start + part).min(range.end));
                        move |to: &mut [u8]| fill(of_part.clone(), &mut to[..of_part.len()])
                    });
                    parts.give(next % RING, works);
                }
                parts.wait_for(number % RING);
                self.travel(Towards::Device, buffer, range, &mut slots[number % RING])?;
            }
            Ok::<(), OpenClError>(())
        })?;
        self.keep_ring(ring);
        Ok(())
    }

    /// Has a block travel to its range of a buffer, or that to the block.
    fn travel(
        &self,
        towards: Towards,
        buffer: &Buffer,
        range: &Range<usize>,
        slot: &mut Busy<'_>,
    ) -> Result<(), OpenClError> {
        let (mem, start, offset, len) = (buffer.mem(), slot.start.cast::<c_void>(), range.start, range.len());
        let (call, kind) = match towards {
            Towards::Device => ("clEnqueueWriteBuffer", CommandKind::Write),
            Towards::Host => ("clEnqueueReadBuffer", CommandKind::Read),
        };
        let what = || format!("{len} bytes at {offset} of {}", buffer.what());
        let event = self.submit(
            call,
            what,
            || Note::of_bytes(kind, len),
            |queue| {
                let way = CL_NON_BLOCKING;
                // SAFETY: the range lies in the buffer and the wait list is empty; the block is neither read, nor changed, nor given back before the command
                // is done, for which the slot waits.
                unsafe {
                    match towards {
                        Towards::Device => {
                            queue::enqueue_write_buffer(queue, mem, way, offset, len, start, 0, ptr::null())
                        }
                        Towards::Host => {
                            queue::enqueue_read_buffer(queue, mem, way, offset, len, start, 0, ptr::null())
                        }
                    }
                }
            },
        )?;
        *slot.busy = Some(event);
        self.flush()
    }

    /// Reads the first `bytes` bytes of a buffer, pieces of `piece` bytes, into a list that has as many elements for each piece. `take` is given the
    /// bytes of some pieces and their elements, by the host's threads in any order.
    ///
    /// # Errors
    ///
    /// As [`Context::write_pieces`]; also what an earlier command ran into.
    ///
    /// # Panics
    /// If the list has not as many elements for each piece.
    pub fn read_pieces<T: Send>(
        &self,
        buffer: &mut Buffer,
        (bytes, piece): (usize, usize),
        into: &mut [T],
        take: impl Fn(&[u8], &mut [T]) + Sync,
    ) -> Result<(), OpenClError> {
        self.read_unchanged(buffer, (bytes, piece), into, take)
    }

    /// As [`Context::read_pieces`], of a buffer to which no command writes meanwhile.
    pub(super) fn read_unchanged<T: Send>(
        &self,
        buffer: &Buffer,
        (bytes, piece): (usize, usize),
        into: &mut [T],
        take: impl Fn(&[u8], &mut [T]) + Sync,
    ) -> Result<(), OpenClError> {
        self.check_owns(buffer)?;
        buffer.check_range(0, bytes)?;
        if bytes == 0 {
            return Ok(());
        }
        let pieces = bytes.div_ceil(piece.max(1));
        assert!(
            into.len().is_multiple_of(pieces),
            "{} elements are not as many for each of {pieces} pieces",
            into.len()
        );
        let a_piece = (into.len() / pieces).max(1);
        let elements = |range: &Range<usize>| range.len() / piece.max(1) * a_piece;
        let TransferWay::Ring { block_bytes } = self.transfer_way() else {
            let what = || format!("{bytes} bytes of {}", buffer.what());
            let start = self.map(buffer.mem(), (0, bytes), CL_MAP_READ, what)?;
            // SAFETY: the map was blocking, so `bytes` bytes are there, and no command changes them.
            let mapped = unsafe { slice::from_raw_parts(start.as_ptr(), bytes) };
            let first = &ranges(bytes, piece, PART_BYTES)[0];
            let elements = elements(first);
            into.par_chunks_mut(elements).zip(mapped.par_chunks(first.len())).for_each(|(to, from)| take(from, to));
            return self.unmap(buffer, start);
        };
        let part = part_bytes(piece, block_bytes);
        let ranges = ranges(bytes, part, block_bytes);
        let mut ring = self.take_ring(part.max(block_bytes))?;
        let (mut slots, blocks): (Vec<_>, Vec<_>) = ring.iter_mut().map(Slot::parts).unzip();
        let mut lists = into.chunks_mut(elements(&(0..part)));
        rayon::in_place_scope_fifo(|scope| {
            let mut parts = Parts::new(scope, blocks.into_iter(), part);
            let mut asked = ranges.iter().enumerate();
            for (number, range) in ranges.iter().enumerate() {
                while asked.len() + number + TRAVELLING > ranges.len()
                    && let Some((next, range)) = asked.next()
                {
                    parts.wait_for(next % RING);
                    self.wait_for(slots[next % RING].busy, "read from device")?;
                    self.travel(Towards::Host, buffer, range, &mut slots[next % RING])?;
                }
                self.wait_for(slots[number % RING].busy, "read from device")?;
                let works = range.clone().step_by(part).zip(lists.by_ref()).map(|(start, list)| {
                    let (take, len) = (&take, part.min(range.end - start));
                    move |from: &mut [u8]| take(&from[..len], list)
                });
                parts.give(number % RING, works);
            }
            Ok::<(), OpenClError>(())
        })?;
        self.keep_ring(ring);
        Ok(())
    }

    /// A ring of blocks of at least so many bytes: the one that is kept, or another where that is in use. Nobody waits for it: the host's threads that
    /// fill a block may turn to another transfer meanwhile.
    fn take_ring(&self, bytes: usize) -> Result<Vec<Slot>, OpenClError> {
        let kept = std::mem::take(&mut lock(self.transfers()).ring);
        if kept.first().is_some_and(|slot| slot.memory.bytes() >= bytes) {
            return Ok(kept);
        }
        drop(kept);
        let slot = |_| Ok(Slot { memory: self.allocate_host(bytes, "a ring for transfers")?, busy: None });
        (0..RING).map(slot).collect()
    }

    fn keep_ring(&self, ring: Vec<Slot>) {
        lock(self.transfers()).ring = ring;
    }

    /// Waits for the command that reaches a block.
    fn wait_for(&self, busy: &mut Option<RawEvent>, what: &'static str) -> Result<(), OpenClError> {
        let Some(event) = busy.take() else { return Ok(()) };
        let _wait = self.span(Group::Wait, || what);
        cl::wait_for_events(&[event.get()]).map_err(|status| self.failed("clWaitForEvents", status, what.to_owned()))
    }

    /// Has the device begin with what is queued.
    pub(super) fn flush(&self) -> Result<(), OpenClError> {
        queue::flush(self.queue().get()).map_err(|status| self.failed("clFlush", status, String::new()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_whole_pieces_and_cover_all_bytes() {
        assert_eq!(ranges(10, 2, 5), [0..4, 4..8, 8..10]);
        assert_eq!(ranges(10, 5, 3), [0..5, 5..10]);
        assert_eq!(ranges(4, 1, 100).len(), 1);
        assert!(ranges(0, 1, 100).is_empty());
    }
}
