//! Ranks that are threads of one process.

use std::collections::VecDeque;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::{CommError, Communicator, Receive, Send};

/// One of several ranks that are threads of a process. Packets are copied in memory.
pub struct ThreadRanks {
    /// The number of this rank in its group.
    rank: usize,
    /// The numbers of this group's ranks among all threads.
    group: Arc<[usize]>,
    shared: Arc<Shared>,
}

/// Packets that were sent and not yet received, and the ranks that have ended.
struct Shared {
    state: Mutex<SharedState>,
    changed: Condvar,
}

/// The sending thread, the receiving thread, and the tag.
type PacketKey = (usize, usize, u32);

#[derive(Default)]
struct SharedState {
    /// For each pair of ranks and tag.
    packets: Vec<(PacketKey, VecDeque<Vec<u8>>)>,
    ended: Vec<usize>,
}

/// The tag of packets in collective calls.
const COLLECTIVE: u32 = u32::MAX;

impl ThreadRanks {
    /// Runs `work` on `ranks` threads, each of which is one rank, and returns their results in order. A rank ends when it returns or
    /// panics. Others that wait for it get [`CommError::Ended`].
    ///
    /// # Panics
    /// If a rank panics, with the panic of the first such rank.
    pub fn run<T: std::marker::Send>(ranks: usize, work: impl Fn(Self) -> T + Sync) -> Vec<T> {
        let shared = Arc::new(Shared { state: Mutex::default(), changed: Condvar::new() });
        let group: Arc<[usize]> = (0..ranks).collect();
        let outcomes: Vec<_> = thread::scope(|scope| {
            let start = |rank| {
                let (shared, group, work) = (Arc::clone(&shared), Arc::clone(&group), &work);
                scope.spawn(move || {
                    let here = Self { rank, group, shared: Arc::clone(&shared) };
                    let outcome = panic::catch_unwind(AssertUnwindSafe(|| work(here)));
                    lock(&shared).ended.push(rank);
                    shared.changed.notify_all();
                    outcome
                })
            };
            let threads: Vec<_> = (0..ranks).map(start).collect();
            threads.into_iter().map(|thread| thread.join().and_then(|outcome| outcome)).collect()
        });
        outcomes.into_iter().map(|outcome| outcome.unwrap_or_else(|panic| panic::resume_unwind(panic))).collect()
    }

    fn post(&self, to: usize, tag: u32, bytes: Vec<u8>) {
        let mut state = lock(&self.shared);
        let key = (self.group[self.rank], self.group[to], tag);
        match state.packets.iter_mut().find(|(known, _)| *known == key) {
            Some((_, queue)) => queue.push_back(bytes),
            None => state.packets.push((key, [bytes].into())),
        }
        drop(state);
        self.shared.changed.notify_all();
    }

    fn take(&self, from: usize, tag: u32) -> Result<Vec<u8>, CommError> {
        let key = (self.group[from], self.group[self.rank], tag);
        let mut state = lock(&self.shared);
        loop {
            let queue = state.packets.iter_mut().find(|(known, _)| *known == key);
            if let Some(bytes) = queue.and_then(|(_, queue)| queue.pop_front()) {
                return Ok(bytes);
            }
            if state.ended.contains(&key.0) {
                return Err(CommError::Ended { rank: from });
            }
            state = self.shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

fn lock(shared: &Shared) -> MutexGuard<'_, SharedState> {
    shared.state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Communicator for ThreadRanks {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.group.len()
    }

    fn local(&self) -> (usize, usize) {
        (self.rank, self.ranks())
    }

    fn exchange(&self, sends: &[Send<'_>], receives: &mut [Receive<'_>]) -> Result<(), CommError> {
        sends.iter().for_each(|send| self.post(send.to, send.tag, send.bytes.to_vec()));
        for receive in receives {
            let bytes = self.take(receive.from, receive.tag)?;
            let (found, expected) = (bytes.len(), receive.bytes.len());
            if found != expected {
                return Err(CommError::Length { rank: receive.from, here: self.rank, found, expected });
            }
            receive.bytes.copy_from_slice(&bytes);
        }
        Ok(())
    }

    fn sum(&self, words: &mut [i64]) -> Result<(), CommError> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        (0..self.ranks()).filter(|&to| to != self.rank).for_each(|to| self.post(to, COLLECTIVE, bytes.clone()));
        for from in (0..self.ranks()).filter(|&from| from != self.rank) {
            let bytes = self.take(from, COLLECTIVE)?;
            if bytes.len() != 8 * words.len() {
                let (found, expected) = (bytes.len(), 8 * words.len());
                return Err(CommError::Length { rank: from, here: self.rank, found, expected });
            }
            for (word, other) in words.iter_mut().zip(bytes.as_chunks().0) {
                *word = word.wrapping_add(i64::from_le_bytes(*other));
            }
        }
        Ok(())
    }

    fn gather(&self, bytes: &[u8]) -> Result<Option<Vec<Vec<u8>>>, CommError> {
        if self.rank != 0 {
            self.post(0, COLLECTIVE, bytes.to_vec());
            return Ok(None);
        }
        let others = (1..self.ranks()).map(|from| self.take(from, COLLECTIVE));
        std::iter::once(Ok(bytes.to_vec())).chain(others).collect::<Result<_, _>>().map(Some)
    }

    fn broadcast(&self, bytes: &mut Vec<u8>) -> Result<(), CommError> {
        match self.rank {
            0 => (1..self.ranks()).for_each(|to| self.post(to, COLLECTIVE, bytes.clone())),
            _ => *bytes = self.take(0, COLLECTIVE)?,
        }
        Ok(())
    }

    fn group(&self, number: usize) -> Result<Arc<dyn Communicator>, CommError> {
        let mut numbers = vec![0; self.ranks()];
        numbers[self.rank] = number as i64;
        self.sum(&mut numbers)?;
        let mine: Vec<usize> = (0..self.ranks()).filter(|&rank| numbers[rank] == number as i64).collect();
        let rank = mine.iter().filter(|&&rank| rank < self.rank).count();
        let group = mine.into_iter().map(|rank| self.group[rank]).collect();
        Ok(Arc::new(Self { rank, group, shared: Arc::clone(&self.shared) }))
    }

    fn abort(&self, status: i32) -> ! {
        // There is one process for all.
        std::process::exit(status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_exchange_sum_and_gather() {
        let gathered = ThreadRanks::run(3, |comm| {
            let (rank, ranks) = (comm.rank(), comm.ranks());
            let mut came = [0u8; 2];
            let sent = [rank as u8, 7];
            let sends = [Send { to: (rank + 1) % ranks, tag: 1, bytes: &sent }];
            let mut receives = [Receive { from: (rank + ranks - 1) % ranks, tag: 1, bytes: &mut came }];
            comm.exchange(&sends, &mut receives).unwrap();
            assert_eq!(came, [((rank + ranks - 1) % ranks) as u8, 7]);
            let mut words = [rank as i64, -1];
            comm.sum(&mut words).unwrap();
            assert_eq!(words, [3, -3]);
            let mut from_first = vec![rank as u8];
            comm.broadcast(&mut from_first).unwrap();
            assert_eq!(from_first, [0]);
            comm.barrier().unwrap();
            comm.gather(&[rank as u8; 2]).unwrap()
        });
        assert_eq!(gathered[0], Some(vec![vec![0; 2], vec![1; 2], vec![2; 2]]));
        assert_eq!(&gathered[1..], [None, None]);
    }

    #[test]
    fn groups_sum_each_for_itself() {
        let sums = ThreadRanks::run(5, |comm| {
            let group = comm.group(comm.rank() % 2).unwrap();
            let mut words = [comm.rank() as i64];
            group.sum(&mut words).unwrap();
            (group.rank(), group.ranks(), words[0])
        });
        assert_eq!(sums, [(0, 3, 6), (0, 2, 4), (1, 3, 6), (1, 2, 4), (2, 3, 6)]);
    }

    #[test]
    fn who_waits_for_a_rank_that_has_ended_is_told() {
        let outcomes = ThreadRanks::run(2, |comm| if comm.rank() == 1 { Ok(()) } else { comm.barrier() });
        assert!(matches!(outcomes[0], Err(CommError::Ended { rank: 1 })));
    }
}
