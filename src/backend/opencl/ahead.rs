//! Programs ahead of a run: which kernels a call builds, whether the cache has them, and how far building is. With these a program can have processes of
//! its own fill the cache before it measures, since drivers build one program after the other within a process. Nothing here starts a process.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::cache::{EntryKind, Key};
use super::context::{Context, lock};
use super::program::full_options;
use super::{OpenCl, Program, Source, expand_for};
use crate::backend::specification::Shape;
use crate::backend::{BackendError, Sum};

/// A kernel as a call builds and launches it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct NeededKernel {
    /// Its source.
    pub source: Source,
    /// The build options.
    pub options: String,
    /// Its name; empty where it is the program alone that is needed.
    pub kernel: String,
    /// Work-items of a group: some drivers compile a kernel for each size. Zeros of a program alone.
    pub local: [usize; 3],
}

impl NeededKernel {
    /// A program of which nothing is launched.
    pub fn program_alone(source: Source, options: String) -> Self {
        let (kernel, local) = PROGRAM_ALONE;
        Self { source, options, kernel: kernel.to_owned(), local }
    }
}

/// What stands for a launch where there is none.
pub(super) const PROGRAM_ALONE: (&str, [usize; 3]) = ("", [0; 3]);

/// How far building is on a device.
#[derive(Debug, Default)]
pub struct Builds {
    nanoseconds: AtomicU64,
    programs: AtomicUsize,
    running: AtomicUsize,
}

impl Builds {
    /// Wall time that went into building kernels, and into loading those of the cache, of all threads together.
    pub fn time(&self) -> Duration {
        Duration::from_nanos(self.nanoseconds.load(Ordering::Relaxed))
    }

    /// Programs that were built, and not taken from a cache.
    pub fn programs(&self) -> usize {
        self.programs.load(Ordering::Relaxed)
    }

    /// Whether something is being built now.
    pub fn is_running(&self) -> bool {
        self.running.load(Ordering::Relaxed) > 0
    }

    /// Counts the time of some building, or of taking something from a cache.
    pub(super) fn during<T>(&self, cached: bool, build: impl FnOnce() -> T) -> T {
        let running = usize::from(!cached);
        self.running.fetch_add(running, Ordering::Relaxed);
        let start = Instant::now();
        let built = build();
        self.nanoseconds.fetch_add(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
        self.running.fetch_sub(running, Ordering::Relaxed);
        built
    }

    pub(super) fn count_program(&self) {
        self.programs.fetch_add(1, Ordering::Relaxed);
    }
}

impl Context {
    /// Whether the program of `source` and `options` need not be built: it is in memory, or in a cache on disk. Where a driver compiles kernels at their
    /// first launch in groups of a size, and keeps them itself (PoCL), whether it has done so for `launch`, a kernel's name and that size.
    pub fn is_built(&self, source: &str, options: &str, launch: (&str, [usize; 3])) -> bool {
        let key = Key::new(self.info(), source, &full_options(self.info(), options));
        if self.info().keeps_programs() {
            return self.was_launched(&key, launch);
        }
        let slot = self.programs().get(&key).cloned();
        slot.is_some_and(|slot| lock(&slot).is_some()) || self.cache().load(EntryKind::Program, &key).is_some()
    }

    /// Whether that was noted.
    pub(super) fn was_launched(&self, program: &Key, launch: (&str, [usize; 3])) -> bool {
        launched_key(program, launch).is_some_and(|key| self.cache().load(EntryKind::Launched, &key).is_some())
    }

    /// Notes that a driver that keeps programs itself has compiled a kernel for groups of a size.
    pub(super) fn note_launched(&self, program: &Key, launch: (&str, [usize; 3])) {
        if let Some(key) = launched_key(program, launch) {
            self.cache().store(EntryKind::Launched, &key, &[]);
        }
    }
}

/// The key of a note that PoCL has a kernel in its own cache; `None` where that is not there.
fn launched_key(program: &Key, (kernel, local): (&str, [usize; 3])) -> Option<Key> {
    let directory = directory_of_pocl()?;
    // A new directory has nothing of what an older one had.
    let made = directory.metadata().ok()?.created().ok();
    Some(program.and(&format!("{kernel} in groups of {local:?}, kept in {directory:?} of {made:?}")))
}

/// Where PoCL keeps what it compiled, if it keeps it.
fn directory_of_pocl() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    if set("POCL_KERNEL_CACHE").is_some_and(|keeps| keeps == "0") {
        return None;
    }
    let of_user = || {
        let cache = set("XDG_CACHE_HOME").map(PathBuf::from);
        Some(cache.or_else(|| Some(PathBuf::from(set("HOME")?).join(".cache")))?.join("pocl/kcache"))
    };
    set("POCL_CACHE_DIR").map(PathBuf::from).or_else(of_user)
}

impl OpenCl {
    /// The kernels that a call builds in the tuning that the device has now: none is built. `sum`: how it sums, if it sums.
    ///
    /// # Errors
    /// What the device does not take.
    pub fn needs(&self, shape: &Shape, sum: Sum) -> Result<Vec<NeededKernel>, BackendError> {
        let planner = self.planner(self.layout());
        if shape.kernel.sums() {
            return self.needs_of_sum(&planner, shape, sum);
        }
        let plan = planner.plan(shape)?;
        Ok(vec![self.needed(plan.source, plan.options, shape.kernel.name, plan.geometry.local)])
    }

    pub(super) fn needed(&self, source: Source, options: String, kernel: &str, local: [usize; 3]) -> NeededKernel {
        NeededKernel { source, options: self.with_log(options), kernel: kernel.to_owned(), local }
    }

    /// Whether a kernel need not be built ([`Context::is_built`]).
    ///
    /// # Errors
    /// A file that is not there.
    pub fn has_built(&self, needed: &NeededKernel) -> Result<bool, BackendError> {
        let NeededKernel { source, options, kernel, local } = needed;
        let source = expand_for(self.context().info(), source, options)?;
        Ok(self.context().is_built(&source, options, (kernel, *local)))
    }

    /// Builds the program of a kernel, and keeps it in the cache.
    ///
    /// # Errors
    /// What the compiler says.
    pub fn build(&self, needed: &NeededKernel) -> Result<(), BackendError> {
        self.built(needed).map(drop)
    }

    /// The program of a kernel: from memory, from the cache, or built now.
    ///
    /// # Errors
    /// What the compiler says.
    pub fn built(&self, needed: &NeededKernel) -> Result<Arc<Program>, BackendError> {
        self.program(&needed.source, &needed.options)
    }

    /// Whether kernels are compiled only when they are launched ([`Context::is_built`]): to build the program is not enough.
    pub fn compiles_at_launch(&self) -> bool {
        self.context().info().keeps_programs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn building_is_seen_while_it_goes_on_and_its_time_is_counted() {
        let builds = Builds::default();
        let seen = |cached| {
            builds.during(cached, || {
                std::thread::sleep(Duration::from_millis(2));
                builds.is_running()
            })
        };
        assert!(seen(false) && !seen(true) && !builds.is_running());
        assert!(builds.time() >= Duration::from_millis(4));
    }
}
