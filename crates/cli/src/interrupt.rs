//! Ctrl-C, SIGTERM and SIGHUP: the program ends with exit code 130. It ends at once where there is nothing to keep; a command that has something asks
//! now and then whether to end, and then writes and says what there is. A second signal, half a second later or more, ends it at once in any case.

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::{flag, low_level};

/// The exit code after a signal, whichever it was.
pub const EXIT_CODE: u8 = 130;

/// Signals closer to each other are one: `timeout` sends its own to the process, and then to the group of the process.
const SAME: Duration = Duration::from_millis(500);

/// What the handlers have to tell, and to know.
struct Signals {
    start: Instant,
    /// Milliseconds from the start to the first signal, plus one; 0 where none came.
    came: AtomicU64,
    /// Whether the first signal ends the program at once.
    nothing_to_keep: AtomicBool,
}

impl Signals {
    /// Whether a signal that comes now ends the program at once.
    fn ends_at_once(&self) -> bool {
        let now = self.start.elapsed().as_millis() as u64 + 1;
        let earlier = self.came.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed).err();
        let is_second = earlier.is_some_and(|earlier| now.saturating_sub(earlier) >= SAME.as_millis() as u64);
        is_second || self.nothing_to_keep.load(Ordering::Relaxed)
    }
}

static SIGNALS: OnceLock<Signals> = OnceLock::new();

/// Installs the handlers. To be called before an OpenCL driver is loaded: the handlers of LLVM in it go back to those that they found, and signal anew.
pub fn heed() -> anyhow::Result<()> {
    let signals = SIGNALS.get_or_init(|| Signals {
        start: Instant::now(),
        came: AtomicU64::new(0),
        nothing_to_keep: AtomicBool::new(true),
    });
    let install = |signal| {
        let handle = || {
            if signals.ends_at_once() {
                low_level::exit(EXIT_CODE.into());
            }
        };
        // SAFETY: the handler reads the clock, reads and writes atomic numbers, and exits without destructors: all may be done whenever a signal comes.
        unsafe { low_level::register(signal, handle) }
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
    install_all().context("failed to prepare for signals")
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
        signals.nothing_to_keep.store(false, Ordering::Relaxed);
    }
}

/// Whether somebody wants the program to end. What fails from then on may fail for that reason, and is no finding: compilers remove their files when a
/// signal comes.
pub fn interrupted() -> bool {
    SIGNALS.get().is_some_and(|signals| signals.came.load(Ordering::Relaxed) != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signals(seconds_since_the_start: u64, came: u64, nothing_to_keep: bool) -> Signals {
        let start = Instant::now().checked_sub(Duration::from_secs(seconds_since_the_start)).unwrap();
        Signals { start, came: AtomicU64::new(came), nothing_to_keep: AtomicBool::new(nothing_to_keep) }
    }

    #[test]
    fn a_second_signal_ends_the_program_at_once_unless_it_is_part_of_the_first() {
        let soon = signals(5, 0, false);
        assert_eq!([soon.ends_at_once(), soon.ends_at_once()], [false, false]);
        assert!(signals(5, 1, false).ends_at_once());
    }

    #[test]
    fn the_first_signal_ends_a_program_at_once_that_has_nothing_to_keep() {
        assert!(signals(0, 0, true).ends_at_once());
    }
}
