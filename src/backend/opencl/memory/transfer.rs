//! Large transfers, piece by piece: the host's threads fill or empty some pieces while others are transferred. If the device works in the
//! host's memory, its memory is mapped and nothing is transferred. Otherwise a ring of pinned blocks is used, from which the device fetches
//! data itself.
//!
//! Counterparts: `host.rs`, for memory that the caller pins or maps; `field.rs`, which converts layouts piece by piece.

use std::ffi::c_void;
use std::ops::Range;
use std::slice;

use opencl3::memory::{CL_MAP_READ, CL_MAP_WRITE_INVALIDATE_REGION};
use rayon::prelude::*;

use super::buffer::Buffer;
use super::commands::DeviceMemory;
use super::ring::{Busy, PART_BYTES, Parts, RING, Slot, TRAVELLING, Towards, TransferWay, part_bytes, ranges};
use crate::backend::opencl::device::{OpenClError, RawEvent, lock};
use crate::backend::timeline::Group;

impl DeviceMemory {
    fn transfer_way(&self) -> TransferWay {
        lock(self.transfers()).way
    }

    /// Changes how large transfers are done. By default, device memory is mapped if the device works in the host's memory, and a ring is
    /// used otherwise.
    pub fn set_transfer_way(&self, way: TransferWay) {
        let mut transfers = lock(self.transfers());
        transfers.way = way;
        transfers.ring.clear();
    }

    /// Writes the first `bytes` bytes of a buffer. `fill` computes the bytes of each range, which consists of whole pieces of `piece`
    /// bytes; the content of the memory that it receives is undefined. The host's threads process the ranges in any order. Commands that
    /// are queued later find all bytes written.
    ///
    /// # Errors
    /// [`OpenClError::OutOfRange`] if the buffer is too small, and errors of the runtime.
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
            // The old content is overwritten completely, so the driver need not fetch it.
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

    /// Transfers a block to its range of a buffer, or the reverse.
    fn travel(
        &self,
        towards: Towards,
        buffer: &Buffer,
        range: &Range<usize>,
        slot: &mut Busy<'_>,
    ) -> Result<(), OpenClError> {
        let start = slot.start.cast::<c_void>();
        // SAFETY: the range lies in the buffer; the block is neither read, nor changed, nor given back before the command is done, for which the slot
        // waits.
        *slot.busy = Some(unsafe { self.transfer(self.queue(), &[], towards, buffer, range.clone(), start)? });
        self.flush()
    }

    /// Reads the first `bytes` bytes of a buffer, in pieces of `piece` bytes, into a list with the same number of elements for each piece.
    /// `take` receives the bytes of some pieces and their elements. The host's threads call it in any order.
    ///
    /// # Errors
    /// As [`DeviceMemory::write_pieces`]; also the error of an earlier command.
    ///
    /// # Panics
    /// If the length of the list is not a multiple of the number of pieces.
    pub fn read_pieces<T: Send>(
        &self,
        buffer: &mut Buffer,
        (bytes, piece): (usize, usize),
        into: &mut [T],
        take: impl Fn(&[u8], &mut [T]) + Sync,
    ) -> Result<(), OpenClError> {
        self.read_unchanged(buffer, (bytes, piece), into, take)
    }

    /// As [`DeviceMemory::read_pieces`], for a buffer to which no command writes at the same time.
    pub(crate) fn read_unchanged<T: Send>(
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

    /// A ring of blocks of at least `bytes` bytes: the one that is kept, or a new one if that is in use. Transfers do not wait for a ring:
    /// a thread that fills a block may start another transfer, which would then wait for itself.
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

    /// Waits for the command that accesses a block.
    fn wait_for(&self, busy: &mut Option<RawEvent>, what: &'static str) -> Result<(), OpenClError> {
        let Some(event) = busy.take() else { return Ok(()) };
        let _wait = self.span(Group::Wait, || what);
        self.await_event(&event, || what.to_owned())
    }
}
