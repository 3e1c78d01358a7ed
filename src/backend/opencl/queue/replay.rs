//! Launches that are made again as they were: those of one iteration, whose kernels and arguments are the same in the next one but for a few scalars.
//! Each has a kernel object of its own, with its arguments set, so that the host is left with the driver's call.

use std::mem;
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};

use super::arguments::Launch;
use crate::backend::opencl::device::{Device, OpenClError, RawKernel, lock};
use crate::backend::opencl::memory::DeviceMemory;
use crate::backend::opencl::program::BuiltKernel;

/// What a thread launches in the device's own queue, in this order.
#[derive(Debug)]
pub(crate) struct Replay {
    thread: ThreadId,
    pub launches: Vec<Replayed>,
}

impl Replay {
    /// Whether the thread that calls launched it first.
    pub(crate) fn is_of_this_thread(&self) -> bool {
        self.thread == thread::current().id()
    }
}

#[derive(Debug)]
pub(crate) struct Replayed {
    pub raw: RawKernel,
    pub kernel: Arc<BuiltKernel>,
    pub launch: Launch,
}

/// Where the launches are kept of the one thread that may have them made again ([`Device::begin_replay`]).
#[derive(Debug, Clone, Default)]
pub(crate) struct KeptLaunches(Arc<Mutex<Vec<Replayed>>>);

impl KeptLaunches {
    /// A kernel object for a launch that is kept; `None` where none is.
    pub(crate) fn kernel_for(&self, device: &Device, kernel: &BuiltKernel) -> Result<Option<RawKernel>, OpenClError> {
        match device.keeps_launches() {
            Some(true) => kernel.another().map(Some),
            _ => Ok(None),
        }
    }

    pub(crate) fn add(&self, raw: RawKernel, kernel: &Arc<BuiltKernel>, launch: Launch) {
        lock(&self.0).push(Replayed { raw, kernel: Arc::clone(kernel), launch });
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
            lock(&self.kept.0).clear();
        }
    }

    pub(crate) fn launches(&self) -> usize {
        self.memory.keeps_launches().map_or(0, |_| lock(&self.kept.0).len())
    }

    /// The launches, if they are all that this thread did.
    pub(crate) fn end(&self) -> Option<Replay> {
        let only_launches = self.memory.keeps_launches()?;
        // Another thread may begin as soon as this one has ended.
        let launches = mem::take(&mut *lock(&self.kept.0));
        self.memory.end_replay();
        only_launches.then(|| Replay { thread: thread::current().id(), launches })
    }
}

impl Drop for ReplayGuard {
    fn drop(&mut self) {
        drop(self.end());
        self.memory.pool().leave_queues();
    }
}
