//! Ranks: one process a device, each with a part of the lattice, and the same bits for every decomposition. [`OnRanks`] makes a backend of many of one: it
//! sends neighbours what they read before a kernel is launched, and merges sums as integers. Operators, solvers and all that is written over
//! [`crate::backend::Backend`] know nothing of it. How to run: `docs/ranks.md`.
//!
//! | | |
//! |---|---|
//! | [`Communicator`] | packets, sums of integers, gathers: what a message passing library has to offer |
//! | [`ThreadRanks`] | ranks that are threads of one process: for tests, and for a few devices of one host |
//! | [`SingleRank`] | one rank |
//! | `lanefield_mpi::Mpi` | MPI: a crate of its own |
//! | [`Decomposition`] | which rank holds which part |
//! | [`OnRanks`] | a backend on parts |
//! | [`PacketBuffers`] | packets on their way |
//! | [`Launched`] | what a launcher says of the processes that it started |

mod communicator;
mod decomposition;
mod gather;
mod launcher;
mod on_ranks;
mod packet_buffers;
mod single_rank;
mod threads;

pub use communicator::{CommError, Communicator, Receive, Send};
pub use decomposition::{Cut, Decomposition, DecompositionError};
pub use gather::WholeLattice;
pub use launcher::Launched;
pub use on_ranks::OnRanks;
pub use packet_buffers::{PacketBuffers, RanksOptions};
pub use single_rank::SingleRank;
pub use threads::ThreadRanks;
