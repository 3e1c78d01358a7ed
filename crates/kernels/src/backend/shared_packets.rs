//! Memory for packets that the ranks of a host share. Each process maps the memory of the others, and each driver pins it, so that a packet goes
//! from device to device without a copy by the processor. This works on Linux. On other systems the memory is private, and packets are sent.

#[cfg(not(target_os = "linux"))]
use private as system;
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::ptr::{self, NonNull};

#[cfg(target_os = "linux")]
use shared as system;

use system::PacketFile;

/// Memory for packets. It starts at a page boundary.
#[derive(Debug)]
pub struct PacketMemory {
    start: NonNull<u8>,
    bytes: usize,
    holder: PacketFile,
}

// SAFETY: plain memory; who reads and writes it when, is settled by messages between ranks, as `PacketRoom` says.
unsafe impl Send for PacketMemory {}
// SAFETY: as above.
unsafe impl Sync for PacketMemory {}

/// The name by which another process of the host opens the memory.
pub type MemoryName = [u8; 32];

/// Bytes before the packets: a page, which begins with the secret.
const HEAD: usize = 4096;

impl PacketMemory {
    /// Allocates `bytes` bytes of zeros, which processes of this host can open by name.
    pub fn new(bytes: usize) -> io::Result<Self> {
        let (start, holder) = system::allocate(HEAD + bytes)?;
        let memory = Self { start, bytes, holder };
        let random = || RandomState::new().hash_one(0);
        for (place, word) in [random(), random()].into_iter().enumerate() {
            // SAFETY: in the head, which nobody else knows of yet.
            unsafe { memory.start.cast::<u64>().add(place).write(word) };
        }
        Ok(memory)
    }

    /// The number of bytes for packets.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The name by which other processes of the host open the memory; `None` if it belongs to another process, or cannot be opened.
    pub fn name(&self) -> Option<MemoryName> {
        let mut name = MemoryName::default();
        name[..4].copy_from_slice(&std::process::id().to_le_bytes());
        name[4..8].copy_from_slice(&system::number(&self.holder)?.to_le_bytes());
        name[8..16].copy_from_slice(&(self.bytes as u64).to_le_bytes());
        name[16..].copy_from_slice(&self.secret());
        Some(name)
    }

    /// Opens memory of this or another process; `None` if there is none of this name, as on another host or in another container.
    pub fn open(name: &MemoryName) -> Option<Self> {
        let [process, file] = [0, 4].map(|at| name[at..at + 4].try_into().map(u32::from_le_bytes));
        let bytes = usize::try_from(u64::from_le_bytes(name[8..16].try_into().ok()?)).ok()?;
        let (start, holder) = system::open(process.ok()?, file.ok()?, HEAD.checked_add(bytes)?)?;
        let memory = Self { start, bytes, holder };
        (memory.secret() == name[16..]).then_some(memory)
    }

    /// Random bytes at the beginning of the memory, since numbers of processes and files are the same on many hosts.
    fn secret(&self) -> [u8; 16] {
        // SAFETY: in the head, which is written before anybody knows of the memory.
        unsafe { self.start.cast::<[u8; 16]>().read() }
    }

    /// The address of the byte at `offset`.
    ///
    /// # Panics
    /// The offset is beyond the end.
    pub fn at(&self, offset: usize) -> NonNull<u8> {
        assert!(offset <= self.bytes, "byte {offset} of memory of {} bytes", self.bytes);
        // SAFETY: within the mapping.
        unsafe { self.start.add(HEAD + offset) }
    }

    /// The whole mapping, for a driver to pin.
    pub fn mapping(&self) -> (NonNull<u8>, usize) {
        (self.start, HEAD + self.bytes)
    }

    /// Writes bytes, starting at `offset`.
    ///
    /// # Panics
    /// The range goes beyond the end.
    pub fn write(&self, offset: usize, bytes: &[u8]) {
        let (start, _) = (self.at(offset), self.at(offset + bytes.len()));
        // SAFETY: within the mapping, which no borrowed bytes overlap.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), start.as_ptr(), bytes.len()) };
    }

    /// Copies `bytes` bytes, starting at `offset`.
    ///
    /// # Panics
    /// The range goes beyond the end.
    pub fn read(&self, offset: usize, bytes: usize) -> Vec<u8> {
        let (start, _) = (self.at(offset), self.at(offset + bytes));
        let mut copy = vec![0; bytes];
        // SAFETY: within the mapping, and apart from the copy.
        unsafe { ptr::copy_nonoverlapping(start.as_ptr(), copy.as_mut_ptr(), bytes) };
        copy
    }
}

impl Drop for PacketMemory {
    fn drop(&mut self) {
        let (start, bytes) = self.mapping();
        // SAFETY: from `allocate` or `open`, and nothing refers to it any more.
        unsafe { system::release(start, bytes) };
    }
}

/// A file without a name, which other processes find by the number that it has in the process that created it.
#[cfg(target_os = "linux")]
mod shared {
    use std::fs::{self, File};
    use std::io;
    use std::os::fd::AsRawFd as _;
    use std::ptr::{self, NonNull};

    use rustix::fs::{MemfdFlags, memfd_create};
    use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

    /// The file; `None` for memory of another process.
    pub(super) type PacketFile = Option<File>;

    /// The name of the file in the system's lists.
    const FILE: &str = "lanefield-packets";

    pub(super) fn allocate(bytes: usize) -> io::Result<(NonNull<u8>, PacketFile)> {
        let file = File::from(memfd_create(FILE, MemfdFlags::CLOEXEC)?);
        file.set_len(bytes as u64)?;
        Ok((map(&file, bytes)?, Some(file)))
    }

    pub(super) fn number(holder: &PacketFile) -> Option<u32> {
        holder.as_ref().map(|file| file.as_raw_fd() as u32)
    }

    pub(super) fn open(process: u32, file: u32, bytes: usize) -> Option<(NonNull<u8>, PacketFile)> {
        let path = format!("/proc/{process}/fd/{file}");
        // Files of other kinds are not opened: that may wait, or do something.
        if !fs::read_link(&path).ok()?.to_str()?.starts_with(&format!("/memfd:{FILE}")) {
            return None;
        }
        let file = File::options().read(true).write(true).open(path).ok()?;
        let is_as_long = file.metadata().ok()?.len() == bytes as u64;
        is_as_long.then(|| map(&file, bytes).ok()).flatten().map(|start| (start, None))
    }

    fn map(file: &File, bytes: usize) -> io::Result<NonNull<u8>> {
        // SAFETY: a new mapping at a place that the system chooses, of a file that is as long and stays so.
        let start =
            unsafe { mmap(ptr::null_mut(), bytes, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED, file, 0) }?;
        NonNull::new(start.cast()).ok_or_else(|| io::Error::other("mmap gave address 0"))
    }

    /// # Safety
    /// `start` must be the beginning of a mapping of `bytes` bytes that nothing refers to.
    pub(super) unsafe fn release(start: NonNull<u8>, bytes: usize) {
        // SAFETY: as the caller says. An error leaves it mapped.
        let _ = unsafe { munmap(start.as_ptr().cast(), bytes) };
    }
}

/// Private memory of this process.
#[cfg(not(target_os = "linux"))]
mod private {
    use std::alloc::{Layout, alloc_zeroed, dealloc};
    use std::io;
    use std::ptr::NonNull;

    pub type PacketFile = ();

    fn layout(bytes: usize) -> io::Result<Layout> {
        Layout::from_size_align(bytes, super::HEAD).map_err(io::Error::other)
    }

    pub fn allocate(bytes: usize) -> io::Result<(NonNull<u8>, PacketFile)> {
        // SAFETY: there is a head, so the size is not zero.
        let start = unsafe { alloc_zeroed(layout(bytes)?) };
        NonNull::new(start).map(|start| (start, ())).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
    }

    pub fn number(_: &PacketFile) -> Option<u32> {
        None
    }

    pub fn open(_: u32, _: u32, _: usize) -> Option<(NonNull<u8>, PacketFile)> {
        None
    }

    /// # Safety
    /// `start` must be from `allocate` with the same `bytes`, and nothing may refer to the memory.
    pub unsafe fn release(start: NonNull<u8>, bytes: usize) {
        if let Ok(layout) = layout(bytes) {
            // SAFETY: as the caller says.
            unsafe { dealloc(start.as_ptr(), layout) };
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn who_knows_the_name_sees_the_bytes() {
        let memory = PacketMemory::new(10_000).unwrap();
        let name = memory.name().unwrap();
        let same = PacketMemory::open(&name).unwrap();
        memory.write(9_990, b"0123456789");
        assert_eq!(same.read(9_990, 10), b"0123456789");
        assert_eq!((same.bytes(), same.name()), (10_000, None));
        drop(memory);
        assert_eq!(same.read(9_995, 5), b"56789");
        assert!(PacketMemory::open(&name).is_none(), "its owner is gone");
    }

    #[test]
    fn other_names_open_nothing() {
        let memory = PacketMemory::new(64).unwrap();
        // Of the process any number of a thread will do.
        for byte in 4..32 {
            let mut name = memory.name().unwrap();
            name[byte] ^= 1;
            assert!(PacketMemory::open(&name).is_none(), "byte {byte}");
        }
    }
}
