//! Memory that is held: of the device, and of the host where it is pinned. Each goes back to its pool when it is dropped.

use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::Arc;

use opencl3::types::cl_mem;

use super::pool::{Block, MemoryKind, Pool};
use crate::backend::opencl::device::OpenClError;

/// Device memory: a number of bytes, and what they are for. Given back to the pool when dropped; commands that use it and are still
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

    pub(crate) fn new(block: Arc<Block>, bytes: usize, what: &str, pool: &Arc<Pool>) -> Self {
        let what = what.into();
        pool.enter(&block, bytes, &what);
        Self { block, bytes, what, pool: Arc::clone(pool) }
    }

    pub(crate) fn mem(&self) -> cl_mem {
        self.block.mem()
    }

    /// The `cl_mem`, for one's own calls of OpenCL. It lives as long as the buffer.
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

/// Pinned memory of the host, mapped for as long as it lives. It is written from and read into as any slice, but
/// the driver knows it, and lets the device fetch or store the bytes without a copy on the way.
#[derive(Debug)]
pub struct HostBuffer(Buffer);

impl HostBuffer {
    /// All zero: what a driver or an earlier use left is undefined.
    pub(crate) fn new(block: Arc<Block>, bytes: usize, what: &str, pool: &Arc<Pool>) -> Self {
        let buffer = Self(Buffer::new(block, bytes, what, pool));
        // SAFETY: mapped for writing, `bytes` bytes long.
        unsafe { ptr::write_bytes(buffer.start().as_ptr(), 0, bytes) };
        buffer
    }

    /// The size that was asked for, in bytes.
    pub fn bytes(&self) -> usize {
        self.0.bytes
    }

    /// What the memory is for, as errors name it.
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

    /// The bytes, to be changed.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as in `as_slice`, and exclusively borrowed.
        unsafe { slice::from_raw_parts_mut(self.start().as_ptr(), self.bytes()) }
    }
}
