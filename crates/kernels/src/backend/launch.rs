//! Who runs kernels: [`Launch`] and [`Reduce`], and [`Backend`] as all that operators and solvers need.

use lanefield_reference::kernels::reduce::{PartialSums, Sum};

use super::error::BackendError;
use super::memory::Memory;
use super::queued::QueuedIterations;
use super::specification::Call;

/// Runs kernels.
pub trait Launch: Memory {
    /// Runs a kernel that writes fields, as its specification says.
    fn launch(&self, call: Call<'_, Self>) -> Result<(), BackendError>;

    /// Queues whose launches may overlap, until they are joined. A backend that has none runs them in turn.
    fn side_by_side(&self, _queues: usize) -> Result<Box<dyn SideBySide<Self> + '_>, BackendError>
    where
        Self: Sized,
    {
        Ok(Box::new(InTurn(self)))
    }
}

/// Launches on several queues. Those of one queue run in order.
pub trait SideBySide<B: Launch + ?Sized> {
    /// Queues a launch in queue `queue` (counted round); it waits for those whose numbers `after` names, in the order in which launches were made.
    fn launch(&mut self, call: Call<'_, B>, queue: usize, after: &[usize]) -> Result<(), BackendError>;
    /// Has all that is asked of the backend from now on wait for these launches.
    fn join(self: Box<Self>) -> Result<(), BackendError>;
}

/// One launch after the other.
pub struct InTurn<'b, B: ?Sized>(pub &'b B);

impl<B: Launch> SideBySide<B> for InTurn<'_, B> {
    fn launch(&mut self, call: Call<'_, B>, _: usize, _: &[usize]) -> Result<(), BackendError> {
        self.0.launch(call)
    }
    fn join(self: Box<Self>) -> Result<(), BackendError> {
        Ok(())
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
