//! A machine: the few numbers that estimates need. Files are TOML; those that ship say where their numbers come from, and which were measured.

mod caches;
mod check;
mod cluster;
mod numbers;
mod shipped;

pub(crate) use caches::{cache_of_host, last_cache_of_host};
pub use cluster::Cluster;
pub use numbers::{Machine, MachineKind};
