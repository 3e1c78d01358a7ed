//! Who runs kernels: [`Launch`] and [`Reduce`], and [`Backend`] as all that operators and solvers need.

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

    /// Launches that will be made again and again, on `queues` queues. A backend that keeps nothing of a launch makes each anew, one after the other.
    fn sequence(&self, _queues: usize) -> Box<dyn LaunchSequence<Self>>
    where
        Self: Sized,
    {
        Box::new(Anew)
    }
}

/// Each launch anew, one after the other.
pub struct Anew;

impl<B: Launch> LaunchSequence<B> for Anew {
    fn launch(&mut self, backend: &B, call: Call<'_, B>, _: &Step) -> Result<(), BackendError> {
        backend.launch(call)
    }
}

/// Runs kernels that sum over sites.
pub trait Reduce: Launch {
    /// Runs a kernel that sums, as its specification says. The sums are not rounded yet, so that those of several ranks can be merged.
    fn reduce(&self, call: Call<'_, Self>, sum: Sum) -> Result<PartialSums, BackendError>;

    /// Iterations of conjugate gradients, whose scalars stay where the fields are; `None` of a backend that has none of them, so that the caller waits for
    /// each scalar.
    fn queued_iterations(&self, _sum: Sum) -> Option<Box<dyn QueuedIterations<Self>>>
    where
        Self: Sized,
    {
        None
    }
}

/// All that operators and solvers need. Each operation is defined to the last bit in `docs/arithmetic.md`; scalars are f64, and rounded to the
/// precision in which one computes. Threads may share a backend.
pub trait Backend: Reduce + Sync {}

impl<B: Reduce + Sync> Backend for B {}
