//! What ranks say to each other, whatever carries it.

use lanefield_reference::extreme::Extreme;
use std::sync::Arc;

use lanefield_reference::layout::Leg;
use thiserror::Error;

/// Why ranks could not talk. Messages are fragments.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum CommError {
    #[error(
        "a packet of {bytes} bytes from rank {from} to rank {to}, leg {leg}, exchange {exchange}, came with other bytes than it was sent with (CRC-32 \
         {found:08x}, sent {sent:08x}): the network, the message passing library or memory lost bits"
    )]
    Packet { from: usize, to: usize, leg: Leg, exchange: u64, bytes: usize, found: u32, sent: u32 },
    #[error("rank {rank} has ended: see what it says")]
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

/// A packet to a rank.
#[derive(Clone, Copy, Debug)]
pub struct Send<'a> {
    /// The rank that gets it.
    pub to: usize,
    /// Tells it from others between the same ranks.
    pub tag: u32,
    /// Its bytes.
    pub bytes: &'a [u8],
}

/// Room for a packet from a rank.
#[derive(Debug)]
pub struct Receive<'a> {
    /// The rank that sends it.
    pub from: usize,
    /// The tag that it was sent with.
    pub tag: u32,
    /// Its bytes, to be written.
    pub bytes: &'a mut [u8],
}

/// What ranks say to each other. All ranks make the same calls in the same order; a rank may send to itself.
pub trait Communicator: std::marker::Send + Sync {
    /// The number of this rank, from 0.
    fn rank(&self) -> usize;
    /// How many there are.
    fn ranks(&self) -> usize;
    /// The number of this rank among those of its host, and how many these are: ranks of a host take different devices.
    fn local(&self) -> (usize, usize);
    /// Sends and receives packets, all of them at once.
    fn exchange(&self, sends: &[Send<'_>], receives: &mut [Receive<'_>]) -> Result<(), CommError>;
    /// Makes each word the sum of those of all ranks.
    fn sum(&self, words: &mut [i64]) -> Result<(), CommError>;
    /// The bytes of every rank in order, at rank 0; none elsewhere.
    fn gather(&self, bytes: &[u8]) -> Result<Option<Vec<Vec<u8>>>, CommError>;
    /// Gives all ranks the bytes of rank 0.
    fn broadcast(&self, bytes: &mut Vec<u8>) -> Result<(), CommError>;
    /// The ranks that give the same number, in their order.
    fn group(&self, number: usize) -> Result<Arc<dyn Communicator>, CommError>;
    /// Ends all ranks, with this status.
    fn abort(&self, status: i32) -> !;

    /// Waits for all ranks.
    fn barrier(&self) -> Result<(), CommError> {
        self.sum(&mut [0])
    }

    /// Whether it holds on any rank.
    fn any(&self, here: bool) -> Result<bool, CommError> {
        let mut words = [i64::from(here)];
        self.sum(&mut words)?;
        Ok(words[0] > 0)
    }

    /// The extremes of all ranks, each of its counterparts.
    fn extremes(&self, extreme: Extreme, here: &[f64]) -> Result<Vec<f64>, CommError> {
        // The bits of those of each rank, at a place of its own.
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
