//! The memory of a device, and the operations on it: writes, reads, fills, copies and maps.

use std::ffi::c_void;
use std::ops::{Deref, Range};
use std::ptr::{self, NonNull};
use std::sync::{Arc, Mutex};

use opencl3::command_queue as queue;
use opencl3::types::{CL_BLOCKING, CL_NON_BLOCKING, cl_bool, cl_map_flags, cl_mem};

use super::buffer::Buffer;
use super::pool::{MemoryStatistics, Pool};
use super::ring::{Towards, Transfers};
use crate::backend::opencl::device::{Device, MemoryUse, Note, OpenClError, RawEvent, RawQueue, WaitList};
use crate::backend::timeline::{CommandKind, Group};

/// An open device with its memory.
#[derive(Debug)]
pub struct DeviceMemory {
    device: Arc<Device>,
    pool: Arc<Pool>,
    transfers: Mutex<Transfers>,
}

impl Deref for DeviceMemory {
    type Target = Device;

    fn deref(&self) -> &Device {
        &self.device
    }
}

impl DeviceMemory {
    pub(crate) fn new(device: Arc<Device>) -> Self {
        let transfers = Transfers::new(device.shares_host_memory());
        Self { pool: Pool::new(Arc::clone(&device)), transfers, device }
    }

    pub(crate) fn transfers(&self) -> &Mutex<Transfers> {
        &self.transfers
    }

    pub(crate) fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    /// The memory of all buffers, both in device memory and in host memory that the device can access.
    pub fn memory(&self) -> MemoryUse {
        self.in_use()
    }

    /// The statistics of the pool so far.
    pub fn memory_statistics(&self) -> MemoryStatistics {
        self.pool.statistics()
    }

    pub(crate) fn check_owns(&self, buffer: &Buffer) -> Result<(), OpenClError> {
        match buffer.is_of(&self.pool) {
            true => Ok(()),
            false => {
                Err(OpenClError::WrongContext { what: buffer.what().to_owned(), device: self.info().name.clone() })
            }
        }
    }

    /// Writes `data` into the buffer from byte `offset` on. Waits until this and all earlier commands are done.
    ///
    /// # Errors
    /// [`OpenClError::OutOfRange`] if `data` does not fit.
    pub fn write(&self, buffer: &Buffer, offset: usize, data: &[u8]) -> Result<(), OpenClError> {
        self.check_owns(buffer)?;
        buffer.check_range(offset, data.len())?;
        if data.is_empty() {
            return Ok(());
        }
        let _wait = self.span(Group::Wait, || "write to device");
        let start = data.as_ptr().cast_mut().cast::<c_void>();
        // SAFETY: the range was checked; the write is blocking, so that `data` is read before this returns, and is only read.
        unsafe {
            self.enqueue_bytes(self.queue(), &[], (Towards::Device, CL_BLOCKING), buffer, (offset, data.len()), start)
        }
        .map(drop)
    }

    /// Reads bytes of the buffer from byte `offset` on into `data`. Waits until this and all earlier commands are done.
    ///
    /// # Errors
    /// [`OpenClError::OutOfRange`] if the buffer ends before `data`; also the error of an earlier, asynchronous command.
    pub fn read(&self, buffer: &Buffer, offset: usize, data: &mut [u8]) -> Result<(), OpenClError> {
        self.check_owns(buffer)?;
        buffer.check_range(offset, data.len())?;
        if data.is_empty() {
            return Ok(());
        }
        let _wait = self.span(Group::Wait, || "read from device");
        let start = data.as_mut_ptr().cast::<c_void>();
        // SAFETY: the range was checked; `data` is exclusively borrowed until the blocking read returns.
        unsafe {
            self.enqueue_bytes(self.queue(), &[], (Towards::Host, CL_BLOCKING), buffer, (offset, data.len()), start)
        }
        .map(drop)
    }

    /// Copies a range of a buffer to host memory at `start`, or back, in any queue of the device (asynchronous).
    ///
    /// # Safety
    /// The range is in the buffer, and as many bytes are at `start`. Until the command is done, nobody frees or writes them, or reads what
    /// is fetched.
    pub(crate) unsafe fn transfer(
        &self,
        queue: &RawQueue,
        after: &[&RawEvent],
        towards: Towards,
        buffer: &Buffer,
        range: Range<usize>,
        start: *mut c_void,
    ) -> Result<RawEvent, OpenClError> {
        // SAFETY: the caller promises what is asked for here.
        unsafe {
            self.enqueue_bytes(queue, after, (towards, CL_NON_BLOCKING), buffer, (range.start, range.len()), start)
        }
    }

    /// # Safety
    /// As for [`DeviceMemory::transfer`]. A blocking command is done when this returns.
    unsafe fn enqueue_bytes(
        &self,
        queue: &RawQueue,
        after: &[&RawEvent],
        (towards, blocking): (Towards, cl_bool),
        buffer: &Buffer,
        (offset, len): (usize, usize),
        start: *mut c_void,
    ) -> Result<RawEvent, OpenClError> {
        let (call, kind) = match towards {
            Towards::Device => ("clEnqueueWriteBuffer", CommandKind::Write),
            Towards::Host => ("clEnqueueReadBuffer", CommandKind::Read),
        };
        let what = || format!("{len} bytes at {offset} of {}", buffer.what());
        let note = || Note::of_bytes(kind, len);
        let (mem, after) = (buffer.mem(), WaitList::of(after.iter().copied()));
        let (count, list) = (after.len(), after.start());
        self.submit_to(queue, call, what, note, |queue| {
            // SAFETY: as the caller promises; the events live as long as their list.
            unsafe {
                match towards {
                    Towards::Device => {
                        queue::enqueue_write_buffer(queue, mem, blocking, offset, len, start, count, list)
                    }
                    Towards::Host => queue::enqueue_read_buffer(queue, mem, blocking, offset, len, start, count, list),
                }
            }
        })
    }

    /// Sets all bytes of the buffer to zero (asynchronous).
    pub fn fill_zero(&self, buffer: &Buffer) -> Result<(), OpenClError> {
        self.fill(buffer, 0)
    }

    /// Sets all bytes of the buffer (asynchronous).
    pub(crate) fn fill(&self, buffer: &Buffer, byte: u8) -> Result<(), OpenClError> {
        self.check_owns(buffer)?;
        if buffer.bytes() == 0 {
            return Ok(());
        }
        // OpenCL requires offset and size to be multiples of the pattern. Drivers are fast with a wide pattern.
        let pattern = [byte; 16];
        let width = [16, 8, 4, 2, 1].into_iter().find(|&width| buffer.bytes().is_multiple_of(width)).unwrap_or(1);
        let what = || format!("{} bytes of {}", buffer.bytes(), buffer.what());
        let note = || Note::of_bytes(CommandKind::Fill, buffer.bytes());
        self.submit("clEnqueueFillBuffer", what, note, |queue| {
            // SAFETY: the pattern is copied by the call, and `width` of it, a divisor of the size, is at most its 16 bytes.
            unsafe {
                queue::enqueue_fill_buffer(
                    queue,
                    buffer.mem(),
                    pattern.as_ptr().cast(),
                    width,
                    0,
                    buffer.bytes(),
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
    /// [`OpenClError::OutOfRange`] if either buffer is smaller.
    pub fn copy(&self, src: &Buffer, dst: &Buffer, bytes: usize) -> Result<(), OpenClError> {
        self.check_owns(src)?;
        self.check_owns(dst)?;
        src.check_range(0, bytes)?;
        dst.check_range(0, bytes)?;
        if bytes == 0 {
            return Ok(());
        }
        let what = || format!("{bytes} bytes of {} to {}", src.what(), dst.what());
        // Counted as read and as written.
        let note = || Note::of_bytes(CommandKind::Copy, 2 * bytes);
        self.submit("clEnqueueCopyBuffer", what, note, |queue| {
            // SAFETY: both ranges were checked, and the wait list is empty.
            unsafe { queue::enqueue_copy_buffer(queue, src.mem(), dst.mem(), 0, 0, bytes, 0, ptr::null()) }
        })
        .map(drop)
    }

    /// Waits for earlier commands, and maps a range of a buffer.
    pub(crate) fn map(
        &self,
        mem: cl_mem,
        (offset, len): (usize, usize),
        flags: cl_map_flags,
        what: impl Fn() -> String,
    ) -> Result<NonNull<u8>, OpenClError> {
        let mut start = ptr::null_mut();
        let note = || Note::of_bytes(CommandKind::Map, len);
        self.submit("clEnqueueMapBuffer", &what, note, |queue| {
            // SAFETY: a live buffer of this context with that range, and an empty wait list.
            unsafe {
                queue::enqueue_map_buffer(queue, mem, CL_BLOCKING, flags, offset, len, &mut start, 0, ptr::null())
            }
        })?;
        NonNull::new(start.cast::<u8>())
            .ok_or_else(|| self.failed("clEnqueueMapBuffer", opencl3::error_codes::CL_MAP_FAILURE, what()))
    }

    pub(crate) fn unmap(&self, buffer: &Buffer, start: NonNull<u8>) -> Result<(), OpenClError> {
        self.submit(
            "clEnqueueUnmapMemObject",
            || buffer.what().to_owned(),
            || Note::of_bytes(CommandKind::Unmap, 0),
            |queue| {
                // SAFETY: `start` is what mapping this buffer gave, and nothing refers to the bytes any more.
                unsafe { queue::enqueue_unmap_mem_object(queue, buffer.mem(), start.as_ptr().cast(), 0, ptr::null()) }
            },
        )
        .map(drop)
    }
}
