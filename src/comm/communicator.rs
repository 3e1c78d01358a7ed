//! The operations by which ranks communicate, independent of the transport.

use lanefield_reference::extreme::Extreme;
use std::sync::Arc;

use lanefield_reference::layout::Leg;
use thiserror::Error;

/// Why ranks could not communicate. Messages are fragments.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum CommError {
    #[error(
        "a packet of {bytes} bytes from rank {from} to rank {to}, leg {leg}, exchange {exchange}, arrived with other bytes than were sent (CRC-32 \
         {found:08x}, sent {sent:08x}): the network, the message passing library or memory lost bits"
    )]
    Packet { from: usize, to: usize, leg: Leg, exchange: u64, bytes: usize, found: u32, sent: u32 },
    #[error("rank {rank} has ended: see its messages")]
    Ended { rank: usize },
    #[error(
        "rank {rank} sent {found} bytes where rank {here} expects {expected}: all ranks must be given the same arguments"
    )]
    Length { rank: usize, here: usize, found: usize, expected: usize },
    #[error("{call} failed: {reason}")]
    Library { call: &'static str, reason: String },
}

impl From<CommError> for std::io::Error {
    fn from(error: CommError) -> Self {
        Self::other(error)
    }
}

/// A packet to another rank.
#[derive(Clone, Copy, Debug)]
pub struct Send<'a> {
    /// The receiving rank.
    pub to: usize,
    /// Distinguishes packets between the same two ranks.
    pub tag: u32,
    /// Its bytes.
    pub bytes: &'a [u8],
}

/// A buffer for a packet from another rank.
#[derive(Debug)]
pub struct Receive<'a> {
    /// The sending rank.
    pub from: usize,
    /// The tag with which the packet was sent.
    pub tag: u32,
    /// The buffer, which has the length of the packet.
    pub bytes: &'a mut [u8],
}

/// Communication between ranks. All ranks make the same calls in the same order. A rank may send to itself.
pub trait Communicator: std::marker::Send + Sync {
    /// The number of this rank, from 0.
    fn rank(&self) -> usize;
    /// The number of ranks.
    fn ranks(&self) -> usize;
    /// The number of this rank among the ranks of its host, and their number. Ranks of one host use different devices.
    fn local(&self) -> (usize, usize);
    /// Sends and receives packets, all at the same time.
    fn exchange(&self, sends: &[Send<'_>], receives: &mut [Receive<'_>]) -> Result<(), CommError>;
    /// Replaces each word by its sum over all ranks.
    fn sum(&self, words: &mut [i64]) -> Result<(), CommError>;
    /// Returns the bytes of every rank, in order, at rank 0; `None` elsewhere.
    fn gather(&self, bytes: &[u8]) -> Result<Option<Vec<Vec<u8>>>, CommError>;
    /// Sends the bytes of rank 0 to all ranks.
    fn broadcast(&self, bytes: &mut Vec<u8>) -> Result<(), CommError>;
    /// The ranks that pass the same number, in their order.
    fn group(&self, number: usize) -> Result<Arc<dyn Communicator>, CommError>;
    /// Ends all ranks with this exit status.
    fn abort(&self, status: i32) -> !;

    /// Waits for all ranks.
    fn barrier(&self) -> Result<(), CommError> {
        self.sum(&mut [0])
    }

    /// Whether `here` is true on any rank.
    fn any(&self, here: bool) -> Result<bool, CommError> {
        let mut words = [i64::from(here)];
        self.sum(&mut words)?;
        Ok(words[0] > 0)
    }

    /// The extremes over all ranks, element by element.
    fn extremes(&self, extreme: Extreme, here: &[f64]) -> Result<Vec<f64>, CommError> {
        // The bits of each rank's numbers, in a place of its own.
        let mut words = vec![0; self.ranks() * here.len()];
        for (word, value) in words[self.rank() * here.len()..].iter_mut().zip(here) {
            *word = value.to_bits() as i64;
        }
        self.sum(&mut words)?;
        let of_rank = |rank: usize, k: usize| f64::from_bits(words[rank * here.len() + k] as u64);
        let of_all = |k: usize| extreme.of_all((0..self.ranks()).map(|rank| of_rank(rank, k)));
        Ok((0..here.len()).map(of_all).collect())
    }
}
