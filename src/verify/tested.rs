//! The backends that are compared.

use crate::backend::opencl::{Retirement, SumOptions, Tuning};
use crate::backend::{Backend, BackendError, Cpu, Threads};
use crate::dynamic::AnyBackend;

/// The implementation with which a backend is compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Against {
    /// The CPU reference.
    Cpu,
    /// The scalar reference, which has no lanes: the CPU reference itself is compared with it.
    PlainLoops,
}

impl Against {
    /// Its name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "CPU reference",
            Self::PlainLoops => "plain scalar implementation",
        }
    }
}

/// A backend that can be tested in different configurations.
pub trait Tested: Backend {
    /// Sets how fields are laid out and kernels are built and launched. A backend without a choice only sets the number of threads.
    fn set_tuning(&mut self, tuning: Tuning) -> Result<(), BackendError>;
    /// Sets how sums are computed. A backend without a choice ignores it.
    fn set_sum_options(&mut self, options: SumOptions);
    /// Whether sums can be finished by retirement count.
    fn can_retire(&self) -> bool;
}

impl Tested for Cpu {
    fn set_tuning(&mut self, tuning: Tuning) -> Result<(), BackendError> {
        *self = with_threads(tuning)?;
        Ok(())
    }

    fn set_sum_options(&mut self, _: SumOptions) {}

    fn can_retire(&self) -> bool {
        false
    }
}

impl Tested for AnyBackend {
    fn set_tuning(&mut self, tuning: Tuning) -> Result<(), BackendError> {
        match self.opencl_mut() {
            Some(device) => device.set_tuning(tuning),
            None => *self = with_threads(tuning)?.into(),
        }
        Ok(())
    }

    fn set_sum_options(&mut self, options: SumOptions) {
        if let Some(device) = self.opencl_mut() {
            device.set_sum_options(options);
        }
    }

    fn can_retire(&self) -> bool {
        let info = self.opencl().map(|device| device.context().info());
        info.is_some_and(|info| !matches!(info.retirement, Retirement::Unsupported { .. }))
    }
}

/// The CPU reference with the number of threads of a case. More than eight would only wait for each other on small lattices.
fn with_threads(tuning: Tuning) -> Result<Cpu, BackendError> {
    let threads = tuning.accelerator_threads.unwrap_or_default();
    Cpu::new(Threads::new(threads.get().min(8)))
}
