//! Explains a signal that ends the program in other code: in drivers, or in kernels that others wrote. The message is printed before the
//! program ends.

#[cfg(unix)]
mod handlers {
    use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

    use libc::{SIGABRT, SIGBUS, SIGILL, SIGSEGV, c_int, sighandler_t};

    pub const SIGNALS: [c_int; 4] = [SIGABRT, SIGSEGV, SIGBUS, SIGILL];
    /// The message, a text that lives as long as the program.
    static TEXT: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut());
    static LENGTH: AtomicUsize = AtomicUsize::new(0);

    static SAID: AtomicBool = AtomicBool::new(false);

    extern "C" fn explain(_: c_int) {
        // Another thread prints the message, and ends all threads.
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
        #[cfg(all(target_os = "linux", target_env = "gnu"))]
        if let Some(library) = library() {
            let before = b"it crashed in ";
            write(before.as_ptr(), before.len());
            write(library.to_bytes().as_ptr().cast(), library.count_bytes());
            write(b"\n".as_ptr(), 1);
        }
        // SAFETY: it may be called in a handler, and does not return.
        unsafe { libc::_exit(2) }
    }

    /// The driver on the stack of the failed thread: the outermost library that the OpenCL loader called.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    fn library() -> Option<&'static std::ffi::CStr> {
        const OTHERS: [&[u8]; 3] = [b"libc.so", b"ld-linux", b"libpthread"];
        let library_of = |address: *const libc::c_void| {
            // SAFETY: the fields are plain data, for which zeros are valid; names live as long as their libraries, which stay.
            unsafe {
                let mut info: libc::Dl_info = std::mem::zeroed();
                let is_known = libc::dladdr(address, &raw mut info) != 0 && !info.dli_fname.is_null();
                is_known.then(|| (info.dli_fbase, std::ffi::CStr::from_ptr(info.dli_fname)))
            }
        };
        let mut frames = [std::ptr::null_mut(); 256];
        // The stack may be damaged, or a lock may be held.
        // SAFETY: what is known was said already: if this fails, or takes long, the program ends too.
        let depth = unsafe {
            libc::alarm(2);
            libc::backtrace(frames.as_mut_ptr(), frames.len() as c_int)
        };
        let (here, _) = library_of(explain as *const libc::c_void)?;
        let mut found = None;
        for &frame in frames.iter().take(depth.try_into().ok()?) {
            let Some((base, name)) = library_of(frame) else { continue };
            let file = name.to_bytes().rsplit(|byte| *byte == b'/').next()?;
            match file.starts_with(b"libOpenCL") {
                true => break,
                false if base == here || OTHERS.iter().any(|other| file.starts_with(other)) => {}
                false => found = Some(name),
            }
        }
        found
    }

    /// Loads the code that walks the stack, which a signal handler must not do.
    pub(crate) fn prepare() {
        #[cfg(all(target_os = "linux", target_env = "gnu"))]
        // SAFETY: room for one frame.
        unsafe {
            libc::backtrace([std::ptr::null_mut()].as_mut_ptr(), 1);
        }
    }

    pub(crate) fn action(handler: sighandler_t) -> libc::sigaction {
        // SAFETY: actions are plain data, for which zeros are valid.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = handler;
        action
    }

    pub(crate) fn ours() -> sighandler_t {
        explain as extern "C" fn(c_int) as sighandler_t
    }

    pub(crate) fn set_text(text: &'static str) {
        TEXT.store(text.as_ptr().cast_mut(), Ordering::Relaxed);
        LENGTH.store(text.len(), Ordering::Relaxed);
    }
}

/// Runs `work`. If a fault signal arrives during it, on any thread, the program prints `why` and the library in which it happened, and ends
/// with status 2.
#[cfg(unix)]
pub fn explaining_crashes<T>(why: &'static str, work: impl FnOnce() -> T) -> T {
    use handlers::{SIGNALS, action, ours};
    handlers::set_text(why);
    handlers::prepare();
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
