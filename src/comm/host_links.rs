//! Packets between ranks of one host, by memory that both have mapped: one copies a packet in, the other one copies it out, with several threads where it is
//! large. MPI libraries do the same with one thread, and may do no better in a container.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use memmap2::{MmapOptions, MmapRaw};
use rayon::prelude::*;
use tempfile::NamedTempFile;

/// Before the bytes of a packet: how many packets were put in, how many were taken out, bytes of this one, and whether the other rank has the memory.
const HEADER: usize = 4096;
const WRITTEN: usize = 0;
const TAKEN: usize = 64;
const LENGTH: usize = 128;
const OPENED: usize = 192;
/// Set in the length of what is no packet, but the path of a larger memory.
const MOVED: u64 = 1 << 63;
/// Bytes that a thread copies.
const PIECE: usize = 192 << 10;

/// Memory that two ranks have mapped, with room for one packet.
struct Shared {
    map: MmapRaw,
    capacity: usize,
}

impl Shared {
    fn map(file: &File, capacity: usize) -> io::Result<Self> {
        Ok(Self { map: MmapOptions::new().len(HEADER + capacity).map_raw(file)?, capacity })
    }

    fn word(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: the header lies in the mapping, which is as long as the file was made, and page-aligned; both processes use these words as atomic ones.
        unsafe { &*self.map.as_ptr().add(offset).cast::<AtomicU64>() }
    }

    fn load(&self, offset: usize) -> u64 {
        self.word(offset).load(Ordering::Acquire)
    }

    fn data(&self) -> *mut u8 {
        // SAFETY: the mapping has HEADER + capacity bytes.
        unsafe { self.map.as_mut_ptr().add(HEADER) }
    }

    /// Puts something in, once what was there has been taken out.
    fn put(&self, bytes: &[u8], mark: u64) {
        let number = self.load(WRITTEN);
        wait_until(|| self.load(TAKEN) == number);
        // SAFETY: there is room for as many bytes (`Outgoing::send`), and the other rank looks at them only once WRITTEN has gone up.
        let room = unsafe { std::slice::from_raw_parts_mut(self.data(), bytes.len()) };
        copy(bytes, room);
        self.word(LENGTH).store(bytes.len() as u64 | mark, Ordering::Relaxed);
        self.word(WRITTEN).store(number + 1, Ordering::Release);
    }
}

fn wait_until(is_so: impl Fn() -> bool) {
    const SPINS: u32 = 4000;
    let mut turns = 0;
    while !is_so() {
        turns += 1;
        if turns < SPINS { std::hint::spin_loop() } else { thread::yield_now() }
    }
}

fn copy(from: &[u8], to: &mut [u8]) {
    match from.len() < 2 * PIECE {
        true => to.copy_from_slice(from),
        false => to.par_chunks_mut(PIECE).zip(from.par_chunks(PIECE)).for_each(|(to, from)| to.copy_from_slice(from)),
    }
}

/// A file in memory for packets of so many bytes; the room is reserved.
fn new_file(bytes: usize) -> io::Result<(NamedTempFile, usize)> {
    let capacity = bytes.next_power_of_two().max(HEADER);
    let in_memory = Path::new("/dev/shm");
    let folder = if in_memory.is_dir() { in_memory.to_owned() } else { std::env::temp_dir() };
    let file = tempfile::Builder::new().prefix("lanefield-").tempfile_in(folder)?;
    let length = libc::off_t::try_from(HEADER + capacity).map_err(io::Error::other)?;
    // SAFETY: the descriptor is that of an open file.
    match unsafe { libc::posix_fallocate(file.as_file().as_raw_fd(), 0, length) } {
        0 => Ok((file, capacity)),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// Where packets to a rank of the same host are put.
pub(super) struct Outgoing {
    shared: Shared,
    /// Until the other rank has mapped it.
    file: Option<NamedTempFile>,
}

impl Outgoing {
    /// A new one, and what the other rank is to be told of it.
    pub fn new(bytes: usize) -> io::Result<(Self, Vec<u8>)> {
        let (file, capacity) = new_file(bytes)?;
        let shared = Shared::map(file.as_file(), capacity)?;
        let told = told(file.path(), capacity);
        Ok((Self { shared, file: Some(file) }, told))
    }

    /// Puts a packet in.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.len() > self.shared.capacity {
            let (larger, told) = Self::new(bytes.len())?;
            self.shared.put(&told, MOVED);
            *self = larger;
        }
        self.shared.put(bytes, 0);
        // Once the other rank has the memory, nobody needs its name, and nothing stays where a rank is killed.
        if self.file.is_some() && self.shared.load(OPENED) == 1 {
            self.file = None;
        }
        Ok(())
    }
}

/// Where packets from a rank of the same host are taken out.
pub(super) struct Incoming(Shared);

impl Incoming {
    /// The memory that another rank told of.
    pub fn open(told: &[u8]) -> io::Result<Self> {
        let damaged = || io::Error::other("another rank told of no memory");
        let text = std::str::from_utf8(told).map_err(io::Error::other)?;
        let (capacity, path) = text.split_once(' ').ok_or_else(damaged)?;
        let file = OpenOptions::new().read(true).write(true).open(PathBuf::from(path))?;
        let shared = Shared::map(&file, capacity.parse().map_err(io::Error::other)?)?;
        shared.word(OPENED).store(1, Ordering::Release);
        Ok(Self(shared))
    }

    /// Takes a packet out; gives how many bytes it has, which are all of `room` or a mistake.
    pub fn receive(&mut self, room: &mut [u8]) -> io::Result<usize> {
        loop {
            let number = self.0.load(TAKEN);
            wait_until(|| self.0.load(WRITTEN) > number);
            let length = self.0.word(LENGTH).load(Ordering::Relaxed);
            let bytes = (length & !MOVED) as usize;
            // SAFETY: the other rank has put in as many bytes, which fit, and touches them only once TAKEN has gone up.
            let there = unsafe { std::slice::from_raw_parts(self.0.data(), bytes.min(self.0.capacity)) };
            let larger = (length & MOVED != 0).then(|| Self::open(there)).transpose()?;
            if larger.is_none() && bytes == room.len() {
                copy(there, room);
            }
            self.0.word(TAKEN).store(number + 1, Ordering::Release);
            match larger {
                Some(larger) => *self = larger,
                None => return Ok(bytes),
            }
        }
    }
}

fn told(path: &Path, capacity: usize) -> Vec<u8> {
    format!("{capacity} {}", path.display()).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_of_growing_sizes_come_as_they_were_put_in() {
        let (mut out, told) = Outgoing::new(100).unwrap();
        let path = out.file.as_ref().unwrap().path().to_owned();
        let mut incoming = Incoming::open(&told).unwrap();
        let packet = |bytes: usize| (0..bytes).map(|k| (k * 7 + bytes) as u8).collect::<Vec<u8>>();
        let sizes = [100, 0, 4096, 5000, 3 << 20, 17];
        thread::scope(|scope| {
            scope.spawn(|| sizes.into_iter().for_each(|bytes| out.send(&packet(bytes)).unwrap()));
            for bytes in sizes {
                let mut room = vec![0; bytes];
                assert_eq!(incoming.receive(&mut room).unwrap(), bytes);
                assert!(room == packet(bytes), "{bytes}");
            }
        });
        assert!(!path.exists());
        // Another length than expected is told, and loses nothing else.
        out.send(&packet(10)).unwrap();
        assert_eq!(incoming.receive(&mut [0; 4]).unwrap(), 10);
    }

    #[test]
    fn what_another_rank_did_not_say_is_no_memory() {
        assert!(Incoming::open(b"").is_err() && Incoming::open(b"10 /nowhere/at/all").is_err());
    }
}
