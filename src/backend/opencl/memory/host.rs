//! Memory of the host as a driver likes it: pinned buffers, whose bytes a device fetches by itself, and device buffers mapped into
//! the host's address space. Both are faster ways for large transfers than [`DeviceMemory::write`] from memory that the driver has never
//! seen; what each gives is measured by `lanefield peak`.

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

/// Memory for packets that the driver has pinned: transfers from and to it are as fast as with a [`HostBuffer`].
#[derive(Debug)]
pub(crate) struct Pinned {
    /// A buffer made of the memory, which no command uses: while there is one, NVIDIA's driver has the memory pinned. None where the driver refuses it, and
    /// transfers take longer.
    _mem: Option<RawMem>,
    _memory: Arc<PacketMemory>,
}

impl DeviceMemory {
    /// Has the driver pin memory, also such as other processes have pinned.
    pub(crate) fn pin(&self, memory: Arc<PacketMemory>) -> Pinned {
        let (start, bytes) = memory.mapping();
        let flags = CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR;
        // SAFETY: so many bytes are mapped there, for longer than there is the buffer.
        let mem = unsafe { create_buffer(self.cl_context().get(), flags, bytes, start.as_ptr().cast()) };
        Pinned { _mem: mem.ok().map(RawMem::own), _memory: memory }
    }

    /// Allocates `bytes` bytes of pinned host memory, all zero; `what` says what for. It is not part of [`DeviceMemory::memory`], which
    /// counts the device's.
    ///
    /// # Errors
    /// [`OpenClError::OutOfMemory`] where the host has no such memory.
    pub fn allocate_host(&self, bytes: usize, what: &str) -> Result<HostBuffer, OpenClError> {
        let block = self.block(MemoryKind::Pinned, bytes, what)?;
        Ok(HostBuffer::new(block, bytes, what, self.pool()))
    }

    /// Maps `len` bytes from `offset` on into the host's address space, lets `read` see them, and unmaps them. Waits until all earlier
    /// commands are done.
    ///
    /// # Errors
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
}
