//! A machine: the few numbers that estimates need. Files are TOML. Those that ship document the sources of their numbers, and which of them were
//! measured.

mod caches;
mod check;
mod cluster;
mod numbers;
mod shipped;

pub(crate) use caches::{cache_of_host, last_cache_of_host};
pub use cluster::Cluster;
pub use numbers::{Machine, MachineKind};
