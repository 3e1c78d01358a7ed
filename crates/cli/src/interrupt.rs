//! Ctrl-C, SIGTERM and SIGHUP: the program ends with exit code 130. It ends at once where there is nothing to keep; a command that has something asks
//! now and then whether to end, and then writes and says what there is. A second signal ends it at once in any case.

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context as _;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// The exit code after a signal, whichever it was.
pub const EXIT_CODE: u8 = 130;

/// What the handlers have to tell, and to know.
struct Signals {
    came: Arc<AtomicBool>,
    /// Whether the next signal ends the program at once.
    at_once: Arc<AtomicBool>,
}

static SIGNALS: OnceLock<Signals> = OnceLock::new();

/// Installs the handlers. To be called before an OpenCL driver is loaded: the handlers of LLVM in it go back to those that they found, and signal anew.
pub fn heed() -> anyhow::Result<()> {
    let (came, at_once) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(true)));
    let install = |signal| {
        // In this order: the first signal finds the flag as the command left it.
        flag::register_conditional_shutdown(signal, EXIT_CODE.into(), Arc::clone(&at_once))?;
        flag::register(signal, Arc::clone(&at_once))?;
        flag::register(signal, Arc::clone(&came))
    };
    let install_all = || {
        [SIGINT, SIGTERM].into_iter().try_for_each(|signal| install(signal).map(drop))?;
        #[cfg(unix)]
        {
            use signal_hook::consts::{SIGHUP, SIGXFSZ};
            if !is_ignored(SIGHUP) {
                install(SIGHUP)?;
            }
            // Beyond `ulimit -f` a write is to be an error, which says what was not written.
            flag::register(SIGXFSZ, Arc::default())?;
        }
        std::io::Result::Ok(())
    };
    install_all().context("failed to prepare for signals")?;
    let _ = SIGNALS.set(Signals { came, at_once });
    Ok(())
}

/// Whether the program was started with a signal ignored, as `nohup` does.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let mut action = std::mem::MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: without a new action, sigaction only writes the one there is to where it is told, which has room for it.
    let known = unsafe { libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) } == 0;
    // SAFETY: where it succeeded, it has written the action.
    known && unsafe { action.assume_init() }.sa_sigaction == libc::SIG_IGN
}

/// From now on there is something to keep: the first signal is for [`interrupted`] to tell of.
pub fn keep() {
    if let Some(signals) = SIGNALS.get() {
        signals.at_once.store(false, Ordering::Relaxed);
    }
}

/// Whether somebody wants the program to end. What fails from then on may fail for that reason, and is no finding: compilers remove their files when a
/// signal comes.
pub fn interrupted() -> bool {
    SIGNALS.get().is_some_and(|signals| signals.came.load(Ordering::Relaxed))
}
