//! What calls on parts of lattices send and receive: the packets of a kind of field, where they lie, and the queues that they travel in.

use std::ops::Range;
use std::sync::Arc;

use lanefield_reference::layout::Leg;

use super::device::RawQueue;
use super::memory::{Buffer, Pinned};
use super::program::Program;
use super::tuning::Layout;
use crate::backend::ghosts::{PacketRoom, Placed};

/// Bytes of a batch at least: a device and its host move as many while the host queues a command.
const LEAST_BATCH: usize = 1 << 18;

/// What the fields of a kind need to talk with other parts.
pub(crate) struct Packets {
    pub program: Arc<Program>,
    /// Tables of (place, point), and how many there are.
    pub sent: Buffer,
    pub held: Buffer,
    /// The first site of each packet, and the end of the last one.
    pub firsts: Vec<usize>,
    pub parts: usize,
    /// Work-items a site that pack, and that unpack.
    pub work_items: [usize; 2],
    /// What is sent, and what comes.
    pub on_device: [Buffer; 2],
    /// The memory of the room, for as long as it is pinned.
    pub _pinned: Vec<Pinned>,
}

/// Packets that go between device and host together: of those of a stage two halves, so that one is fetched while the other is put back; all where they are so
/// few bytes that more commands take longer.
pub(crate) fn batches(
    packets: &[(Leg, Range<usize>)],
    stage: &Range<usize>,
) -> impl Iterator<Item = Range<usize>> + use<> {
    let Range { start, end } = *stage;
    let few = bytes_of(&packets[stage.clone()]).len() < 2 * LEAST_BATCH;
    let half = if few { end } else { start + stage.len().div_ceil(2) };
    [start..half, half..end].into_iter().filter(|batch| !batch.is_empty())
}

/// Where packets lie that came, and their bytes: those that follow each other in memory are one, as of two ranks.
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

/// The bytes of some packets.
pub(crate) fn bytes_of(packets: &[(Leg, Range<usize>)]) -> Range<usize> {
    match packets {
        [(_, first), .., (_, last)] => first.start..last.end,
        [(_, one)] => one.clone(),
        [] => 0..0,
    }
}

/// In-order queues beside the device's own.
pub(crate) struct PacketQueues {
    /// Packets on their way from the device.
    pub out: RawQueue,
    /// Packets on their way to it, and what reads them.
    pub back: RawQueue,
}

/// By what room they are kept, and by the order of the field in memory.
pub(crate) type PacketsKey = (u64, Layout);
