//! Detection of forks. A child process does not have its parent's threads, and would wait for them forever. Code with threads checks here whether
//! the process was forked after they were started.

#[cfg(all(target_os = "linux", not(miri)))]
use std::sync::{
    Once,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

/// The number of forks between the process that called this first and this one.
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

/// The id of the process, which changes with a fork.
#[cfg(not(all(target_os = "linux", not(miri))))]
pub fn count() -> usize {
    std::process::id() as usize
}
