//! Several in-order queues of one context, for work that may overlap: transfers beside kernels, small kernels beside each other. They live for
//! one call, [`Context::with_queues`], which waits for all of them, so that host memory may be lent to transfers that nobody waits for.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr;

use opencl3::command_queue as queue;
use opencl3::types::{CL_NON_BLOCKING, cl_command_queue};

use super::context::{Buffer, Context, new_queue};
use super::error::OpenClError;
use super::launch::{Arg, Launch, LaunchEvent, Place};
use super::program::Program;
use super::raw::RawQueue;
use super::recorder::Note;
use crate::backend::timeline::CommandKind;

/// Queues of a context. What is submitted to one runs in order; nothing orders one after another.
#[derive(Debug)]
pub struct Queues<'env> {
    context: &'env Context,
    queues: Vec<RawQueue>,
    /// Lent memory must outlive the call, so `'env` may not be shortened.
    env: PhantomData<&'env mut &'env ()>,
}

impl Context {
    /// Does `work` with `count` queues (at least one) beside the context's own, and waits for all that was submitted to them. What was
    /// submitted to the context's own queue is done before.
    ///
    /// # Errors
    ///
    /// Those of `work`; a queue that cannot be made; what a command ran into.
    pub fn with_queues<'env, T>(
        &'env self,
        count: usize,
        work: impl FnOnce(&Queues<'env>) -> Result<T, OpenClError>,
    ) -> Result<T, OpenClError> {
        // Waits when it is dropped, whatever becomes of `work`; memory that is given back until then is used by nobody else.
        self.pool().enter_queues();
        let mut queues = Queues { context: self, queues: Vec::new(), env: PhantomData };
        self.finish()?;
        for _ in 0..count.max(1) {
            queues.queues.push(new_queue(self.raw(), self.device(), format!("device {}", self.info()))?);
        }
        let outcome = work(&queues)?;
        queues.finish()?;
        Ok(outcome)
    }
}

impl<'env> Queues<'env> {
    /// Queue `index`, counted round the number that there is.
    fn at(&self, index: usize) -> &RawQueue {
        &self.queues[index % self.queues.len()]
    }

    /// Queues a kernel in queue `queue` (counted round), as [`Context::launch_event`] does.
    ///
    /// # Errors
    ///
    /// As [`Context::launch_event`].
    pub fn launch(
        &self,
        queue: usize,
        program: &Program,
        kernel: &str,
        launch: Launch,
        args: &[Arg<'_>],
    ) -> Result<LaunchEvent, OpenClError> {
        self.context.launch_event_in(
            Place { queue: self.at(queue), ..self.context.own_place() },
            program,
            kernel,
            launch,
            args,
        )
    }

    /// Queues a write of `data` into the buffer from byte `offset` on, in queue `queue` (counted round). Does not wait.
    ///
    /// # Errors
    ///
    /// [`OpenClError::OutOfRange`] if `data` would not fit; otherwise the failing call.
    pub fn write(
        &self,
        queue: usize,
        buffer: &'env Buffer,
        offset: usize,
        data: &'env [u8],
    ) -> Result<(), OpenClError> {
        self.context.check_owns(buffer)?;
        buffer.check_range(offset, data.len())?;
        if data.is_empty() {
            return Ok(());
        }
        let what = || format!("{} bytes at {offset} of {}", data.len(), buffer.what());
        let start = data.as_ptr().cast::<c_void>();
        let note = || Note::of_bytes(CommandKind::Write, data.len());
        self.context
            .submit_to(self.at(queue), "clEnqueueWriteBuffer", what, note, |queue| {
                // SAFETY: the range was checked, the wait list is empty, and `data` is borrowed beyond the call that made the
                // queues, which waits for them.
                unsafe {
                    queue::enqueue_write_buffer(
                        queue,
                        buffer.mem(),
                        CL_NON_BLOCKING,
                        offset,
                        data.len(),
                        start,
                        0,
                        ptr::null(),
                    )
                }
            })
            .map(drop)
    }

    /// Queues a read of the buffer from byte `offset` on into `data`, in queue `queue` (counted round). Does not wait.
    ///
    /// # Errors
    ///
    /// [`OpenClError::OutOfRange`] if the buffer ends before `data`; otherwise the failing call.
    pub fn read(
        &self,
        queue: usize,
        buffer: &'env Buffer,
        offset: usize,
        data: &'env mut [u8],
    ) -> Result<(), OpenClError> {
        self.context.check_owns(buffer)?;
        buffer.check_range(offset, data.len())?;
        if data.is_empty() {
            return Ok(());
        }
        let (start, len) = (data.as_mut_ptr().cast::<c_void>(), data.len());
        let what = || format!("{len} bytes at {offset} of {}", buffer.what());
        let note = || Note::of_bytes(CommandKind::Read, len);
        self.context
            .submit_to(self.at(queue), "clEnqueueReadBuffer", what, note, |queue| {
                // SAFETY: as for `write`; the borrow is exclusive.
                unsafe {
                    queue::enqueue_read_buffer(queue, buffer.mem(), CL_NON_BLOCKING, offset, len, start, 0, ptr::null())
                }
            })
            .map(drop)
    }

    /// Has the device begin with what is queued: drivers may wait for more.
    ///
    /// # Errors
    ///
    /// The failing call.
    pub fn flush(&self) -> Result<(), OpenClError> {
        self.each("clFlush", queue::flush)
    }

    /// Waits for queue `queue` (counted round).
    ///
    /// # Errors
    ///
    /// What a command ran into, as far as the driver tells.
    pub fn finish_one(&self, queue: usize) -> Result<(), OpenClError> {
        self.of(self.at(queue), "clFinish", queue::finish)
    }

    /// Waits for all queues.
    ///
    /// # Errors
    ///
    /// What a command ran into, as far as the driver tells.
    pub fn finish(&self) -> Result<(), OpenClError> {
        self.flush()?;
        self.each("clFinish", queue::finish)
    }

    fn each(&self, call: &'static str, act: Act) -> Result<(), OpenClError> {
        self.queues.iter().try_for_each(|queue| self.of(queue, call, act))
    }

    fn of(&self, queue: &RawQueue, call: &'static str, act: Act) -> Result<(), OpenClError> {
        act(queue.get()).map_err(|status| self.context.failed(call, status, "a queue of several".to_owned()))
    }
}

/// A call on a queue.
type Act = fn(cl_command_queue) -> Result<(), i32>;

impl Drop for Queues<'_> {
    fn drop(&mut self) {
        for queue in &self.queues {
            // A failure leaves nothing to do: the driver has given the commands up.
            let _ = queue::finish(queue.get());
        }
        self.context.pool().leave_queues();
    }
}
