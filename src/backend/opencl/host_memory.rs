//! Memory of the host as a driver likes it: pinned buffers, whose bytes a device fetches by itself, and device buffers mapped into
//! the host's address space. Both are faster ways for large transfers than [`Context::write`] from memory that the driver has never
//! seen; what each gives is measured by `lanefield peak`.

use std::fmt;
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::Arc;

use opencl3::command_queue as queue;
use opencl3::memory::{
    CL_MAP_READ, CL_MAP_WRITE_INVALIDATE_REGION, CL_MEM_READ_WRITE, CL_MEM_USE_HOST_PTR, create_buffer,
};
use opencl3::types::{CL_BLOCKING, cl_map_flags, cl_mem};

use super::context::{Buffer, Context};
use super::error::OpenClError;
use super::pool::{Block, MemoryKind, Pool};
use super::raw::RawMem;
use super::recorder::Note;
use crate::backend::shared_packets::PacketMemory;
use crate::backend::timeline::CommandKind;

/// Pinned memory of the host, mapped for as long as it lives. [`Context::write`] and [`Context::read`] take its slices as they take
/// any; the driver knows them, and lets the device fetch or store the bytes without a copy on the way.
pub struct HostBuffer {
    block: Arc<Block>,
    bytes: usize,
    what: Arc<str>,
    pool: Arc<Pool>,
}

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
        unsafe { slice::from_raw_parts(self.start().as_ptr(), self.bytes) }
    }

    fn start(&self) -> NonNull<u8> {
        self.block.mapping().map_or(NonNull::dangling(), |mapping| mapping.start)
    }

    /// Writes zeros: what a driver or an earlier use left is undefined.
    fn clear(&mut self) {
        // SAFETY: mapped for writing, `bytes` bytes long.
        unsafe { ptr::write_bytes(self.start().as_ptr(), 0, self.bytes) };
    }

    /// The bytes, to be changed.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as in `as_slice`, and exclusively borrowed.
        unsafe { slice::from_raw_parts_mut(self.start().as_ptr(), self.bytes) }
    }
}

impl Drop for HostBuffer {
    fn drop(&mut self) {
        self.pool.give_back(Arc::clone(&self.block), self.bytes, &self.what);
    }
}

/// Memory for packets that the driver has pinned: transfers from and to it are as fast as with a [`HostBuffer`].
#[derive(Debug)]
pub(super) struct Pinned {
    /// A buffer made of the memory, which no command uses: while there is one, NVIDIA's driver has the memory pinned. None where the driver refuses it, and
    /// transfers take longer.
    _mem: Option<RawMem>,
    _memory: Arc<PacketMemory>,
}

impl Context {
    /// Has the driver pin memory, also such as other processes have pinned.
    pub(super) fn pin(&self, memory: Arc<PacketMemory>) -> Pinned {
        let (start, bytes) = memory.mapping();
        let flags = CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR;
        // SAFETY: so many bytes are mapped there, for longer than there is the buffer.
        let mem = unsafe { create_buffer(self.raw().get(), flags, bytes, start.as_ptr().cast()) };
        Pinned { _mem: mem.ok().map(RawMem::own), _memory: memory }
    }

    /// Allocates `bytes` bytes of pinned host memory, all zero; `what` says what for. It is not part of [`Context::memory`], which
    /// counts the device's.
    ///
    /// # Errors
    ///
    /// [`OpenClError::OutOfMemory`] where the host has no such memory.
    pub fn allocate_host(&self, bytes: usize, what: &str) -> Result<HostBuffer, OpenClError> {
        let block = self.block(MemoryKind::Pinned, bytes, what)?;
        let what = what.into();
        self.pool().enter(&block, bytes, &what);
        let mut buffer = HostBuffer { block, bytes, what, pool: Arc::clone(self.pool()) };
        buffer.clear();
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
    pub(super) fn map(
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

    pub(super) fn unmap(&self, buffer: &Buffer, start: NonNull<u8>) -> Result<(), OpenClError> {
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
