//! Computing while Python waits. What takes long runs on a thread of its own, which never touches Python; the thread that asked for it wakes up now and
//! then to answer signals (Ctrl-C) and, where a function wants to be told of progress, to call it. The interpreter is free meanwhile.

use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use lanefield::solver::{Recurrence, SolverInfo, Stopped, Watcher};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use super::errors;

/// How long a signal may go unanswered.
const WAKE: Duration = Duration::from_millis(50);

/// Room for the compilers of OpenCL drivers, which expect as much as the first thread of a process has.
const STACK_BYTES: usize = 16 << 20;

/// The solve was ended from Python.
#[derive(Debug, thiserror::Error)]
#[error("the solve was ended from Python")]
struct Ended;

/// Who is to be told of progress, and how often.
pub struct Progress<'py> {
    /// Called with the iteration and |r| / |b|.
    pub call: Bound<'py, PyAny>,
    /// Iterations from one call to the next, at least 1.
    pub every: usize,
}

/// Watches a solve for the thread that waits.
pub struct Courier<'a> {
    ends: &'a AtomicBool,
    every: Option<usize>,
    tell: SyncSender<(usize, f64)>,
    told: Receiver<()>,
}

impl Courier<'_> {
    /// Tells whether to go on, where no solve looks at the courier.
    pub fn goes_on_asked(&self) -> impl Fn() -> bool + Send + Sync {
        let ends = self.ends;
        move || !ends.load(Ordering::Relaxed)
    }

    fn goes_on(&self) -> Result<(), Stopped> {
        if self.ends.load(Ordering::Relaxed) { Err(Stopped(Box::new(Ended))) } else { Ok(()) }
    }
}

impl Watcher for Courier<'_> {
    fn begin(&mut self, _: &dyn Recurrence) -> Result<(), Stopped> {
        self.goes_on()
    }

    fn iteration(&mut self, recurrence: &dyn Recurrence) -> Result<(), Stopped> {
        self.passed(recurrence.info())
    }

    fn passed(&mut self, info: &SolverInfo) -> Result<(), Stopped> {
        if self.every.is_some_and(|every| info.iterations.is_multiple_of(every)) {
            // That nobody listens is told by `ends`.
            let _ = self.tell.send((info.iterations, info.relative_residual()));
            let _ = self.told.recv();
        }
        self.goes_on()
    }

    fn next_state(&self, _: usize) -> usize {
        usize::MAX
    }
}

/// Runs `work`, which a signal or an exception of `progress` ends where its solve looks at the courier.
/// Fails with the exception, or a panic, which would be an error of this library.
pub fn run<T: Send>(
    py: Python<'_>,
    progress: Option<&Progress<'_>>,
    work: impl FnOnce(&mut Courier<'_>) -> T + Send,
) -> PyResult<T> {
    let ends = AtomicBool::new(false);
    let (tell, mut told) = sync_channel(0);
    let (go_on, goes_on) = sync_channel(1);
    let mut courier = Courier { ends: &ends, every: progress.map(|progress| progress.every), tell, told: goes_on };
    thread::scope(|scope| {
        let worker = thread::Builder::new().name("lanefield".to_owned()).stack_size(STACK_BYTES).spawn_scoped(
            scope,
            move || {
                let courier = &mut courier;
                panic::catch_unwind(panic::AssertUnwindSafe(|| work(courier)))
            },
        );
        // A thread that cannot be started lacks room for its stack, or in the system's tables.
        let worker = worker.map_err(|error| errors::no_memory(format!("another thread: {error}")))?;
        let mut exception = None;
        loop {
            let listen = &mut told;
            let event = py.detach(move || listen.recv_timeout(WAKE));
            let answered = match (&event, progress, &exception) {
                (Err(RecvTimeoutError::Disconnected), ..) => break,
                (Ok((iteration, residual)), Some(progress), None) => {
                    let called = progress.call.call1((*iteration, *residual)).map(drop);
                    called.and_then(|()| py.check_signals())
                }
                (_, _, None) => py.check_signals(),
                (_, _, Some(_)) => Ok(()),
            };
            if let Err(error) = answered {
                ends.store(true, Ordering::Relaxed);
                exception = Some(error);
            }
            if event.is_ok() {
                let _ = go_on.send(());
            }
        }
        let done = py.detach(|| worker.join());
        match (exception, done) {
            (Some(exception), _) => Err(exception),
            (None, Ok(Ok(result))) => Ok(result),
            (None, Ok(Err(panic)) | Err(panic)) => Err(of_panic(&*panic)),
        }
    })
}

fn of_panic(panic: &(dyn std::any::Any + Send)) -> PyErr {
    let said = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    PyRuntimeError::new_err(format!("this is an error of lanefield, please report it: {}", said.unwrap_or("a panic")))
}
