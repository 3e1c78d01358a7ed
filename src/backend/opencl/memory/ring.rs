//! A ring of pinned blocks for large transfers. Some blocks are transferred while the host's threads fill or empty parts of others.
//! Counterpart: `transfer.rs`, which does the transfers.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};

use rayon::{ScopeFifo, Yield};
use serde::Serialize;

use super::buffer::HostBuffer;
use crate::backend::opencl::device::{RawEvent, is_of_parent};

/// The direction of a transfer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Towards {
    /// From the host to the device.
    Device,
    /// From the device to the host.
    Host,
}

/// How large transfers are done. No bit depends on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TransferWay {
    /// Device memory is mapped into the host's address space.
    Mapped,
    /// Through a ring of pinned blocks. Some are transferred while others are filled or emptied.
    Ring {
        /// The size of a block, in bytes.
        block_bytes: usize,
    },
}

impl TransferWay {
    /// The default size of a block in bytes: large enough that the cost of a command does not matter.
    pub const BLOCK_BYTES: usize = 4 << 20;
}

/// The number of bytes that a thread fills or empties at a time: small compared with a block, so that the first block is soon ready.
pub(crate) const PART_BYTES: usize = 256 << 10;

pub(crate) const RING: usize = 8;

/// The number of blocks of a ring that are transferred at a time. The others are filled or emptied.
pub(crate) const TRAVELLING: usize = 3;

/// The state of large transfers.
#[derive(Debug)]
pub(crate) struct Transfers {
    pub way: TransferWay,
    /// Created when first needed.
    pub ring: Vec<Slot>,
}

/// A block of a ring, and the last command that reads or writes it.
#[derive(Debug)]
pub(crate) struct Slot {
    pub memory: HostBuffer,
    pub busy: Option<RawEvent>,
}

/// The start of a block, and the last command that reads or writes it.
pub(crate) struct Busy<'m> {
    pub start: *mut u8,
    pub busy: &'m mut Option<RawEvent>,
}

impl Slot {
    /// The two views of a slot: for commands, and for threads.
    pub(crate) fn parts(&mut self) -> (Busy<'_>, &mut [u8]) {
        let bytes = self.memory.as_mut_slice();
        (Busy { start: bytes.as_mut_ptr(), busy: &mut self.busy }, bytes)
    }
}

impl Drop for Slot {
    /// Waits, since the memory may be reused only when no command accesses it.
    fn drop(&mut self) {
        if let Some(event) = self.busy.as_ref().filter(|_| !is_of_parent()) {
            // If this fails, nothing is left to do: the driver has given up the command.
            let _ = event.wait();
        }
    }
}

impl Transfers {
    pub(crate) fn new(shares_host_memory: bool) -> Mutex<Self> {
        let way = match shares_host_memory {
            true => TransferWay::Mapped,
            false => TransferWay::Ring { block_bytes: TransferWay::BLOCK_BYTES },
        };
        Mutex::new(Self { way, ring: Vec::new() })
    }
}

/// The parts of the blocks of a ring, and the host's threads, which fill and empty them in the given order.
pub(crate) struct Parts<'a, 'scope, 'm> {
    scope: &'a ScopeFifo<'scope>,
    done: Sender<Part<'m>>,
    given_back: Receiver<Part<'m>>,
    /// The parts of each block; empty while a thread has them.
    of_blocks: Vec<Vec<&'m mut [u8]>>,
    /// For each block, how many of its parts threads have.
    given: Vec<usize>,
}

struct Part<'m> {
    block: usize,
    part: usize,
    bytes: &'m mut [u8],
}

impl<'a, 'scope, 'm: 'scope> Parts<'a, 'scope, 'm> {
    /// Splits these blocks into parts of `bytes` bytes.
    pub(crate) fn new(scope: &'a ScopeFifo<'scope>, blocks: impl Iterator<Item = &'m mut [u8]>, bytes: usize) -> Self {
        let (done, given_back) = channel();
        let of_blocks: Vec<Vec<_>> = blocks.map(|block| block.chunks_mut(bytes).collect()).collect();
        let given = vec![0; of_blocks.len()];
        Self { scope, done, given_back, of_blocks, given }
    }

    /// Makes threads work on the parts of a block, once no thread has one of them: the first item of work on the first part, and so on.
    pub(crate) fn give<W: FnOnce(&mut [u8]) + Send + 'scope>(&mut self, block: usize, works: impl Iterator<Item = W>) {
        self.wait_for(block);
        for (part, work) in works.enumerate() {
            let bytes = std::mem::take(&mut self.of_blocks[block][part]);
            self.given[block] += 1;
            let done = self.done.clone();
            self.scope.spawn_fifo(move |_| {
                // The part is returned to whoever waits for it. A panic then becomes one of the whole transfer.
                let worked = catch_unwind(AssertUnwindSafe(|| work(bytes)));
                // A failed transfer no longer waits.
                let _ = done.send(Part { block, part, bytes });
                if let Err(panic) = worked {
                    resume_unwind(panic);
                }
            });
        }
    }

    /// Waits until no thread has a part of the block.
    pub(crate) fn wait_for(&mut self, block: usize) {
        while self.given[block] > 0 {
            while let Ok(Part { block, part, bytes }) = self.given_back.try_recv() {
                self.of_blocks[block][part] = bytes;
                self.given[block] -= 1;
            }
            // This thread may be the only one of the pool.
            if self.given[block] > 0 && rayon::yield_now() != Some(Yield::Executed) {
                std::thread::yield_now();
            }
        }
    }
}

/// The size in bytes of a part of a block: a multiple of `piece`.
pub(crate) fn part_bytes(piece: usize, block_bytes: usize) -> usize {
    (PART_BYTES.min(block_bytes) / piece.max(1)).max(1) * piece.max(1)
}

/// Splits a transfer into ranges of whole pieces, each of at most `most` bytes unless a piece is larger.
pub(crate) fn ranges(bytes: usize, piece: usize, most: usize) -> Vec<Range<usize>> {
    let step = (most / piece.max(1)).max(1) * piece.max(1);
    (0..bytes).step_by(step).map(|start| start..(start + step).min(bytes)).collect()
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
