//! Large transfers, piece by piece: the host makes or takes the bytes of a piece while another one travels. Where the device works in the host's
//! memory, that is its own, mapped, and nothing travels; elsewhere a ring of pinned blocks, from which the device fetches by itself. Counterpart:
//! `host_memory.rs`, for memory that a caller pins or maps himself; `field.rs`, which converts layouts piece by piece.

use std::ffi::c_void;
use std::ops::Range;
use std::ptr;
use std::slice;
use std::sync::Mutex;

use opencl3::command_queue as queue;
use opencl3::event as cl;
use opencl3::memory::{CL_MAP_READ, CL_MAP_WRITE_INVALIDATE_REGION};
use opencl3::types::CL_NON_BLOCKING;

use super::context::{Buffer, Context, lock};
use super::error::OpenClError;
use super::host_memory::HostBuffer;
use super::raw::RawEvent;
use super::recorder::Note;
use crate::backend::timeline::{CommandKind, Group};

/// How large transfers are made. No bit depends on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TransferWay {
    /// The device's memory is mapped into the host's address space.
    Mapped,
    /// Through pinned blocks of so many bytes, one of which travels while another is filled or emptied.
    Ring {
        /// Bytes of a block.
        block_bytes: usize,
    },
}

impl TransferWay {
    /// Bytes of a block where nobody chose: large beside what a command costs, small beside the caches of a host.
    pub const BLOCK_BYTES: usize = 8 << 20;
}

/// Blocks of a ring: one travels, one is filled.
const RING: usize = 2;

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

impl Drop for Slot {
    /// The memory may be used again only when no command reaches it.
    fn drop(&mut self) {
        if let Some(event) = &self.busy {
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

    /// Writes the first `bytes` bytes of a buffer. `fill` makes the bytes of each range, which is one of whole pieces of `piece` bytes; what it is given to fill is
    /// undefined. The ranges come in order, and commands that are queued later find all of them written.
    ///
    /// # Errors
    ///
    /// [`OpenClError::OutOfRange`] if the buffer ends before; what the runtime reports.
    pub fn write_pieces(
        &self,
        buffer: &mut Buffer,
        bytes: usize,
        piece: usize,
        mut fill: impl FnMut(Range<usize>, &mut [u8]),
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
            fill(0..bytes, unsafe { slice::from_raw_parts_mut(start.as_ptr(), bytes) });
            return self.unmap(buffer, start);
        };
        let mut ring = self.take_ring(piece.max(block_bytes))?;
        for (number, range) in ranges(bytes, piece, block_bytes).into_iter().enumerate() {
            let slot = &mut ring[number % RING];
            self.wait_for(slot, "write to device")?;
            let block = &mut slot.memory.as_mut_slice()[..range.len()];
            fill(range.clone(), block);
            let (start, len) = (block.as_ptr().cast::<c_void>(), block.len());
            let what = || format!("{len} bytes at {} of {}", range.start, buffer.what());
            let note = || Note::of_bytes(CommandKind::Write, len);
            let event = self.submit("clEnqueueWriteBuffer", what, note, |queue| {
                // SAFETY: the range lies in the buffer and the wait list is empty; the block is neither changed nor given back before the command
                // is done, for which the slot waits.
                unsafe {
                    queue::enqueue_write_buffer(
                        queue,
                        buffer.mem(),
                        CL_NON_BLOCKING,
                        range.start,
                        len,
                        start,
                        0,
                        ptr::null(),
                    )
                }
            })?;
            slot.busy = Some(event);
            self.flush()?;
        }
        self.keep_ring(ring);
        Ok(())
    }

    /// Reads the first `bytes` bytes of a buffer. `take` is given the bytes of each range, which is one of whole pieces of `piece` bytes, in order.
    ///
    /// # Errors
    ///
    /// As [`Context::write_pieces`]; also what an earlier command ran into.
    pub fn read_pieces(
        &self,
        buffer: &mut Buffer,
        bytes: usize,
        piece: usize,
        take: impl FnMut(Range<usize>, &[u8]),
    ) -> Result<(), OpenClError> {
        self.read_unchanged(buffer, bytes, piece, take)
    }

    /// As [`Context::read_pieces`], of a buffer to which no command writes meanwhile.
    pub(super) fn read_unchanged(
        &self,
        buffer: &Buffer,
        bytes: usize,
        piece: usize,
        mut take: impl FnMut(Range<usize>, &[u8]),
    ) -> Result<(), OpenClError> {
        self.check_owns(buffer)?;
        buffer.check_range(0, bytes)?;
        if bytes == 0 {
            return Ok(());
        }
        let TransferWay::Ring { block_bytes } = self.transfer_way() else {
            let what = || format!("{bytes} bytes of {}", buffer.what());
            let start = self.map(buffer.mem(), (0, bytes), CL_MAP_READ, what)?;
            // SAFETY: the map was blocking, so `bytes` bytes are there, and no command changes them.
            take(0..bytes, unsafe { slice::from_raw_parts(start.as_ptr(), bytes) });
            return self.unmap(buffer, start);
        };
        let mut ring = self.take_ring(piece.max(block_bytes))?;
        let ranges = ranges(bytes, piece, block_bytes);
        for number in 0..ranges.len() + 1 {
            if let Some(range) = ranges.get(number) {
                let slot = &mut ring[number % RING];
                self.wait_for(slot, "read from device")?;
                let (start, len) = (slot.memory.as_mut_slice().as_mut_ptr().cast::<c_void>(), range.len());
                let what = || format!("{len} bytes at {} of {}", range.start, buffer.what());
                let note = || Note::of_bytes(CommandKind::Read, len);
                let event = self.submit("clEnqueueReadBuffer", what, note, |queue| {
                    // SAFETY: as for writing; nobody reads the block before the command is done.
                    unsafe {
                        queue::enqueue_read_buffer(
                            queue,
                            buffer.mem(),
                            CL_NON_BLOCKING,
                            range.start,
                            len,
                            start,
                            0,
                            ptr::null(),
                        )
                    }
                })?;
                slot.busy = Some(event);
                self.flush()?;
            }
            // The one before, while this one travels.
            if let Some(last) = number.checked_sub(1) {
                let slot = &mut ring[last % RING];
                self.wait_for(slot, "read from device")?;
                take(ranges[last].clone(), &slot.memory.as_slice()[..ranges[last].len()]);
            }
        }
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
    fn wait_for(&self, slot: &mut Slot, what: &'static str) -> Result<(), OpenClError> {
        let Some(event) = slot.busy.take() else { return Ok(()) };
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
