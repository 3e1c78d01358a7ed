//! A device that was opened: its OpenCL context, and one in-order queue with profiling. Every command goes to the device through [`Device::submit`].

use std::ffi::c_void;
use std::fmt;
use std::ptr;
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::{self, ThreadId};

use opencl3::command_queue as queue;
use opencl3::types::{cl_command_queue, cl_event};

use super::discovery::handle_of;
use super::error::{ClStatus, OpenClError};
use super::event_times::{Note, Recorder};
use super::forked::is_of_parent;
use super::handles::{RawContext, RawDevice, RawEvent, RawQueue, unsigned};
use super::info::DeviceInfo;
use super::lock::lock;
use crate::backend::timeline::{Group, SpanGuard, Timeline};

/// What the buffers on a device take, those in host memory that the device reaches among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemoryUse {
    /// Bytes that were asked for.
    pub bytes: u64,
    /// Buffers held.
    pub buffers: u64,
}

impl fmt::Display for MemoryUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes in {} buffers", self.bytes, self.buffers)
    }
}

/// A device in use. Commands of all threads go into one queue, in the order in which they are submitted.
#[derive(Debug)]
pub struct Device {
    queue: RawQueue,
    context: RawContext,
    id: RawDevice,
    info: DeviceInfo,
    recorder: OnceLock<Recorder>,
    in_use: Mutex<MemoryUse>,
    /// The kernel that was launched last: where a driver reports a broken kernel only at a later call, this names it.
    last_launch: Mutex<Arc<str>>,
    replay: Mutex<Option<OneThread>>,
}

/// The thread whose launches are kept to be made again, and whether they are all that it did with the device.
#[derive(Debug)]
struct OneThread {
    thread: ThreadId,
    only_launches: bool,
}

impl Device {
    /// Opens a device.
    ///
    /// # Errors
    /// [`OpenClError::UnknownDevice`] if `info` did not come from [`devices`](super::devices); otherwise the failing call.
    pub(crate) fn open(info: &DeviceInfo) -> Result<Self, OpenClError> {
        let id = handle_of(info)?;
        let name = format!("device {info}");
        let context = opencl3::context::context::create_context(&[id.0], ptr::null(), None, ptr::null_mut())
            .map(RawContext::own)
            .map_err(|status| OpenClError::call("clCreateContext", status, name.as_str()))?;
        Ok(Self {
            queue: new_queue(&context, id, name)?,
            context,
            id,
            info: info.clone(),
            recorder: OnceLock::new(),
            in_use: Mutex::default(),
            last_launch: Mutex::new("".into()),
            replay: Mutex::default(),
        })
    }

    /// The device, as it was listed.
    pub fn info(&self) -> &DeviceInfo {
        &self.info
    }

    /// Whether the device works in the host's memory, by what the driver says (`CL_DEVICE_HOST_UNIFIED_MEMORY`).
    pub fn shares_host_memory(&self) -> bool {
        unsigned(opencl3::device::get_device_data(self.id.0, opencl3::device::CL_DEVICE_HOST_UNIFIED_MEMORY)) != 0
    }

    /// The `cl_context` and the `cl_device_id`, for one's own calls of OpenCL. They live as long as the device is open.
    pub fn handles(&self) -> (*mut c_void, *mut c_void) {
        (self.context.get(), self.id.0)
    }

    pub(crate) fn cl_context(&self) -> &RawContext {
        &self.context
    }

    pub(crate) fn id(&self) -> RawDevice {
        self.id
    }

    pub(crate) fn queue(&self) -> &RawQueue {
        &self.queue
    }

    pub(crate) fn new_queue(&self) -> Result<RawQueue, OpenClError> {
        new_queue(&self.context, self.id, format!("device {}", self.info))
    }

    /// Refuses to work where the driver's threads are not.
    pub(crate) fn check_process(&self) -> Result<(), OpenClError> {
        if is_of_parent() { Err(OpenClError::Forked) } else { Ok(()) }
    }

    /// Records on a timeline, from now on, when each command ran, and what memory is held. Whether it does: a device records into one
    /// timeline, and into that of the process if there was one when it was opened. No bit of any result changes.
    pub fn record_into(&self, timeline: Arc<Timeline>) -> bool {
        self.recorder.set(Recorder::new(timeline, &self.info.name)).is_ok()
    }

    /// Whether commands are recorded on a timeline.
    pub(crate) fn is_recorded(&self) -> bool {
        self.recorder.get().is_some()
    }

    /// Waits for what was queued last, so that it is recorded too, if commands are recorded.
    pub(crate) fn record_rest(&self) {
        if let Some(recorder) = self.recorder.get().filter(|_| !is_of_parent()) {
            // There is nobody to be told of an error.
            let _ = self.queue.finish();
            recorder.resolve_done();
        }
    }

    /// A span of the host on this device's timeline; nothing, and no name is asked for, where it has none.
    pub(crate) fn span<N: AsRef<str>>(&self, group: Group, name: impl FnOnce() -> N) -> SpanGuard<'_> {
        match self.recorder.get() {
            Some(recorder) => recorder.timeline().span(group, name().as_ref()),
            None => SpanGuard::none(),
        }
    }

    pub(crate) fn in_use(&self) -> MemoryUse {
        *lock(&self.in_use)
    }

    /// Notes that there is one buffer more or less.
    pub(crate) fn count_buffer(&self, bytes: u64, change: impl Fn(u64, u64) -> u64) {
        let mut in_use = lock(&self.in_use);
        *in_use = MemoryUse { bytes: change(in_use.bytes, bytes), buffers: change(in_use.buffers, 1) };
        let held = in_use.bytes;
        drop(in_use);
        if let Some(recorder) = self.recorder.get() {
            recorder.timeline().add_held(recorder.queue(), held);
        }
    }

    /// Waits until everything that was submitted is done.
    ///
    /// # Errors
    /// What an asynchronous command ran into, as far as the driver tells.
    pub fn finish(&self) -> Result<(), OpenClError> {
        let finished = {
            let _wait = self.span(Group::Wait, || "finish");
            self.finish_queue(&self.queue, String::new)
        };
        if let Some(recorder) = self.recorder.get() {
            recorder.resolve_done();
        }
        finished
    }

    /// Waits until everything in a queue is done; `what` is that, as errors name it.
    pub(crate) fn finish_queue(&self, queue: &RawQueue, what: impl FnOnce() -> String) -> Result<(), OpenClError> {
        queue.finish().map_err(|status| self.failed("clFinish", status, what()))
    }

    /// Waits until a command is done; `what` is it, as errors name it.
    pub(crate) fn await_event(&self, event: &RawEvent, what: impl FnOnce() -> String) -> Result<(), OpenClError> {
        event.wait().map_err(|status| self.failed("clWaitForEvents", status, what()))
    }

    /// Has the device begin with what is queued.
    pub(crate) fn flush(&self) -> Result<(), OpenClError> {
        self.flush_queue(&self.queue)
    }

    pub(crate) fn flush_queue(&self, queue: &RawQueue) -> Result<(), OpenClError> {
        queue::flush(queue.get()).map_err(|status| self.failed("clFlush", status, String::new()))
    }

    /// The one way by which commands reach the device: `enqueue` makes the call named `call`, `what` describes it for errors, and `note`
    /// for a timeline.
    pub(crate) fn submit(
        &self,
        call: &'static str,
        what: impl FnOnce() -> String,
        note: impl FnOnce() -> Note,
        enqueue: impl FnOnce(cl_command_queue) -> Result<cl_event, i32>,
    ) -> Result<RawEvent, OpenClError> {
        self.submit_to(&self.queue, call, what, note, enqueue)
    }

    /// As [`Device::submit`], into another queue of this device.
    pub(crate) fn submit_to(
        &self,
        queue: &RawQueue,
        call: &'static str,
        what: impl FnOnce() -> String,
        note: impl FnOnce() -> Note,
        enqueue: impl FnOnce(cl_command_queue) -> Result<cl_event, i32>,
    ) -> Result<RawEvent, OpenClError> {
        self.note_other_command();
        let recorder = self.recorder.get();
        let began = recorder.map_or(0, |recorder| recorder.timeline().now());
        let event = enqueue(queue.get()).map(RawEvent::own).map_err(|status| self.failed(call, status, what()))?;
        if let Some(recorder) = recorder {
            recorder.keep(&event, note(), began);
        }
        Ok(event)
    }

    /// The error of a call on the queue, which may be that of a kernel queued earlier.
    pub(crate) fn failed(&self, call: &'static str, status: i32, what: String) -> OpenClError {
        let mut parts = vec![if what.is_empty() { "the queue".to_owned() } else { what }];
        let last = Arc::clone(&lock(&self.last_launch));
        if !last.is_empty() {
            parts.push(format!("last launched before: {last}"));
        }
        parts.push(format!("device {}", self.info.name));
        if ClStatus(status).is_resource_failure() {
            parts.push(format!("held: {} of {} bytes", self.in_use(), self.info.global_memory_bytes));
        }
        OpenClError::call(call, status, parts.join(", "))
    }

    pub(crate) fn note_launch(&self, kernel: &Arc<str>) {
        *lock(&self.last_launch) = Arc::clone(kernel);
    }

    /// Has this thread be the one whose launches are kept to be made again. Whether it is: another one may be.
    pub(crate) fn begin_replay(&self) -> bool {
        let mut replay = lock(&self.replay);
        let thread = thread::current().id();
        let free = replay.as_ref().is_none_or(|one| one.thread == thread);
        if free {
            *replay = Some(OneThread { thread, only_launches: true });
        }
        free
    }

    /// Whether this thread's launches are kept, and if so whether they are all that it did.
    pub(crate) fn keeps_launches(&self) -> Option<bool> {
        let replay = lock(&self.replay);
        replay.as_ref().filter(|one| one.thread == thread::current().id()).map(|one| one.only_launches)
    }

    /// This thread's launches are kept no longer.
    pub(crate) fn end_replay(&self) {
        lock(&self.replay).take_if(|one| one.thread == thread::current().id());
    }

    /// Notes a command that is no launch which can be made again.
    pub(crate) fn note_other_command(&self) {
        if let Some(one) = lock(&self.replay).as_mut().filter(|one| one.thread == thread::current().id()) {
            one.only_launches = false;
        }
    }
}

/// An in-order queue with profiling; `what` is its device, as errors name it.
fn new_queue(context: &RawContext, device: RawDevice, what: String) -> Result<RawQueue, OpenClError> {
    // SAFETY: the context is live, was made for this device, and the queue keeps it alive.
    unsafe { queue::create_command_queue(context.get(), device.0, queue::CL_QUEUE_PROFILING_ENABLE) }
        .map(RawQueue::own)
        .map_err(|status| OpenClError::call("clCreateCommandQueue", status, what))
}
