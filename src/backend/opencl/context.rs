//! One device in use: an OpenCL context, one in-order queue with profiling, and a pool of memory. Every command goes to the device through
//! [`Context::submit`]; memory is allocated in `memory.rs`, launches are in `launch.rs`, programs in `program.rs`.

use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use opencl3::command_queue as queue;
use opencl3::types::{CL_BLOCKING, cl_command_queue, cl_event};

use super::ahead::Builds;
use super::cache::{Cache, Key};
use super::device::DeviceInfo;
use super::discovery::{handle_of, is_of_parent};
use super::error::{ClStatus, OpenClError};
use super::memory::limit_from_environment;
use super::pool::{Block, MemoryKind, Pool};
use super::program::ProgramSlot;
use super::raw::{RawContext, RawDevice, RawEvent, RawQueue, unsigned};
use super::recorder::{Note, Recorder};
use super::tape::TapeSlot;
use super::transfer::Transfers;
use crate::backend::timeline::{CommandKind, Group, SpanGuard, Timeline};

/// Device memory: a number of bytes, and what they are for. Given back to the context's pool when dropped; commands that use it and are still
/// queued finish first.
#[derive(Debug)]
pub struct Buffer {
    block: Arc<Block>,
    bytes: usize,
    what: Arc<str>,
    pool: Arc<Pool>,
}

impl Buffer {
    /// The size that was asked for, in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// What the buffer is for, as errors name it.
    pub fn what(&self) -> &str {
        &self.what
    }

    /// Where it lies.
    pub fn kind(&self) -> MemoryKind {
        self.block.kind()
    }

    pub(super) fn new(block: Arc<Block>, bytes: usize, what: &str, pool: &Arc<Pool>) -> Self {
        let what = what.into();
        pool.enter(&block, bytes, &what);
        Self { block, bytes, what, pool: Arc::clone(pool) }
    }

    pub(super) fn mem(&self) -> opencl3::types::cl_mem {
        self.block.mem()
    }

    /// The `cl_mem`, for one's own calls of OpenCL. It lives as long as the buffer.
    pub fn handle(&self) -> *mut c_void {
        self.mem()
    }

    pub(super) fn check_range(&self, offset: usize, len: usize) -> Result<(), OpenClError> {
        match offset.checked_add(len) {
            Some(end) if end <= self.bytes => Ok(()),
            _ => Err(OpenClError::OutOfRange { what: self.what.to_string(), bytes: self.bytes, offset, len }),
        }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.pool.give_back(Arc::clone(&self.block), self.bytes, &self.what);
    }
}

/// A device with its context and queue. Shared between threads by reference: commands of all threads go into one queue, in
/// the order in which they were submitted.
#[derive(Debug)]
pub struct Context {
    queue: RawQueue,
    raw: RawContext,
    device: RawDevice,
    info: DeviceInfo,
    pool: Arc<Pool>,
    cache: Cache,
    programs: Mutex<HashMap<Key, ProgramSlot>>,
    builds: Arc<Builds>,
    transfers: Mutex<Transfers>,
    /// The kernel that was launched last: where a driver reports a broken kernel only at a later call, this names it.
    last_launch: Mutex<Arc<str>>,
    /// Launches that a thread will make again.
    tape: TapeSlot,
}

impl Context {
    /// Wall time that went into building kernels so far, and into loading those of the cache, of all threads together; with the first run of each
    /// where a driver compiles it for that (PoCL).
    pub fn building(&self) -> Duration {
        self.builds.time()
    }

    /// How far building is: others may look at it while a thread builds.
    pub fn builds(&self) -> &Arc<Builds> {
        &self.builds
    }

    /// Opens a device, with the cache that the environment names ([`Cache::from_environment`]), but for programs that the driver keeps
    /// itself.
    ///
    /// # Errors
    ///
    /// [`OpenClError::UnknownDevice`] if `info` did not come from [`devices`](super::devices); otherwise the failing call.
    pub fn open(info: &DeviceInfo) -> Result<Self, OpenClError> {
        Self::open_with_cache(info, Cache::from_environment().for_device(info))
    }

    /// Opens a device with a given cache of binaries and probe verdicts.
    pub fn open_with_cache(info: &DeviceInfo, cache: Cache) -> Result<Self, OpenClError> {
        let device = handle_of(info)?;
        let name = format!("device {info}");
        let raw = opencl3::context::context::create_context(&[device.0], ptr::null(), None, ptr::null_mut())
            .map(RawContext::own)
            .map_err(|status| OpenClError::call("clCreateContext", status, name.as_str()))?;
        let queue = new_queue(&raw, device, name)?;
        let transfers = Transfers::new(shares_host_memory(device));
        let context = Self {
            queue,
            raw,
            device,
            info: info.clone(),
            pool: Arc::default(),
            cache,
            programs: Mutex::default(),
            builds: Arc::default(),
            transfers,
            last_launch: Mutex::new("".into()),
            tape: Arc::default(),
        };
        context.set_memory_limit(limit_from_environment()?);
        if let Some(timeline) = Timeline::of_process() {
            context.record_into(Arc::clone(timeline));
        }
        Ok(context)
    }

    /// Records on a timeline, from now on, when each command ran, and what memory is held. Whether it does: a context records into one
    /// timeline, and into that of the process if there was one when it was opened. No bit of any result changes.
    pub fn record_into(&self, timeline: Arc<Timeline>) -> bool {
        self.pool.recorder.set(Recorder::new(timeline, &self.info.name)).is_ok()
    }

    /// Whether commands are recorded on a timeline.
    pub(super) fn is_recorded(&self) -> bool {
        self.recorder().is_some()
    }

    fn recorder(&self) -> Option<&Recorder> {
        self.pool.recorder.get()
    }

    /// A span of the host on this context's timeline; nothing, and no name is asked for, where it has none.
    pub(super) fn span<N: AsRef<str>>(&self, group: Group, name: impl FnOnce() -> N) -> SpanGuard<'_> {
        match self.recorder() {
            Some(recorder) => recorder.timeline().span(group, name().as_ref()),
            None => SpanGuard::none(),
        }
    }

    /// Refuses to work where the driver's threads are not.
    pub(super) fn check_process(&self) -> Result<(), OpenClError> {
        if is_of_parent() { Err(OpenClError::Forked) } else { Ok(()) }
    }

    /// The device, as it was listed.
    pub fn info(&self) -> &DeviceInfo {
        &self.info
    }

    /// The cache that programs and the probe use.
    pub fn cache(&self) -> &Cache {
        &self.cache
    }

    /// Writes `data` into the buffer from byte `offset` on. Waits until all earlier commands and the write are done.
    ///
    /// # Errors
    ///
    /// [`OpenClError::OutOfRange`] if `data` would not fit.
    pub fn write(&self, buffer: &Buffer, offset: usize, data: &[u8]) -> Result<(), OpenClError> {
        self.check_owns(buffer)?;
        buffer.check_range(offset, data.len())?;
        if data.is_empty() {
            return Ok(());
        }
        let what = || format!("{} bytes at {offset} of {}", data.len(), buffer.what);
        let _wait = self.span(Group::Wait, || "write to device");
        let note = || Note::of_bytes(CommandKind::Write, data.len());
        self.submit("clEnqueueWriteBuffer", what, note, |queue| {
            // SAFETY: the range was checked, the write is blocking, so that `data` is read before this returns,
            // and the wait list is empty.
            unsafe {
                queue::enqueue_write_buffer(
                    queue,
                    buffer.mem(),
                    CL_BLOCKING,
                    offset,
                    data.len(),
                    data.as_ptr().cast::<c_void>(),
                    0,
                    ptr::null(),
                )
            }
        })
        .map(drop)
    }

    /// Reads from byte `offset` of the buffer on into `data`. Waits until all earlier commands and the read are done.
    ///
    /// # Errors
    ///
    /// [`OpenClError::OutOfRange`] if the buffer ends before `data`; also what an earlier, asynchronous command ran into.
    pub fn read(&self, buffer: &Buffer, offset: usize, data: &mut [u8]) -> Result<(), OpenClError> {
        self.check_owns(buffer)?;
        buffer.check_range(offset, data.len())?;
        if data.is_empty() {
            return Ok(());
        }
        let (start, len) = (data.as_mut_ptr().cast::<c_void>(), data.len());
        let what = || format!("{len} bytes at {offset} of {}", buffer.what);
        let _wait = self.span(Group::Wait, || "read from device");
        let note = || Note::of_bytes(CommandKind::Read, len);
        self.submit("clEnqueueReadBuffer", what, note, |queue| {
            // SAFETY: the range was checked, `data` is exclusively borrowed until the blocking read returns, and the wait
            // list is empty.
            unsafe { queue::enqueue_read_buffer(queue, buffer.mem(), CL_BLOCKING, offset, len, start, 0, ptr::null()) }
        })
        .map(drop)
    }

    /// Sets all bytes of the buffer to zero (asynchronous).
    pub fn fill_zero(&self, buffer: &Buffer) -> Result<(), OpenClError> {
        self.fill(buffer, 0)
    }

    /// Sets all bytes of the buffer (asynchronous).
    pub(super) fn fill(&self, buffer: &Buffer, byte: u8) -> Result<(), OpenClError> {
        self.check_owns(buffer)?;
        if buffer.bytes == 0 {
            return Ok(());
        }
        // OpenCL wants offset and size to be multiples of the pattern; a wide pattern is the fast path of drivers.
        let pattern = [byte; 16];
        let width = [16, 8, 4, 2, 1].into_iter().find(|&width| buffer.bytes.is_multiple_of(width)).unwrap_or(1);
        let what = || format!("{} bytes of {}", buffer.bytes, buffer.what);
        let note = || Note::of_bytes(CommandKind::Fill, buffer.bytes);
        self.submit("clEnqueueFillBuffer", what, note, |queue| {
            // SAFETY: the pattern is copied by the call, and `width` of it, a divisor of the size, is at most its 16 bytes.
            unsafe {
                queue::enqueue_fill_buffer(
                    queue,
                    buffer.mem(),
                    pattern.as_ptr().cast(),
                    width,
                    0,
                    buffer.bytes,
                    0,
                    ptr::null(),
                )
            }
        })
        .map(drop)
    }

    /// Copies the first `bytes` bytes of `src` to the start of `dst` (asynchronous).
    ///
    /// # Errors
    ///
    /// [`OpenClError::OutOfRange`] if either buffer is smaller.
    pub fn copy(&self, src: &Buffer, dst: &Buffer, bytes: usize) -> Result<(), OpenClError> {
        self.check_owns(src)?;
        self.check_owns(dst)?;
        src.check_range(0, bytes)?;
        dst.check_range(0, bytes)?;
        if bytes == 0 {
            return Ok(());
        }
        let what = || format!("{bytes} bytes of {} to {}", src.what, dst.what);
        // Read, and written.
        let note = || Note::of_bytes(CommandKind::Copy, 2 * bytes);
        self.submit("clEnqueueCopyBuffer", what, note, |queue| {
            // SAFETY: both ranges were checked, and the wait list is empty.
            unsafe { queue::enqueue_copy_buffer(queue, src.mem(), dst.mem(), 0, 0, bytes, 0, ptr::null()) }
        })
        .map(drop)
    }

    /// Waits until everything that was submitted is done.
    ///
    /// # Errors
    ///
    /// What an asynchronous command ran into, as far as the driver tells.
    pub fn finish(&self) -> Result<(), OpenClError> {
        let finished = {
            let _wait = self.span(Group::Wait, || "finish");
            queue::finish(self.queue.get()).map_err(|status| self.failed("clFinish", status, String::new()))
        };
        if let Some(recorder) = self.recorder() {
            recorder.resolve_done();
        }
        finished
    }

    /// The one way by which commands reach the device: `enqueue` makes the call named `call`, `what` describes it for errors, and `note`
    /// for a timeline.
    pub(super) fn submit(
        &self,
        call: &'static str,
        what: impl FnOnce() -> String,
        note: impl FnOnce() -> Note,
        enqueue: impl FnOnce(cl_command_queue) -> Result<cl_event, i32>,
    ) -> Result<RawEvent, OpenClError> {
        self.submit_to(&self.queue, call, what, note, enqueue)
    }

    /// As [`Context::submit`], into another queue of this context.
    pub(super) fn submit_to(
        &self,
        queue: &RawQueue,
        call: &'static str,
        what: impl FnOnce() -> String,
        note: impl FnOnce() -> Note,
        enqueue: impl FnOnce(cl_command_queue) -> Result<cl_event, i32>,
    ) -> Result<RawEvent, OpenClError> {
        self.spoil_tape();
        let recorder = self.recorder();
        let began = recorder.map_or(0, |recorder| recorder.timeline().now());
        let event = enqueue(queue.get()).map(RawEvent::own).map_err(|status| self.failed(call, status, what()))?;
        if let Some(recorder) = recorder {
            recorder.keep(&event, note(), began);
        }
        Ok(event)
    }

    /// The error of a call on the queue, which may be that of a kernel queued earlier.
    pub(super) fn failed(&self, call: &'static str, status: i32, what: String) -> OpenClError {
        let mut parts = vec![if what.is_empty() { "the queue".to_owned() } else { what }];
        let last = self.last_launch();
        if !last.is_empty() {
            parts.push(format!("last launched before: {last}"));
        }
        parts.push(format!("device {}", self.info.name));
        if ClStatus(status).is_resource_failure() {
            parts.push(format!("held: {} of {} bytes", self.memory(), self.info.global_memory_bytes));
        }
        OpenClError::call(call, status, parts.join(", "))
    }

    /// The tape that a thread writes now, if one does.
    pub(super) fn tape(&self) -> &TapeSlot {
        &self.tape
    }

    pub(super) fn note_launch(&self, kernel: &Arc<str>) {
        *lock(&self.last_launch) = Arc::clone(kernel);
    }

    fn last_launch(&self) -> Arc<str> {
        Arc::clone(&lock(&self.last_launch))
    }

    pub(super) fn check_owns(&self, buffer: &Buffer) -> Result<(), OpenClError> {
        if Arc::ptr_eq(&self.pool, &buffer.pool) {
            Ok(())
        } else {
            Err(OpenClError::WrongContext { what: buffer.what.to_string(), device: self.info.name.clone() })
        }
    }

    /// The queue, held once more, for what must be able to use it after the context is gone.
    pub(super) fn share_queue(&self) -> Result<RawQueue, OpenClError> {
        let queue = self.queue.get();
        // SAFETY: a live queue; the reference is given back by the handle that is returned.
        unsafe { queue::retain_command_queue(queue) }
            .map(|()| RawQueue::own(queue))
            .map_err(|status| self.failed("clRetainCommandQueue", status, String::new()))
    }

    /// Whether the device works in the host's memory, by what the driver says (`CL_DEVICE_HOST_UNIFIED_MEMORY`).
    pub fn shares_host_memory(&self) -> bool {
        shares_host_memory(self.device)
    }

    /// The `cl_context` and the `cl_device_id`, for one's own calls of OpenCL. They live as long as the context.
    pub fn handles(&self) -> (*mut c_void, *mut c_void) {
        (self.raw.get(), self.device.0)
    }

    pub(super) fn transfers(&self) -> &Mutex<Transfers> {
        &self.transfers
    }

    pub(super) fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    pub(super) fn raw(&self) -> &RawContext {
        &self.raw
    }

    pub(super) fn queue(&self) -> &RawQueue {
        &self.queue
    }

    pub(super) fn device(&self) -> RawDevice {
        self.device
    }

    /// Forgets the programs that were built.
    #[cfg(feature = "check")]
    pub(super) fn forget_programs(&self) {
        self.programs().clear();
    }

    pub(super) fn programs(&self) -> MutexGuard<'_, HashMap<Key, ProgramSlot>> {
        lock(&self.programs)
    }
}

fn shares_host_memory(device: RawDevice) -> bool {
    unsigned(opencl3::device::get_device_data(device.0, opencl3::device::CL_DEVICE_HOST_UNIFIED_MEMORY)) != 0
}

/// An in-order queue with profiling; `what` is its device, as errors name it.
pub(super) fn new_queue(context: &RawContext, device: RawDevice, what: String) -> Result<RawQueue, OpenClError> {
    // SAFETY: the context is live, was made for this device, and the queue keeps it alive.
    unsafe { queue::create_command_queue(context.get(), device.0, queue::CL_QUEUE_PROFILING_ENABLE) }
        .map(RawQueue::own)
        .map_err(|status| OpenClError::call("clCreateCommandQueue", status, what))
}

impl Drop for Context {
    /// What was queued last is recorded too. Memory that waits goes back to the driver, also where a buffer outlives the context.
    fn drop(&mut self) {
        self.trim_memory();
        if let Some(recorder) = self.recorder().filter(|_| !is_of_parent()) {
            // There is nobody to be told of an error.
            let _ = queue::finish(self.queue.get());
            recorder.resolve_done();
        }
    }
}

/// Locks a mutex whose data stays consistent if a holder panicked.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
