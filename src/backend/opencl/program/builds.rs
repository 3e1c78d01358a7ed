//! How far building is on a device: others may look while a thread builds.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

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
    pub(crate) fn during<T>(&self, cached: bool, build: impl FnOnce() -> T) -> T {
        let running = usize::from(!cached);
        self.running.fetch_add(running, Ordering::Relaxed);
        let start = Instant::now();
        let built = build();
        self.nanoseconds.fetch_add(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
        self.running.fetch_sub(running, Ordering::Relaxed);
        built
    }

    pub(crate) fn count_program(&self) {
        self.programs.fetch_add(1, Ordering::Relaxed);
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
