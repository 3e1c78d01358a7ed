//! Ctrl-C and SIGTERM: a command that keeps what it has done ends its loop, says what there is, and exits with 130. Of the others the signals take
//! the process at once, as they always do. So does a second signal.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use anyhow::Context as _;

static INTERRUPTED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// From now on the signals are for [`interrupted`] to tell of. To be called before an OpenCL driver is loaded: the handlers of LLVM in it go back to
/// those that they found, and signal anew.
pub fn heed() -> anyhow::Result<()> {
    if INTERRUPTED.get().is_some() {
        return Ok(());
    }
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        // In this order: the first signal finds the flag unset.
        signal_hook::flag::register_conditional_default(signal, Arc::clone(&flag))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&flag)))
            .context("failed to prepare for signals")?;
    }
    let _ = INTERRUPTED.set(flag);
    Ok(())
}

/// Whether somebody wants the program to end.
pub fn interrupted() -> bool {
    INTERRUPTED.get().is_some_and(|flag| flag.load(Ordering::Relaxed))
}
