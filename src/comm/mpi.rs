//! MPI: one process a rank, started by `mpirun`, `srun` or the like.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mpi::Threading;
use mpi::collective::{CommunicatorCollectives as _, Root as _, SystemOperation};
use mpi::datatype::Equivalence as _;
use mpi::environment::Universe;
use mpi::point_to_point::{Destination as _, Source as _};
use mpi::request::scope;
use mpi::topology::{Color, Communicator as _, SimpleCommunicator};

use super::host_links::{Incoming, Outgoing};
use super::{CommError, Communicator, Receive, Send};

/// The ranks of an MPI job, or a group of them. Errors of MPI itself end the job, as MPI does by default.
pub struct Mpi {
    communicator: Mutex<Held>,
    links: Mutex<Links>,
    rank: usize,
    ranks: usize,
    local: (usize, usize),
    /// Ends MPI when the last group is dropped; after its communicators.
    universe: Arc<Universe>,
}

/// Packets to ranks of the same host go by memory that both have, not by MPI; where there is no room for it, by MPI all the same. By rank and tag.
#[derive(Default)]
struct Links {
    /// Whether a rank is on this host.
    is_here: Vec<bool>,
    outgoing: HashMap<(usize, u32), Option<Outgoing>>,
    incoming: HashMap<(usize, u32), Option<Incoming>>,
}

/// A communicator, which any thread may use, one at a time.
struct Held(SimpleCommunicator);

// SAFETY: MPI was started with MPI_THREAD_SERIALIZED: any thread may call it, one at a time, and the handle is used with its lock held alone.
unsafe impl std::marker::Send for Held {}

/// The tag of what is gathered; those of packets are legs.
const GATHER: i32 = 1000;
/// Added to the tag of a packet where a rank tells of the memory in which its packets will be.
const TOLD: i32 = 2000;
/// MPI counts bytes in 31 bits; longer messages go in several, which come in the order in which they were sent.
const LONGEST: usize = 1 << 30;

fn failed(call: &'static str, reason: impl ToString) -> CommError {
    CommError::Library { call, reason: reason.to_string() }
}

/// A message in pieces.
fn pieces(bytes: usize) -> impl Iterator<Item = Range<usize>> {
    (0..bytes.div_ceil(LONGEST).max(1)).map(move |piece| piece * LONGEST..bytes.min((piece + 1) * LONGEST))
}

impl Mpi {
    /// Starts MPI, with all ranks of the job.
    ///
    /// # Errors
    /// [`CommError::Library`] where it was started already, or takes calls from one thread only.
    pub fn start() -> Result<Self, CommError> {
        let Some((universe, threading)) = mpi::initialize_with_threading(Threading::Serialized) else {
            return Err(failed("MPI_Init_thread", "MPI has been started already"));
        };
        if threading < Threading::Serialized {
            return Err(failed(
                "MPI_Init_thread",
                format!("this MPI offers {threading:?} and not MPI_THREAD_SERIALIZED, as it must"),
            ));
        }
        Self::of(universe.world(), Arc::new(universe))
    }

    fn of(communicator: SimpleCommunicator, universe: Arc<Universe>) -> Result<Self, CommError> {
        let number = |of: i32| usize::try_from(of).map_err(|error| failed("MPI_Comm_rank", error));
        let (rank, ranks) = (number(communicator.rank())?, number(communicator.size())?);
        let host = communicator.split_shared(communicator.rank());
        let local = (number(host.rank())?, number(host.size())?);
        let mut here = vec![0u64; local.1];
        host.all_gather_into(&(rank as u64), &mut here[..]);
        let is_here = (0..ranks).map(|other| other != rank && here.contains(&(other as u64))).collect();
        let links = Mutex::new(Links { is_here, ..Links::default() });
        Ok(Self { communicator: Mutex::new(Held(communicator)), links, rank, ranks, local, universe })
    }

    /// Refuses a packet of another length than expected.
    fn whole(&self, rank: usize, found: usize, expected: usize) -> Result<(), CommError> {
        match found == expected {
            true => Ok(()),
            false => Err(CommError::Length { rank, here: self.rank, found, expected }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.communicator.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Links {
    /// The memory for packets to a rank, which is made and told of with the first one; none where MPI takes them.
    fn to(&mut self, held: &Held, &Send { to, tag, bytes }: &Send<'_>) -> Option<&mut Outgoing> {
        if !self.is_here[to] {
            return None;
        }
        let link = self.outgoing.entry((to, tag)).or_insert_with(|| {
            // Where there is no room, MPI takes them.
            let (link, told) = Outgoing::new(bytes.len()).map_or((None, Vec::new()), |(link, told)| (Some(link), told));
            held.0.process_at_rank(to as i32).send_with_tag(&told[..], tag as i32 + TOLD);
            link
        });
        link.as_mut()
    }

    /// That for packets from a rank, which has told of it when it sent the first one.
    fn from(&mut self, held: &Held, from: usize, tag: u32) -> io::Result<Option<&mut Incoming>> {
        if !self.is_here[from] {
            return Ok(None);
        }
        let link = match self.incoming.entry((from, tag)) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => {
                let process = held.0.process_at_rank(from as i32);
                let (told, _) = process.receive_vec_with_tag::<u8>(tag as i32 + TOLD);
                unknown.insert(if told.is_empty() { None } else { Some(Incoming::open(&told)?) })
            }
        };
        Ok(link.as_mut())
    }
}

impl Communicator for Mpi {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.ranks
    }

    fn local(&self) -> (usize, usize) {
        self.local
    }

    fn exchange(&self, sends: &[Send<'_>], receives: &mut [Receive<'_>]) -> Result<(), CommError> {
        let held = self.lock();
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        let of_host = |error: io::Error| failed("memory between ranks of a host", error);
        let mut errors = Vec::new();
        scope(|scope| {
            let immediately = |from: usize, tag: u32, bytes| {
                let (process, mut rest): (_, &mut [u8]) = (held.0.process_at_rank(from as i32), bytes);
                let mut requests = Vec::new();
                for piece in pieces(rest.len()) {
                    let (now, later) = rest.split_at_mut(piece.len());
                    requests.push((from, piece.len(), process.immediate_receive_into_with_tag(scope, now, tag as i32)));
                    rest = later;
                }
                requests
            };
            let (mut receiving, mut near) = (Vec::new(), Vec::new());
            for Receive { from, tag, bytes } in receives.iter_mut() {
                match links.is_here[*from] {
                    true => near.push((*from, *tag, &mut **bytes)),
                    false => receiving.extend(immediately(*from, *tag, &mut **bytes)),
                }
            }
            let mut sending = Vec::with_capacity(sends.len());
            for send in sends {
                match links.to(&held, send) {
                    Some(link) => errors.extend(link.send(send.bytes).map_err(of_host).err()),
                    None => {
                        let process = held.0.process_at_rank(send.to as i32);
                        sending.extend(
                            pieces(send.bytes.len()).map(|piece| {
                                process.immediate_send_with_tag(scope, &send.bytes[piece], send.tag as i32)
                            }),
                        );
                    }
                }
            }
            for (rank, tag, room) in near {
                match links.from(&held, rank, tag).map_err(of_host) {
                    Ok(Some(link)) => {
                        let found = link.receive(room).map_err(of_host);
                        errors.extend(found.and_then(|found| self.whole(rank, found, room.len())).err());
                    }
                    Ok(None) => receiving.extend(immediately(rank, tag, room)),
                    Err(error) => errors.push(error),
                }
            }
            for (rank, expected, request) in receiving {
                let found = request.wait().count(u8::equivalent_datatype()) as usize;
                errors.extend(self.whole(rank, found, expected).err());
            }
            for request in sending {
                request.wait();
            }
        });
        errors.into_iter().next().map_or(Ok(()), Err)
    }

    fn sum(&self, words: &mut [i64]) -> Result<(), CommError> {
        if self.ranks > 1 {
            // Unsigned, so that what is beyond 64 bits wraps.
            let here: Vec<u64> = words.iter().map(|&word| word as u64).collect();
            self.lock().0.all_reduce_into(
                &here[..],
                bytemuck::cast_slice_mut::<i64, u64>(words),
                SystemOperation::sum(),
            );
        }
        Ok(())
    }

    fn gather(&self, bytes: &[u8]) -> Result<Option<Vec<Vec<u8>>>, CommError> {
        let held = self.lock();
        let (first, length) = (held.0.process_at_rank(0), bytes.len() as u64);
        if self.rank != 0 {
            first.gather_into(&length);
            pieces(bytes.len()).for_each(|piece| first.send_with_tag(&bytes[piece], GATHER));
            return Ok(None);
        }
        let mut lengths = vec![0u64; self.ranks];
        first.gather_into_root(&length, &mut lengths[..]);
        let mut all = vec![bytes.to_vec()];
        for (rank, &length) in lengths.iter().enumerate().skip(1) {
            let mut room = vec![0; length as usize];
            for piece in pieces(room.len()) {
                held.0.process_at_rank(rank as i32).receive_into_with_tag(&mut room[piece], GATHER);
            }
            all.push(room);
        }
        Ok(Some(all))
    }

    fn broadcast(&self, bytes: &mut Vec<u8>) -> Result<(), CommError> {
        let held = self.lock();
        let first = held.0.process_at_rank(0);
        let mut length = bytes.len() as u64;
        first.broadcast_into(&mut length);
        bytes.resize(length as usize, 0);
        pieces(bytes.len()).for_each(|piece| first.broadcast_into(&mut bytes[piece]));
        Ok(())
    }

    fn group(&self, number: usize) -> Result<Arc<dyn Communicator>, CommError> {
        let colour = i32::try_from(number).map_err(|error| failed("MPI_Comm_split", error))?;
        let part = self.lock().0.split_by_color(Color::with_value(colour));
        let part = part.ok_or_else(|| failed("MPI_Comm_split", "it gave no communicator"))?;
        Ok(Arc::new(Self::of(part, Arc::clone(&self.universe))?))
    }

    fn abort(&self, status: i32) -> ! {
        // Not by the lock: the thread that holds it may wait for a rank that never comes.
        self.universe.world().abort(status)
    }
}
