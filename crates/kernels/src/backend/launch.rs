//! Running kernels: [`Launch`] and [`Reduce`], and [`Backend`], which is all that operators and solvers need.

use lanefield_reference::kernels::reduce::{PartialSums, Sum};

use super::error::BackendError;
use super::memory::Memory;
use super::queued::QueuedIterations;
use super::sequence::{LaunchSequence, Step};
use super::specification::Call;

/// Runs kernels.
pub trait Launch: Memory {
    /// Runs a kernel that writes fields, as its specification says.
    fn launch(&self, call: Call<'_, Self>) -> Result<(), BackendError>;

    /// A sequence of launches that is repeated, on `queues` queues. By default every launch is made anew, one after the other.
    fn sequence(&self, _queues: usize) -> Box<dyn LaunchSequence<Self>>
    where
        Self: Sized,
    {
        Box::new(Anew)
    }
}

/// A sequence that keeps nothing: every launch is made anew, one after the other.
pub struct Anew;

impl<B: Launch> LaunchSequence<B> for Anew {
    fn launch(&mut self, backend: &B, call: Call<'_, B>, _: &Step) -> Result<(), BackendError> {
        backend.launch(call)
    }
}

/// Runs kernels that sum over sites.
pub trait Reduce: Launch {
    /// Runs a kernel that sums. The sums are not rounded, so that those of several ranks can be merged.
    fn reduce(&self, call: Call<'_, Self>, sum: Sum) -> Result<PartialSums, BackendError>;

    /// Queued iterations of conjugate gradients, whose scalars stay in the memory of the fields. `None` if the backend does not have them: the
    /// caller then waits for each scalar.
    fn queued_iterations(&self, _sum: Sum) -> Option<Box<dyn QueuedIterations<Self>>>
    where
        Self: Sized,
    {
        None
    }
}

/// All that operators and solvers need. `docs/arithmetic.md` defines every operation to the last bit. Scalars are f64, and are rounded to the
/// working precision. Threads may share a backend.
pub trait Backend: Reduce + Sync {}

impl<B: Reduce + Sync> Backend for B {}
