//! Ranks: one process for each device, each with a local volume of the lattice. Results have the same bits for every decomposition.
//! [`OnRanks`] turns a backend of one rank into one of many: before a kernel is launched it sends neighbours the sites that they read, and
//! it merges sums as integers. Operators, solvers and everything else written over [`crate::backend::Backend`] work without changes. How to
//! run: `docs/ranks.md`.
//!
//! | | |
//! |---|---|
//! | [`Communicator`] | packets, sums of integers, gathers: the operations that a message passing library provides |
//! | [`ThreadRanks`] | ranks that are threads of one process: for tests, and for a few devices of one host |
//! | [`SingleRank`] | one rank |
//! | `lanefield_mpi::Mpi` | MPI, in a separate crate |
//! | [`Decomposition`] | which rank stores which local volume |
//! | [`OnRanks`] | a backend on local volumes |
//! | [`PacketBuffers`] | buffers for packets between ranks |
//! | [`Launched`] | what a launcher says about the processes that it started |

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
