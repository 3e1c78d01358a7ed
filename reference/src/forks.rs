//! Forks: a child has none of its parent's threads, so that whoever waits for one of them waits for ever. What has threads asks here whether it was made
//! before the last fork.

#[cfg(all(target_os = "linux", not(miri)))]
use std::sync::{
    Once,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

/// Forks between the process that asked for the first time and this one.
#[cfg(all(target_os = "linux", not(miri)))]
pub fn count() -> usize {
    static FORKS: AtomicUsize = AtomicUsize::new(0);
    static WATCHED: Once = Once::new();
    extern "C" fn in_child() {
        FORKS.fetch_add(1, Relaxed);
    }
    WATCHED.call_once(|| {
        // SAFETY: the function does nothing that a child may not do. A refusal, for want of memory, leaves the count at 0.
        let _ = unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    });
    FORKS.load(Relaxed)
}

/// What changes with a fork: the number of the process.
#[cfg(not(all(target_os = "linux", not(miri))))]
pub fn count() -> usize {
    std::process::id() as usize
}
