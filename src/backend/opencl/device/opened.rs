//! An open device: its OpenCL context, and one in-order queue with profiling. Every command reaches the device through [`Device::submit`].

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

/// The memory of the buffers on a device, including those in host memory that the device can access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemoryUse {
    /// Requested bytes.
    pub bytes: u64,
    /// The number of buffers.
    pub buffers: u64,
}

impl fmt::Display for MemoryUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes in {} buffers", self.bytes, self.buffers)
    }
}

/// An open device. Commands of all threads go into one queue, in the order in which they are submitted.
#[derive(Debug)]
pub struct Device {
    queue: RawQueue,
    context: RawContext,
    id: RawDevice,
    info: DeviceInfo,
    recorder: OnceLock<Recorder>,
    in_use: Mutex<MemoryUse>,
    /// The kernel that was launched last. Some drivers report a broken kernel only at a later call; this names it.
    last_launch: Mutex<Arc<str>>,
    replay: Mutex<Option<OneThread>>,
}

/// The thread whose launches are kept for a replay, and whether they are all that it did with the device.
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

    /// The device's entry in the list of devices.
    pub fn info(&self) -> &DeviceInfo {
        &self.info
    }

    /// Whether the device works in the host's memory, according to the driver (`CL_DEVICE_HOST_UNIFIED_MEMORY`).
    pub fn shares_host_memory(&self) -> bool {
        unsigned(opencl3::device::get_device_data(self.id.0, opencl3::device::CL_DEVICE_HOST_UNIFIED_MEMORY)) != 0
    }

    /// The `cl_context` and the `cl_device_id`, for direct calls of OpenCL. They are valid as long as the device is open.
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

    /// Refuses to work in a process that lacks the driver's threads.
    pub(crate) fn check_process(&self) -> Result<(), OpenClError> {
        if is_of_parent() { Err(OpenClError::Forked) } else { Ok(()) }
    }

    /// From now on, records on a timeline when each command ran, and how much memory is held. Returns whether it does: a device records
    /// into only one timeline, and into that of the process if there was one when the device was opened. No bit of any result changes.
    pub fn record_into(&self, timeline: Arc<Timeline>) -> bool {
        self.recorder.set(Recorder::new(timeline, &self.info.name)).is_ok()
    }

    /// Whether commands are recorded on a timeline.
    pub(crate) fn is_recorded(&self) -> bool {
        self.recorder.get().is_some()
    }

    /// If commands are recorded, waits for the queued ones, so that they are recorded too.
    pub(crate) fn record_rest(&self) {
        if let Some(recorder) = self.recorder.get().filter(|_| !is_of_parent()) {
            // There is nobody to report an error to.
            let _ = self.queue.finish();
            recorder.resolve_done();
        }
    }

    /// A span of the host on this device's timeline. Without a timeline it is nothing, and `name` is not called.
    pub(crate) fn span<N: AsRef<str>>(&self, group: Group, name: impl FnOnce() -> N) -> SpanGuard<'_> {
        match self.recorder.get() {
            Some(recorder) => recorder.timeline().span(group, name().as_ref()),
            None => SpanGuard::none(),
        }
    }

    pub(crate) fn in_use(&self) -> MemoryUse {
        *lock(&self.in_use)
    }

    /// Records that the number of buffers has changed by one.
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
    /// The error of an asynchronous command, if the driver reports it.
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

    /// Waits until everything in a queue is done. `what`: its description for errors.
    pub(crate) fn finish_queue(&self, queue: &RawQueue, what: impl FnOnce() -> String) -> Result<(), OpenClError> {
        queue.finish().map_err(|status| self.failed("clFinish", status, what()))
    }

    /// Waits until a command is done. `what`: its description for errors.
    pub(crate) fn await_event(&self, event: &RawEvent, what: impl FnOnce() -> String) -> Result<(), OpenClError> {
        event.wait().map_err(|status| self.failed("clWaitForEvents", status, what()))
    }

    /// Makes the device begin with the queued commands.
    pub(crate) fn flush(&self) -> Result<(), OpenClError> {
        self.flush_queue(&self.queue)
    }

    pub(crate) fn flush_queue(&self, queue: &RawQueue) -> Result<(), OpenClError> {
        queue::flush(queue.get()).map_err(|status| self.failed("clFlush", status, String::new()))
    }

    /// The only way by which commands reach the device. `enqueue` makes the call named `call`; `what` describes it for errors, and `note`
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

    /// The error of a call on the queue. It may come from a kernel that was queued earlier.
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

    /// Makes this thread the one whose launches are kept for a replay. Returns whether it is: there may be another one.
    pub(crate) fn begin_replay(&self) -> bool {
        let mut replay = lock(&self.replay);
        let thread = thread::current().id();
        let free = replay.as_ref().is_none_or(|one| one.thread == thread);
        if free {
            *replay = Some(OneThread { thread, only_launches: true });
        }
        free
    }

    /// Whether this thread's launches are kept, and if so, whether they are all that it did.
    pub(crate) fn keeps_launches(&self) -> Option<bool> {
        let replay = lock(&self.replay);
        replay.as_ref().filter(|one| one.thread == thread::current().id()).map(|one| one.only_launches)
    }

    /// Stops keeping this thread's launches.
    pub(crate) fn end_replay(&self) {
        lock(&self.replay).take_if(|one| one.thread == thread::current().id());
    }

    /// Records a command that is not a launch and thus cannot be replayed.
    pub(crate) fn note_other_command(&self) {
        if let Some(one) = lock(&self.replay).as_mut().filter(|one| one.thread == thread::current().id()) {
            one.only_launches = false;
        }
    }
}

/// An in-order queue with profiling. `what`: its device, for errors.
fn new_queue(context: &RawContext, device: RawDevice, what: String) -> Result<RawQueue, OpenClError> {
    // SAFETY: the context is live, was made for this device, and the queue keeps it alive.
    unsafe { queue::create_command_queue(context.get(), device.0, queue::CL_QUEUE_PROFILING_ENABLE) }
        .map(RawQueue::own)
        .map_err(|status| OpenClError::call("clCreateCommandQueue", status, what))
}
