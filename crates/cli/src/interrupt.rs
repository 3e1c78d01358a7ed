//! Signals. SIGUSR1 and SIGUSR2, which batch systems send before a job's time is over, request a checkpoint; the run continues.
//!
//! Ctrl-C, SIGTERM, SIGHUP and SIGXCPU (the soft limit of CPU time) end the program with exit code 130. If there is nothing to keep, it ends at
//! once. A command that has something to keep checks regularly whether to end, and then writes and reports what there is. A second signal, half
//! a second later or more, ends the program at once in any case.

use std::io;
#[cfg(unix)]
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use lanefield::comm::WholeLattice;
use lanefield::io::atomic::give_up_pipes;
#[cfg(unix)]
use lanefield::io::{claims, lock};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::low_level;

/// The exit code after a signal, whichever it was.
pub const EXIT_CODE: u8 = 130;

/// Signals within this time count as one: `timeout` sends its own to the process, and then to the group of the process.
const SAME: Duration = Duration::from_millis(500);

/// The state of signals, and what a signal does.
struct Signals {
    start: Instant,
    /// Milliseconds from the start to the first signal, plus one; 0 if none came.
    came: AtomicU64,
    /// Whether the first signal ends the program at once.
    nothing_to_keep: AtomicBool,
}

impl Signals {
    /// Whether a signal at this moment ends the program at once.
    fn ends_at_once(&self) -> bool {
        let now = self.start.elapsed().as_millis() as u64 + 1;
        let earlier = self.came.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed).err();
        give_up_pipes();
        let is_second = earlier.is_some_and(|earlier| now.saturating_sub(earlier) >= SAME.as_millis() as u64);
        is_second || self.nothing_to_keep.load(Ordering::Relaxed)
    }
}

static SIGNALS: OnceLock<Signals> = OnceLock::new();

/// Whether this command writes a checkpoint when a signal requests one, and whether one was requested.
static HEEDS_REQUESTS: AtomicBool = AtomicBool::new(false);
static REQUESTED: AtomicBool = AtomicBool::new(false);

/// How to keep the work of a command that keeps nothing by default.
static CURE: OnceLock<&str> = OnceLock::new();

/// Sets the advice that is printed at a signal while there is nothing to keep.
pub fn advise(cure: &'static str) {
    let _ = CURE.set(cure);
}

/// Lets signals request checkpoints.
pub fn heed_requests() {
    HEEDS_REQUESTS.store(true, Ordering::Relaxed);
}

/// Whether a signal has requested a checkpoint since the last call.
pub fn takes_request() -> bool {
    REQUESTED.swap(false, Ordering::Relaxed)
}

/// Prepares for signals. It must be called before any thread is started, because threads inherit the blocked signals.
pub fn heed() -> anyhow::Result<()> {
    let signals = SIGNALS.get_or_init(|| Signals {
        start: Instant::now(),
        came: AtomicU64::new(0),
        nothing_to_keep: AtomicBool::new(true),
    });
    let ends_at_once = move |signal: i32| match asks_for_a_checkpoint(signal) {
        true => {
            REQUESTED.store(true, Ordering::Relaxed);
            false
        }
        false => signals.ends_at_once(),
    };
    listen(ends_at_once).context("failed to prepare for signals")
}

/// Ends the program, from a separate thread, at each signal for which `ends_at_once` is true. Signals are blocked in all other threads. LLVM in
/// an OpenCL driver replaces handlers by its own, and until it restores them, a second signal would kill the program.
#[cfg(unix)]
fn listen(ends_at_once: impl Fn(i32) -> bool + Clone + Send + Sync + 'static) -> io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGUSR1, SIGUSR2, SIGXCPU, SIGXFSZ};

    // Beyond `ulimit -f`, a write must return an error, whose message says what was not written.
    signal_hook::flag::register(SIGXFSZ, std::sync::Arc::default())?;
    let hangup = (!is_ignored(SIGHUP)).then_some(SIGHUP);
    let signals: Vec<i32> = [SIGINT, SIGTERM, SIGXCPU, SIGUSR1, SIGUSR2].into_iter().chain(hangup).collect();
    // SAFETY: sigemptyset initialises the set, sigaddset adds a valid number to it.
    let set = unsafe {
        let mut set = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigemptyset(set.as_mut_ptr());
        let mut set = set.assume_init();
        for &signal in &signals {
            libc::sigaddset(&mut set, signal);
        }
        set
    };
    let mask = |how| {
        // SAFETY: the set is read, and the old one is not requested.
        match unsafe { libc::pthread_sigmask(how, &set, std::ptr::null_mut()) } {
            0 => Ok(()),
            code => Err(io::Error::from_raw_os_error(code)),
        }
    };
    mask(libc::SIG_BLOCK)?;
    let wait = {
        let ends_at_once = ends_at_once.clone();
        move || {
            let mut signal = 0;
            // SAFETY: sigwait reads the set, and writes the number of the signal.
            while unsafe { libc::sigwait(&set, &mut signal) } == 0 {
                if asks_for_a_checkpoint(signal) && !HEEDS_REQUESTS.load(Ordering::Relaxed) {
                    say!("note: a signal requested a checkpoint, but there is none to write here: the run continues");
                } else if ends_at_once(signal) {
                    // At a second signal, the program may be waiting for standard error.
                    if SIGNALS.get().is_some_and(|signals| signals.nothing_to_keep.load(Ordering::Relaxed)) {
                        say!("interrupted: a signal ended the command{}", at_once());
                    }
                    lock::remove_all();
                    low_level::exit(EXIT_CODE.into());
                }
            }
        }
    };
    if std::thread::Builder::new().name("signals".to_owned()).spawn(wait).is_err() {
        // If a limit of threads prevents this thread, OpenCL drivers have none either.
        mask(libc::SIG_UNBLOCK)?;
        handle(&signals, ends_at_once)?;
    }
    Ok(())
}

/// What a command that ends at once says about its outputs, which get no names from now on.
#[cfg(unix)]
fn at_once() -> String {
    let here = std::env::current_dir().unwrap_or_default();
    let name = |path: &PathBuf| path.strip_prefix(&here).unwrap_or(path).display().to_string();
    match claims::close() {
        Some(written) if written.is_empty() => {
            let cure = CURE.get().map_or_else(String::new, |cure| format!("; {cure}"));
            format!(", and nothing new was written: run it again{cure}")
        }
        Some(written) => format!(" after it wrote {}", written.iter().map(name).collect::<Vec<_>>().join(" and ")),
        None => " while it wrote its output, which is whole if it is there".to_owned(),
    }
}

#[cfg(not(unix))]
fn asks_for_a_checkpoint(_: i32) -> bool {
    false
}

#[cfg(not(unix))]
fn listen(ends_at_once: impl Fn(i32) -> bool + Clone + Send + Sync + 'static) -> io::Result<()> {
    handle(&[SIGINT, SIGTERM], ends_at_once)
}

/// Whether it is a signal that batch systems send before the end.
#[cfg(unix)]
fn asks_for_a_checkpoint(signal: i32) -> bool {
    use signal_hook::consts::{SIGUSR1, SIGUSR2};
    [SIGUSR1, SIGUSR2].contains(&signal)
}

/// The same in a handler of each signal.
fn handle(signals: &[i32], ends_at_once: impl Fn(i32) -> bool + Clone + Send + Sync + 'static) -> io::Result<()> {
    for &signal in signals {
        // SAFETY: the handler reads the clock, reads and writes atomic numbers, and exits without destructors. All of these are allowed in a
        // signal handler.
        unsafe {
            let ends_at_once = ends_at_once.clone();
            low_level::register(signal, move || {
                if ends_at_once(signal) {
                    low_level::exit(EXIT_CODE.into());
                }
            })
        }?;
    }
    Ok(())
}

/// Whether the program was started with a signal ignored, as `nohup` does.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let mut action = std::mem::MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: without a new action, sigaction only writes the present one, to memory that has room for it.
    let known = unsafe { libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) } == 0;
    // SAFETY: if the call succeeded, it has written the action.
    known && unsafe { action.assume_init() }.sa_sigaction == libc::SIG_IGN
}

/// Declares that there is something to keep. From now on, the first signal only makes [`interrupted`] true.
pub fn keep() {
    if let Some(signals) = SIGNALS.get() {
        signals.nothing_to_keep.store(false, Ordering::Relaxed);
    }
}

/// Whether the program must end here. All ranks of a lattice end at the same place, after their next sum.
pub fn ends_on(lattice: &WholeLattice) -> bool {
    if interrupted() {
        lattice.ask_to_stop();
    }
    lattice.is_stopping()
}

/// Whether a signal has asked the program to end. Later failures may have the same cause and are no findings: compilers remove their files when
/// a signal comes.
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
