//! Ranks of Lanefield ([`lanefield::comm`]) over MPI: one process for each rank, started by `mpirun`, `srun` or a similar launcher. Without
//! the feature `mpi` this crate is empty.

#![cfg(feature = "mpi")]

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mpi::Threading;
use mpi::collective::{CommunicatorCollectives as _, Root as _, SystemOperation};
use mpi::datatype::Equivalence as _;
use mpi::environment::Universe;
use mpi::point_to_point::{Destination as _, Source as _};
use mpi::request::scope;
use mpi::topology::{Color, Communicator as _, SimpleCommunicator};

use lanefield::comm::{CommError, Communicator, Receive, Send};

/// The ranks of an MPI job, or a group of them. An error of MPI itself ends the job, which is MPI's default.
pub struct Mpi {
    communicator: Mutex<Held>,
    rank: usize,
    ranks: usize,
    local: (usize, usize),
    /// Finalizes MPI when the last group is dropped, after its communicators.
    universe: Arc<Universe>,
}

/// A communicator. Any thread may use it, one at a time.
struct Held(SimpleCommunicator);

// SAFETY: MPI was started with MPI_THREAD_SERIALIZED: any thread may call it, one at a time, and the handle is used with its lock held alone.
unsafe impl std::marker::Send for Held {}

/// The tag of gathered data. The tags of packets are legs.
const GATHER: i32 = 1000;
/// MPI counts bytes in 31 bits. Longer messages are sent in several pieces, which arrive in the order in which they were sent.
const LONGEST: usize = 1 << 30;

fn failed(call: &'static str, reason: impl ToString) -> CommError {
    CommError::Library { call, reason: reason.to_string() }
}

fn pieces(bytes: usize) -> impl Iterator<Item = Range<usize>> {
    (0..bytes.div_ceil(LONGEST).max(1)).map(move |piece| piece * LONGEST..bytes.min((piece + 1) * LONGEST))
}

impl Mpi {
    /// Starts MPI with all ranks of the job.
    ///
    /// # Errors
    /// [`CommError::Library`] if MPI was started already, or accepts calls from one thread only.
    pub fn start() -> Result<Self, CommError> {
        let Some((universe, threading)) = mpi::initialize_with_threading(Threading::Serialized) else {
            return Err(failed("MPI_Init_thread", "MPI has been started already"));
        };
        if threading < Threading::Serialized {
            return Err(failed(
                "MPI_Init_thread",
                format!("this MPI offers {threading:?}: expected MPI_THREAD_SERIALIZED"),
            ));
        }
        Self::of(universe.world(), Arc::new(universe))
    }

    fn of(communicator: SimpleCommunicator, universe: Arc<Universe>) -> Result<Self, CommError> {
        let number = |of: i32| usize::try_from(of).map_err(|error| failed("MPI_Comm_rank", error));
        let (rank, ranks) = (number(communicator.rank())?, number(communicator.size())?);
        let host = communicator.split_shared(communicator.rank());
        let local = (number(host.rank())?, number(host.size())?);
        Ok(Self { communicator: Mutex::new(Held(communicator)), rank, ranks, local, universe })
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.communicator.lock().unwrap_or_else(PoisonError::into_inner)
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
        let mut wrong = None;
        scope(|scope| {
            let mut receiving = Vec::with_capacity(receives.len());
            for Receive { from, tag, bytes } in receives.iter_mut() {
                let (from, tag) = (*from, *tag as i32);
                let process = held.0.process_at_rank(from as i32);
                let mut rest = &mut **bytes;
                for piece in pieces(rest.len()) {
                    let (now, later) = rest.split_at_mut(piece.len());
                    let request = process.immediate_receive_into_with_tag(scope, now, tag);
                    receiving.push((from, piece.len(), request));
                    rest = later;
                }
            }
            let mut sending = Vec::with_capacity(sends.len());
            for Send { to, tag, bytes } in sends {
                let process = held.0.process_at_rank(*to as i32);
                for piece in pieces(bytes.len()) {
                    sending.push(process.immediate_send_with_tag(scope, &bytes[piece], *tag as i32));
                }
            }
            for (rank, expected, request) in receiving {
                let found = request.wait().count(u8::equivalent_datatype()) as usize;
                if found != expected {
                    wrong = Some(CommError::Length { rank, here: self.rank, found, expected });
                }
            }
            for request in sending {
                request.wait();
            }
        });
        wrong.map_or(Ok(()), Err)
    }

    fn sum(&self, words: &mut [i64]) -> Result<(), CommError> {
        if self.ranks > 1 {
            // Unsigned, so that sums beyond 64 bits wrap.
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
        let part = part.ok_or_else(|| failed("MPI_Comm_split", "it returned no communicator"))?;
        Ok(Arc::new(Self::of(part, Arc::clone(&self.universe))?))
    }

    fn abort(&self, status: i32) -> ! {
        // Without the lock: the thread that holds it may wait for a rank that never arrives.
        self.universe.world().abort(status)
    }
}
