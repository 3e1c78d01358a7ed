//! An open device with its memory, its programs, and its queue. Launches are in `launch.rs`.

use std::ops::Deref;
use std::sync::Arc;

use super::replay::{KeptLaunches, ReplayGuard};
use crate::backend::opencl::device::{Device, DeviceInfo, OpenClError};
use crate::backend::opencl::memory::DeviceMemory;
use crate::backend::opencl::program::{Builds, Cache, Program, Programs};
use crate::backend::timeline::Timeline;

/// An open device with its memory, its programs and its queue. Threads share it by reference. The commands of all threads go into one
/// queue, in the order in which they are submitted.
#[derive(Debug)]
pub struct Context {
    memory: Arc<DeviceMemory>,
    programs: Programs,
    /// The launches that a thread keeps for a replay.
    kept: KeptLaunches,
}

impl Deref for Context {
    type Target = DeviceMemory;

    fn deref(&self) -> &DeviceMemory {
        &self.memory
    }
}

impl Context {
    /// Opens a device, with the cache that the environment names ([`Cache::from_environment`]). Programs are not cached if the driver
    /// caches them itself.
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

    /// The program of `source` with `options`, from memory, from disk, or newly built. `name` is used only in errors.
    ///
    /// `-cl-std=CL1.2` is added unless the options name a language version. `-cl-fp32-correctly-rounded-divide-sqrt` is added if the device
    /// supports it.
    ///
    /// # Errors
    /// [`OpenClError::Build`] with the build log, if the source does not compile.
    ///
    /// # Safety
    /// Nothing checks `source`. For every launch of one of its kernels, with the given sizes and arguments:
    /// - the kernel must access only the memory of its arguments;
    /// - it must not write to arguments that it declares as constant;
    /// - no buffer may be passed twice if the kernel writes one of the two as `restrict`.
    pub unsafe fn program(&self, name: &str, source: &str, options: &str) -> Result<Arc<Program>, OpenClError> {
        // SAFETY: the caller promises what is asked for here.
        unsafe { self.programs.program(name, source, options) }
    }

    /// The cache for programs and the probe.
    pub fn cache(&self) -> &Cache {
        self.programs.cache()
    }

    /// The progress of building. Other threads may read it during a build.
    pub fn builds(&self) -> &Arc<Builds> {
        self.programs.builds()
    }

    /// Whether the program of `source` and `options` need not be built, since it is in memory or in a cache on disk. Some drivers (PoCL)
    /// compile a kernel at its first launch with a work-group size, and cache it themselves. For them, the result says whether that has
    /// happened for `launch`, a kernel's name and size.
    pub fn is_built(&self, source: &str, options: &str, launch: (&str, [usize; 3])) -> bool {
        self.programs.is_built(source, options, launch)
    }

    pub(crate) fn kept_launches(&self) -> &KeptLaunches {
        &self.kept
    }

    pub(crate) fn shared_memory(&self) -> &Arc<DeviceMemory> {
        &self.memory
    }

    /// A thread's right to have its launches replayed.
    pub(crate) fn replay_guard(&self) -> ReplayGuard {
        ReplayGuard::new(Arc::clone(&self.memory), self.kept.clone())
    }
}

impl Drop for Context {
    /// Records the commands that were queued last. Releases idle memory to the driver, even if a buffer outlives the context.
    fn drop(&mut self) {
        self.trim_memory();
        self.record_rest();
    }
}
