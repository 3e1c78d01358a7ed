//! Launches that are repeated.

use super::any_field::AnyField;
use super::error::BackendError;
use super::memory::Memory;
use super::specification::Call;

/// Launches that are made once, and then repeated without work of the host. A [`Graph`](super::graph::Graph) is a sequence whose launches were
/// declared. In iterations of conjugate gradients ([`QueuedIterations`](super::QueuedIterations)), an operator makes the launches.
///
/// Each run first asks for a repetition. If there is none, the caller makes the launches through the sequence, which keeps what it needs to repeat
/// them. Then the run ends. Scalars, and the fields of launches that were kept, may change between runs.
pub trait LaunchSequence<B: Memory + ?Sized> {
    /// Sets a scalar, by its number, for the launches that follow.
    fn set(&mut self, _scalar: usize, _value: f64) {}
    /// Replaces the field of a launch that was kept, by one of the same shape as the field that was passed as the argument with that name.
    fn set_field(
        &mut self,
        _launch: usize,
        _name: &'static str,
        _field: &AnyField<B::Storage>,
    ) -> Result<(), BackendError> {
        Ok(())
    }
    /// Begins a run. Returns whether it repeated all launches of the previous run; if not, the caller makes them.
    fn repeat(&mut self, _backend: &B) -> Result<bool, BackendError> {
        Ok(false)
    }
    /// Makes the next launch of a run that is not a repetition.
    fn launch(&mut self, backend: &B, call: Call<'_, B>, step: &Step) -> Result<(), BackendError>;
    /// Ends a run: later calls of the backend see its results.
    fn end(&mut self, _backend: &B) -> Result<(), BackendError> {
        Ok(())
    }
}

/// The place of a launch in a sequence.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Step {
    /// The number of its queue, modulo the number of queues. Launches of one queue run in order.
    pub queue: usize,
    /// The launches of other queues that it waits for, by their position in the sequence.
    pub after: Vec<usize>,
    /// The arguments that change from run to run, and the numbers of their scalars.
    pub scalars: Vec<(&'static str, usize)>,
}
