//! Memory of the host as a driver likes it: pinned buffers, whose bytes a device fetches by itself, and device buffers mapped into
//! the host's address space. Both are faster ways for large transfers than [`Context::write`] from memory that the driver has never
//! seen; what each gives is measured by `lanefield peak`.

use std::ffi::c_void;
use std::fmt;
use std::ptr::{self, NonNull};
use std::slice;

use opencl3::command_queue as queue;
use opencl3::memory::{
    CL_MAP_READ, CL_MAP_WRITE, CL_MAP_WRITE_INVALIDATE_REGION, CL_MEM_ALLOC_HOST_PTR, CL_MEM_READ_WRITE, create_buffer,
};
use opencl3::types::{CL_BLOCKING, cl_map_flags, cl_mem};

use super::context::{Buffer, Context};
use super::error::OpenClError;
use super::raw::{RawEvent, RawMem, RawQueue};
use super::recorder::Note;
use crate::backend::timeline::CommandKind;

/// Pinned memory of the host, mapped for as long as it lives. [`Context::write`] and [`Context::read`] take its slices as they take
/// any; the driver knows them, and lets the device fetch or store the bytes without a copy on the way.
pub struct HostBuffer {
    mem: RawMem,
    /// Of the context that it came from; the mapping is given back to it.
    queue: RawQueue,
    start: NonNull<u8>,
    bytes: usize,
    what: Box<str>,
}

// SAFETY: the mapped bytes belong to this object alone and are reached through `&self` and `&mut self` only; the handles may be used
// by any thread (`raw.rs`).
unsafe impl Send for HostBuffer {}
// SAFETY: as above.
unsafe impl Sync for HostBuffer {}

impl fmt::Debug for HostBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostBuffer").field("bytes", &self.bytes).field("what", &self.what).finish_non_exhaustive()
    }
}

impl HostBuffer {
    /// The size that was asked for, in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// What the memory is for, as errors name it.
    pub fn what(&self) -> &str {
        &self.what
    }

    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: mapped for reading and writing, `bytes` long, initialised when it was made, and not reached by any other way.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.bytes) }
    }

    /// The bytes, to be changed.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as in `as_slice`, and exclusively borrowed.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }
}

impl Drop for HostBuffer {
    fn drop(&mut self) {
        // SAFETY: this maps nothing else and unmaps once; the wait list is empty. A failure leaves nothing to do: the driver
        // gives the memory back with the buffer.
        let event = unsafe {
            queue::enqueue_unmap_mem_object(
                self.queue.get(),
                self.mem.get(),
                self.start.as_ptr().cast::<c_void>(),
                0,
                ptr::null(),
            )
        };
        if let Ok(event) = event {
            drop(RawEvent::own(event));
        }
    }
}

impl Context {
    /// Allocates `bytes` bytes of pinned host memory, all zero; `what` says what for. It is not part of [`Context::memory`], which
    /// counts the device's.
    ///
    /// # Errors
    ///
    /// [`OpenClError::Call`] where the host has no such memory.
    pub fn allocate_host(&self, bytes: usize, what: &str) -> Result<HostBuffer, OpenClError> {
        let size = bytes.max(1);
        let named = || format!("{bytes} bytes of pinned host memory, {what}");
        // SAFETY: no host pointer is given: the driver allocates.
        let mem = unsafe {
            create_buffer(self.raw().get(), CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, size, ptr::null_mut())
        }
        .map(RawMem::own)
        .map_err(|status| self.failed("clCreateBuffer", status, named()))?;
        let queue = self.share_queue()?;
        let start = self.map(mem.get(), (0, size), CL_MAP_READ | CL_MAP_WRITE, named)?;
        let buffer = HostBuffer { mem, queue, start, bytes, what: what.into() };
        // Its first content is undefined, and its pages may not be there yet.
        // SAFETY: mapped for writing, `size` bytes long.
        unsafe { ptr::write_bytes(buffer.start.as_ptr(), 0, size) };
        Ok(buffer)
    }

    /// Maps `len` bytes from `offset` on into the host's address space, lets `read` see them, and unmaps them. Waits until all earlier
    /// commands are done.
    ///
    /// # Errors
    ///
    /// [`OpenClError::OutOfRange`] if the buffer ends before.
    pub fn read_mapped<T>(
        &self,
        buffer: &mut Buffer,
        offset: usize,
        len: usize,
        read: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, OpenClError> {
        self.check_owns(buffer)?;
        buffer.check_range(offset, len)?;
        if len == 0 {
            return Ok(read(&[]));
        }
        let what = || format!("{len} bytes at {offset} of {}", buffer.what());
        let start = self.map(buffer.mem(), (offset, len), CL_MAP_READ, what)?;
        // SAFETY: the map was blocking, so `len` bytes are there; the buffer is exclusively borrowed, so no command changes them.
        let result = read(unsafe { slice::from_raw_parts(start.as_ptr(), len) });
        self.unmap(buffer, start)?;
        Ok(result)
    }

    /// Maps as many bytes from `offset` on as `data` has, copies `data` to them and unmaps them. Waits until it is done.
    ///
    /// # Errors
    ///
    /// [`OpenClError::OutOfRange`] if `data` would not fit.
    pub fn write_mapped(&self, buffer: &mut Buffer, offset: usize, data: &[u8]) -> Result<(), OpenClError> {
        self.check_owns(buffer)?;
        buffer.check_range(offset, data.len())?;
        if data.is_empty() {
            return Ok(());
        }
        let what = || format!("{} bytes at {offset} of {}", data.len(), buffer.what());
        // What was there is overwritten entirely, so the driver need not fetch it.
        let start = self.map(buffer.mem(), (offset, data.len()), CL_MAP_WRITE_INVALIDATE_REGION, what)?;
        // SAFETY: mapped for writing, as long as `data`, and apart from it, since the buffer is exclusively borrowed.
        unsafe { ptr::copy_nonoverlapping(data.as_ptr(), start.as_ptr(), data.len()) };
        self.unmap(buffer, start)?;
        self.finish()
    }

    /// Waits for earlier commands, and maps bytes of a buffer that has them.
    fn map(
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

    fn unmap(&self, buffer: &Buffer, start: NonNull<u8>) -> Result<(), OpenClError> {
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
