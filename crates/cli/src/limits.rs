//! Limits of the system: threads for the host's work, and the limits behind errors of the system.

use std::io;
use std::sync::{Mutex, PoisonError};
use std::thread::{Builder, scope};

use clap::ArgMatches;
use lanefield::backend::Threads;
use rayon::ThreadPoolBuilder;

use super::worker_processes::cores;

/// The `--threads` that the command was given.
pub fn threads_of(matches: &ArgMatches) -> Option<Threads> {
    let here = matches.try_get_one::<Threads>("threads").ok().flatten().copied();
    here.or_else(|| matches.subcommand().and_then(|(_, matches)| threads_of(matches)))
}

/// Starts the threads that handle files and layouts, as many as requested at most. If the system starts fewer, this uses half of those, since
/// backends have threads of their own. It must be called before anything uses rayon, which would panic.
pub fn start_threads(wanted: Option<Threads>) {
    let from_environment = || std::env::var("RAYON_NUM_THREADS").ok()?.parse().ok();
    let wanted =
        wanted.map(Threads::get).or_else(from_environment).filter(|threads| (1..=Threads::MOST).contains(threads));
    let wanted = wanted.unwrap_or_else(cores);
    let pool = ThreadPoolBuilder::new();
    let pool = match startable(wanted) {
        Ok(()) => pool.num_threads(wanted),
        Err((can, error)) => {
            let threads = (can / 2).max(1);
            say!(
                "warning: the system starts only {can} of {wanted} threads ({error}): files are handled in {threads}; raise ulimit -u or -v"
            );
            let pool = pool.num_threads(threads);
            if threads == 1 { pool.use_current_thread() } else { pool }
        }
    };
    // This fails only if the pool exists.
    let _ = pool.build_global();
}

/// Whether this number of threads can run at the same time. The error has the number that can, and the reason.
fn startable(threads: usize) -> Result<(), (usize, io::Error)> {
    let gate = Mutex::new(());
    let closed = gate.lock().unwrap_or_else(PoisonError::into_inner);
    scope(|scope| {
        let start = |number| match Builder::new().spawn_scoped(scope, || drop(gate.lock())) {
            Ok(_) => Ok(()),
            Err(error) => Err((number, error)),
        };
        let started = (0..threads).try_for_each(start);
        drop(closed);
        started
    })
}

/// A limit of the system. It is a macro because the type of the names differs between systems.
#[cfg(unix)]
macro_rules! limit {
    ($resource:expr) => {{
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: getrlimit only writes to the limit that it is given.
        let known = unsafe { libc::getrlimit($resource, &raw mut limit) } == 0;
        known.then_some(limit.rlim_cur)
    }};
}

/// The limit that an error of the system is about, and how to raise it.
#[cfg(unix)]
pub fn hint(error: &anyhow::Error) -> Option<String> {
    let number = error.chain().find_map(|cause| cause.downcast_ref::<io::Error>()?.raw_os_error())?;
    match number {
        libc::EMFILE => Some(format!("the limit is {} at a time: raise ulimit -n", limit!(libc::RLIMIT_NOFILE)?)),
        libc::EFBIG => Some(format!("the limit is {} bytes: raise ulimit -f", limit!(libc::RLIMIT_FSIZE)?)),
        _ => None,
    }
}

/// The limit that an error of the system is about, on systems that have them.
#[cfg(not(unix))]
pub fn hint(_: &anyhow::Error) -> Option<String> {
    None
}
