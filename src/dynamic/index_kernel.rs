//! Kernels over index spaces other than lattice sites, as tools see them: maps (`lanefield-maps`), or kernels that a program defines itself.

use super::AnyBackend;
use crate::backend::{BackendError, Cpu};
use crate::emit::{Dialect, EmitError};

/// A kernel that tools can compare, time and translate without knowing its index space. A *way* is a choice that changes no bit, such as a schedule
/// or a block size.
pub trait IndexKernel: Sync {
    /// The name on the command line.
    fn name(&'static self) -> &'static str;
    /// A description of what it computes.
    fn computes(&'static self) -> &'static str;

    /// The ways to launch it on a backend, as its author would write them, the default first.
    fn ways(&'static self, backend: &AnyBackend) -> Vec<String>;

    /// Compares each way on a backend with the CPU. `key` is the key of the random numbers.
    fn compare(&'static self, key: u64, cpu: &Cpu, backend: &AnyBackend) -> Result<Compared, BackendError>;

    /// Prepares the arguments on a backend, for launches in the way with this number.
    fn prepare<'b>(&'static self, way: usize, backend: &'b AnyBackend) -> Result<PreparedLaunch<'b>, BackendError>;

    /// The source code, for other programs.
    ///
    /// # Errors
    /// Fails for a language in which the kernel is not available.
    fn source(&'static self, language: Dialect) -> Result<String, EmitError>;

    /// Properties of a launch that may cost time, such as guards and sums, each with what its author can do about it.
    fn remarks(&'static self, backend: &AnyBackend) -> Result<Vec<String>, BackendError>;
}

/// The result of comparing an [`IndexKernel`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Compared {
    /// Number of launches whose results were compared.
    pub launches: u64,
    /// Number of values that were compared.
    pub numbers: u64,
    /// The differences, one line per launch.
    pub differences: Vec<String>,
}

/// A launch that can be repeated.
pub struct PreparedLaunch<'b> {
    /// The least number of bytes that it moves.
    pub bytes: u64,
    /// Launches it.
    pub launch: Box<dyn FnMut() -> Result<(), BackendError> + 'b>,
}
