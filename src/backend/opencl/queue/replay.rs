//! Repeats launches: those of a graph, or of one iteration, whose kernels and arguments are the same the next time except for a few
//! scalars. Each launch has its own kernel object with its arguments set, so that the host has only the driver's call left to do.

use std::mem;
use std::sync::{Arc, Mutex};

use super::arguments::{Arg, Launch};
use crate::backend::opencl::device::{OpenClError, RawKernel, lock};
use crate::backend::opencl::memory::DeviceMemory;
use crate::backend::opencl::program::BuiltKernel;

/// Launches that are repeated in this order, and their arguments that change from run to run.
#[derive(Debug, Default)]
pub(crate) struct Replay {
    pub launches: Vec<KeptLaunch>,
    pub varying: Vec<Varying>,
}

#[derive(Debug)]
pub(crate) struct KeptLaunch {
    pub raw: RawKernel,
    pub kernel: Arc<BuiltKernel>,
    pub launch: Launch,
}

/// An argument of a launch that has the value of a scalar.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Varying {
    pub launch: usize,
    pub argument: usize,
    /// The index of the scalar, and the conversion of its value to an argument.
    pub scalar: ScalarArg,
    /// The value that is set at the moment.
    pub value: f64,
}

pub(crate) type ScalarArg = (usize, fn(f64) -> Arg<'static>);

impl Replay {
    /// Sets the arguments whose scalars have changed since the last run.
    pub(crate) fn set(&mut self, scalars: &[f64]) -> Result<(), OpenClError> {
        for Varying { launch, argument, scalar: (number, of), value } in &mut self.varying {
            let new = scalars[*number];
            if new.to_bits() != value.to_bits() {
                self.launches[*launch].set(*argument, &of(new))?;
                *value = new;
            }
        }
        Ok(())
    }
}

impl KeptLaunch {
    pub(crate) fn set(&self, argument: usize, value: &Arg<'_>) -> Result<(), OpenClError> {
        self.kernel.set(&self.raw, argument, value)
    }
}

/// Launches that are being kept.
#[derive(Debug, Clone, Default)]
pub(crate) struct KeptLaunches(Arc<Mutex<Vec<KeptLaunch>>>);

impl KeptLaunches {
    pub(crate) fn add(&self, raw: RawKernel, kernel: &Arc<BuiltKernel>, launch: Launch) {
        lock(&self.0).push(KeptLaunch { raw, kernel: Arc::clone(kernel), launch });
    }

    pub(crate) fn len(&self) -> usize {
        lock(&self.0).len()
    }

    pub(crate) fn take(&self) -> Vec<KeptLaunch> {
        mem::take(&mut *lock(&self.0))
    }
}

/// A thread's right to keep launches. Until it is dropped, returned memory is not reused, so that kept launches do not write to memory of
/// others.
#[derive(Debug)]
pub(crate) struct ReplayGuard {
    memory: Arc<DeviceMemory>,
    kept: KeptLaunches,
}

impl ReplayGuard {
    pub(crate) fn new(memory: Arc<DeviceMemory>, kept: KeptLaunches) -> Self {
        memory.pool().enter_queues();
        Self { memory, kept }
    }

    /// Keeps the launches of this thread from now on, unless those of another thread are kept.
    pub(crate) fn begin(&self) {
        if self.memory.begin_replay() {
            self.kept.take();
        }
    }

    pub(crate) fn launches(&self) -> usize {
        self.memory.keeps_launches().map_or(0, |_| self.kept.len())
    }

    /// The launches, if they are all that this thread did with the device.
    pub(crate) fn end(&self) -> Option<Vec<KeptLaunch>> {
        let only_launches = self.memory.keeps_launches()?;
        // Another thread may begin as soon as this one has ended.
        let launches = self.kept.take();
        self.memory.end_replay();
        only_launches.then_some(launches)
    }
}

impl Drop for ReplayGuard {
    fn drop(&mut self) {
        drop(self.end());
        self.memory.pool().leave_queues();
    }
}
