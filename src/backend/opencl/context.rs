//! One device in use: an OpenCL context, one in-order queue with profiling, and an account of the bytes held. Every
//! command goes to the device through [`Context::submit`]; launches are in `launch.rs`, programs in `program.rs`.

use std::collections::HashMap;
use std::ffi::c_void;
use std::fmt;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use opencl3::command_queue as queue;
use opencl3::memory::{CL_MEM_ALLOC_HOST_PTR, CL_MEM_READ_WRITE, create_buffer};
use opencl3::types::{CL_BLOCKING, cl_command_queue, cl_event, cl_mem_flags};

use super::ahead::Builds;
use super::cache::{Cache, Key};
use super::device::{DeviceInfo, handle_of};
use super::error::{ClStatus, OpenClError};
use super::program::ProgramSlot;
use super::raw::{RawContext, RawDevice, RawEvent, RawMem, RawQueue};
use super::recorder::{Note, Recorder};
use crate::backend::timeline::{CommandKind, Group, SpanGuard, Timeline};

/// What the buffers of a context take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemoryUse {
    /// Bytes held.
    pub bytes: u64,
    /// Buffers held.
    pub buffers: u64,
}

impl fmt::Display for MemoryUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes in {} buffers", self.bytes, self.buffers)
    }
}

/// The running account that a context shares with its buffers. Its address also tells contexts apart.
#[derive(Debug, Default)]
struct MemoryAccount {
    bytes: AtomicU64,
    buffers: AtomicU64,
    recorder: OnceLock<Recorder>,
}

impl MemoryAccount {
    fn take(&self, bytes: usize) {
        let before = self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        self.buffers.fetch_add(1, Ordering::Relaxed);
        self.record(before.wrapping_add(bytes as u64));
    }

    fn give_back(&self, bytes: usize) {
        let before = self.bytes.fetch_sub(bytes as u64, Ordering::Relaxed);
        self.buffers.fetch_sub(1, Ordering::Relaxed);
        self.record(before.wrapping_sub(bytes as u64));
    }

    fn record(&self, held: u64) {
        if let Some(recorder) = self.recorder.get() {
            recorder.timeline().add_held(recorder.queue(), held);
        }
    }

    fn in_use(&self) -> MemoryUse {
        MemoryUse { bytes: self.bytes.load(Ordering::Relaxed), buffers: self.buffers.load(Ordering::Relaxed) }
    }
}

/// Device memory: a number of bytes, and what they are for. Given back when dropped; commands that use it and are still
/// queued finish first.
#[derive(Debug)]
pub struct Buffer {
    mem: RawMem,
    bytes: usize,
    what: Box<str>,
    account: Arc<MemoryAccount>,
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

    pub(super) fn mem(&self) -> opencl3::types::cl_mem {
        self.mem.get()
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
        self.account.give_back(held_bytes(self.bytes));
    }
}

/// OpenCL has no empty buffers: one of zero bytes takes the smallest size that any kernel argument may be read as.
fn held_bytes(bytes: usize) -> usize {
    bytes.max(16)
}

/// A device with its context and queue. Shared between threads by reference: commands of all threads go into one queue, in
/// the order in which they were submitted.
#[derive(Debug)]
pub struct Context {
    queue: RawQueue,
    raw: RawContext,
    device: RawDevice,
    info: DeviceInfo,
    account: Arc<MemoryAccount>,
    cache: Cache,
    programs: Mutex<HashMap<Key, ProgramSlot>>,
    builds: Arc<Builds>,
    /// The kernel that was launched last: where a driver reports a broken kernel only at a later call, this names it.
    last_launch: Mutex<Arc<str>>,
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
    ///
    /// # Errors
    ///
    /// As [`Context::open`].
    pub fn open_with_cache(info: &DeviceInfo, cache: Cache) -> Result<Self, OpenClError> {
        let device = handle_of(info)?;
        let name = format!("device {info}");
        let raw = opencl3::context::context::create_context(&[device.0], ptr::null(), None, ptr::null_mut())
            .map(RawContext::own)
            .map_err(|status| OpenClError::call("clCreateContext", status, name.as_str()))?;
        let queue = new_queue(&raw, device, name)?;
        let context = Self {
            queue,
            raw,
            device,
            info: info.clone(),
            account: Arc::default(),
            cache,
            programs: Mutex::default(),
            builds: Arc::default(),
            last_launch: Mutex::new("".into()),
        };
        if let Some(timeline) = Timeline::of_process() {
            context.record_into(Arc::clone(timeline));
        }
        Ok(context)
    }

    /// Records on a timeline, from now on, when each command ran, and what memory is held. Whether it does: a context records into one
    /// timeline, and into that of the process if there was one when it was opened. No bit of any result changes.
    pub fn record_into(&self, timeline: Arc<Timeline>) -> bool {
        self.account.recorder.set(Recorder::new(timeline, &self.info.name)).is_ok()
    }

    /// Whether commands are recorded on a timeline.
    pub(super) fn is_recorded(&self) -> bool {
        self.recorder().is_some()
    }

    fn recorder(&self) -> Option<&Recorder> {
        self.account.recorder.get()
    }

    /// A span of the host on this context's timeline; nothing, and no name is asked for, where it has none.
    pub(super) fn span<N: AsRef<str>>(&self, group: Group, name: impl FnOnce() -> N) -> SpanGuard<'_> {
        match self.recorder() {
            Some(recorder) => recorder.timeline().span(group, name().as_ref()),
            None => SpanGuard::none(),
        }
    }

    /// The device, as it was listed.
    pub fn info(&self) -> &DeviceInfo {
        &self.info
    }

    /// The cache that programs and the probe use.
    pub fn cache(&self) -> &Cache {
        &self.cache
    }

    /// What the buffers of this context take now.
    pub fn memory(&self) -> MemoryUse {
        self.account.in_use()
    }

    /// Allocates `bytes` bytes of device memory; `what` says what for ("source spinor f64", say). The content is
    /// undefined.
    ///
    /// # Errors
    ///
    /// [`OpenClError::OutOfMemory`] names the allocation, what is held, and what the device has.
    pub fn allocate(&self, bytes: usize, what: &str) -> Result<Buffer, OpenClError> {
        self.allocate_in(CL_MEM_READ_WRITE, bytes, what)
    }

    /// As [`Context::allocate`], in memory of the host that the device reaches (`CL_MEM_ALLOC_HOST_PTR`): pinned where memories are apart, the
    /// one memory where they are not. It is for [`Context::write_mapped`] and [`Context::read_mapped`], which then copy nothing between devices.
    ///
    /// # Errors
    ///
    /// As [`Context::allocate`].
    pub fn allocate_reachable(&self, bytes: usize, what: &str) -> Result<Buffer, OpenClError> {
        self.allocate_in(CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes, what)
    }

    fn allocate_in(&self, flags: cl_mem_flags, bytes: usize, what: &str) -> Result<Buffer, OpenClError> {
        let size = held_bytes(bytes);
        let out_of_memory = |call, status| OpenClError::OutOfMemory {
            call,
            status: ClStatus(status),
            what: what.to_owned(),
            bytes,
            in_use: self.memory(),
            device: self.info.name.clone(),
            device_bytes: self.info.global_memory_bytes,
            max_allocation_bytes: self.info.max_allocation_bytes,
        };
        // SAFETY: no host pointer is given, so the driver reads and keeps none.
        let mem = unsafe { create_buffer(self.raw.get(), flags, size, ptr::null_mut()) }
            .map(RawMem::own)
            .map_err(|status| out_of_memory("clCreateBuffer", status))?;
        if flags & CL_MEM_ALLOC_HOST_PTR == 0 {
            self.make_resident(&mem, || format!("{bytes} bytes of {what}")).map_err(|error| match error {
                OpenClError::Call { call, status, .. } if status.is_resource_failure() => out_of_memory(call, status.0),
                other => other,
            })?;
        }
        self.account.take(size);
        Ok(Buffer { mem, bytes, what: what.into(), account: Arc::clone(&self.account) })
    }

    /// Has memory allocated on the device now: drivers may put that off to the first use, where nobody can tell which buffer did not fit.
    fn make_resident(&self, mem: &RawMem, what: impl FnOnce() -> String) -> Result<(), OpenClError> {
        // No byte moves.
        let note = || Note::of_bytes(CommandKind::Migrate, 0);
        self.submit("clEnqueueMigrateMemObjects", what, note, |queue| {
            let mems = [mem.get()];
            // SAFETY: one live buffer of this context, and an empty wait list.
            unsafe {
                queue::enqueue_migrate_mem_object(
                    queue,
                    1,
                    mems.as_ptr(),
                    opencl3::memory::CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED,
                    0,
                    ptr::null(),
                )
            }
        })
        .map(drop)
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
    ///
    /// # Errors
    ///
    /// The failing call.
    pub fn fill_zero(&self, buffer: &Buffer) -> Result<(), OpenClError> {
        self.check_owns(buffer)?;
        if buffer.bytes == 0 {
            return Ok(());
        }
        // OpenCL wants offset and size to be multiples of the pattern; a wide pattern is the fast path of drivers.
        let pattern = [0u64; 2];
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

    pub(super) fn note_launch(&self, kernel: &Arc<str>) {
        *lock(&self.last_launch) = Arc::clone(kernel);
    }

    fn last_launch(&self) -> Arc<str> {
        Arc::clone(&lock(&self.last_launch))
    }

    pub(super) fn check_owns(&self, buffer: &Buffer) -> Result<(), OpenClError> {
        if Arc::ptr_eq(&self.account, &buffer.account) {
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

/// An in-order queue with profiling; `what` is its device, as errors name it.
pub(super) fn new_queue(context: &RawContext, device: RawDevice, what: String) -> Result<RawQueue, OpenClError> {
    // SAFETY: the context is live, was made for this device, and the queue keeps it alive.
    unsafe { queue::create_command_queue(context.get(), device.0, queue::CL_QUEUE_PROFILING_ENABLE) }
        .map(RawQueue::own)
        .map_err(|status| OpenClError::call("clCreateCommandQueue", status, what))
}

impl Drop for Context {
    /// What was queued last is recorded too.
    fn drop(&mut self) {
        if let Some(recorder) = self.recorder() {
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
