//! Buffers: device memory, and pinned host memory. Each returns to its pool when it is dropped.

use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::Arc;

use opencl3::types::cl_mem;

use super::pool::{Block, MemoryKind, Pool};
use crate::backend::opencl::device::OpenClError;

/// Device memory of some size, with a description of its use. When dropped, it returns to the pool; queued commands that use it finish
/// first.
#[derive(Debug)]
pub struct Buffer {
    block: Arc<Block>,
    bytes: usize,
    what: Arc<str>,
    pool: Arc<Pool>,
}

impl Buffer {
    /// The requested size, in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The use of the buffer, for errors.
    pub fn what(&self) -> &str {
        &self.what
    }

    /// The kind of its memory.
    pub fn kind(&self) -> MemoryKind {
        self.block.kind()
    }

    pub(crate) fn new(block: Arc<Block>, bytes: usize, what: &str, pool: &Arc<Pool>) -> Self {
        let what = what.into();
        pool.enter(&block, bytes, &what);
        Self { block, bytes, what, pool: Arc::clone(pool) }
    }

    pub(crate) fn mem(&self) -> cl_mem {
        self.block.mem()
    }

    /// The `cl_mem`, for direct calls of OpenCL. It is valid as long as the buffer.
    pub fn handle(&self) -> *mut c_void {
        self.mem()
    }

    pub(crate) fn is_of(&self, pool: &Arc<Pool>) -> bool {
        Arc::ptr_eq(&self.pool, pool)
    }

    pub(crate) fn check_range(&self, offset: usize, len: usize) -> Result<(), OpenClError> {
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

/// Pinned host memory, mapped as long as it lives. It is used like any slice, but the driver knows it, and lets the device read or write
/// the bytes without an intermediate copy.
#[derive(Debug)]
pub struct HostBuffer(Buffer);

impl HostBuffer {
    /// Sets all bytes to zero, since the content from the driver or an earlier use is undefined.
    pub(crate) fn new(block: Arc<Block>, bytes: usize, what: &str, pool: &Arc<Pool>) -> Self {
        let buffer = Self(Buffer::new(block, bytes, what, pool));
        // SAFETY: mapped for writing, `bytes` bytes long.
        unsafe { ptr::write_bytes(buffer.start().as_ptr(), 0, bytes) };
        buffer
    }

    /// The requested size, in bytes.
    pub fn bytes(&self) -> usize {
        self.0.bytes
    }

    /// The use of the memory, for errors.
    pub fn what(&self) -> &str {
        &self.0.what
    }

    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: mapped for reading and writing, as long as is said, initialised when it was made, and not reached by any other way.
        unsafe { slice::from_raw_parts(self.start().as_ptr(), self.bytes()) }
    }

    fn start(&self) -> NonNull<u8> {
        self.0.block.mapping().map_or(NonNull::dangling(), |mapping| mapping.start)
    }

    /// The bytes, mutably.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as in `as_slice`, and exclusively borrowed.
        unsafe { slice::from_raw_parts_mut(self.start().as_ptr(), self.bytes()) }
    }
}
