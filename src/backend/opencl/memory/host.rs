//! Host memory that is fast for transfers: pinned buffers, whose bytes a device can fetch itself, and device buffers that are mapped into
//! the host's address space. For large transfers both are faster than [`DeviceMemory::write`] from memory that the driver does not know;
//! `lanefield peak` measures each of them.

use std::ptr;
use std::slice;
use std::sync::Arc;

use opencl3::memory::{
    CL_MAP_READ, CL_MAP_WRITE_INVALIDATE_REGION, CL_MEM_READ_WRITE, CL_MEM_USE_HOST_PTR, create_buffer,
};

use super::buffer::{Buffer, HostBuffer};
use super::commands::DeviceMemory;
use super::pool::MemoryKind;
use crate::backend::opencl::device::{OpenClError, RawMem};
use crate::backend::shared_packets::PacketMemory;

/// Memory for packets that the driver has pinned. Transfers from and to it are as fast as with a [`HostBuffer`].
#[derive(Debug)]
pub(crate) struct Pinned {
    /// A buffer on top of the memory, which no command uses. As long as it exists, NVIDIA's driver keeps the memory pinned. `None` if the
    /// driver refuses it; transfers are then slower.
    _mem: Option<RawMem>,
    _memory: Arc<PacketMemory>,
}

impl DeviceMemory {
    /// Makes the driver pin memory, even if other processes have pinned it, too.
    pub(crate) fn pin(&self, memory: Arc<PacketMemory>) -> Pinned {
        let (start, bytes) = memory.mapping();
        let flags = CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR;
        // SAFETY: so many bytes are mapped there, for longer than there is the buffer.
        let mem = unsafe { create_buffer(self.cl_context().get(), flags, bytes, start.as_ptr().cast()) };
        Pinned { _mem: mem.ok().map(RawMem::own), _memory: memory }
    }

    /// Allocates `bytes` bytes of pinned host memory, all zero; `what` is its use. It is not included in [`DeviceMemory::memory`], which
    /// counts device memory.
    ///
    /// # Errors
    /// [`OpenClError::OutOfMemory`] if the host has not enough such memory.
    pub fn allocate_host(&self, bytes: usize, what: &str) -> Result<HostBuffer, OpenClError> {
        let block = self.block(MemoryKind::Pinned, bytes, what)?;
        Ok(HostBuffer::new(block, bytes, what, self.pool()))
    }

    /// Maps `len` bytes from `offset` on into the host's address space, passes them to `read`, and unmaps them. Waits until all earlier
    /// commands are done.
    ///
    /// # Errors
    /// [`OpenClError::OutOfRange`] if the buffer is too small.
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

    /// Maps a range of the size of `data` from `offset` on, copies `data` to it, and unmaps it. Waits until it is done.
    ///
    /// # Errors
    /// [`OpenClError::OutOfRange`] if `data` does not fit.
    pub fn write_mapped(&self, buffer: &mut Buffer, offset: usize, data: &[u8]) -> Result<(), OpenClError> {
        self.check_owns(buffer)?;
        buffer.check_range(offset, data.len())?;
        if data.is_empty() {
            return Ok(());
        }
        let what = || format!("{} bytes at {offset} of {}", data.len(), buffer.what());
        // The old content is overwritten completely, so the driver need not fetch it.
        let start = self.map(buffer.mem(), (offset, data.len()), CL_MAP_WRITE_INVALIDATE_REGION, what)?;
        // SAFETY: mapped for writing, as long as `data`, and apart from it, since the buffer is exclusively borrowed.
        unsafe { ptr::copy_nonoverlapping(data.as_ptr(), start.as_ptr(), data.len()) };
        self.unmap(buffer, start)?;
        self.finish()
    }
}
