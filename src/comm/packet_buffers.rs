//! Buffers for packets between ranks. Ranks of one host read packets from the sender's memory, and receive only a notice that they are
//! ready. Ranks of other hosts receive the packets themselves.

use std::ops::Range;
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lanefield_reference::layout::{LEGS, Leg};

use super::{CommError, Communicator, Receive, Send, WholeLattice};
use crate::backend::BackendError;
use crate::backend::ghosts::{PacketRoom, Placed};
use crate::backend::shared_packets::{MemoryName, PacketMemory};
use crate::backend::timeline::{Group, span};

/// How ranks exchange packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RanksOptions {
    /// Sends a checksum with each packet and verifies it.
    pub check_packets: bool,
    /// Also sends packets to ranks of the same host, which by default read them from the sender's memory.
    pub by_messages: bool,
}

/// The data that all buffers of a rank share.
pub(super) struct ExchangeContext {
    pub lattice: WholeLattice,
    pub options: RanksOptions,
    /// The number of exchanges so far.
    pub exchanges: AtomicU64,
}

/// Buffers for the packets to and from neighbouring ranks.
pub struct PacketBuffers {
    number: u64,
    links: Arc<ExchangeContext>,
    packets: Vec<(Leg, Range<usize>)>,
    /// Outgoing packets, in two halves: a neighbour may still read those of one exchange while those of the next are written.
    own: Arc<PacketMemory>,
    bytes: usize,
    /// The half that is sent next.
    half: usize,
    /// For each outgoing packet, whether the receiver reads it from this memory.
    is_read_in_place: Vec<bool>,
    comes: Vec<Comes>,
}

enum Comes {
    /// Sent into memory of this rank.
    Sent(Placed),
    /// Read from the sender's memory.
    InPlace {
        memory: Arc<PacketMemory>,
        /// The position of the packet in each half.
        starts: [usize; 2],
    },
}

/// A rank's announcement of a packet: its memory, and its position in each half.
type Announcement = [u8; 48];

/// The reader's answer: whether it reads the packet in place.
type Answer = [u8; 1];

static ROOMS: AtomicU64 = AtomicU64::new(0);

impl PacketBuffers {
    /// Buffers for a packet of the given size along each leg. All ranks create theirs together.
    pub(super) fn new(links: Arc<ExchangeContext>, bytes: &[(Leg, usize)]) -> Result<Self, BackendError> {
        let mut packets = Vec::with_capacity(bytes.len());
        let mut end = 0;
        for &(leg, bytes) in bytes {
            packets.push((leg, end..end + bytes));
            end += bytes;
        }
        let own = Arc::new(PacketMemory::new(2 * end).map_err(BackendError::device)?);
        let number = ROOMS.fetch_add(1, Ordering::Relaxed);
        let (is_read_in_place, comes) = (Vec::new(), Vec::new());
        let mut room = Self { number, links, packets, own, bytes: end, half: 0, is_read_in_place, comes };
        room.meet()?;
        Ok(room)
    }

    /// Ranks announce where their packets are, and answer whether they can read them there.
    fn meet(&mut self) -> Result<(), BackendError> {
        let name = self.own.name().filter(|_| !self.links.options.by_messages).unwrap_or_default();
        let announced: Vec<Announcement> =
            self.packets.iter().map(|(_, range)| announcement(name, range.start, self.bytes)).collect();
        let heard: Vec<Announcement> = self.talk(&announced, |leg| (self.against(leg), self.along(leg)))?;
        let mut opened: Vec<(MemoryName, Arc<PacketMemory>)> = Vec::new();
        let mut inbox = None;
        for (heard, (_, range)) in heard.iter().zip(&self.packets) {
            let (name, start, half) = read(heard);
            let known = opened.iter().find(|(known, _)| *known == name).map(|(_, memory)| Arc::clone(memory));
            let memory = known.or_else(|| PacketMemory::open(&name).map(Arc::new));
            self.comes.push(match memory {
                Some(memory) => {
                    opened.push((name, Arc::clone(&memory)));
                    Comes::InPlace { memory, starts: [start, start + half] }
                }
                None => {
                    let memory = match &inbox {
                        Some(memory) => Arc::clone(memory),
                        None => Arc::new(PacketMemory::new(self.bytes).map_err(BackendError::device)?),
                    };
                    inbox = Some(Arc::clone(&memory));
                    Comes::Sent(Placed { memory, start: range.start })
                }
            });
        }
        let answers: Vec<Answer> =
            self.comes.iter().map(|comes| [u8::from(matches!(comes, Comes::InPlace { .. }))]).collect();
        // In the opposite direction.
        let answered: Vec<Answer> = self.talk(&answers, |leg| (self.along(leg), self.against(leg)))?;
        self.is_read_in_place = answered.iter().map(|&answer| answer == [1]).collect();
        Ok(())
    }

    /// Whether receivers read all packets in place, so that none is sent.
    pub fn is_in_place(&self) -> bool {
        self.is_read_in_place.iter().all(|&in_place| in_place)
    }

    /// Sends a few bytes for each packet to one rank, and receives as many from another.
    fn talk<const N: usize>(
        &self,
        said: &[[u8; N]],
        with: impl Fn(Leg) -> (usize, usize),
    ) -> Result<Vec<[u8; N]>, BackendError> {
        let mut heard = vec![[0; N]; said.len()];
        let legs = || self.packets.iter().map(|(leg, _)| *leg);
        let sends: Vec<Send<'_>> =
            legs().zip(said).map(|(leg, bytes)| Send { to: with(leg).0, tag: tag(leg), bytes }).collect();
        let mut receives: Vec<Receive<'_>> =
            legs().zip(&mut heard).map(|(leg, bytes)| Receive { from: with(leg).1, tag: tag(leg), bytes }).collect();
        self.communicator().exchange(&sends, &mut receives).map_err(BackendError::device)?;
        Ok(heard)
    }

    fn communicator(&self) -> &dyn Communicator {
        &**self.links.lattice.communicator()
    }

    /// The rank that sends the packet read along this leg.
    fn along(&self, leg: Leg) -> usize {
        self.links.lattice.decomposition().neighbour(self.communicator().rank(), leg)
    }

    /// The rank that reads this rank's packet along this leg.
    fn against(&self, leg: Leg) -> usize {
        let opposite = |other: &Leg| other.dimension() == leg.dimension() && other.is_forward() != leg.is_forward();
        Leg::all().find(opposite).map_or(0, |opposite| self.along(opposite))
    }

    /// The bytes of an outgoing packet.
    fn sent(&self, packet: usize) -> &[u8] {
        let range = &self.packets[packet].1;
        let start = self.own.at(self.half * self.bytes + range.start);
        // SAFETY: within the memory, which no other rank writes; this one has written it, and does not while the room is borrowed.
        unsafe { slice::from_raw_parts(start.as_ptr(), range.len()) }
    }
}

/// The first tag of checksums. The tags of packets are the points of their legs.
const CHECKSUMS: u32 = LEGS as u32;

fn tag(leg: Leg) -> u32 {
    leg.point() as u32
}

fn announcement(name: MemoryName, start: usize, half: usize) -> Announcement {
    let mut said = [0; size_of::<Announcement>()];
    said[..32].copy_from_slice(&name);
    said[32..40].copy_from_slice(&(start as u64).to_le_bytes());
    said[40..].copy_from_slice(&(half as u64).to_le_bytes());
    said
}

/// The memory, the position of the packet in its first half, and the size of a half in bytes.
fn read(said: &Announcement) -> (MemoryName, usize, usize) {
    let mut name = MemoryName::default();
    name.copy_from_slice(&said[..32]);
    let number = |at: usize| said[at..at + 8].iter().rev().fold(0, |number, &byte| number << 8 | usize::from(byte));
    (name, number(32), number(40))
}

impl PacketRoom for PacketBuffers {
    fn number(&self) -> u64 {
        self.number
    }

    fn packets(&self) -> &[(Leg, Range<usize>)] {
        &self.packets
    }

    fn outgoing(&mut self, packets: &Range<usize>) -> Placed {
        // Once for each exchange, not for each stage: that a neighbour has read the packets of a direction is known only when those of its
        // next exchange arrive.
        if packets.start == 0 {
            self.half = 1 - self.half;
        }
        Placed { memory: Arc::clone(&self.own), start: self.half * self.bytes }
    }

    fn exchange(&mut self, packets: Range<usize>) -> Result<(), BackendError> {
        let _span = span(Group::Ranks, || "exchange");
        let exchange = self.links.exchanges.fetch_add(1, Ordering::Relaxed);
        let checksum = |packet| crc32fast::hash(self.sent(packet)).to_le_bytes();
        let checks = self.links.options.check_packets;
        let checksums: Vec<[u8; 4]> = packets.clone().filter(|_| checks).map(checksum).collect();
        let mut sends = Vec::with_capacity(2 * packets.len());
        for packet in packets.clone() {
            let (leg, in_place) = (self.packets[packet].0, self.is_read_in_place[packet]);
            // An empty message says that a packet can be read in place.
            let bytes = if in_place { &[] } else { self.sent(packet) };
            sends.push(Send { to: self.against(leg), tag: tag(leg), bytes });
        }
        for (packet, bytes) in packets.clone().zip(&checksums) {
            let leg = self.packets[packet].0;
            sends.push(Send { to: self.against(leg), tag: CHECKSUMS + tag(leg), bytes });
        }
        let mut came = vec![[0u8; 4]; checksums.len()];
        let mut receives = Vec::with_capacity(2 * packets.len());
        for packet in packets.clone() {
            let (leg, range) = &self.packets[packet];
            let bytes: &mut [u8] = match &self.comes[packet] {
                Comes::InPlace { .. } => &mut [],
                Comes::Sent(Placed { memory, start }) => {
                    let _end = memory.at(start + range.len());
                    // SAFETY: within memory of this rank, whose ranges for other packets do not overlap, and which is not read before it is here.
                    unsafe { slice::from_raw_parts_mut(memory.at(*start).as_ptr(), range.len()) }
                }
            };
            receives.push(Receive { from: self.along(*leg), tag: tag(*leg), bytes });
        }
        for (packet, bytes) in packets.clone().zip(&mut came) {
            let leg = self.packets[packet].0;
            receives.push(Receive { from: self.along(leg), tag: CHECKSUMS + tag(leg), bytes });
        }
        self.communicator().exchange(&sends, &mut receives).map_err(BackendError::device)?;
        for (packet, sent) in packets.zip(came) {
            let (leg, bytes) = (self.packets[packet].0, self.packets[packet].1.len());
            let Placed { memory, start } = self.incoming(packet);
            let (found, sent) = (crc32fast::hash(&memory.read(start, bytes)), u32::from_le_bytes(sent));
            if found != sent {
                let (from, to) = (self.along(leg), self.communicator().rank());
                let error = CommError::Packet { from, to, leg, exchange, bytes, found, sent };
                return Err(BackendError::device(error));
            }
        }
        Ok(())
    }

    fn incoming(&self, packet: usize) -> Placed {
        match &self.comes[packet] {
            Comes::Sent(placed) => placed.clone(),
            Comes::InPlace { memory, starts } => Placed { memory: Arc::clone(memory), start: starts[self.half] },
        }
    }

    fn memory(&self) -> Vec<Arc<PacketMemory>> {
        let mut all = vec![Arc::clone(&self.own)];
        for packet in 0..self.comes.len() {
            let Placed { memory, .. } = self.incoming(packet);
            if !all.iter().any(|known| Arc::ptr_eq(known, &memory)) {
                all.push(memory);
            }
        }
        all
    }
}
