//! One device in use: its memory, its programs, and its queue. Launches are in `launch.rs`.

use std::ops::Deref;
use std::sync::Arc;

use super::replay::{KeptLaunches, ReplayGuard};
use crate::backend::opencl::device::{Device, DeviceInfo, OpenClError};
use crate::backend::opencl::memory::DeviceMemory;
use crate::backend::opencl::program::{Builds, Cache, Program, Programs};
use crate::backend::timeline::Timeline;

/// A device with its memory, its programs and its queue. Shared between threads by reference: commands of all threads go into one queue, in
/// the order in which they were submitted.
#[derive(Debug)]
pub struct Context {
    memory: Arc<DeviceMemory>,
    programs: Programs,
    /// Launches that a thread will make again.
    kept: KeptLaunches,
}

impl Deref for Context {
    type Target = DeviceMemory;

    fn deref(&self) -> &DeviceMemory {
        &self.memory
    }
}

impl Context {
    /// Opens a device, with the cache that the environment names ([`Cache::from_environment`]), but for programs that the driver keeps
    /// itself.
    ///
    /// # Errors
    /// [`OpenClError::UnknownDevice`] if `info` did not come from [`devices`](crate::backend::opencl::devices); otherwise the failing call.
    pub fn open(info: &DeviceInfo) -> Result<Self, OpenClError> {
        Self::open_with_cache(info, Cache::from_environment().for_device(info))
    }

    /// Opens a device with a given cache of binaries and probe verdicts.
    pub fn open_with_cache(info: &DeviceInfo, cache: Cache) -> Result<Self, OpenClError> {
        let device = Arc::new(Device::open(info)?);
        let memory = DeviceMemory::new(Arc::clone(&device)).limited_by_environment()?;
        let context =
            Self { memory: Arc::new(memory), programs: Programs::new(device, cache), kept: KeptLaunches::default() };
        if let Some(timeline) = Timeline::of_process() {
            context.record_into(Arc::clone(timeline));
        }
        Ok(context)
    }

    pub(crate) fn programs(&self) -> &Programs {
        &self.programs
    }

    /// The program that `source` makes with `options`, from memory, from disk, or built now. `name` stands in errors only.
    ///
    /// `-cl-std=CL1.2` is added unless the options name a language version, and `-cl-fp32-correctly-rounded-divide-sqrt`
    /// where the device knows it.
    ///
    /// # Errors
    /// [`OpenClError::Build`] with the build log, if the source does not compile.
    ///
    /// # Safety
    /// Nobody checks `source`. In every launch of one of its kernels, with the sizes and arguments given there, the kernel must touch no memory but
    /// that of its arguments, write to none that it was given as constant, and be given no buffer twice of which it writes one as `restrict`.
    pub unsafe fn program(&self, name: &str, source: &str, options: &str) -> Result<Arc<Program>, OpenClError> {
        // SAFETY: the caller promises what is asked for here.
        unsafe { self.programs.program(name, source, options) }
    }

    /// The cache that programs and the probe use.
    pub fn cache(&self) -> &Cache {
        self.programs.cache()
    }

    /// How far building is: others may look at it while a thread builds.
    pub fn builds(&self) -> &Arc<Builds> {
        self.programs.builds()
    }

    /// Whether the program of `source` and `options` need not be built: it is in memory, or in a cache on disk. Where a driver compiles kernels at their
    /// first launch in groups of a size, and keeps them itself (PoCL), whether it has done so for `launch`, a kernel's name and that size.
    pub fn is_built(&self, source: &str, options: &str, launch: (&str, [usize; 3])) -> bool {
        self.programs.is_built(source, options, launch)
    }

    pub(crate) fn kept_launches(&self) -> &KeptLaunches {
        &self.kept
    }

    pub(crate) fn shared_memory(&self) -> &Arc<DeviceMemory> {
        &self.memory
    }

    /// A thread's right to have launches made again.
    pub(crate) fn replay_guard(&self) -> ReplayGuard {
        ReplayGuard::new(Arc::clone(&self.memory), self.kept.clone())
    }
}

impl Drop for Context {
    /// What was queued last is recorded too. Memory that waits goes back to the driver, also where a buffer outlives the context.
    fn drop(&mut self) {
        self.trim_memory();
        self.record_rest();
    }
}
