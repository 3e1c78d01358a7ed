//! Iterations of conjugate gradients that are queued one after the other, without waiting for their scalars. Kernels: `cl/queued_cg.clh`. OpenCL
//! devices: `opencl/queued_cg.rs`. Solvers: `solver/queued_cg.rs`.

use super::specification::Call;
use super::{BackendError, LaunchSequence, Memory};

/// The maximum number of iterations that are queued at a time.
pub const MOST_QUEUED: usize = 256;

/// The state in which queued iterations begin, and the conditions under which they stop by themselves.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct QueuedBounds {
    /// |r|² before the first iteration.
    pub c: f64,
    /// An iteration is skipped if |r|² is at most this.
    pub low: f64,
    /// An iteration is skipped if |r|² is greater than this.
    pub high: f64,
    /// Solution and direction are not updated if the new |r|² is at most this.
    pub keep: f64,
}

impl QueuedBounds {
    /// Whether the bounds admit the first iteration, and exclude any iteration after a skipped one, whose |r|² is zero.
    pub fn hold(&self) -> bool {
        self.c.is_finite() && self.low >= 0.0 && self.c > self.low && self.c <= self.high
    }
}

/// The sums of queued iterations: for each iteration ⟨p, A p⟩, and |r|² after it.
#[derive(Clone, PartialEq, Debug)]
pub struct QueuedSums {
    /// In the order in which they were computed. Values after the iteration that stopped are not sums.
    pub values: Vec<f64>,
    /// Whether the kernels could not compute the last sum, and did nothing after it.
    pub breaks_off: bool,
}

impl QueuedSums {
    /// The sums of each iteration, and whether all of the iteration was done. Otherwise its last sum was the last operation.
    pub fn iterations(&self) -> impl Iterator<Item = (&[f64], bool)> {
        let last = self.values.len().div_ceil(2);
        let numbered = self.values.chunks(2).enumerate();
        numbered.map(move |(number, sums)| (sums, !(self.breaks_off && number + 1 == last)))
    }
}

/// Iterations of conjugate gradients whose scalars stay in the memory of the fields: a [`LaunchSequence`] in which each run is an iteration. An
/// iteration begins with the launches of the operator, on the thread that runs it. Then these kernels follow:
/// [`CG_CURVATURE`](crate::kernel::reduce::CG_CURVATURE), [`CG_RESIDUAL`](crate::kernel::blas::CG_RESIDUAL) and
/// [`CG_ADVANCE`](crate::kernel::blas::CG_ADVANCE). Once an iteration is skipped, or a sum is not positive or not finite, they change nothing. An
/// iteration can be repeated if the one before it consisted only of launches. Memory that is freed in the meantime may be kept until this is
/// dropped.
pub trait QueuedIterations<B: Memory + ?Sized>: LaunchSequence<B> {
    /// Begins `iterations` iterations with the same operator and fields as the previous ones, whose sums are known.
    ///
    /// # Errors
    /// [`BackendError::Argument`] if there are more than [`MOST_QUEUED`].
    fn begin(&mut self, bounds: QueuedBounds, iterations: usize) -> Result<(), BackendError>;
    /// Runs all kernels of an iteration in one launch, a call of [`CG_ITERATION`](crate::kernel::blas::CG_ITERATION), if the device has such a
    /// kernel for these fields. Returns whether it did; if not, the caller launches the kernels one after the other.
    fn launch_at_once(&mut self, backend: &B, call: Call<'_, B>) -> Result<bool, BackendError>;
    /// Waits for all iterations.
    fn sums(&mut self, backend: &B) -> Result<QueuedSums, BackendError>;
}
