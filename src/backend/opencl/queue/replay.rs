//! Launches that are made again as they were: those of a graph, or of one iteration, whose kernels and arguments are the same in the next one but for a few scalars.
//! Each has a kernel object of its own, with its arguments set, so that the host is left with the driver's call.

use std::mem;
use std::sync::{Arc, Mutex};

use super::arguments::{Arg, Launch};
use crate::backend::opencl::device::{OpenClError, RawKernel, lock};
use crate::backend::opencl::memory::DeviceMemory;
use crate::backend::opencl::program::BuiltKernel;

/// Launches that are made again, in this order, and their arguments that change from one run to another.
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

/// An argument of a launch that is the value of a scalar.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Varying {
    pub launch: usize,
    pub argument: usize,
    /// The number of the scalar, and what makes an argument of its value.
    pub scalar: ScalarArg,
    /// The value that is set.
    pub value: f64,
}

pub(crate) type ScalarArg = (usize, fn(f64) -> Arg<'static>);

impl Replay {
    /// Sets the arguments whose scalars have other values than they had in the run before.
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

/// A thread's right to keep launches. Until it is dropped, memory that is given back waits, so that nobody else gets what kept launches write to.
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

    /// Keeps what this thread launches from now on, unless another one's launches are kept.
    pub(crate) fn begin(&self) {
        if self.memory.begin_replay() {
            self.kept.take();
        }
    }

    pub(crate) fn launches(&self) -> usize {
        self.memory.keeps_launches().map_or(0, |_| self.kept.len())
    }

    /// The launches, if they are all that this thread did.
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
