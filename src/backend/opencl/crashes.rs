//! What ends the program by a signal, in code that is not ours: drivers that are loaded, kernels that others wrote. It is said before it ends.

#[cfg(unix)]
mod handlers {
    use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

    use libc::{SIGABRT, SIGBUS, SIGILL, SIGSEGV, c_int, sighandler_t};

    pub const SIGNALS: [c_int; 4] = [SIGABRT, SIGSEGV, SIGBUS, SIGILL];
    /// What is said, of text that lives as long as the program.
    static TEXT: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut());
    static LENGTH: AtomicUsize = AtomicUsize::new(0);

    static SAID: AtomicBool = AtomicBool::new(false);

    extern "C" fn explain(_: c_int) {
        // Another thread says it, and ends them all.
        while SAID.swap(true, Ordering::Relaxed) {
            // SAFETY: it may be called in a handler.
            unsafe { libc::pause() };
        }
        let write = |text: *const u8, length: usize| {
            // SAFETY: bytes of a text that lives as long as the program; it may be called in a handler.
            unsafe { libc::write(2, text.cast(), length) };
        };
        let before = b"error: ";
        write(before.as_ptr(), before.len());
        write(TEXT.load(Ordering::Relaxed), LENGTH.load(Ordering::Relaxed));
        write(b"\n".as_ptr(), 1);
        // SAFETY: it may be called in a handler, and does not return.
        unsafe { libc::_exit(2) }
    }

    pub fn action(handler: sighandler_t) -> libc::sigaction {
        // SAFETY: actions are plain data, for which zeros are valid.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = handler;
        action
    }

    pub fn ours() -> sighandler_t {
        explain as extern "C" fn(c_int) as sighandler_t
    }

    pub fn set_text(text: &'static str) {
        TEXT.store(text.as_ptr().cast_mut(), Ordering::Relaxed);
        LENGTH.store(text.len(), Ordering::Relaxed);
    }
}

/// Runs `work`. If a signal of a fault comes meanwhile, on any thread, the program says `why` and ends with status 2.
#[cfg(unix)]
pub fn explaining_crashes<T>(why: &'static str, work: impl FnOnce() -> T) -> T {
    use handlers::{SIGNALS, action, ours};
    handlers::set_text(why);
    let explaining = action(ours());
    let before = SIGNALS.map(|signal| {
        let mut before = action(libc::SIG_DFL);
        // SAFETY: both actions live through the call; the handler keeps to what handlers may do.
        unsafe { libc::sigaction(signal, &raw const explaining, &raw mut before) };
        before
    });
    let done = work();
    for (signal, before) in SIGNALS.into_iter().zip(before) {
        let mut now = action(libc::SIG_DFL);
        // SAFETY: as above. A handler that a driver has installed stays.
        unsafe {
            libc::sigaction(signal, std::ptr::null(), &raw mut now);
            if now.sa_sigaction == ours() {
                libc::sigaction(signal, &raw const before, std::ptr::null_mut());
            }
        }
    }
    done
}

#[cfg(not(unix))]
pub fn explaining_crashes<T>(_: &'static str, work: impl FnOnce() -> T) -> T {
    work()
}
