//! Launches that are made again and again.

use super::any_field::AnyField;
use super::error::BackendError;
use super::memory::Memory;
use super::specification::Call;

/// Launches that are made once, and then again without the host's work: the one mechanism for this. A [`Graph`](super::graph::Graph) is a sequence whose launches
/// were declared; iterations of conjugate gradients ([`QueuedIterations`](super::QueuedIterations)) are one whose launches an operator makes.
///
/// Each run asks for a repetition first. If there is none, the caller makes the launches through the sequence, which keeps what it needs to make them again. Then
/// the run ends. Scalars, and the fields of launches that were kept, may change between runs.
pub trait LaunchSequence<B: Memory + ?Sized> {
    /// Sets a scalar of the launches that come next, by its number.
    fn set(&mut self, _scalar: usize, _value: f64) {}
    /// Has a launch that was kept take this field from now on: one of the same shape as the field that it took as the argument of that name.
    fn set_field(
        &mut self,
        _launch: usize,
        _name: &'static str,
        _field: &AnyField<B::Storage>,
    ) -> Result<(), BackendError> {
        Ok(())
    }
    /// Begins a run. Whether it made all launches of the run before again; else the caller makes them.
    fn repeat(&mut self, _backend: &B) -> Result<bool, BackendError> {
        Ok(false)
    }
    /// Makes the next launch of a run that is no repetition.
    fn launch(&mut self, backend: &B, call: Call<'_, B>, step: &Step) -> Result<(), BackendError>;
    /// Ends a run: all that is asked of the backend from now on finds it done.
    fn end(&mut self, _backend: &B) -> Result<(), BackendError> {
        Ok(())
    }
}

/// How a launch stands in a sequence.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Step {
    /// The queue that it goes to, counted round. Launches of one queue run in order.
    pub queue: usize,
    /// The launches of other queues that it waits for, by their place in the sequence.
    pub after: Vec<usize>,
    /// The arguments that change from run to run, and the numbers of their scalars.
    pub scalars: Vec<(&'static str, usize)>,
}
