//! Buffers and queues for calls on local volumes: the packets of a kind of field, and the queues by which they are transferred.

use std::ops::Range;
use std::sync::Arc;

use lanefield_reference::layout::Leg;

use super::device::RawQueue;
use super::memory::{Buffer, Pinned};
use super::program::Program;
use super::tuning::Layout;
use crate::backend::ghosts::{PacketRoom, Placed};

/// The minimum size of a batch in bytes. In the time in which the host queues a command, a device and its host transfer about as many.
const LEAST_BATCH: usize = 1 << 18;

/// The data that the fields of one kind need for the exchange with other ranks.
pub(crate) struct Packets {
    pub program: Arc<Program>,
    /// Tables of (place, point) for sent and received packets, and their number.
    pub sent: Buffer,
    pub held: Buffer,
    /// The first site of each packet, and the end of the last one.
    pub firsts: Vec<usize>,
    pub parts: usize,
    /// The number of work-items for each site, when packing and when unpacking.
    pub work_items: [usize; 2],
    /// Buffers for outgoing and for incoming packets.
    pub on_device: [Buffer; 2],
    /// The memory of the room, as long as it is pinned.
    pub _pinned: Vec<Pinned>,
}

/// Divides the packets of a stage into batches that device and host transfer together. There are two halves, so that one is fetched while
/// the other is written. Small packets are all in one batch, because more commands would take longer than the transfer.
pub(crate) fn batches(
    packets: &[(Leg, Range<usize>)],
    stage: &Range<usize>,
) -> impl Iterator<Item = Range<usize>> + use<> {
    let Range { start, end } = *stage;
    let few = bytes_of(&packets[stage.clone()]).len() < 2 * LEAST_BATCH;
    let half = if few { end } else { start + stage.len().div_ceil(2) };
    [start..half, half..end].into_iter().filter(|batch| !batch.is_empty())
}

/// The positions and sizes of packets that arrived. Those that are adjacent in memory (those of two ranks, for example) are merged.
pub(crate) fn incoming(room: &dyn PacketRoom, batch: Range<usize>) -> Vec<(Placed, Range<usize>)> {
    let mut all: Vec<(Placed, Range<usize>)> = Vec::with_capacity(batch.len());
    for packet in batch {
        let (from, bytes) = (room.incoming(packet), room.packets()[packet].1.clone());
        match all.last_mut() {
            Some((last, range))
                if Arc::ptr_eq(&last.memory, &from.memory) && last.start + range.len() == from.start =>
            {
                range.end = bytes.end;
            }
            _ => all.push((from, bytes)),
        }
    }
    all
}

/// The range of bytes of some packets.
pub(crate) fn bytes_of(packets: &[(Leg, Range<usize>)]) -> Range<usize> {
    match packets {
        [(_, first), .., (_, last)] => first.start..last.end,
        [(_, one)] => one.clone(),
        [] => 0..0,
    }
}

/// In-order queues in addition to the device's own.
pub(crate) struct PacketQueues {
    /// For packets from the device.
    pub out: RawQueue,
    /// For packets to the device, and kernels that read them.
    pub back: RawQueue,
}

/// The key under which buffers are kept: the room, and the order of the field in memory.
pub(crate) type PacketsKey = (u64, Layout);
