//! Launches that are made again as they were: those of one iteration, whose kernels and arguments are the same in the next one but for a few scalars.
//! Each has a kernel object of its own, with its arguments set, so that the host is left with the driver's call.

use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};

use super::context::{Context, lock};
use super::error::OpenClError;
use super::launch::{Arg, Launch};
use super::pool::Pool;
use super::program::Kernel;
use super::raw::RawKernel;

/// What a thread launches in the context's own queue, in this order.
#[derive(Debug)]
pub(super) struct Tape {
    thread: ThreadId,
    launches: Vec<Again>,
    /// Whether these launches are all that the thread did with the device.
    is_all: bool,
}

impl Tape {
    /// Whether the thread that calls wrote it.
    pub fn is_of_this_thread(&self) -> bool {
        self.thread == thread::current().id()
    }
}

/// A launch, to be made again.
#[derive(Debug)]
struct Again {
    raw: RawKernel,
    entry: Arc<Kernel>,
    launch: Launch,
}

/// Where a context keeps the tape that a thread writes.
pub(super) type TapeSlot = Arc<Mutex<Option<Tape>>>;

/// A thread's right to write tapes. Until it is dropped, memory that is given back waits, so that nobody else gets what launches of a tape write to.
#[derive(Debug)]
pub(super) struct Taping {
    slot: TapeSlot,
    pool: Arc<Pool>,
}

impl Taping {
    pub fn new(context: &Context) -> Self {
        context.pool().enter_queues();
        Self { slot: Arc::clone(context.tape()), pool: Arc::clone(context.pool()) }
    }

    /// Writes down what this thread launches from now on, unless another one does that.
    pub fn begin(&self) {
        let mut slot = lock(&self.slot);
        if slot.as_ref().is_none_or(Tape::is_of_this_thread) {
            *slot = Some(Tape { thread: thread::current().id(), launches: Vec::new(), is_all: true });
        }
    }

    /// The number of launches so far.
    pub fn launches(&self) -> usize {
        of_this_thread(&mut lock(&self.slot)).map_or(0, |tape| tape.launches.len())
    }

    /// The tape, if its launches are all that this thread did.
    pub fn end(&self) -> Option<Tape> {
        let mut slot = lock(&self.slot);
        of_this_thread(&mut slot)?;
        slot.take().filter(|tape| tape.is_all)
    }
}

impl Drop for Taping {
    fn drop(&mut self) {
        drop(self.end());
        self.pool.leave_queues();
    }
}

fn of_this_thread(slot: &mut Option<Tape>) -> Option<&mut Tape> {
    slot.as_mut().filter(|tape| tape.is_of_this_thread())
}

impl Context {
    /// A kernel object for a launch that goes onto a tape; `None` where none is written.
    pub(super) fn kernel_for_tape(&self, entry: &Kernel) -> Result<Option<RawKernel>, OpenClError> {
        match of_this_thread(&mut lock(self.tape())) {
            Some(tape) if tape.is_all => entry.another().map(Some),
            _ => Ok(None),
        }
    }

    /// A launch that was made.
    pub(super) fn add_to_tape(&self, raw: RawKernel, entry: &Arc<Kernel>, launch: Launch) {
        if let Some(tape) = of_this_thread(&mut lock(self.tape())) {
            tape.launches.push(Again { raw, entry: Arc::clone(entry), launch });
        }
    }

    /// A command that no tape can hold.
    pub(super) fn spoil_tape(&self) {
        if let Some(tape) = of_this_thread(&mut lock(self.tape())) {
            tape.is_all = false;
        }
    }

    /// Makes all launches of a tape again, with other arguments (launch, argument, value).
    pub(super) fn launch_again(&self, tape: &Tape, arguments: &[(usize, usize, Arg<'_>)]) -> Result<(), OpenClError> {
        for (launch, argument, value) in arguments {
            let Again { raw, entry, .. } = &tape.launches[*launch];
            entry.set(raw, *argument, value)?;
        }
        for Again { raw, entry, launch } in &tape.launches {
            self.enqueue_kernel(self.own_place(), raw, entry, *launch)?;
        }
        Ok(())
    }
}
