//! Kernels over index spaces that are not lattice sites, as tools see them: maps (`lanefield-maps`), or what a program makes of its own.

use super::AnyBackend;
use crate::backend::{BackendError, Cpu};
use crate::emit::{Dialect, EmitError};

/// A kernel that tools can compare, time and translate without knowing its index space. A way is a choice that changes no bit: a schedule, a block.
pub trait IndexKernel: Sync {
    /// Its name: the word on the command line.
    fn name(&'static self) -> &'static str;
    /// What it computes.
    fn computes(&'static self) -> &'static str;

    /// The ways to launch it on a backend, as its author would write them. The usual one comes first.
    fn ways(&'static self, backend: &AnyBackend) -> Vec<String>;

    /// Compares it on a backend, in each way, with the CPU. `key` is the key of its random numbers.
    fn compare(&'static self, key: u64, cpu: &Cpu, backend: &AnyBackend) -> Result<Compared, BackendError>;

    /// Its arguments on a backend, to be launched in the way of this number.
    fn prepare<'b>(&'static self, way: usize, backend: &'b AnyBackend) -> Result<PreparedLaunch<'b>, BackendError>;

    /// Its source, for other programs.
    ///
    /// # Errors
    /// A language in which it is not written.
    fn source(&'static self, language: Dialect) -> Result<String, EmitError>;

    /// What is known of a launch and may cost time, each with what its author can do: guards, sums.
    fn remarks(&'static self, backend: &AnyBackend) -> Result<Vec<String>, BackendError>;
}

/// What comes of comparing an [`IndexKernel`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Compared {
    /// Launches whose results were compared.
    pub launches: u64,
    /// Numbers that were compared.
    pub numbers: u64,
    /// What differs, a line for each launch.
    pub differences: Vec<String>,
}

/// A launch that can be made again and again.
pub struct PreparedLaunch<'b> {
    /// Bytes that it moves at least.
    pub bytes: u64,
    /// Makes it.
    pub launch: Box<dyn FnMut() -> Result<(), BackendError> + 'b>,
}
