//! Computing while Python waits. Long computations run on a thread of their own, which never touches Python. The thread that called wakes up
//! regularly to answer signals (Ctrl-C), and to call the function `progress` if there is one. Between these the interpreter is released.

use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use lanefield::solver::{Recurrence, SolverInfo, Stopped, Watcher};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use super::errors;

/// The longest time until a signal is answered.
const WAKE: Duration = Duration::from_millis(50);

/// Stack size: the compilers of OpenCL drivers expect as much as the first thread of a process has.
const STACK_BYTES: usize = 16 << 20;

/// The solve was ended from Python.
#[derive(Debug, thiserror::Error)]
#[error("the solve was ended from Python")]
struct Ended;

/// The function that receives progress, and how often it is called.
pub struct Progress<'py> {
    /// Called with the iteration and |r| / |b|.
    pub call: Bound<'py, PyAny>,
    /// Number of iterations from one call to the next, at least 1.
    pub every: usize,
}

/// Watches a solve for the waiting thread.
pub struct Courier<'a> {
    ends: &'a AtomicBool,
    every: Option<usize>,
    tell: SyncSender<(usize, f64)>,
    told: Receiver<()>,
}

impl Courier<'_> {
    /// A function that returns whether to continue, for computations that are not solves.
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
            // If nobody listens any more, `ends` is set.
            let _ = self.tell.send((info.iterations, info.relative_residual()));
            let _ = self.told.recv();
        }
        self.goes_on()
    }

    fn next_state(&self, _: usize) -> usize {
        usize::MAX
    }
}

/// Runs `work`. A signal or an exception of `progress` ends it when it next consults the courier.
/// Fails with that exception, or with a panic of `work`, which would be a bug in this library.
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
        // A thread that cannot start lacks memory for its stack, or an entry in the system's tables.
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
    PyRuntimeError::new_err(format!("this is a bug in lanefield, please report it: {}", said.unwrap_or("a panic")))
}
