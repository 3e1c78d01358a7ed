//! Iterations of conjugate gradients that are queued one behind the other, without a wait for their scalars. Kernels: `cl/queued_cg.clh`; on OpenCL devices:
//! `opencl/queued_cg.rs`; solvers: `solver/queued_cg.rs`.

use super::specification::Call;
use super::{BackendError, LaunchSequence, Memory};

/// Most iterations that are queued at a time.
pub const MOST_QUEUED: usize = 256;

/// Where iterations begin that are queued, and where they halt by themselves.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct QueuedBounds {
    /// |r|² before the first.
    pub c: f64,
    /// An iteration is not begun where |r|² is not above this.
    pub low: f64,
    /// Nor where it is above this.
    pub high: f64,
    /// Solution and direction stay where the new |r|² is not above this.
    pub keep: f64,
}

impl QueuedBounds {
    /// Whether the first iteration is begun, and none behind it where it was not: |r|² of such a one is a zero.
    pub fn hold(&self) -> bool {
        self.c.is_finite() && self.low >= 0.0 && self.c > self.low && self.c <= self.high
    }
}

/// The sums of iterations that were queued: of each ⟨p, A p⟩, and |r|² after it.
#[derive(Clone, PartialEq, Debug)]
pub struct QueuedSums {
    /// In the order in which they were made. What comes behind the place where iterations halt is no sum.
    pub values: Vec<f64>,
    /// Whether the kernels did not know the last of them, and did nothing behind it.
    pub breaks_off: bool,
}

impl QueuedSums {
    /// The sums of each iteration, and whether all of it was queued: else the last sum is the last thing that was done.
    pub fn iterations(&self) -> impl Iterator<Item = (&[f64], bool)> {
        let last = self.values.len().div_ceil(2);
        let numbered = self.values.chunks(2).enumerate();
        numbered.map(move |(number, sums)| (sums, !(self.breaks_off && number + 1 == last)))
    }
}

/// Iterations of conjugate gradients whose scalars stay where the fields are: a [`LaunchSequence`] of which each run is an iteration. It begins with whatever the
/// operator launches, on the thread that runs it; then come these kernels in turn:
/// [`CG_CURVATURE`](crate::kernel::reduce::CG_CURVATURE), [`CG_RESIDUAL`](crate::kernel::blas::CG_RESIDUAL) and [`CG_ADVANCE`](crate::kernel::blas::CG_ADVANCE).
/// Where an iteration is not begun, or a sum is no positive or no finite number, these change nothing any more. An iteration is repeated if the one before was
/// launches alone. Memory that is given back meanwhile may wait until this is dropped.
pub trait QueuedIterations<B: Memory + ?Sized>: LaunchSequence<B> {
    /// Begins with so many iterations of the same operator and fields as those before, whose sums are known.
    ///
    /// # Errors
    /// [`BackendError::Argument`] for more than [`MOST_QUEUED`].
    fn begin(&mut self, bounds: QueuedBounds, iterations: usize) -> Result<(), BackendError>;
    /// Makes all kernels of an iteration in one launch, a call of [`CG_ITERATION`](crate::kernel::blas::CG_ITERATION), where the device has one for such
    /// fields. Whether it did; else the caller makes one after the other.
    fn launch_at_once(&mut self, backend: &B, call: Call<'_, B>) -> Result<bool, BackendError>;
    /// Waits for all iterations.
    fn sums(&mut self, backend: &B) -> Result<QueuedSums, BackendError>;
}
