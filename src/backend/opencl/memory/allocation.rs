//! Allocation: from the pool, or else from the driver, or else, if requested, in the host's memory. Otherwise an error reports who holds
//! how much.

use std::ptr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use opencl3::command_queue as queue;
use opencl3::memory::{CL_MAP_READ, CL_MAP_WRITE, create_buffer};

use super::buffer::Buffer;
use super::commands::DeviceMemory;
use super::pool::{Block, Fallback, GRAIN, Mapping, MemoryKind, block_bytes};
use crate::backend::opencl::device::{ClStatus, LARGE_BUFFERS, MEMORY_LIMIT, Note, OpenClError, RawMem, is_lost};
use crate::backend::timeline::CommandKind;

/// The byte that overwrites memory in checks: it makes a NaN in every precision, and an invalid index in tables.
const OVERWRITTEN: u8 = 0xff;

/// The limit on device memory from `LANEFIELD_MEMORY_LIMIT`, in bytes.
fn limit_from_environment() -> Result<Option<u64>, OpenClError> {
    match std::env::var(MEMORY_LIMIT) {
        Ok(text) if !text.trim().is_empty() => bytes_of(text.trim()).map(Some).ok_or(OpenClError::MemoryLimit { text }),
        _ => Ok(None),
    }
}

/// Parses a number of bytes, or of KiB, MiB or GiB if K, M or G follows, or one of these words.
fn bytes_of(text: &str) -> Option<u64> {
    let text = text.strip_suffix("iB").filter(|short| short.ends_with(['K', 'M', 'G'])).unwrap_or(text);
    let shift = match text.chars().last()?.to_ascii_uppercase() {
        'K' => 10,
        'M' => 20,
        'G' => 30,
        _ => 0,
    };
    let number = if shift == 0 { text } else { &text[..text.len() - 1] };
    number.parse::<u64>().ok()?.checked_mul(1 << shift)
}

impl DeviceMemory {
    /// Applies the memory limit of the environment.
    pub(crate) fn limited_by_environment(self) -> Result<Self, OpenClError> {
        let limit = limit_from_environment()?;
        self.set_memory_limit(limit);
        if is_lost(LARGE_BUFFERS) {
            let quarter = limit.map_or(u64::MAX, |limit| limit / 4);
            self.pool().set_largest_buffer(self.info().max_allocation_bytes.min(quarter));
        }
        Ok(self)
    }

    /// Limits device memory to this number of bytes, as if the device had no more; `None` removes the limit. When a device is opened, the
    /// environment variable `LANEFIELD_MEMORY_LIMIT` sets it.
    pub fn set_memory_limit(&self, bytes: Option<u64>) {
        self.pool().set_limit(bytes);
    }

    /// Overwrites newly allocated memory with NaN from now on, so that no result can depend on its earlier content. This is for checks, and
    /// costs a write of each buffer.
    pub fn overwrite_new_memory(&self, overwrite: bool) {
        self.pool().overwrites.store(overwrite, Ordering::Relaxed);
    }

    /// Calls `told` for each buffer that did not fit the device and was created in the host's memory. Returns whether it will: only one
    /// function is called.
    pub fn tell_of_fallbacks(&self, told: impl Fn(&Fallback) + Send + Sync + 'static) -> bool {
        self.pool().told.set(Box::new(told)).is_ok()
    }

    /// Returns idle memory to the driver, and the number of its blocks.
    pub fn trim_memory(&self) -> usize {
        self.pool().trim()
    }

    /// Allocates `bytes` bytes of device memory. `what` is its use, for errors: "source spinor f64". The content is undefined.
    ///
    /// # Errors
    /// [`OpenClError::OutOfMemory`] names the allocation, the memory that is held, its largest holders, and the memory of the device.
    pub fn allocate(&self, bytes: usize, what: &str) -> Result<Buffer, OpenClError> {
        self.allocate_in(MemoryKind::Device, bytes, what)
    }

    /// As [`DeviceMemory::allocate`], in host memory that the device can access (`CL_MEM_ALLOC_HOST_PTR`). If device and host have separate
    /// memories, it is pinned. For use with [`DeviceMemory::write_mapped`] and [`DeviceMemory::read_mapped`], which then need no copy
    /// between devices.
    pub fn allocate_reachable(&self, bytes: usize, what: &str) -> Result<Buffer, OpenClError> {
        self.allocate_in(MemoryKind::Reachable, bytes, what)
    }

    /// As [`DeviceMemory::allocate`]; if the device has not enough memory, as [`DeviceMemory::allocate_reachable`]. Kernels are then
    /// slower, and [`DeviceMemory::memory_statistics`] reports it.
    ///
    /// # Errors
    /// As [`DeviceMemory::allocate`], if the host has not enough memory either.
    pub fn allocate_anywhere(&self, bytes: usize, what: &str) -> Result<Buffer, OpenClError> {
        let refused = match self.allocate(bytes, what) {
            Err(refused @ OpenClError::OutOfMemory { .. }) => refused,
            other => return other,
        };
        let buffer = self.allocate_reachable(bytes, what).map_err(|_| refused)?;
        let device = self.info().with_driver();
        self.pool().fell_back(&Fallback { what: what.to_owned(), bytes: bytes as u64, device });
        Ok(buffer)
    }

    fn allocate_in(&self, kind: MemoryKind, bytes: usize, what: &str) -> Result<Buffer, OpenClError> {
        let block = self.block(kind, bytes, what)?;
        let buffer = Buffer::new(block, bytes, what, self.pool());
        if self.pool().overwrites() {
            self.fill(&buffer, OVERWRITTEN)?;
            // The command is in the device's own queue, but the buffer may be used in another one.
            if self.pool().has_queues() {
                self.finish()?;
            }
        }
        Ok(buffer)
    }

    /// A block of at least `bytes` bytes: an idle one, or else a new one. If the driver refuses, idle blocks are returned to it, and a
    /// block of exactly the necessary size is requested.
    pub(crate) fn block(&self, kind: MemoryKind, bytes: usize, what: &str) -> Result<Arc<Block>, OpenClError> {
        let (least, size) = (bytes.max(GRAIN), block_bytes(bytes));
        if let Some(block) = self.pool().take(kind, least..=size) {
            return Ok(block);
        }
        self.pool().make_way(kind, size);
        let made = self.make_block(kind, size).or_else(|refused| {
            let trimmed = self.trim_memory() > 0;
            if trimmed {
                // Commands keep memory until they are done.
                self.finish().map_err(|_| refused)?;
            }
            // Of the minimum size: a rounded-up block may exceed the free memory, or the maximum size of a buffer, even if the request does not.
            if trimmed || least < size { self.make_block(kind, least) } else { Err(refused) }
        });
        let block = made.map_err(|(call, status)| OpenClError::OutOfMemory {
            call,
            status,
            what: what.to_owned(),
            bytes,
            held: self.pool().held(self.pool().within_limit(kind, least).err()),
            device: self.info().with_driver(),
            device_bytes: self.info().global_memory_bytes,
            max_allocation_bytes: self.pool().largest_buffer().unwrap_or(self.info().max_allocation_bytes),
        })?;
        self.pool().made(kind);
        Ok(Arc::new(block))
    }

    /// A block from the driver, or the call that failed.
    fn make_block(&self, kind: MemoryKind, bytes: usize) -> Result<Block, (&'static str, ClStatus)> {
        let refused = |call| move |status| (call, ClStatus(status));
        if self.pool().largest_buffer().is_some_and(|most| bytes as u64 > most) {
            return Err(refused("clCreateBuffer")(opencl3::error_codes::CL_INVALID_BUFFER_SIZE));
        }
        let no_room = opencl3::error_codes::CL_MEM_OBJECT_ALLOCATION_FAILURE;
        self.pool().within_limit(kind, bytes).map_err(|_| refused("clCreateBuffer")(no_room))?;
        // Drivers may promise more than the host has: NVIDIA's creates a buffer of 2⁵⁰ bytes.
        if kind != MemoryKind::Device && host_memory_bytes().is_some_and(|all| bytes as u64 > all) {
            return Err(refused("clCreateBuffer")(no_room));
        }
        // SAFETY: no host pointer is given, so the driver reads and keeps none.
        let mem = unsafe { create_buffer(self.cl_context().get(), kind.flags(), bytes, ptr::null_mut()) }
            .map(RawMem::own)
            .map_err(refused("clCreateBuffer"))?;
        let failed = |error| match error {
            OpenClError::Call { call, status, .. } => (call, status),
            _ => ("clCreateBuffer", ClStatus(no_room)),
        };
        let mut mapping = None;
        match kind {
            MemoryKind::Device => self.make_resident(&mem).map_err(failed)?,
            MemoryKind::Reachable => {}
            MemoryKind::Pinned => {
                let queue = self.queue().retained().ok_or(refused("clRetainCommandQueue")(no_room))?;
                let what = || "pinned host memory".to_owned();
                let start = self.map(mem.get(), (0, bytes), CL_MAP_READ | CL_MAP_WRITE, what).map_err(failed)?;
                mapping = Some(Mapping { queue, start });
            }
        }
        Ok(Block::new(mem, kind, bytes, mapping))
    }

    /// Makes the driver allocate the memory now. Drivers may defer this to the first use, where an error no longer names the buffer.
    fn make_resident(&self, mem: &RawMem) -> Result<(), OpenClError> {
        let note = || Note::of_bytes(CommandKind::Allocate, 0);
        let what = || "a new buffer".to_owned();
        // A fill of a few bytes instead of a migration: NVIDIA's driver 580 crashes if one of several threads queues a migration.
        let pattern = [OVERWRITTEN; GRAIN];
        self.submit("clEnqueueFillBuffer", what, note, |queue| {
            // SAFETY: the pattern is copied by the call, no block is smaller, and the wait list is empty.
            unsafe {
                queue::enqueue_fill_buffer(queue, mem.get(), pattern.as_ptr().cast(), GRAIN, 0, GRAIN, 0, ptr::null())
            }
        })
        .map(drop)
    }
}

/// The size of the host's memory in bytes, if known.
fn host_memory_bytes() -> Option<u64> {
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    {
        let info = rustix::system::sysinfo();
        info.totalram.checked_mul(u64::from(info.mem_unit))
    }
    #[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_a_number_of_bytes_or_of_larger_units() {
        for (text, bytes) in [
            ("1000", Some(1000)),
            ("3K", Some(3 << 10)),
            ("512m", Some(512 << 20)),
            ("2G", Some(2 << 30)),
            ("5MiB", Some(5 << 20)),
        ] {
            assert_eq!(bytes_of(text), bytes, "{text}");
        }
        for text in ["", "G", "-1", "1.5G", "much", "99999999999999999999", "99999999999999G", "3 µ", "10iB", "MiB"] {
            assert_eq!(bytes_of(text), None, "{text}");
        }
    }
}
